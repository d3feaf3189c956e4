/**
 * Disjoint ranges of time, in order, as one flat list: begin, end, begin, end, … in milliseconds of Unix time. The list is
 * flat because one answer has hundreds of thousands of ranges.
 */
export type Spans = Float64Array;

/** Of PostgreSQL's time, in milliseconds of Unix time. */
const epoch = Date.UTC(2000, 0, 1);
const uint32 = 2 ** 32;

const toMilliseconds = (microseconds: number) => Math.round(microseconds / 1_000) + epoch;

type Slab = Float64Array<ArrayBuffer>;

/** Numbers of a slab. */
const slabLength = 65_536;
/** The most slabs that are kept for reuse: half a megabyte each. */
const mostKept = 32;

/** The memory of a process for the spans of answers. It is reused: V8 collects all garbage more often the more of it there is. */
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
 * Reads and computes the spans of one answer into a few pieces of memory. A list of its own for each would be the greater part of
 * what an answer leaves to be collected.
 */
export class SpanWriter {
  readonly #slabs: Slabs;
  #slab: Slab = new Float64Array(0);
  #taken: Slab[] = [];
  #used = 0;
  /** What PostgreSQL has sent of one resource. */
  #bytes = Buffer.alloc(0);

  constructor(slabs = openSlabs()) {
    this.#slabs = slabs;
  }

  /** Gives the memory of all spans back; nobody may read them any more. */
  giveBack(): void {
    for (const slab of this.#taken) this.#slabs.giveBack(slab);
    this.#taken = [];
    this.#slab = new Float64Array(0);
  }

  /** Room for so many numbers, of which `#keep` keeps the first. */
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
   * Reads ranges as PostgreSQL sends them in binary, in Base64: begin, end, begin, end, … each in 8 bytes. They come in any order;
   * those that overlap or touch become one.
   */
  readRanges(text: string): Spans {
    // Its own memory, which begins where a view of 32 bits may.
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
    // Each busy range parts an open one in two, and there is no more to it.
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

/** Microseconds, of which each has 8 bytes, the greatest first. */
function readNumbers(bytes: Buffer, numbers: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  bytes.swap64();
  const low = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const high = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  for (let at = 0; at < numbers.length; at++)
    numbers[at] = (high[2 * at + 1] as number) * uint32 + (low[2 * at] as number);
  return numbers;
}

/** Makes spans of ranges in microseconds, where they are. @param spare room for as many numbers @returns how many are left */
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
  // Where no two overlap, as in one room, each end is followed by the next begin. Else some time would now be missing.
  numbers.sort();
  if (timeIn(numbers) === timeIn(unsorted)) return;
  // Sorted apart, they still tell where there is a gap: where all that has begun has ended.
  const begins = unsorted.filter((_, at) => at % 2 === 0).sort();
  const ends = unsorted.filter((_, at) => at % 2 === 1).sort();
  for (const [at, begin] of begins.entries()) numbers.set([begin, ends[at] as number], 2 * at);
}

/** How long ranges last, one after the other. */
function timeIn(numbers: Float64Array): number {
  let time = 0;
  for (let at = 0; at < numbers.length; at += 2) time += (numbers[at + 1] as number) - (numbers[at] as number);
  return time;
}
