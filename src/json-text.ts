/**
 * The value of a JSON text that people write in a file, with or without a byte order mark.
 * @throws SyntaxError, whose message quotes nothing of the text: it may hold a secret
 */
export function readJsonText(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new SyntaxError((error as Error).message.replace(/, (\.\.\.)?".*"(\.\.\.)? is not valid JSON$/s, ''));
  }
}
