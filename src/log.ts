import tty from 'node:tty';
import { type DestinationStream, type Logger, pino } from 'pino';
import { prettyFactory } from 'pino-pretty';

export type Log = Logger;

/** Three parts with dots between them, of which the first begins as `{"` does in base64. */
function withoutJwt(run: string): string {
  const parts = run.split('.');
  const first = parts.findIndex((part, at) => parts[at + 1] && parts[at + 2] && /\beyJ/.test(part));
  if (first < 0) return run;
  return [...parts.slice(0, first), parts[first]!.replace(/\beyJ.*/, '[token]')].join('.');
}

/**
 * What never reaches a line, wherever it stands in a text: PINs, tokens, passwords, and the secrets of callbacks. Each
 * pattern takes time in proportion to the text, whatever that is.
 */
const secretTexts: [RegExp, string | ((found: string) => string)][] = [
  [
    /"(pin|apikey|token|access_token|secret|client_?secret|clientstate|password|pepper|authorization|cookie)":(?:"[^"\\]*(?:\\.[^"\\]*)*"?|\[[^\]]*\]?|-?[\d.]+)/gis,
    '"$1":"[secret]"',
  ],
  [/\b[0-9A-HJKMNP-TV-Z]{5}(-[0-9A-HJKMNP-TV-Z]{5}){3}\b/gi, '[pin]'],
  [/\brgd_[\w-]{43}/g, '[token]'],
  [/[\w.-]{20,}/g, withoutJwt],
  [/\b(Basic|Bearer) (?=\S*[A-Z\d=+/])[\w.~+/-]{4,}=*/g, '$1 [secret]'],
  // The two secrets of a mail subscription.
  [/\b[1-9]\d{0,9}\.[\w-]{43}(?![\w-])/g, '[secret]'],
  [/(\/\/[^/:@\s]+:)[^@/\s]+@/g, '$1[secret]@'],
  [/\b(k|token|apikey|client_secret)=[^&\s"]+/gi, '$1=[secret]'],
];

export function withoutSecrets(text: string): string {
  return secretTexts.reduce((cleaned, [pattern, replacement]) => cleaned.replace(pattern, replacement as string), text);
}

const breaks = new Set(' \t\r\n"\'<>()[]{},;&?');

/** The beginning of a text, cut between two words: half a secret would not be known as one. */
export function beginningOf(text: string, most: number): string {
  if (text.length <= most) return text;
  let end = most;
  while (end > 0 && !breaks.has(text.charAt(end))) end--;
  return `${text.slice(0, end)}…`;
}

const longestLine = 16_000;
const longestText = 4_000;

/** Of a long line the texts are cut. */
function shorten(line: string): string {
  if (line.length <= longestLine) return line;
  const cut = (_name: string, value: unknown) => (typeof value === 'string' ? beginningOf(value, longestText) : value);
  return `${JSON.stringify(JSON.parse(line), cut)}\n`;
}

/** Lines for people at a terminal, who are not told of each request that went well unless they ask for `debug`. */
export function readableLines(level: string): (line: string) => string {
  const format = prettyFactory({
    colorize: false,
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss',
    messageFormat: false,
  });
  const showsRequests = level === 'debug' || level === 'trace';
  return (line) => {
    const told = JSON.parse(line) as { msg?: string; status?: number };
    if (!showsRequests && told.msg === 'request' && Number(told.status) < 500) return '';
    return format(told);
  };
}

/** Standard error, where the lines of one turn of the event loop are one write: under load that is most of their cost. */
function standardError(level: string): DestinationStream {
  const stream = pino.destination({ fd: 2, sync: true });
  const format = tty.isatty(2) ? readableLines(level) : (line: string) => line;
  let lines = '';
  function flush(): void {
    if (lines === '') return;
    stream.write(lines);
    lines = '';
  }
  process.on('exit', flush);
  return {
    write(line) {
      if (lines === '') setImmediate(flush);
      lines += format(line);
    },
  };
}

/**
 * JSON lines on `destination`: standard error by default, so that a command's output stays clean. Where that is a terminal,
 * lines that people read.
 */
export function openLog(level: string, destination: DestinationStream = standardError(level)) {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => destination.write(withoutSecrets(shorten(line))) },
  );
}
