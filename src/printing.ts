/**
 * Prints untrusted texts on a terminal: names from the database, lines of files, answers of servers. Characters that
 * would move, hide or colour the text around them become spaces: control characters, line separators, bidirectional
 * controls (Unicode Standard Annex 9), and invisible ones. Joiners stay, as Persian words and emoji are spelt with
 * them.
 */
const disturbing =
  /[\p{Cc}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]+/gu;

/** A fast path: nearly all texts are plain, and this test takes a third of the time. */
const plain = /^[\n -~]*$/;

/** Replaces each of these characters, but not the ends of lines. */
const inEachLine = (text: string, to: (found: string) => string) =>
  plain.test(text) ? text : text.replace(disturbing, (found) => found.replace(/[^\n]/gu, to));

/** A text that stays within its line. */
export const inOneLine = (text: string): string => text.replace(disturbing, ' ');

/** A text of several lines. */
export const inItsLines = (text: string): string => inEachLine(text, () => ' ');

const escaped = (found: string) =>
  found
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');

/** The same JSON, with these characters as escapes. */
export const withEscapes = (json: string): string => inEachLine(json, escaped);

export const printedJson = (value: unknown, space?: number): string =>
  withEscapes(JSON.stringify(value, undefined, space));
