/** Items of calendars on the mail server that have no booking, and bookings without their item in the calendar. */
import type { Builder } from '../graphql/builder.ts';
import { idField } from '../graphql/ids.ts';
import { type Decline, type MailConflict, statusValues, type UnreadableItem, type UnwrittenItem } from './service.ts';

function addDecline(builder: Builder) {
  const state = builder.enumType('MailDeclineState', {
    description:
      'It waits to be declined; its organizer was told; nobody has invited the room; the mail server cannot decline; the mail server refuses.',
    values: statusValues.declineStates,
  });
  return builder.objectRef<Decline>('MailDecline').implement({
    description: 'What the mail server told the organizer of a conflict.',
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
    description: 'An item of the mail server that has no booking because its room is taken.',
    fields: (t) => ({
      subject: t.exposeString('subject', { nullable: true, description: 'The subject.' }),
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
        description: 'The booking in the way; null if the room has become free.',
      }),
      decline: t.expose('decline', {
        type: decline,
        nullable: true,
        description: 'What its organizer was told; null if conflicts are not declined.',
      }),
    }),
  });
}

export function addUnreadable(builder: Builder) {
  return builder.objectRef<UnreadableItem>('MailUnreadableItem').implement({
    description: 'An item of the mail server that has no booking because it cannot be read.',
    fields: (t) => ({
      uid: t.exposeString('uid', {
        nullable: true,
        description: 'Its UID (RFC 5545); null if that cannot be read either.',
      }),
      itemId: t.exposeString('itemId', { description: 'Its id on the mail server.' }),
      reason: t.exposeString('reason', { nullable: true, description: 'Why it cannot be read.' }),
      since: t.expose('since', { type: 'DateTime', description: 'Since when.' }),
    }),
  });
}

export function addUnwritten(builder: Builder) {
  const cause = builder.enumType('MailUnwrittenCause', {
    description: 'It is changed or deleted there again and again, the mail server refuses it, or requests for it fail.',
    values: statusValues.cause,
  });
  return builder.objectRef<UnwrittenItem>('MailUnwrittenItem').implement({
    description: 'A booking whose item is not in the calendar as it is booked.',
    fields: (t) => ({
      bookingId: idField(t, 'booking', ({ bookingId }) => bookingId, { description: 'The booking.' }),
      start: t.expose('start', {
        type: 'DateTime',
        description: 'When its item begins; it is written from setup to teardown.',
      }),
      end: t.expose('end', { type: 'DateTime', description: 'When its item ends.' }),
      cause: t.expose('cause', { type: cause, description: 'The reason.' }),
      reason: t.exposeString('reason', { description: 'The reason, for people.' }),
      nextTryAt: t.expose('nextTryAt', { type: 'DateTime', description: 'When it is tried again.' }),
    }),
  });
}
