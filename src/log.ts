import { createRequire } from 'node:module';
import tty from 'node:tty';
import { format } from 'node:util';
import { type DestinationStream, type Logger, pino } from 'pino';
import type { prettyFactory } from 'pino-pretty';
import { inItsLines, withEscapes } from './printing.ts';
import { traceFields } from './tracing.ts';

export type Log = Logger;

/** Replaces a JWT: three parts with dots between them, the first of which begins with `eyJ`, which is `{"` in base64. */
function withoutJwt(run: string): string {
  const parts = run.split('.');
  const first = parts.findIndex((part, at) => parts[at + 1] && parts[at + 2] && /\beyJ/.test(part));
  if (first < 0) return run;
  return [...parts.slice(0, first), parts[first]!.replace(/\beyJ.*/, '[token]')].join('.');
}

/**
 * Patterns of secrets, which are never logged: PINs, tokens, passwords, and secrets of callbacks. Each takes time linear in the
 * length of the text. The last element, if any, is a cheaper test that the text must pass first.
 */
const secretTexts: [RegExp, string | ((found: string) => string), RegExp?][] = [
  [
    /"(pin|apikey|token|access_token|secret|client_?secret|clientstate|password|pepper|authorization|cookie)":(?:"[^"\\]*(?:\\.[^"\\]*)*"?|\[[^\]]*\]?|-?[\d.]+)/gis,
    '"$1":"[secret]"',
  ],
  [/\b[0-9A-HJKMNP-TV-Z]{5}(-[0-9A-HJKMNP-TV-Z]{5}){3}\b/gi, '[pin]', /-[0-9A-Z]{5}-/i],
  [/\brgd_[\w-]{43}/g, '[token]'],
  [/[\w.-]{20,}/g, withoutJwt, /eyJ/],
  [/\b(Basic|Bearer) (?=\S*[A-Z\d=+/])[\w.~+/-]{4,}=*/g, '$1 [secret]'],
  // The two secrets of a mail subscription.
  [/\b[1-9]\d{0,9}\.[\w-]{43}(?![\w-])/g, '[secret]'],
  [/(\/\/[^/:@\s]+:)[^@/\s]+@/g, '$1[secret]@'],
  [/\b(k|token|apikey|client_secret)=[^&\s"]+/gi, '$1=[secret]'],
];

export function withoutSecrets(text: string): string {
  return secretTexts.reduce(
    (cleaned, [pattern, replacement, sign]) =>
      sign === undefined || sign.test(cleaned) ? cleaned.replace(pattern, replacement as string) : cleaned,
    text,
  );
}

const breaks = new Set(' \t\r\n"\'<>()[]{},;&?');

/** The beginning of a text, cut between words: half a secret would not be recognised. */
export function beginningOf(text: string, most: number): string {
  if (text.length <= most) return text;
  let end = most;
  while (end > 0 && !breaks.has(text.charAt(end))) end--;
  return `${text.slice(0, end)}…`;
}

/** An instant to the second: 2026-11-27T13:45:10Z. */
export const toSecond = (at: Date): string => at.toISOString().replace(/\.\d+Z$/, 'Z');

const longestLine = 16_000;
const longestText = 4_000;

/** Cuts the long texts of a line that is too long. */
function shorten(line: string): string {
  if (line.length <= longestLine) return line;
  const cut = (_name: string, value: unknown) => (typeof value === 'string' ? beginningOf(value, longestText) : value);
  return `${JSON.stringify(JSON.parse(line), cut)}\n`;
}

/** Formats lines for a terminal. Successful requests are shown only at the level `debug`. */
export function readableLines(level: string): (line: string) => string {
  // Loaded here: most processes write to no terminal.
  const pretty = createRequire(import.meta.url)('pino-pretty') as { prettyFactory: typeof prettyFactory };
  const format = pretty.prettyFactory({
    colorize: false,
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss',
    messageFormat: false,
  });
  const showsRequests = level === 'debug' || level === 'trace';
  return (line) => {
    const told = JSON.parse(line) as { msg?: string; status?: number };
    if (!showsRequests && told.msg === 'request' && Number(told.status) < 500) return '';
    return inItsLines(format(told));
  };
}

/** The size of lines that may wait to be written; further ones are lost. */
const mostWaiting = 16 * 1_048_576;
/** Waiting lines are tried again after this time. */
const tryAgainAfterMs = 100;
/** How long a process that ends waits for its reader at a time. */
const waitAtEndMs = 10;
/** How often it waits in a row while its reader takes nothing. */
const waitsForNothing = 50;
const waitsInAll = 500;
const cell = new Int32Array(new SharedArrayBuffer(4));

/** Standard error. The lines of one turn of the event loop are written together, as writes are most of the cost under load. */
function standardError(level: string): DestinationStream {
  // Node.js makes a pipe non-blocking as it opens it: a reader that hangs must not stop the process.
  void process.stderr;
  /** How much was left when the pipe was last full. */
  let waiting = 0;
  const retryEAGAIN = (_full: unknown, written: number, others: number) => {
    waiting = written + others;
    return false;
  };
  const stream = pino.destination({ fd: 2, sync: true, maxLength: mostWaiting, retryEAGAIN });
  let isTriedAgain = false;
  // A full disk, or a full pipe that nobody reads, must not end the process: lines wait until there is room again.
  stream.on('error', () => {
    if (isTriedAgain) return;
    isTriedAgain = true;
    setTimeout(() => {
      isTriedAgain = false;
      stream.write('');
    }, tryAgainAfterMs).unref();
  });
  const format = tty.isatty(2) ? readableLines(level) : (line: string) => line;
  let lines = '';
  function flush(): void {
    if (lines === '') return;
    stream.write(lines);
    lines = '';
  }
  /** Returns what the reader has left. */
  function writeWaiting(): number {
    waiting = 0;
    stream.write('');
    return waiting;
  }
  process.on('exit', () => {
    flush();
    let left = writeWaiting();
    let [inAll, forNothing] = [0, 0];
    while (left > 0 && inAll++ < waitsInAll && forNothing++ < waitsForNothing) {
      Atomics.wait(cell, 0, 0, waitAtEndMs);
      const before = left;
      left = writeWaiting();
      if (left < before) forNothing = 0;
    }
  });
  return {
    write(line) {
      if (lines === '') setImmediate(flush);
      lines += format(line);
    },
  };
}

const nowhere: DestinationStream = { write() {} };

/**
 * Writes JSON lines to `destination`: standard error by default, so that a command's output stays clean. On a terminal that
 * default writes readable lines.
 */
export function openLog(level: string, destination = level === 'silent' ? nowhere : standardError(level)) {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // Pino accepts undefined, unlike its types say.
      mixin: () => traceFields() as object,
      mixinMergeStrategy: (line, fields: object | undefined) => (fields ? { ...fields, ...line } : line),
    },
    { write: (line: string) => destination.write(withEscapes(withoutSecrets(shorten(line)))) },
  );
}

/** Turns what libraries and Node.js write to standard error into lines of the log. Call it once. */
export function logPrinted(log: Log): void {
  for (const name of ['error', 'warn', 'trace'] as const)
    console[name] = (...words: unknown[]) => log.warn({ printed: format(...words) }, 'a library has something to say');
  // The first listener is Node.js's own, which prints.
  process.removeAllListeners('warning');
  process.on('warning', ({ message, stack }) =>
    log.warn({ printed: message, err: stack }, 'Node.js has something to say'),
  );
}
