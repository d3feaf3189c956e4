/** Answers connections that bring no request in time, or bytes that are none, as Node.js does, but only after it has read them. */
import type { IncomingMessage, Server } from 'node:http';
import { nodeHttp } from './node-http.ts';
import type { AnsweringSocket } from './stalled.ts';

const tooLate = 'ERR_HTTP_REQUEST_TIMEOUT';

const statusOf = (code: string | undefined): number =>
  ({ HPE_HEADER_OVERFLOW: 431, HPE_CHUNK_EXTENSIONS_OVERFLOW: 413, [tooLate]: 408 })[code ?? ''] ?? 400;

function refuse(connection: AnsweringSocket, error: NodeJS.ErrnoException): void {
  const { answering, unanswered = 0 } = connection;
  // Nothing is written into the midst of an answer.
  if (connection.writable && (!answering || (unanswered === 1 && !answering.headersSent))) {
    const status = statusOf(error.code);
    connection.write(`HTTP/1.1 ${status} ${nodeHttp.STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`);
  }
  connection.destroy(error);
}

function countBegun({ socket }: IncomingMessage): void {
  const connection: AnsweringSocket = socket;
  connection.begun = (connection.begun ?? 0) + 1;
}

/** Call it before other listeners are set. */
export function answerClientErrors(server: Server): void {
  server.on('request', countBegun).on('upgrade', countBegun);
  server.on('clientError', (error: NodeJS.ErrnoException, connection: AnsweringSocket) => {
    if (error.code !== tooLate) return refuse(connection, error);
    // Node.js looks for late clients before it reads what arrived while this process was busy or suspended. It reports a late
    // head once, so one behind a request that is being answered is refused after that.
    const { begun } = connection;
    setImmediate(function look() {
      if (connection.begun !== begun) return;
      if (connection.answering) connection.answering.once('close', look);
      else refuse(connection, error);
    });
  });
}
