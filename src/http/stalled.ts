/** Disconnects clients that stop reading their answers, which would otherwise stay in memory. */
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * A connection with its response in progress. This is a property of the connection, because V8 keeps what was removed
 * from a set, and all that is reachable from it, until the next full collection.
 */
export type AnsweringSocket = Socket & {
  answering?: ServerResponse | undefined;
  /** The number of its requests that are not answered yet; more than one if the client pipelines. */
  unanswered?: number;
  /** The number of its requests whose heads have been read. */
  begun?: number;
};

/** The most milliseconds between two looks at the connections. */
const lookEvery = 5_000;

/**
 * Disconnects readers that have read nothing for `stalledAfter` milliseconds. Streams watch their own readers (graphql/sse.ts).
 * @returns a function that ends this
 */
export function cutStalled(server: Server, connections: Iterable<AnsweringSocket>, stalledAfter: number): () => void {
  function look(): void {
    for (const connection of connections) {
      const { answering, timeout, writableLength } = connection;
      // The stream of a pipelined request has no socket before its turn.
      const isStream = answering?.chunkedEncoding && answering.socket !== null;
      if (!answering || isStream || writableLength === 0 || timeout === stalledAfter) continue;
      // Only this timer notices that the system takes parts of a write under way.
      connection.setTimeout(stalledAfter);
    }
  }
  server.on('timeout', (connection: AnsweringSocket) => {
    // It was idle for `keepAliveTimeout`.
    if (!connection.answering) connection.destroy();
    // A reset also drops what the system still holds.
    else if (connection.writableLength > 0) connection.resetAndDestroy();
  });
  const looking = setInterval(look, Math.min(lookEvery, stalledAfter / 2)).unref();
  return () => clearInterval(looking);
}
