import { once } from 'node:events';
import net from 'node:net';

export type Wire = Awaited<ReturnType<typeof openWire>>;

/** Where a connection is cut when a COMMIT comes by: before the server gets it, or before its answer comes back. */
type Cut = 'before COMMIT' | 'after COMMIT';

const commit = Buffer.from('commit\0');

/** A TCP proxy to the server of `databaseUrl` that can cut connections around a COMMIT. */
export async function openWire(databaseUrl: string) {
  const target = new URL(databaseUrl);
  const sockets = new Set<net.Socket>();
  let cut: { where: Cut; left: number } | undefined;

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
    client.on('data', (chunk) => {
      if (!cut || cut.left === 0 || !chunk.includes(commit)) return void upstream.write(chunk);
      cut.left--;
      if (cut.where === 'before COMMIT') return client.destroy();
      // The answer must not come back: the server has it, its client never knows.
      upstream.unpipe(client);
      upstream.write(chunk);
      upstream.once('data', () => client.destroy());
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const through = new URL(databaseUrl);
  through.port = String((server.address() as net.AddressInfo).port);

  return {
    url: through.href,
    /** Cuts the connections of the next `times` COMMITs. */
    cutNext(where: Cut, times = 1) {
      cut = { where, left: times };
    },
    /** How many cuts are still to come. */
    get left() {
      return cut?.left ?? 0;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
