import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';

/**
 * A TCP proxy to a server on this machine that can be cut: nothing passes any more, and neither side is told.
 * @param to the URL of the server, of any scheme
 */
export async function layCable(to: string) {
  const { port: target, hostname } = new URL(to);
  let isCut = false;
  let opened = 0;
  const sockets = new Set<Socket>();
  const stranded = new WeakSet<Socket>();
  const passes = (socket: Socket) => !isCut && !stranded.has(socket);
  const server = net.createServer((near) => {
    opened += 1;
    const far = net.connect(Number(target), hostname);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        if (passes(socket)) other.destroy();
      });
      socket.on('data', (chunk) => {
        if (passes(socket)) other.write(chunk);
      });
      socket.on('end', () => {
        if (passes(socket)) other.end();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const drop = () => {
    for (const socket of sockets) socket.destroy();
  };
  const through = new URL(to);
  through.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    /** The URL `to`, through the proxy. */
    url: through.href.replace(/\/$/, ''),
    /** How many connections have been opened through the proxy. */
    opened: () => opened,
    /** Whether no connection is open through the proxy. */
    isIdle: () => sockets.size === 0,
    /** Cuts the open connections; later ones work. */
    strand() {
      for (const socket of sockets) stranded.add(socket);
    },
    cut() {
      isCut = true;
    },
    /** Closes the connections that were cut. */
    mend() {
      if (isCut) drop();
      isCut = false;
    },
    async close() {
      drop();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export type Cable = Awaited<ReturnType<typeof layCable>>;
