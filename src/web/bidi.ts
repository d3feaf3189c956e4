/**
 * Keeps names from reordering the text beside them (Unicode Standard Annex 9). Control characters that change the direction of
 * what follows are removed: browsers order the letters of each script without them. A name written from right to left is
 * isolated, because it would otherwise pull digits that follow, such as a range of times, into its own order.
 */
const turns = /[\u202a-\u202e\u2066-\u2069]/g;
const [isolate, end] = ['\u2068', '\u2069'];
const isolated = /\u2068[^\u202a-\u202e\u2066-\u2069]*\u2069/g;
/** Hebrew, Arabic and the other scripts of the blocks that Unicode reserves for this direction. */
const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

export const withoutTurns = (text: string): string => text.replace(turns, '');

/** A text that does not reorder its neighbours; isolated names in it stay isolated. */
export function inPlace(text: string): string {
  const own = text.match(isolated) ?? [];
  const others = text.split(isolated).map(withoutTurns);
  return others.some((other) => rightToLeft.test(other))
    ? `${isolate}${withoutTurns(text)}${end}`
    : others.map((other, at) => other + (own[at] ?? '')).join('');
}

/** A template whose values do not reorder their neighbours. */
export const line = (texts: TemplateStringsArray, ...values: string[]): string =>
  String.raw({ raw: texts }, ...values.map(inPlace));
