/** Measures the cost of work and its growth with the input, in processor time, which other load hardly affects. */

const rounds = 7;

/** Microseconds of processor time that `work` takes. */
export function cpuTimeOf(work: () => unknown): number {
  const { user, system } = process.cpuUsage();
  work();
  const used = process.cpuUsage();
  return Math.max(1, used.user + used.system - user - system);
}

/**
 * The least of some alternating rounds of each work, so that compilation, garbage and other load distort none.
 * @param isClear whether a second round is the last
 */
export function leastTimesOf(
  works: readonly (() => unknown)[],
  isClear: (least: number[]) => boolean = () => false,
): number[] {
  const least = works.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < 2 || (round < rounds && !isClear(least)); round++)
    for (const [index, work] of works.entries()) least[index] = Math.min(least[index]!, cpuTimeOf(work));
  return least;
}

/**
 * The factor by which work takes longer for twice the input: 2 if it is linear, 4 if it is quadratic.
 * @param prepare makes the input of a size, and returns the work to measure, of a millisecond or more
 * @param doublings the factor is the mean over so many: the more, the less a disturbance counts
 */
export function growthOf(prepare: (size: number) => () => unknown, size: number, doublings = 1): number {
  const [least, most] = leastTimesOf([prepare(size), prepare(2 ** doublings * size)]);
  return (most! / least!) ** (1 / doublings);
}

/**
 * The factor by which one asynchronous work takes more processor time than the other; the least of some rounds.
 * @param bound a result under half of it is clear: a second round is then the last
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

/**
 * The time that work takes, as a multiple of parsing 700 KB of JSON, which takes some milliseconds.
 * @param bound a result under half of it is clear: a second round is then the last
 */
export function costOf(work: () => unknown, bound = 0): number {
  const isClear = ([taken, unit]: number[]) => taken! < (bound / 2) * unit!;
  const [taken, unit] = leastTimesOf([work, () => JSON.parse(reference)], isClear);
  return taken! / unit!;
}
