/**
 * Decodes the text of a file: its encoding is detected, and files that are not text are refused. For the server, and for the
 * console, which shows and corrects the same text.
 */

/** Reads the bytes of a file from its beginning, as often as it is called. */
export type ReadBytes = () => AsyncIterable<Uint8Array>;

export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';

/** Why a file is no text. */
export class BadText extends Error {
  readonly code: string;
  readonly line: number;
  constructor(code: string, line: number, message: string) {
    super(message);
    this.code = code;
    this.line = line;
  }
}

/** The first bytes of common files that are not text, with a description and a remedy. */
const others: readonly [bytes: readonly number[], what: string, remedy: string][] = [
  [[0xff, 0xfe, 0, 0], 'text in UTF-32', 'save it as UTF-8'],
  [[0, 0, 0xfe, 0xff], 'text in UTF-32', 'save it as UTF-8'],
  [[0x50, 0x4b, 3, 4], 'a ZIP archive or an Excel workbook', 'unpack it, or save the sheet as CSV UTF-8'],
  [[0xd0, 0xcf, 0x11, 0xe0], 'an Excel workbook (.xls)', 'save the sheet as CSV UTF-8'],
  [[0x1f, 0x8b], 'compressed with gzip', 'unpack it first'],
  [[0x25, 0x50, 0x44, 0x46], 'a PDF document', 'export it as text'],
];

const startsWith = (bytes: Uint8Array, start: readonly number[]) => start.every((byte, at) => bytes[at] === byte);

async function firstBytes(read: ReadBytes): Promise<Uint8Array> {
  const bytes: number[] = [];
  for await (const chunk of read()) {
    bytes.push(...chunk.subarray(0, 4 - bytes.length));
    if (bytes.length === 4) break;
  }
  return Uint8Array.from(bytes);
}

/** The byte order mark of UTF-8, and ends of lines. */
const blanks = new Set([0xef, 0xbb, 0xbf, 0x0a, 0x0d]);

/** Whether a file is what Untis exports while there are no substitutions: a GPU014 without lines. */
export async function hasNoSubstitutions(name: string, read: ReadBytes): Promise<boolean> {
  if (!/GPU014/i.test(name)) return false;
  for await (const chunk of read()) if (!chunk.every((byte) => blanks.has(byte))) return false;
  return true;
}

/** Whether the bytes are UTF-8; undefined if only the last character is cut off. */
async function isUtf8(read: ReadBytes): Promise<boolean | undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let isPlain = true;
  try {
    for await (const chunk of read()) {
      isPlain &&= chunk.every((byte) => byte < 0x80);
      decoder.decode(chunk, { stream: true });
    }
  } catch {
    return false;
  }
  try {
    decoder.decode();
    return true;
  } catch {
    return isPlain ? false : undefined;
  }
}

/** The first line that is not UTF-8, if most other letters beyond ASCII are; otherwise undefined. */
async function lineOfDamage(read: ReadBytes): Promise<number | undefined> {
  let [line, first, letters, strays] = [1, 0, 0, 0];
  for await (const piece of decode(read, 'utf-8'))
    for (const character of piece)
      if (character === '\n') line++;
      else if (character === '\ufffd') {
        strays++;
        first ||= line;
      } else if (character > '\x7f') letters++;
  return letters > strays ? first : undefined;
}

/** Bytes that Windows-1252 does not assign. In the code pages of MS-DOS the first of them is an ü. */
const unassigned = new Set([0x81, 0x8d, 0x8f, 0x90, 0x9d]);
/**
 * Characters such as „, ”, § and Ÿ in Windows-1252, which no word has inside; letters such as ä and ö in the code pages of MS-DOS,
 * and ß and ü in that of old Macs.
 */
const marks = new Set([0x82, 0x84, 0x87, 0x88, 0x89, 0x8b, 0x93, 0x94, 0x95, 0x98, 0x99, 0x9f, 0xa7]);
const isPlainLetter = (byte: number) => (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;

/** The first line with a byte that cannot be text in Windows-1252; undefined if there is none. */
async function lineOfOtherPage(read: ReadBytes): Promise<number | undefined> {
  let [line, before, last] = [1, 0, 0];
  for await (const chunk of read())
    for (const byte of chunk) {
      if (unassigned.has(byte)) return line;
      if (marks.has(last) && isPlainLetter(before) && isPlainLetter(byte)) return line;
      if (byte === 0x0a) line++;
      [before, last] = [last, byte];
    }
  return undefined;
}

/**
 * Detects the encoding: by the byte order mark; UTF-8 if all bytes are; otherwise Windows-1252, as western European programs write.
 * @throws BadText
 */
export async function findEncoding(read: ReadBytes): Promise<Encoding> {
  const first = await firstBytes(read);
  if (first.length === 0) throw new BadText('EmptyFile', 1, 'the file is empty; export it again');
  for (const [bytes, what, remedy] of others)
    if (startsWith(first, bytes)) throw new BadText('NoText', 1, `the file is ${what}; ${remedy}`);
  if (startsWith(first, [0xff, 0xfe])) return 'utf-16le';
  if (startsWith(first, [0xfe, 0xff])) return 'utf-16be';
  let line = 1;
  for await (const chunk of read())
    for (let at = 0; at < chunk.length; at++) {
      if (chunk[at] === 0x0a) line++;
      else if (chunk[at] === 0)
        throw new BadText('NoText', line, 'the line contains a NUL byte, so the file is not text; export it again');
    }
  const found = await isUtf8(read);
  if (found === undefined)
    throw new BadText('CutOff', line, 'the file ends inside a character; it was truncated, so export it again');
  if (found) return 'utf-8';
  const damaged = await lineOfDamage(read);
  if (damaged !== undefined)
    throw new BadText('NoText', damaged, 'the line is not UTF-8, unlike most of the file; export all of it as UTF-8');
  const strange = await lineOfOtherPage(read);
  if (strange !== undefined)
    throw new BadText(
      'NoText',
      strange,
      'the line is neither UTF-8 nor Windows-1252, such as text of MS-DOS or an old Mac; export the file as UTF-8',
    );
  return 'windows-1252';
}

/** The text of a file without its byte order mark, piece by piece. */
export async function* decode(read: ReadBytes, encoding: Encoding): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding);
  for await (const chunk of read()) yield decoder.decode(chunk, { stream: true });
  const rest = decoder.decode();
  if (rest) yield rest;
}
