/**
 * Disjoint ranges of time, in order, as one flat list: begin, end, begin, end, … in milliseconds of Unix time. The list is
 * flat because one answer has hundreds of thousands of ranges.
 */
export type Spans = readonly number[];

/** Of PostgreSQL's time, in milliseconds of Unix time. */
const epoch = Date.UTC(2000, 0, 1);
const uint32 = 2 ** 32;

const toMilliseconds = (microseconds: number) => Math.round(microseconds / 1_000) + epoch;

/**
 * Reads ranges as PostgreSQL sends them in binary, in hexadecimal digits: begin, end, begin, end, … each in 8 bytes. They come in
 * any order; those that overlap or touch become one.
 */
export function readRanges(digits: string): number[] {
  // Its own memory, which begins where a view of 32 bits may.
  const bytes = Buffer.alloc(digits.length / 2);
  bytes.write(digits, 'hex');
  bytes.swap64();
  const low = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const high = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const count = bytes.length / 16;
  const [begins, ends] = [new Float64Array(count), new Float64Array(count)];
  let isSorted = true;
  for (let at = 0; at < count; at++) {
    begins[at] = (high[4 * at + 1] as number) * uint32 + (low[4 * at] as number);
    ends[at] = (high[4 * at + 3] as number) * uint32 + (low[4 * at + 2] as number);
    if (at > 0 && (begins[at] as number) < (ends[at - 1] as number)) isSorted = false;
  }
  if (!isSorted) {
    // Sorted apart they still tell where there is a gap: where all that has begun has ended.
    begins.sort();
    ends.sort();
  }
  const spans: number[] = [];
  for (let at = 0; at < count; at++) {
    const begin = begins[at] as number;
    while (at + 1 < count && (begins[at + 1] as number) <= (ends[at] as number)) at++;
    spans.push(toMilliseconds(begin), toMilliseconds(ends[at] as number));
  }
  return spans;
}

/** The parts of `spans` in [from, to). */
export function clip(spans: Spans, from: number, to: number): Spans {
  if (spans.length === 0 || ((spans[0] as number) >= from && (spans.at(-1) as number) <= to)) return spans;
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
