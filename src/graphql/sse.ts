/**
 * Subscriptions over HTTP: the distinct connections mode of the GraphQL over SSE protocol. A reader is written one frame at
 * a time; one that does not read is not written to, and finds the latest state when it reads again, or is cut.
 */
import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import type { Log } from '../log.ts';
import { type Event, eventOf, toEvent, withoutChunk } from './execution.ts';
import type { Frames } from './frames.ts';

const headers = {
  'Content-Type': 'text/event-stream',
  // No proxy may gather what is written, nor compress it.
  'X-Accel-Buffering': 'no',
  'Content-Encoding': 'none',
};

/** How a browser is to show a document, which this is not: kept for as long as the stream, they are a tenth of it. */
const ofDocuments = [
  ...['Content-Security-Policy', 'Cross-Origin-Opener-Policy', 'Origin-Agent-Cluster', 'Referrer-Policy'],
  ...['X-DNS-Prefetch-Control', 'X-Download-Options', 'X-Frame-Options', 'X-Permitted-Cross-Domain-Policies'],
  'X-XSS-Protection',
];

/** Milliseconds of silence after which a comment shows that the connection lives. */
const pingEvery = 12_000;
const lookEvery = 500;

const ping = toEvent(':\n\n');
const complete = toEvent('event: complete\ndata:\n\n');

type Reader = {
  response: ServerResponse;
  /** The socket, or the answer where Node has to frame what is written. */
  sink: Writable;
  isDirect: boolean;
  /** By performance.now(). */
  wroteAt: number;
  /** Since when the system has not taken all that was written; 0: it has. */
  stuckSince: number;
  /** Goes on with who waits for that. */
  goOn: () => void;
  onTaken(): void;
};

const nothing = () => {};

function openReader(response: ServerResponse): Reader {
  for (const name of ofDocuments) response.removeHeader(name);
  response.writeHead(200, headers).flushHeaders();
  const { socket, chunkedEncoding } = response;
  // Node makes three writes of a chunk. Without the socket it is not this answer's turn yet.
  const isDirect = chunkedEncoding && socket !== null;
  const reader: Reader = {
    response,
    sink: isDirect ? socket : response,
    isDirect,
    wroteAt: 0,
    stuckSince: 0,
    goOn: nothing,
    onTaken() {
      if (reader.sink.writableLength > 0 && !response.closed) return;
      reader.stuckSince = 0;
      reader.goOn();
    },
  };
  // What was not taken by then never will be.
  response.on('close', reader.onTaken);
  return reader;
}

function write(reader: Reader, event: Event): void {
  const { sink, isDirect } = reader;
  reader.wroteAt = performance.now();
  sink.write(isDirect ? event : withoutChunk(event), reader.onTaken);
  // As a rule the system has it by now.
  if (sink.writableLength > 0) reader.stuckSince ||= reader.wroteAt;
}

const taken = (reader: Reader) => new Promise<void>((resolve) => (reader.goOn = resolve));

export type EventStreams = {
  /** Answers with frames until they end or the client has gone. */
  serve(response: ServerResponse, frames: Frames): void;
  /** How many readers take nothing at the moment. */
  stalledCount(): number;
  /** How many were cut because they did not read. */
  cutCount(): number;
  close(): void;
};

/** @param stalledAfter milliseconds after which a reader that takes nothing is cut */
export function createEventStreams(log: Log, stalledAfter: number): EventStreams {
  const readers = new Set<Reader>();
  let cuts = 0;

  const looking = setInterval(() => {
    const now = performance.now();
    for (const reader of readers)
      if (!reader.stuckSince) {
        if (now - reader.wroteAt >= pingEvery) write(reader, ping);
      } else if (now - reader.stuckSince >= stalledAfter) {
        cuts++;
        readers.delete(reader);
        // Unlike an orderly end it leaves nothing with the system that waits to be read.
        reader.response.socket?.resetAndDestroy();
      }
  }, lookEvery).unref();

  async function send(reader: Reader, frames: Frames): Promise<void> {
    const { response } = reader;
    // Some browsers show nothing of an answer before there is some content.
    write(reader, ping);
    for (;;) {
      if (reader.stuckSince) await taken(reader);
      const execution = await frames.next();
      if (response.closed) return;
      if (!execution) break;
      const event = eventOf(execution);
      const ready = event instanceof Promise ? await event : event;
      // By a ping.
      if (reader.stuckSince) await taken(reader);
      if (response.closed) return;
      write(reader, ready);
    }
    write(reader, complete);
    response.end();
  }

  return {
    serve(response, frames) {
      const reader = openReader(response);
      readers.add(reader);
      const leave = () => {
        readers.delete(reader);
        frames.leave();
      };
      send(reader, frames)
        .catch((error: Error) => {
          log.error({ err: error.stack }, 'unexpected error in a stream');
          response.destroy();
        })
        .finally(leave);
    },
    stalledCount: () => [...readers].filter(({ stuckSince }) => stuckSince > 0).length,
    cutCount: () => cuts,
    close: () => clearInterval(looking),
  };
}
