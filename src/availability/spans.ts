/**
 * Disjoint ranges of time, in order, as one flat list: begin, end, begin, end, … in milliseconds of Unix time. The list is
 * flat because one answer has hundreds of thousands of ranges.
 */
export type Spans = Float64Array;

/** PostgreSQL's epoch, in milliseconds of Unix time. */
const epoch = Date.UTC(2000, 0, 1);
const uint32 = 2 ** 32;

const toMilliseconds = (microseconds: number) => Math.round(microseconds / 1_000) + epoch;

type Slab = Float64Array<ArrayBuffer>;

/** How many numbers a slab holds. */
const slabLength = 65_536;
/** The most slabs that are kept for reuse; each takes half a megabyte. */
const mostKept = 32;

/** The memory of a process for spans of answers. It is reused, because V8 collects garbage more often the more there is of it. */
export function openSlabs() {
  const kept: Slab[] = [];
  return {
    /** A slab with undefined content. */
    take: (): Slab => kept.pop() ?? new Float64Array(slabLength),
    /** Returns a slab that nobody reads any more. */
    giveBack(slab: Slab): void {
      if (kept.length < mostKept) kept.push(slab);
    },
  };
}

export type Slabs = ReturnType<typeof openSlabs>;

/**
 * Reads and computes the spans of one answer in a few large pieces of memory. Separate arrays for all lists would be most of the
 * garbage of an answer.
 */
export class SpanWriter {
  readonly #slabs: Slabs;
  #slab: Slab = new Float64Array(0);
  #taken: Slab[] = [];
  #used = 0;
  /** Reused for the decoded bytes of each resource. */
  #bytes = Buffer.alloc(0);

  constructor(slabs = openSlabs()) {
    this.#slabs = slabs;
  }

  /** Returns the memory of all spans, which must no longer be read. Each list of an answer calls it. */
  giveBack(): void {
    if (this.#taken.length === 0) return;
    for (const slab of this.#taken) this.#slabs.giveBack(slab);
    this.#taken = [];
    this.#slab = new Float64Array(0);
  }

  /** Space for this many numbers; `#keep` keeps the first of them. */
  #reserve(length: number): Slab {
    if (length > slabLength) return new Float64Array(length);
    if (this.#used + length > this.#slab.length) {
      this.#slab = this.#slabs.take();
      this.#taken.push(this.#slab);
      this.#used = 0;
    }
    return this.#slab.subarray(this.#used, this.#used + length);
  }

  #keep(reserved: Slab, length: number): Spans {
    if (reserved.buffer === this.#slab.buffer) this.#used += length;
    return reserved.subarray(0, length);
  }

  /**
   * Reads ranges in PostgreSQL's binary format, in Base64: begin, end, begin, end, … of 8 bytes each, in any order. Ranges that
   * overlap or touch are joined.
   */
  readRanges(text: string): Spans {
    // A buffer of its own: one of Node's pool might not be aligned for a Uint32Array.
    if (this.#bytes.length < text.length) this.#bytes = Buffer.alloc(2 * text.length);
    const length = this.#bytes.write(text, 'base64');
    const count = length / 8;
    const room = this.#reserve(2 * count);
    const numbers = readNumbers(this.#bytes.subarray(0, length), room.subarray(0, count));
    return this.#keep(numbers, joinRanges(numbers, room.subarray(count)));
  }

  /** The parts of `spans` in [from, to). */
  clip(spans: Spans, from: number, to: number): Spans {
    const { length } = spans;
    if (length === 0 || ((spans[0] as number) >= from && (spans[length - 1] as number) <= to)) return spans;
    const clipped = this.#reserve(length);
    let next = 0;
    for (let at = 0; at < length; at += 2) {
      const begin = Math.max(spans[at] as number, from);
      const end = Math.min(spans[at + 1] as number, to);
      if (begin >= end) continue;
      clipped[next++] = begin;
      clipped[next++] = end;
    }
    return this.#keep(clipped, next);
  }

  /** The parts of `open` that are not `busy` and last at least `least` milliseconds, which must be 1 or more. */
  subtract(open: Spans, busy: Spans, least: number): Spans {
    // Each busy range splits at most one open range in two.
    const free = this.#reserve(open.length + busy.length);
    let length = 0;
    let next = 0;
    for (let at = 0; at < open.length; at += 2) {
      let begin = open[at] as number;
      const end = open[at + 1] as number;
      while (next < busy.length && (busy[next] as number) < end) {
        const from = busy[next] as number;
        const to = busy[next + 1] as number;
        if (from - begin >= least) {
          free[length++] = begin;
          free[length++] = from;
        }
        begin = Math.max(begin, to);
        // This busy range may reach into the next open one.
        if (to > end) break;
        next += 2;
      }
      if (end - begin >= least) {
        free[length++] = begin;
        free[length++] = end;
      }
    }
    return this.#keep(free, length);
  }
}

/** Reads microseconds as 64-bit integers in big-endian order. */
function readNumbers(bytes: Buffer, numbers: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  bytes.swap64();
  const low = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const high = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  for (let at = 0; at < numbers.length; at++)
    numbers[at] = (high[2 * at + 1] as number) * uint32 + (low[2 * at] as number);
  return numbers;
}

/**
 * Joins ranges in place, and converts microseconds to milliseconds. @param spare space for as many numbers @returns how many
 * numbers are left
 */
function joinRanges(numbers: Float64Array, spare: Float64Array): number {
  let isSorted = true;
  for (let at = 2; at < numbers.length && isSorted; at += 2)
    isSorted = (numbers[at] as number) >= (numbers[at - 1] as number);
  if (!isSorted) sortRanges(numbers, spare);
  let length = 0;
  for (let at = 0; at < numbers.length; at += 2) {
    const begin = numbers[at] as number;
    while (at + 2 < numbers.length && (numbers[at + 2] as number) <= (numbers[at + 1] as number)) at += 2;
    const end = numbers[at + 1] as number;
    numbers[length++] = toMilliseconds(begin);
    numbers[length++] = toMilliseconds(end);
  }
  return length;
}

function sortRanges(numbers: Float64Array, unsorted: Float64Array): void {
  unsorted.set(numbers);
  // If no two ranges overlap, as in one room, sorting all numbers keeps each begin beside its end. Otherwise the sum of the
  // lengths changes.
  numbers.sort();
  if (timeIn(numbers) === timeIn(unsorted)) return;
  // Begins and ends, sorted separately, still have the same union.
  const begins = unsorted.filter((_, at) => at % 2 === 0).sort();
  const ends = unsorted.filter((_, at) => at % 2 === 1).sort();
  for (const [at, begin] of begins.entries()) numbers.set([begin, ends[at] as number], 2 * at);
}

/** The sum of the lengths of ranges. */
function timeIn(numbers: Float64Array): number {
  let time = 0;
  for (let at = 0; at < numbers.length; at += 2) time += (numbers[at + 1] as number) - (numbers[at] as number);
  return time;
}
