/** Lists and records in the audit, which has them as JSON, and cuts long ones. */

/** Acts of the API have members in camel case, acts with tenant files and profiles in Pascal case. */
const parse = (text: string): unknown =>
  JSON.parse(text.replace(/"([A-Z])(\w*)":/g, (_, first: string, rest: string) => `"${first.toLowerCase()}${rest}":`));

/** JSON that was cut anywhere, closed after the last whole record of a list or, without one, the last whole member. */
function closed(text: string): string {
  const open: string[] = [];
  let isText = false;
  let whole = '';
  let members = '';
  for (let at = 0; at < text.length; at++) {
    const sign = text[at] as string;
    if (isText) {
      if (sign === '\\') at++;
      else if (sign === '"') isText = false;
    } else if (sign === '"') isText = true;
    else if (sign === '[' || sign === '{') open.push(sign === '[' ? ']' : '}');
    else if (sign === ']' || sign === '}') {
      open.pop();
      if (sign === '}' && open.at(-1) === ']') whole = text.slice(0, at + 1) + open.toReversed().join('');
    } else if (sign === ',' && open.length === 1 && open[0] === '}') members = `${text.slice(0, at)}}`;
  }
  return whole.length > members.length ? whole : members;
}

/**
 * What the JSON says, and whether it says all. Of long lists it has only entries that differ, and `…` after them; releases
 * before cut it at any place.
 * @returns undefined if nothing whole is left
 */
export function readJson(text: string): { value: unknown; isCut: boolean } | undefined {
  const isCut = text.endsWith('…');
  const kept = isCut ? text.slice(0, -1) : text;
  for (const candidate of [kept, closed(kept)])
    try {
      return { value: parse(candidate), isCut };
    } catch {
      // It was cut within.
    }
  return undefined;
}

type Values = { from: string | null; to: string | null };

/** Of two lists only the entries that differ, as a whole list hides what was added. */
export function withoutShared({ from, to }: Values): Values {
  const [before, after] = [from, to].map((text) => (text?.startsWith('[') ? readJson(text) : undefined));
  if (!Array.isArray(before?.value) || !Array.isArray(after?.value)) return { from, to };
  // What is missing at the end of one need not differ.
  if (before.isCut || after.isCut) return { from, to };
  const [one, other] = [before, after].map(({ value }) => (value as unknown[]).map((entry) => JSON.stringify(entry)));
  const alone = (list: readonly string[] = [], others: readonly string[] = []) =>
    `[${list.filter((entry) => !others.includes(entry)).join()}]`;
  const differing = { from: alone(one, other), to: alone(other, one) };
  // Only their order differs.
  return differing.from === '[]' && differing.to === '[]' ? { from, to } : differing;
}
