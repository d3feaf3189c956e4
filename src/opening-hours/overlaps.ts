/** Finds overlaps between periods by their clock times, without a time zone. Pure. */
import { minutesOf } from '../time/days.ts';
import type { Period } from './local-hours.ts';

/** A period that starts on some days of a cycle (such as the 7 days of a week), between two local dates. */
export type Repeated = Period & {
  days: readonly number[];
  validFrom: string | null;
  validTo: string | null;
};

const day = 24 * 60;

const lengthOf = ({ opens, closes }: Period) => minutesOf(closes) - minutesOf(opens) + (closes <= opens ? day : 0);

function overlap(one: Repeated, other: Repeated, cycleDays: number): boolean {
  const apart =
    (one.validTo && other.validFrom && one.validTo < other.validFrom) ||
    (other.validTo && one.validFrom && other.validTo < one.validFrom);
  if (apart) return false;
  const cycle = cycleDays * day;
  return one.days.some((first) =>
    other.days.some((second) => {
      const distance = (second - first) * day + minutesOf(other.opens) - minutesOf(one.opens);
      const ahead = ((distance % cycle) + cycle) % cycle;
      return ahead < lengthOf(one) || cycle - ahead < lengthOf(other);
    }),
  );
}

/** Pairs the index of each entry that overlaps an earlier one with the index of the first such entry. */
export function findOverlaps(entries: readonly Repeated[], cycleDays: number): [index: number, earlier: number][] {
  return entries.flatMap((entry, index) => {
    const earlier = entries.findIndex((other, place) => place < index && overlap(entry, other, cycleDays));
    return earlier < 0 ? [] : [[index, earlier] as [number, number]];
  });
}
