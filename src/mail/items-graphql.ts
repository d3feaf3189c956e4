/** Items of calendars on the mail server that have no booking, and bookings without their item in the calendar. */
import type { Builder } from '../graphql/builder.ts';
import { idField } from '../graphql/ids.ts';
import { type Decline, type MailConflict, statusValues, type UnreadableItem, type UnwrittenItem } from './service.ts';

function addDecline(builder: Builder) {
  const state = builder.enumType('MailDeclineState', {
    description:
      'It waits to be declined; its organizer was told; nobody has invited the room; the mail server has no means; it refuses.',
    values: statusValues.declineStates,
  });
  return builder.objectRef<Decline>('MailDecline').implement({
    description: 'What the organizer of a conflict was told by the mail server.',
    fields: (t) => ({
      state: t.expose('state', { type: state, description: 'Whether it was declined there.' }),
      at: t.expose('at', { type: 'DateTime', nullable: true, description: 'Since when; null while it waits.' }),
      reason: t.exposeString('reason', { nullable: true, description: 'Why its organizer was not told.' }),
    }),
  });
}

export function addConflict(builder: Builder) {
  const decline = addDecline(builder);
  return builder.objectRef<MailConflict>('MailConflict').implement({
    description: 'An item of the mail server that has no booking, because its room is taken.',
    fields: (t) => ({
      subject: t.exposeString('subject', { nullable: true, description: 'What it is about.' }),
      start: t.expose('start', { type: 'DateTime', description: 'When it begins.' }),
      end: t.expose('end', { type: 'DateTime', description: 'When it ends.' }),
      uid: t.exposeString('uid', {
        nullable: true,
        description: 'Its UID (RFC 5545), which the occurrences of a series share.',
      }),
      reason: t.exposeString('reason', { nullable: true, description: 'Why it is not booked.' }),
      organizerName: t.exposeString('organizerName', {
        nullable: true,
        description: 'Its organizer as the mail server names them, for private items too.',
      }),
      organizerEmail: t.exposeString('organizerEmail', {
        nullable: true,
        description: 'Their mail address.',
      }),
      bookingId: idField(t, 'booking', ({ bookingId }) => bookingId, {
        nullable: true,
        description: 'The booking that is in the way; null when the room has just become free.',
      }),
      decline: t.expose('decline', {
        type: decline,
        nullable: true,
        description: 'What its organizer was told; null where conflicts are not declined.',
      }),
    }),
  });
}

export function addUnreadable(builder: Builder) {
  return builder.objectRef<UnreadableItem>('MailUnreadableItem').implement({
    description: 'An item of the mail server that has no booking, because it cannot be read.',
    fields: (t) => ({
      uid: t.exposeString('uid', {
        nullable: true,
        description: 'Its UID (RFC 5545); null where that cannot be read either.',
      }),
      itemId: t.exposeString('itemId', { description: 'Its id on the mail server.' }),
      reason: t.exposeString('reason', { nullable: true, description: 'Why it cannot be read.' }),
      since: t.expose('since', { type: 'DateTime', description: 'Since when.' }),
    }),
  });
}

export function addUnwritten(builder: Builder) {
  const cause = builder.enumType('MailUnwrittenCause', {
    description: 'Somebody changes or deletes it there again and again, or the mail server refuses it or fails at it.',
    values: statusValues.cause,
  });
  return builder.objectRef<UnwrittenItem>('MailUnwrittenItem').implement({
    description: 'A booking that does not stand in the calendar on the mail server as it is booked.',
    fields: (t) => ({
      bookingId: idField(t, 'booking', ({ bookingId }) => bookingId, { description: 'What is booked.' }),
      start: t.expose('start', {
        type: 'DateTime',
        description: 'When its item begins; it is written from setup to teardown.',
      }),
      end: t.expose('end', { type: 'DateTime', description: 'When its item ends.' }),
      cause: t.expose('cause', { type: cause, description: 'Why it is not written.' }),
      reason: t.exposeString('reason', { description: 'Why, for people.' }),
      nextTryAt: t.expose('nextTryAt', { type: 'DateTime', description: 'When it is tried again.' }),
    }),
  });
}
