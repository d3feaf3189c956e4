import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';

/** Where a connection is cut when a COMMIT comes by: before the server gets it, or before its answer comes back. */
type Cut = 'before COMMIT' | 'after COMMIT';
export type Direction = 'to the server' | 'to the client';

const commit = Buffer.from('commit\0');

/** A connection through the proxy, which forwards all data that it does not swallow. */
type Line = { client: Socket; server: Socket; swallowed: Set<Direction>; isMeant: boolean };

/**
 * A TCP proxy to the server of `databaseUrl` that can cut connections around a COMMIT, swallow data, and stall. It cannot
 * simulate the loss of a host, because the operating systems still answer each other.
 */
export async function openWire(databaseUrl: string) {
  const target = new URL(databaseUrl);
  const lines = new Set<Line>();
  let cut: { where: Cut; of: Buffer; done: boolean } | undefined;
  let isFrozen = false;

  /** @returns whether the connection is cut here, so that `chunk` does not go on */
  function cutsAt(line: Line, chunk: Buffer): boolean {
    line.isMeant ||= cut !== undefined && chunk.includes(cut.of);
    if (!cut || cut.done || !line.isMeant || !chunk.includes(commit)) return false;
    cut.done = true;
    if (cut.where === 'before COMMIT') line.client.destroy();
    // The answer is dropped: the server has committed, and its client never knows.
    else line.server.removeAllListeners('data').once('data', () => line.client.destroy());
    return cut.where === 'before COMMIT';
  }

  function pass(line: Line, direction: Direction, chunk: Buffer): void {
    const [from, to] = direction === 'to the server' ? [line.client, line.server] : [line.server, line.client];
    if (line.swallowed.has(direction)) return;
    if (direction === 'to the server' && cutsAt(line, chunk)) return;
    if (to.write(chunk)) return;
    from.pause();
    to.once('drain', () => {
      if (!isFrozen) from.resume();
    });
  }

  const listener = net.createServer((client) => {
    const server = net.connect(Number(target.port), target.hostname);
    const line: Line = { client, server, swallowed: new Set(), isMeant: false };
    lines.add(line);
    for (const [socket, other, direction] of [
      [client, server, 'to the server'],
      [server, client, 'to the client'],
    ] as const) {
      socket.setNoDelay().on('error', () => {});
      socket.on('data', (chunk: Buffer) => pass(line, direction, chunk));
      socket.once('close', () => {
        // A side whose data are swallowed cannot announce its end either.
        if (line.swallowed.has(direction)) return;
        lines.delete(line);
        other.destroySoon();
      });
      if (isFrozen) socket.pause();
    }
  });
  await once(listener.listen(0, '127.0.0.1'), 'listening');
  const through = new URL(databaseUrl);
  through.port = String((listener.address() as AddressInfo).port);

  const drop = () => {
    for (const { client, server } of lines) for (const socket of [client, server]) socket.destroy();
    lines.clear();
  };

  return {
    url: through.href,
    /** Cuts the next COMMIT on a connection by which the text `of` has come. */
    cutNext(where: Cut, of: string) {
      cut = { where, of: Buffer.from(of), done: false };
    },
    get hasCut() {
      return cut?.done === true;
    },
    /** Open connections stay open but swallow all data in these directions; later ones work. */
    swallow(...directions: Direction[]) {
      for (const line of lines) for (const direction of directions) line.swallowed.add(direction);
    },
    /** Holds all data back until `thaw`, without losing any. */
    freeze() {
      isFrozen = true;
      for (const { client, server } of lines) for (const socket of [client, server]) socket.pause();
    },
    thaw() {
      isFrozen = false;
      for (const { client, server } of lines) for (const socket of [client, server]) socket.resume();
    },
    /** Closes all connections; swallowed data are lost. */
    drop,
    async close() {
      drop();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

export type Wire = Awaited<ReturnType<typeof openWire>>;
