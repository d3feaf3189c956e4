/** Names of zones for times that the clocks show twice: 02:30 MESZ, then 02:30 MEZ, as in calendar programs. */

/** Countries that speak English know different zones by name. */
const english = ['en-GB', 'en-US', 'en-AU'];
const formats = new Map<string, Intl.DateTimeFormat>();

function nameIn(tag: string, timeZone: string, instant: number): string {
  const key = `${tag} ${timeZone}`;
  let format = formats.get(key);
  if (!format) formats.set(key, (format = new Intl.DateTimeFormat(tag, { timeZone, timeZoneName: 'short' })));
  return format.formatToParts(instant).find(({ type }) => type === 'timeZoneName')?.value ?? '';
}

/** The short name of a zone at an instant: MEZ; where the language has none, its distance: GMT+1. */
export function zoneName(tag: string, timeZone: string, instant: number): string {
  const tags = tag.startsWith('en') ? [tag, ...english] : [tag];
  const names = tags.map((each) => nameIn(each, timeZone, instant));
  return names.find((name) => name && !/\d/.test(name)) ?? names[0] ?? '';
}

/** A time with the name of its zone, which stays in its line. */
export const named = (time: string, name: string): string => `${time}\u00a0${name}`;
