/**
 * Disjoint ranges of time, in order, as one flat list: begin, end, begin, end, … in milliseconds of Unix time. The list is
 * flat because one answer has hundreds of thousands of ranges.
 */
export type Spans = readonly number[];

/** The parts of `spans` in [from, to). */
export function clip(spans: Spans, from: number, to: number): number[] {
  const clipped: number[] = [];
  for (let at = 0; at < spans.length; at += 2) {
    const begin = Math.max(spans[at] as number, from);
    const end = Math.min(spans[at + 1] as number, to);
    if (begin < end) clipped.push(begin, end);
  }
  return clipped;
}

/** The parts of `open` that are not `busy` and last at least `least` milliseconds, which must be 1 or more. */
export function subtract(open: Spans, busy: Spans, least: number): number[] {
  const free: number[] = [];
  let next = 0;
  for (let at = 0; at < open.length; at += 2) {
    let begin = open[at] as number;
    const end = open[at + 1] as number;
    while (next < busy.length && (busy[next] as number) < end) {
      const [from, to] = [busy[next] as number, busy[next + 1] as number];
      if (from - begin >= least) free.push(begin, from);
      begin = Math.max(begin, to);
      // This busy range may reach into the next open one.
      if (to > end) break;
      next += 2;
    }
    if (end - begin >= least) free.push(begin, end);
  }
  return free;
}
