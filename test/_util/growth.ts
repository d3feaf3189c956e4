/** What work costs, and how that grows with its input: told by processor time, which a busy machine leaves alone. */

const rounds = 7;

/** Microseconds of processor time that `work` takes. */
export function cpuTimeOf(work: () => unknown): number {
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
 * @param doublings over how many of them it is told on average: the more, the less a disturbance counts
 */
export function growthOf(prepare: (size: number) => () => unknown, size: number, doublings = 1): number {
  const [least, most] = leastTimesOf([prepare(size), prepare(2 ** doublings * size)]);
  return (most! / least!) ** (1 / doublings);
}

/**
 * How many times as much processor time one work takes as the other, of what waits in between; the least of some rounds.
 * @param bound under half of which nothing more is to be found out: a second round is then the last
 */
export async function ratioOf(
  work: () => Promise<unknown>,
  other: () => Promise<unknown>,
  bound: number,
): Promise<number> {
  const least: [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < 2 || (round < rounds && least[0] > (bound / 2) * least[1]); round++)
    for (const [index, one] of [work, other].entries()) {
      const before = process.cpuUsage();
      await one();
      const { user, system } = process.cpuUsage(before);
      least[index] = Math.min(least[index]!, user + system);
    }
  return least[0] / least[1];
}

const reference = JSON.stringify(Array.from({ length: 50_000 }, (_, index) => ({ at: index })));

/** How many times as long work takes as reading 700 KB of JSON does, which is some milliseconds. */
export function costOf(work: () => unknown): number {
  const [taken, unit] = leastTimesOf([work, () => JSON.parse(reference)]);
  return taken! / unit!;
}
