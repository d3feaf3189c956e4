/**
 * Answers clients that end their side of the connection once they have sent their requests, as `nc -N` and tunnels do. To TCP a
 * client that has gone looks the same, until it is sent something: it then answers with a reset.
 */
import type { Server } from 'node:http';
import { type AnsweringSocket, isStreaming } from './stalled.ts';

/** Milliseconds after which the reset has arrived. */
const resetWithin = 100;

/** Clients read any number of these before their answer (RFC 9110, 15.2). */
const interim = 'HTTP/1.1 100 Continue\r\n\r\n';

function probe(this: AnsweringSocket): void {
  const { answering, unanswered } = this;
  if (!answering) return;
  // A stream would never learn that its client has gone.
  if (isStreaming(answering)) return void this.end();
  const canProbe = () => this.answering === answering && unanswered === 1 && !answering.headersSent && this.writable;
  if (answering.req.httpVersion === '1.0' || !canProbe()) return;
  this.write(interim);
  // After a reset, the second write fails and closes the connection: the system does not report it earlier.
  setTimeout(() => {
    if (canProbe()) this.write(interim);
  }, resetWithin).unref();
}

export function answerHalfClosed(server: Server): void {
  // Node.js has no documented name for this; without it, it ends its side as well.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on('connection', (connection: AnsweringSocket) => connection.on('end', probe));
}
