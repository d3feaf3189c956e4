/** Times that the clocks of a zone show twice, as they go back: of two equal ones it has to be said which is meant. Pure, for pages too. */
const minute = 60_000;
/** Longer than clocks have been set back at once since 1970, and shorter than the time between two changes. */
const near = 720 * minute;

/** @param offsetAt by how many milliseconds the clocks are ahead of UTC @returns whether they show this time at another instant too */
export function isShownTwice(offsetAt: (instant: number) => number, instant: number): boolean {
  const local = instant + offsetAt(instant);
  return [instant - near, instant + near].some((at) => {
    const other = local - offsetAt(at);
    return other !== instant && other + offsetAt(other) === local;
  });
}

/** How far clocks are from UTC: UTC+2. */
export function distanceText(offset: number): string {
  const minutes = Math.round(Math.abs(offset) / minute);
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  return `UTC${offset < 0 ? '−' : '+'}${hours}${rest ? `:${String(rest).padStart(2, '0')}` : ''}`;
}
