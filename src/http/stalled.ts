/** Disconnects clients that stop reading their answers, which would otherwise stay in memory. */
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * A connection with its response in progress. It is a property of the connection, not a member of a set: V8 keeps what has
 * left a set, and all that is reachable from it, until the next full collection.
 */
export type AnsweringSocket = Socket & {
  answering?: ServerResponse | undefined;
  /** How many of its requests have come and not been answered; more than one where the client pipelines. */
  unanswered?: number;
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
      // Of all timers only this one counts what the system has taken of a write that is under way.
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
