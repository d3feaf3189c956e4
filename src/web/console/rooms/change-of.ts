/** Decides which members of an edited booking are sent, since others may have changed it too. */
import type { ChangeBookingInput, Scope } from '../generated/graphql.ts';
import { type Booking, toMinute } from './store.ts';

/** The members that a person changes, in parts: a room is booked at a time. */
const parts = [['resourceId', 'start', 'end'], ['subject'], ['description'], ['isPrivate']] as const;
type Part = (typeof parts)[number];
type Members = Pick<Booking, Part[number]>;

function membersOf({ resourceId, start, end, subject, description, isPrivate }: Members): Members {
  const [from, to] = [toMinute(Date.parse(start)), toMinute(Date.parse(end))];
  return { resourceId, start: from, end: to, subject, description: description || null, isPrivate };
}
const differ = (part: Part, one: Members, other: Members) => part.some((member) => one[member] !== other[member]);

/**
 * Parts that nobody has edited are not sent, so that what others do with them stays. A part that others have changed too is sent
 * for the version that was edited, which the server refuses.
 *
 * @param live what is known of the booking now
 * @returns undefined if nothing is left to change
 */
export function changeOf(
  edited: Booking,
  live: Booking,
  wanted: Members,
  scope: Scope,
): { version: number; input: ChangeBookingInput } | undefined {
  const [was, is, becomes] = [membersOf(edited), membersOf(live), membersOf(wanted)];
  const sent = parts.filter((part) => scope !== 'This' || (differ(part, was, becomes) && differ(part, is, becomes)));
  if (sent.length === 0) return undefined;
  const { version } = sent.some((part) => differ(part, was, is)) ? edited : live;
  return { version, input: Object.fromEntries(sent.flat().map((member) => [member, becomes[member]])) };
}
