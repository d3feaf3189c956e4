/** Items of calendars on the mail server that have no booking, and bookings without their item in the calendar. */
import type { Builder } from '../graphql/builder.ts';
import { enumType, recordType } from '../graphql/record.ts';
import type { MailConflict, UnreadableItem, UnwrittenItem } from './service.ts';
import * as wire from './wire.ts';

export function addItems(builder: Builder) {
  const { State } = wire.decline.shape;
  recordType(builder, 'MailDecline', wire.decline, undefined, {
    members: new Map([[State, enumType(builder, State, 'MailDeclineState')]]),
  });
  const { Cause } = wire.unwritten.shape;
  return {
    conflict: recordType<MailConflict>(builder, 'MailConflict', wire.conflict, wire.toConflictRecord),
    unreadable: recordType<UnreadableItem>(builder, 'MailUnreadableItem', wire.unreadable, wire.toUnreadableRecord),
    unwritten: recordType<UnwrittenItem>(builder, 'MailUnwrittenItem', wire.unwritten, wire.toUnwrittenRecord, {
      members: new Map([[Cause, enumType(builder, Cause, 'MailUnwrittenCause')]]),
    }),
  };
}
