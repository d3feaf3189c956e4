/**
 * Subscriptions over HTTP: the distinct connections mode of the GraphQL over SSE protocol. A reader gets one frame at a time.
 * A reader that does not read gets no more frames; when it reads again it gets the latest state, unless it was cut. There may
 * be thousands, so each takes little more memory than `Reader`, and a frame allocates nothing per reader.
 */
import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import { openSlices } from '../flow/slices.ts';
import { workFor } from '../flow/working.ts';
import type { Log } from '../log.ts';
import { completeText, type Event, eventOf, eventStream, toEvent, withoutChunk } from './execution.ts';
import type { Frames } from './frames.ts';

const headers = {
  'Content-Type': eventStream,
  // Proxies must neither buffer nor compress the stream.
  'X-Accel-Buffering': 'no',
  'Content-Encoding': 'none',
};

/** Headers for documents in a browser, which a stream does not need. */
const ofDocuments = [
  'Content-Security-Policy',
  'Cross-Origin-Opener-Policy',
  'Origin-Agent-Cluster',
  'Referrer-Policy',
  'X-DNS-Prefetch-Control',
  'X-Download-Options',
  'X-Frame-Options',
  'X-Permitted-Cross-Domain-Policies',
  'X-XSS-Protection',
];

/**
 * Frees the head of an answer after it was sent. Node.js keeps it as a text and as a list of headers until the answer
 * ends: 2 kB for each stream. There is no API for this, so a test proves that it works.
 */
function forgetHead(response: ServerResponse): void {
  const list = Object.getOwnPropertySymbols(response).find(({ description }) => description === 'kOutHeaders');
  // The text also says that the head was sent.
  Object.assign(response, { _header: 'sent', ...(list && { [list]: null }) });
}

/** Milliseconds of silence after which a comment keeps the connection alive. */
const pingEveryMs = 12_000;
const lookEveryMs = 500;

const pingEvent = toEvent(':\n\n');
const complete = toEvent(completeText);

type Reader = {
  response: ServerResponse;
  /** The socket; or the response, if Node must frame the chunks. */
  sink: Writable;
  isDirect: boolean;
  frames: Frames;
  /** The time of the last write, by performance.now(). */
  wroteAt: number;
  /** Since when the operating system has not taken all that was written; 0 if it has. */
  stuckSince: number;
  /** Whether the next event is still being made. */
  isWaiting: boolean;
  /** The event to write as soon as the operating system takes more. */
  pending: Event | undefined;
  /** Called on news, when the operating system has taken what was written, and when the client has gone. */
  goOn(): void;
};

const after = (pause: Promise<void>, event: Event): Promise<Event> => pause.then(() => event);

type Pause = ReturnType<typeof openSlices>;

function write(reader: Reader, event: Event): void {
  const { sink, isDirect } = reader;
  reader.wroteAt = performance.now();
  sink.write(isDirect ? event : withoutChunk(event), 'latin1');
  // Usually the operating system has taken it by now, and nothing needs to be called back, which would cost another turn.
  if (sink.writableLength === 0 || reader.stuckSince) return;
  reader.stuckSince = reader.wroteAt;
  // An empty write is queued behind the waiting data: it calls back once the operating system has taken that.
  sink.write('', 'latin1', reader.goOn);
}

