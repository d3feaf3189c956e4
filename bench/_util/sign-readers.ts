/**
 * Readers of door signs in a process of their own: each one SSE connection. Of each frame they read the mark in a subject,
 * `#12@345#`: change 12 of the room, sent at 345 microseconds of the machine's monotonic clock.
 */
import net from 'node:net';

export type Sign = { room: number; token: string };
/** A GraphQL operation, or for the bare server the address of a room. */
export type Asked = { port: number; path: string; query: string };
export type Order =
  /** Opens streams of all signs, or others in the place of the first ones; answers when each has its first frame. */
  | { kind: 'open'; asked: Asked; signs: Sign[] }
  /** Readers that are disconnected reconnect after 0 to `within` seconds. */
  | { kind: 'return'; within: number }
  /** The first ones stop reading; the others continue. */
  | { kind: 'pause'; count: number }
  | { kind: 'close' }
  /** What has been read since the last report. */
  | { kind: 'report' }
  /** How many have not seen these changes, in the order of `rooms`. */
  | { kind: 'check'; rooms: number[]; changes: number[] };

export type Report = {
  frames: number;
  p50: number;
  p99: number;
  max: number;
  /** Changes that a reader has missed between two frames. */
  skipped: number;
};

type Reader = {
  sign: Sign;
  socket: net.Socket | undefined;
  /** The received part of an incomplete event. */
  rest: string;
  /** The number of the last change that was seen. */
  seen: number;
  cursor: string | undefined;
  isPaused: boolean;
  onFirst: () => void;
};

const now = () => Number(process.hrtime.bigint() / 1_000n);
const readers: Reader[] = [];
let asked: Asked;
/** Seconds within which disconnected readers reconnect; undefined: they do not. */
let returning: number | undefined;
let delays: number[] = [];
let skipped = 0;

function requestOf({ sign, cursor }: Reader): string {
  const head = `Host: 127.0.0.1\r\nAuthorization: Bearer ${sign.token}\r\nAccept: text/event-stream\r\n`;
  if (asked.query === '') return `GET ${asked.path}${sign.room} HTTP/1.1\r\n${head}\r\n`;
  const variables = { id: sign.room, after: cursor };
  const body = JSON.stringify({ query: asked.query, variables });
  return `POST ${asked.path} HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

const marks = /#(\d+)@(\d+)#/g;
const cursors = /"cursor":"([^"]+)"/;

function readEvents(reader: Reader, text: string): void {
  const at = now();
  for (const [, number, sentAt] of text.matchAll(marks)) {
    const change = Number(number);
    if (change <= reader.seen) continue;
    if (reader.seen >= 0) {
      delays.push(at - Number(sentAt));
      skipped += change - reader.seen - 1;
    }
    reader.seen = change;
  }
  reader.cursor = cursors.exec(text)?.[1] ?? reader.cursor;
}

function connect(reader: Reader): void {
  const socket = net.connect({ port: asked.port, host: '127.0.0.1', noDelay: true });
  reader.socket = socket;
  reader.rest = '';
  socket.setEncoding('latin1');
  socket.on('connect', () => socket.write(requestOf(reader)));
  socket.on('data', (part: string) => {
    reader.rest += part;
    // Each event ends a chunk.
    if (!part.endsWith('\n\n\r\n')) return;
    const text = reader.rest;
    reader.rest = '';
    if (text.includes('"errors":') || /^HTTP\/1.1 [345]/.test(text)) throw new Error(text);
    readEvents(reader, text);
    if (reader.seen >= 0) reader.onFirst();
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    if (returning !== undefined && reader.socket === socket && !reader.isPaused)
      setTimeout(() => connect(reader), Math.random() * returning * 1_000);
  });
}

/** Opens them in the places from `first` on, some at a time. */
async function open(signs: readonly Sign[]): Promise<void> {
  const opening = signs.map((sign, index) => {
    const reader: Reader = {
      sign,
      socket: undefined,
      rest: '',
      seen: -1,
      cursor: undefined,
      isPaused: false,
      onFirst() {},
    };
    readers[index]?.socket?.destroy();
    readers[index] = reader;
    return reader;
  });
  const waiting = opening.values();
  async function openSome(): Promise<void> {
    for (const reader of waiting) {
      const { promise, resolve } = Promise.withResolvers<void>();
      reader.onFirst = resolve;
      connect(reader);
      await promise;
    }
  }
  await Promise.all(Array.from({ length: 100 }, openSome));
}

function report(): Report {
  delays.sort((one, other) => one - other);
  const at = (part: number) =>
    (delays[Math.min(delays.length - 1, Math.floor(delays.length * part))] ?? Number.NaN) / 1_000;
  const made = { frames: delays.length, p50: at(0.5), p99: at(0.99), max: at(1), skipped };
  delays = [];
  skipped = 0;
  return made;
}

function countBehind(rooms: number[], changes: number[]): number {
  const expected = new Map(rooms.map((room, index) => [room, changes[index] as number]));
  return readers.filter(({ sign, seen, isPaused }) => !isPaused && seen < (expected.get(sign.room) ?? 0)).length;
}

async function obey(order: Order): Promise<Report | number> {
  switch (order.kind) {
    case 'open':
      asked = order.asked;
      await open(order.signs);
      return readers.length;
    case 'return':
      returning = order.within;
      return 0;
    case 'pause':
      for (const reader of readers.slice(0, order.count)) {
        reader.isPaused = true;
        reader.socket?.pause();
      }
      return order.count;
    case 'close':
      for (const { socket } of readers.splice(0)) socket?.destroy();
      return 0;
    case 'report':
      return report();
    case 'check':
      return countBehind(order.rooms, order.changes);
  }
}

process.on('message', async (order: Order) => process.send?.(await obey(order)));
process.on('disconnect', () => process.exit());
