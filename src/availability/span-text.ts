/** The texts of lists of spans, as JSON of REST and of GraphQL. */
import { endianness } from 'node:os';
import type { ListText, WrittenMember } from '../http/large-json.ts';
import { dayLength } from '../time/days.ts';
import { minute } from '../time/durations.ts';
import type { Spans } from './spans.ts';

/** The bytes of an instant: `2027-03-01T06:00:00.000Z`. All instants in a window are in the years 0 to 9999. */
const instantLength = 24;

/** Offsets of its parts of 8 bytes, which overlap: `2027-03-`, `7-03-01T`, `06:00:00`. */
const [monthAt, dateAt, timeAt] = [0, 3, 11];

const isLittleEndian = endianness() === 'LE';

/** What writes the lists of spans of one answer. */
type SpanRows = {
  layoutOf(members: readonly WrittenMember[]): Layout;
  /** Fills the bytes of a chunk in [from, to) with spans. @param next the first number of them */
  write(spans: Spans, next: number, layout: Layout, chunk: Buffer, from: number, to: number): void;
};

/**
 * Writes spans in a window. Most instants are whole minutes: their dates and times of day are formatted once, into tables that
 * fit into the processor's cache.
 */
export function openSpanRows({ from, to }: { from: Date; to: Date }): SpanRows {
  const first = Math.floor(from.getTime() / dayLength) * dayLength;
  const days = Math.floor((to.getTime() - first) / dayLength) + 1;
  // Copied in words of 8 bytes, three times as fast as calls or single bytes. ASCII never looks like NaN.
  const dates = new Float64Array(2 * days);
  const times = new Float64Array(dayLength / minute);
  const wordsOf = new DataView(new ArrayBuffer(instantLength));
  let view: DataView = wordsOf;
  /** What rows are copied from; its decade and its seconds are those of most instants. */
  const usual = new Date(first).toISOString();
  const isOneDecade = usual.slice(0, dateAt) === to.toISOString().slice(0, dateAt);

  function format(day: number, time: number): void {
    writeText(new Date(first + day * dayLength + time * minute).toISOString(), wordsOf, 0);
    dates[2 * day] = wordsOf.getFloat64(monthAt, isLittleEndian);
    dates[2 * day + 1] = wordsOf.getFloat64(dateAt, isLittleEndian);
    times[time] = wordsOf.getFloat64(timeAt, isLittleEndian);
  }

  function copyInstant(instant: number, target: DataView, at: number): void {
    const passed = instant - first;
    const day = Math.floor(passed / dayLength);
    const time = (passed - day * dayLength) / minute;
    if (!Number.isInteger(time)) {
      writeText(new Date(instant).toISOString(), target, at);
      return;
    }
    if (dates[2 * day] === 0 || times[time] === 0) format(day, time);
    if (!isOneDecade) target.setFloat64(at + monthAt, dates[2 * day] as number, isLittleEndian);
    target.setFloat64(at + dateAt, dates[2 * day + 1] as number, isLittleEndian);
    target.setFloat64(at + timeAt, times[time] as number, isLittleEndian);
  }

  /** The lists of an answer share their members. */
  const layouts = new Map<readonly WrittenMember[], Layout>();
  return {
    layoutOf(members) {
      let layout = layouts.get(members);
      if (!layout) layouts.set(members, (layout = layOut(members, usual)));
      return layout;
    },
    write(spans, next, { items, length, places }, chunk, from, to) {
      for (let at = from; at < to; at += items.length) items.copy(chunk, at, 0, to - at);
      if (view.buffer !== chunk.buffer) view = new DataView(chunk.buffer);
      const [begin, end] = [chunk.byteOffset + from, chunk.byteOffset + to];
      for (const { side, offset } of places)
        for (let at = next + side, place = begin + offset; place < end; at += 2, place += length)
          copyInstant(spans[at] as number, view, place);
    },
  };
}

/** The text of a list of spans. A class, because an answer has a thousand. */
export class SpanText implements ListText {
  readonly count: number;
  readonly giveBack: () => void;
  readonly #spans: Spans;
  readonly #rows: SpanRows;

  constructor(spans: Spans, rows: SpanRows, giveBack: () => void) {
    this.count = spans.length / 2;
    this.giveBack = giveBack;
    this.#spans = spans;
    this.#rows = rows;
  }
  itemLength(members: readonly WrittenMember[]): number {
    return this.#rows.layoutOf(members).length;
  }
  items(): Record<'Start' | 'End', Date>[] {
    return toTimeSpans(this.#spans);
  }
  write(members: readonly WrittenMember[], first: number, chunk: Buffer, from: number, to: number): void {
    this.#rows.write(this.#spans, 2 * first, this.#rows.layoutOf(members), chunk, from, to);
  }
}

function writeText(text: string, target: DataView, at: number): void {
  for (let index = 0; index < text.length; index++) target.setUint8(at + index, text.charCodeAt(index));
}

/**
 * `items` are written items, each with its comma; `length` is that of one; `places` are where in it the first or second number of a
 * span belongs.
 */
type Layout = { items: Buffer; length: number; places: readonly { side: 0 | 1; offset: number }[] };

/** The bytes of items that are copied together, before their instants are filled in. */
const bytesAtOnce = 16_384;

/** @param instant what stands in the place of each */
function layOut(members: readonly WrittenMember[], instant: string): Layout {
  const places: { side: 0 | 1; offset: number }[] = [];
  let item = '{';
  for (const member of members) {
    item += `${item === '{' ? '' : ','}${JSON.stringify(member.name)}:`;
    if ('of' in member) {
      places.push({ side: member.of === 'Start' ? 0 : 1, offset: item.length + 1 });
      item += `"${instant}"`;
    } else item += JSON.stringify(member.text);
  }
  item += '},';
  const items = Buffer.from(item.repeat(Math.ceil(bytesAtOnce / item.length)));
  return { items, length: item.length, places };
}

function toTimeSpans(spans: Spans): Record<'Start' | 'End', Date>[] {
  const records: Record<'Start' | 'End', Date>[] = [];
  for (let at = 0; at < spans.length; at += 2)
    records.push({ Start: new Date(spans[at] as number), End: new Date(spans[at + 1] as number) });
  return records;
}
