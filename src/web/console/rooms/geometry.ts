/** Positions on the timeline: minutes since the first local midnight become fractions of its width. Pure. */
import { dayMinutes } from '../clock.ts';

/** Which minutes of each day are shown. */
export type Scale = { days: number; from: number; to: number };

export const step = 15;
export const snap = (minutes: number): number => Math.round(minutes / step) * step;

/** From 0 to 1; times outside of the shown hours are at their edge. */
export function fractionAt({ days, from, to }: Scale, minutes: number): number {
  const day = Math.min(days - 1, Math.max(0, Math.floor(minutes / dayMinutes)));
  const within = Math.min(to, Math.max(from, minutes - day * dayMinutes));
  return (day * (to - from) + within - from) / (days * (to - from));
}

export function minutesAtFraction({ days, from, to }: Scale, fraction: number): number {
  const passed = Math.min(0.999999, Math.max(0, fraction)) * days * (to - from);
  const day = Math.floor(passed / (to - from));
  return day * dayMinutes + from + (passed - day * (to - from));
}

export type Span = { start: number; end: number };

/** The lane of each span, such that spans that overlap are in different lanes, and the number of lanes in its group. */
export function layInLanes<Item extends Span>(items: readonly Item[]): { item: Item; lane: number; lanes: number }[] {
  const laid: { item: Item; lane: number; lanes: number }[] = [];
  let group: { item: Item; lane: number; lanes: number }[] = [];
  let ends: number[] = [];
  const close = () => {
    for (const each of group) each.lanes = ends.length;
    [group, ends] = [[], []];
  };
  for (const item of items.toSorted((one, other) => one.start - other.start || one.end - other.end)) {
    if (group.length > 0 && item.start >= Math.max(...ends)) close();
    const free = ends.findIndex((end) => end <= item.start);
    const lane = free === -1 ? ends.length : free;
    ends[lane] = item.end;
    const each = { item, lane, lanes: 1 };
    group.push(each);
    laid.push(each);
  }
  close();
  return laid;
}

/** `wanted` without what is in `taken`. */
export function subtract(wanted: readonly Span[], taken: readonly Span[]): Span[] {
  const left: Span[] = [];
  for (const { start, end } of wanted) {
    let at = start;
    for (const busy of taken.toSorted((one, other) => one.start - other.start)) {
      if (busy.end <= at || busy.start >= end) continue;
      if (busy.start > at) left.push({ start: at, end: busy.start });
      at = Math.max(at, busy.end);
    }
    if (at < end) left.push({ start: at, end });
  }
  return left;
}

/** The shown span of each day. */
export const shownSpans = ({ days, from, to }: Scale): Span[] =>
  Array.from({ length: days }, (_, day) => ({ start: day * dayMinutes + from, end: day * dayMinutes + to }));
