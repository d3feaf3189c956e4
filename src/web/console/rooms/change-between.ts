/** What others have changed of a booking, in the words of its form. */
import { rangeIn } from '../clock.ts';
import type { BookingDetailsQuery } from '../generated/graphql.ts';
import type { Told } from '../parts/stale.ts';
import { personName } from '../person-name.ts';
import { t as audit } from '../texts/audit.ts';
import { labels } from '../texts/members.ts';
import { t } from '../texts/rooms.ts';
import { t as shell } from '../texts/shell.ts';
import type { Booking } from './store.ts';
import { organizerText } from './view.ts';

const factsOf = (booking: Booking): [label: string, value: string | null][] => {
  const { resourceName, timeZone, start, end, subject, description, isPrivate, organizer, status } = booking;
  return [
    [labels().subject, subject],
    [t().room, resourceName],
    [t().when, rangeIn(timeZone, start, end)],
    [t().organizer, organizerText(organizer) ?? null],
    [labels().description, description],
    [labels().isPrivate, audit().values[String(isPrivate)] ?? null],
    [t().state, t().statuses[status] || t().certain],
  ];
};

/** A booking has no audit: what has changed is what differs, and only who has decided on a request is recorded. */
export function changeBetween(before: Booking, now: NonNullable<BookingDetailsQuery['booking']>): Told {
  const was = factsOf(before);
  const changes = factsOf(now).flatMap(([label, value], at) => {
    const old = was[at]?.[1] ?? null;
    return old === value ? [] : [shell().stale.member(label, old, value)];
  });
  const { decision, changedAt } = now;
  // Others may have changed more since the decision.
  const isDecision = before.status === 'Requested' && changes.length === 1 && decision?.decidedAt === changedAt;
  const decider = isDecision ? decision?.decidedBy?.displayName : undefined;
  return { who: decider && personName(decider), at: changedAt, changes };
}
