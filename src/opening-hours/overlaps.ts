/** Clock times that cover each other, by the clock times alone. Pure. */
import { minutesOf } from '../time/days.ts';
import type { Period } from './local-hours.ts';

/** A period that starts on some days of a circle of days, between two local dates. */
export type Repeated = Period & {
  days: readonly number[];
  validFrom: string | null;
  validTo: string | null;
};

const day = 24 * 60;

const lengthOf = ({ opens, closes }: Period) => minutesOf(closes) - minutesOf(opens) + (closes <= opens ? day : 0);

function overlap(one: Repeated, other: Repeated, circle: number): boolean {
  const apart =
    (one.validTo && other.validFrom && one.validTo < other.validFrom) ||
    (other.validTo && one.validFrom && other.validTo < one.validFrom);
  if (apart) return false;
  const round = circle * day;
  return one.days.some((first) =>
    other.days.some((second) => {
      const distance = (second - first) * day + minutesOf(other.opens) - minutesOf(one.opens);
      const ahead = ((distance % round) + round) % round;
      return ahead < lengthOf(one) || round - ahead < lengthOf(other);
    }),
  );
}

/** Of each entry that covers the time of an earlier one its index, and the index of the first of those. */
export function findOverlaps(entries: readonly Repeated[], circle: number): [index: number, earlier: number][] {
  return entries.flatMap((entry, index) => {
    const earlier = entries.findIndex((other, place) => place < index && overlap(entry, other, circle));
    return earlier < 0 ? [] : [[index, earlier] as [number, number]];
  });
}
