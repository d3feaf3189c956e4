export const isJsonObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The value of a JSON text that people write in a file, with or without a byte order mark.
 * @throws SyntaxError, whose message names the place, and quotes nothing of the text: it may hold a secret
 */
export function readJsonText(text: string): unknown {
  const json = text.replace(/^\uFEFF/, '');
  try {
    return JSON.parse(json);
  } catch (error) {
    const { message } = error as Error;
    const [token] = /^Unexpected token '.+?'(?=, )/su.exec(message) ?? [];
    throw new SyntaxError(token === undefined ? message : `${token} in JSON at ${placeOfToken(json)}`);
  }
}

function hasToken(json: string): boolean {
  try {
    JSON.parse(json);
    return false;
  } catch (error) {
    return (error as Error).message.startsWith('Unexpected token ');
  }
}

/** Finds an unexpected token, whose place JSON.parse does not report: the shortest prefix that has one ends with it. */
function placeOfToken(json: string): string {
  let [without, including] = [0, json.length];
  while (including - without > 1) {
    const middle = (without + including) >> 1;
    if (hasToken(json.slice(0, middle))) including = middle;
    else without = middle;
  }
  const lines = json.slice(0, without).split('\n');
  return `position ${without} (line ${lines.length} column ${(lines.at(-1) as string).length + 1})`;
}
