import { once } from 'node:events';
import net from 'node:net';

/** Where a connection is cut when a COMMIT comes by: before the server gets it, or before its answer comes back. */
type Cut = 'before COMMIT' | 'after COMMIT';

const commit = Buffer.from('commit\0');

/** A TCP proxy to the server of `databaseUrl` that can cut connections around a COMMIT. */
export async function openWire(databaseUrl: string) {
  const target = new URL(databaseUrl);
  const sockets = new Set<net.Socket>();
  let cut: { where: Cut; of: Buffer; done: boolean } | undefined;

  const server = net.createServer((client) => {
    const upstream = net.connect(Number(target.port), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay().on('error', () => {});
      socket.once('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    upstream.pipe(client);
    let isMeant = false;
    client.on('data', (chunk) => {
      isMeant ||= cut !== undefined && chunk.includes(cut.of);
      const cutsHere = cut !== undefined && !cut.done && isMeant && chunk.includes(commit);
      if (cutsHere) cut!.done = true;
      if (cutsHere && cut?.where === 'before COMMIT') {
        client.destroy();
        return;
      }
      // The answer must not come back: the server has it, its client never knows.
      if (cutsHere)
        upstream
          .unpipe(client)
          .once('data', () => client.destroy())
          .resume();
      upstream.write(chunk);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const through = new URL(databaseUrl);
  through.port = String((server.address() as net.AddressInfo).port);

  return {
    url: through.href,
    /** Cuts the next COMMIT on a connection by which the text `of` has come. */
    cutNext(where: Cut, of: string) {
      cut = { where, of: Buffer.from(of), done: false };
    },
    get hasCut() {
      return cut?.done === true;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
