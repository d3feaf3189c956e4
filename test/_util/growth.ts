/** What work costs, and how that grows with its input: told by processor time, which a busy machine leaves alone. */

const rounds = 7;

/** Microseconds of processor time that `work` takes. */
function cpuTimeOf(work: () => unknown): number {
  const { user, system } = process.cpuUsage();
  work();
  const used = process.cpuUsage();
  return Math.max(1, used.user + used.system - user - system);
}

/** The least of some rounds of each, which take turns: compilation, garbage and other load then weigh on none. */
function leastTimesOf(works: readonly (() => unknown)[]): number[] {
  const least = works.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < rounds; round++)
    for (const [index, work] of works.entries()) least[index] = Math.min(least[index]!, cpuTimeOf(work));
  return least;
}

/**
 * How many times as long work takes for twice the input: 2 where it is linear, 4 where it is quadratic.
 * @param prepare makes the input of a size, and gives the work to be measured: a millisecond of it or more
 */
export function growthOf(prepare: (size: number) => () => unknown, size: number): number {
  const [once, twice] = leastTimesOf([prepare(size), prepare(2 * size)]);
  return twice! / once!;
}

const reference = JSON.stringify(Array.from({ length: 50_000 }, (_, index) => ({ at: index })));

/** How many times as long work takes as reading 700 KB of JSON does, which is some milliseconds. */
export function costOf(work: () => unknown): number {
  const [taken, unit] = leastTimesOf([work, () => JSON.parse(reference)]);
  return taken! / unit!;
}
