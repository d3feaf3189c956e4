/**
 * Answers clients that end their side of the connection once they have sent their requests, as `nc -N` and tunnels do. To TCP a
 * client that has gone looks the same, until it is sent something: it then answers with a reset.
 */
import type { Server } from 'node:http';
import type { AnsweringSocket } from './stalled.ts';

/** Milliseconds until the client is sent something again; twice as many each time, as it may be far away, or behind a proxy. */
const firstPause = 100;

/** Clients read any number of these before their answer (RFC 9110, 15.2). */
const interim = 'HTTP/1.1 100 Continue\r\n\r\n';

function probe(this: AnsweringSocket): void {
  const { answering, unanswered } = this;
  if (!answering) return;
  // A stream, of which no length is told, would be sent to nobody.
  if (answering.headersSent && answering.socket && !answering.hasHeader('Content-Length')) return void this.end();
  const canProbe = () => this.answering === answering && unanswered === 1 && !answering.headersSent && this.writable;
  if (answering.req.httpVersion === '1.0') return;
  let pause = firstPause;
  // After a reset, the next write fails and closes the connection: the system does not report it earlier.
  const again = () => {
    if (!canProbe()) return;
    this.write(interim);
    setTimeout(again, pause).unref();
    pause *= 2;
  };
  again();
}

export function answerHalfClosed(server: Server): void {
  // Node.js has no documented name for this; without it, it ends its side as well.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on('connection', (connection: AnsweringSocket) => connection.on('end', probe));
}