export type EventStreams = {
  /** Answers with frames until they end or the client disconnects. */
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
  /** The readers to cut. */
  const late = new Set<Reader>();
  let cuts = 0;

  /** A pipelined response has no socket before its turn: until then its reader cannot take anything. */
  const isLate = ({ response, stuckSince }: Reader, now: number) =>
    stuckSince > 0 && response.socket !== null && now - stuckSince >= stalledAfter;

  const isSilent = ({ stuckSince, wroteAt }: Reader, now: number) => !stuckSince && now - wroteAt >= pingEveryMs;

  /** In slices: thousands that connect or get a frame at one instant also fall due together. */
  async function ping(silent: readonly Reader[]): Promise<void> {
    const pause = openSlices();
    for (const reader of silent) {
      const paused = pause();
      if (paused !== undefined) await paused;
      if (readers.has(reader) && isSilent(reader, performance.now())) write(reader, pingEvent);
    }
  }

  const looking = setInterval(() => {
    const now = performance.now();
    const silent: Reader[] = [];
    for (const reader of readers)
      if (isSilent(reader, now)) silent.push(reader);
      else if (isLate(reader, now)) {
        if (late.size === 0) setImmediate(cutNext);
        late.add(reader);
      }
    void ping(silent);
  }, lookEveryMs).unref();

  /** Cuts one reader in each turn of the event loop, as the operating system frees megabytes for each. */
  function cutNext(): void {
    const [reader] = late;
    if (!reader) return;
    late.delete(reader);
    // By now it is known what was taken while this process was busy.
    if (isLate(reader, performance.now()) && readers.delete(reader)) {
      cuts++;
      // A reset also drops the data that the operating system still holds for the reader.
      reader.response.socket?.resetAndDestroy();
    }
    if (late.size > 0) setImmediate(cutNext);
  }

  function sendHeaders(response: ServerResponse): void {
    for (const name of ofDocuments) response.removeHeader(name);
    response.writeHead(200, headers).flushHeaders();
    forgetHead(response);
  }

  function leave(reader: Reader): void {
    readers.delete(reader);
    reader.frames.close();
  }

  function finish(reader: Reader): void {
    leave(reader);
    write(reader, complete);
    reader.response.end();
  }

  /**
   * Writes frames for as long as the operating system takes them: the first at once, and those that are there behind it in
   * slices, as a board has one for each of its rooms.
   */
  function writeSome(reader: Reader, slice?: Pause): void {
    for (let pause = slice, isFirst = true; !reader.stuckSince && !reader.isWaiting; isFirst = false) {
      const execution = reader.frames.take();
      if (!execution) {
        if (reader.frames.isOver) finish(reader);
        return;
      }
      const event = eventOf(execution);
      if (event instanceof Promise) waitFor(reader, event, pause);
      else {
        const paused = isFirst ? undefined : workFor(reader.frames.mandatorId, (pause ??= openSlices()));
        if (!paused) write(reader, event);
        else waitFor(reader, after(paused, event), pause);
      }
    }
  }

  function waitFor(reader: Reader, coming: Promise<Event>, pause: Pause | undefined): void {
    reader.isWaiting = true;
    coming.then(
      (ready) => {
        reader.isWaiting = false;
        // Not written here: a ping may have filled the buffers meanwhile.
        reader.pending = ready;
        goOn(reader, pause);
      },
      (error: Error) => fail(reader, error),
    );
  }

  function fail(reader: Reader, error: Error): void {
    log.error({ err: error.stack }, 'unexpected error in a stream');
    leave(reader);
    reader.response.destroy();
  }

  /** @param slice in which a run of frames goes on */
  function goOn(reader: Reader, slice?: Pause): void {
    const { response, sink, pending } = reader;
    if (response.closed) leave(reader);
    if (!readers.has(reader)) return;
    if (reader.stuckSince) {
      if (sink.writableLength > 0) return;
      reader.stuckSince = 0;
    }
    try {
      reader.pending = undefined;
      if (pending) write(reader, pending);
      writeSome(reader, slice);
    } catch (error) {
      fail(reader, error as Error);
    }
  }

  return {
    serve(response, frames) {
      sendHeaders(response);
      const { socket, chunkedEncoding } = response;
      // Directly, as Node makes three writes of a chunk. A pipelined response has no socket before its turn.
      const isDirect = chunkedEncoding && socket !== null;
      const reader: Reader = {
        response,
        sink: isDirect ? socket : response,
        isDirect,
        frames,
        wroteAt: 0,
        stuckSince: 0,
        isWaiting: false,
        pending: undefined,
        goOn: () => goOn(reader),
      };
      readers.add(reader);
      response.on('close', reader.goOn);
      frames.onNews = reader.goOn;
      // Some browsers report a response only once it has content.
      write(reader, pingEvent);
      reader.goOn();
    },
    stalledCount: () => [...readers].filter(({ stuckSince }) => stuckSince > 0).length,
    cutCount: () => cuts,
    close: () => clearInterval(looking),
  };
}
