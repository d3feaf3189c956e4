import { type DestinationStream, type Logger, pino } from 'pino';

export type Log = Logger;

/** What never reaches a line, wherever it stands in a text: PINs, tokens, passwords, and the secrets of callbacks. */
const secretTexts: [RegExp, string][] = [
  [
    /"(pin|apikey|token|access_token|secret|client_?secret|clientstate|password|pepper|authorization|cookie)":(?:"(?:[^"\\]|\\.)*"|\[[^\]]*\]|-?[\d.]+)/gi,
    '"$1":"[secret]"',
  ],
  [/\b[0-9A-HJKMNP-TV-Z]{5}(-[0-9A-HJKMNP-TV-Z]{5}){3}\b/gi, '[pin]'],
  [/\brgd_[\w-]{43}/g, '[token]'],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, '[token]'],
  [/\b(Basic|Bearer) (?=\S*[A-Z\d=+/])[\w.~+/-]{4,}=*/g, '$1 [secret]'],
  // The two secrets of a mail subscription.
  [/\b[1-9]\d{0,9}\.[\w-]{43}(?![\w-])/g, '[secret]'],
  [/(\/\/[^/:@\s]+:)[^@/\s]+@/g, '$1[secret]@'],
  [/\b(k|token|apikey|client_secret)=[^&\s"]+/gi, '$1=[secret]'],
];

export function withoutSecrets(text: string): string {
  return secretTexts.reduce((cleaned, [pattern, replacement]) => cleaned.replace(pattern, replacement), text);
}

/** Standard error, where the lines of one turn of the event loop are one write: under load that is most of their cost. */
function standardError(): DestinationStream {
  const stream = pino.destination({ fd: 2, sync: true });
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
      lines += line;
    },
  };
}

/** JSON lines on `destination` (standard error by default, so that a command's output stays clean). */
export function openLog(level: string, destination: DestinationStream = standardError()) {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => destination.write(withoutSecrets(line)) },
  );
}
