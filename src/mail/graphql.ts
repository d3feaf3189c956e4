import type { ObjectRef } from '@pothos/core';
import type { z } from 'zod';
import type { Context, Viewer } from '../context.ts';
import { Forbidden, LimitExceeded, NotFound } from '../errors.ts';
import { type AddTypes, type Builder, type GraphqlCall, type Types, typeNamed } from '../graphql/builder.ts';
import { idArgument, idField } from '../graphql/ids.ts';
import { nodeOf } from '../graphql/nodes.ts';
import { type MemberType, recordFields, recordType } from '../graphql/record.ts';
import { resolveFrame } from '../graphql/streams.ts';
import { addItems } from './items-graphql.ts';
import {
  type CalendarRoom,
  type CalendarStatus,
  calendarTopic,
  findCalendar,
  findCalendarOf,
  getRoom,
  type ListedItems,
  listConflictsOf,
  listDeclinedOf,
  listStateChangesOf,
  listUnreadableOf,
  listUnwrittenOf,
  most,
  mostReadingsPerMinute,
  overseeCalendars,
  pushWorks,
  readCalendarNow,
  type StateChange,
  statusValues,
  watchCalendars,
} from './service.ts';
import * as wire from './wire.ts';

type Read<Row> = (db: Context['db'], viewer: Viewer, id: number) => Promise<Row[]>;

/** A field with what `read` finds. @param which the limit of one calendar, in words */
const listed = <Row>(type: ObjectRef<Types, Row>, read: Read<Row>, which: string) => ({
  type: [type] as [typeof type],
  complexity: { field: 10, multiplier: 10 },
  description: `${which}; for all calendars together at most ${most.together}.`,
  resolve: ({ id }: CalendarStatus, _args: object, { context, viewer }: GraphqlCall) => read(context.db, viewer, id),
});

function addChange(builder: Builder) {
  const state = builder.enumType('MailSubscriptionState', {
    description:
      'The state of a subscription: requested; granted, but no notification has arrived yet; active; silent; ended; never granted; replaced by another; no longer wanted.',
    values: statusValues.state,
  });
  const change = builder.objectRef<StateChange>('MailSubscriptionChange').implement({
    description: 'A state change of a subscription.',
    fields: (t) => ({
      subscriptionId: idField(t, 'mailAttempt', ({ subscriptionId }) => subscriptionId, {
        description: 'The attempt to get a subscription that this belongs to.',
      }),
      from: t.expose('from', { type: state, nullable: true, description: 'Null: it was created.' }),
      to: t.expose('to', { type: state, description: 'The new state.' }),
      text: t.exposeString('text', { nullable: true, description: 'Why.' }),
      at: t.expose('at', { type: 'DateTime', description: 'When.' }),
    }),
  });
  return { state, change };
}

/** What REST lists together with a calendar has fields of its own here. */
const noItems: ListedItems = { conflicts: [], declined: [], unreadable: [], unwritten: [] };

function addSubscription(builder: Builder) {
  const kind = builder.enumType('MailServerKind', {
    description: 'The protocol of a mail server.',
    values: statusValues.kind,
  });
  const faultKind = builder.enumType('MailFaultKind', {
    description: 'Why a request to a mail server failed.',
    values: statusValues.fault,
  });
  recordType(builder, 'MailFault', wire.fault, undefined, { members: new Map([[wire.fault.shape.Kind, faultKind]]) });
  const { conflict, unreadable, unwritten } = addItems(builder);
  const { state, change } = addChange(builder);
  const record = wire.calendarRecord.omit({
    ResourceId: true,
    ResourceName: true,
    Conflicts: true,
    Declined: true,
    Unreadable: true,
    Unwritten: true,
  });
  const members = new Map<z.core.$ZodType, MemberType>([
    [record.shape.Kind, kind],
    [record.shape.State.unwrap(), state],
  ]);
  return builder.objectRef<CalendarStatus>('MailSubscription').implement({
    ...nodeOf('mailSubscription', ({ context, viewer }, id) => findCalendar(context.db, viewer, id)),
    description: 'The status of the calendar of a room on the mail server.',
    fields: (t) => ({
      ...recordFields(t, record, (calendar) => wire.toCalendarRecord(calendar, noItems), members),
      resource: t.field({
        type: typeNamed<CalendarRoom>('Resource'),
        description: 'The room.',
        resolve: (calendar, _args, { context, viewer }) => getRoom(context.db, viewer, calendar),
      }),
      pushWorksSince: t.field({
        type: 'DateTime',
        nullable: true,
        description: 'Since when; null if it does not.',
        resolve: (calendar) => (pushWorks(calendar) ? calendar.stateSince : null),
      }),
      conflicts: t.field(listed(conflict, listConflictsOf, `The first ${most.conflicts} of them`)),
      declined: t.field(listed(conflict, listDeclinedOf, `The first ${most.conflicts} of them`)),
      unreadable: t.field(listed(unreadable, listUnreadableOf, `The newest ${most.unreadable} of them`)),
      unwritten: t.field(listed(unwritten, listUnwrittenOf, `The first ${most.unwritten} of them`)),
      history: t.field(
        listed(change, listStateChangesOf, `The last ${most.changes} changes of its subscriptions, newest first`),
      ),
    }),
  });
}

type SubscriptionType = ReturnType<typeof addSubscription>;

function addReading(builder: Builder, subscription: SubscriptionType): void {
  builder.mutationField('readMailSubscription', (t) =>
    t.field({
      type: subscription,
      errors: {
        types: [Forbidden, LimitExceeded, NotFound],
        union: {
          name: 'ReadMailSubscriptionResult',
          description: 'The calendar before it is read, or why the request was refused.',
        },
      },
      args: {
        id: idArgument(t.arg, 'mailSubscription', { required: true, description: 'The id of the calendar.' }),
      },
      description: `Has a worker read a calendar at once, also one that waits after a fault other than Throttled, and retry what could not be written; at most ${mostReadingsPerMinute} times a minute. For Admins.`,
      resolve: (_root, { id }, call) => readCalendarNow(call.context, call, id),
    }),
  );
  builder.subscriptionField('mailSubscriptions', (t) =>
    t.field({
      type: [subscription],
      complexity: { field: 1_000, multiplier: 10 },
      description:
        'First all calendars of the tenant on its mail server; then each one that is added, read, faulty or waiting, in its current state. All again after a lost connection. For Admins.',
      subscribe: (_root, _args, call) =>
        call.streams.open(call, [calendarTopic(call.viewer)], (changes, signal) =>
          watchCalendars(call.context.db, call.viewer, changes, signal),
        ),
      resolve: resolveFrame,
    }),
  );
}

export const addTypes: AddTypes = (builder) => {
  const subscription = addSubscription(builder);
  addReading(builder, subscription);
  builder.objectField(typeNamed<{ id: number }>('Resource'), 'mailSubscription', (t) =>
    t.field({
      type: subscription,
      nullable: true,
      complexity: { field: 20, multiplier: 1 },
      description: 'The status of its calendar on the mail server, for Admins; null if it has none.',
      resolve: async ({ id }, _args, { context, viewer }) => (await findCalendarOf(context.db, viewer, id)) ?? null,
    }),
  );
  builder.queryField('mailSubscriptions', (t) =>
    t.field({
      type: [subscription],
      complexity: { field: 1_000, multiplier: 10 },
      description:
        "The status of the tenant's calendars on its mail server, by the names of their rooms; empty without a mail server. For Admins.",
      resolve: (_root, _args, { context, viewer }) => overseeCalendars(context.db, viewer),
    }),
  );
};
