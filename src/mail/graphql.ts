import type { ObjectRef } from '@pothos/core';
import type { Context, Viewer } from '../context.ts';
import { Forbidden, LimitExceeded, NotFound } from '../errors.ts';
import { type AddTypes, type Builder, type GraphqlCall, type Types, typeNamed } from '../graphql/builder.ts';
import { idArgument, idField, idFields } from '../graphql/ids.ts';
import { nodeOf } from '../graphql/nodes.ts';
import { resolveFrame } from '../graphql/streams.ts';
import { addConflict, addUnreadable, addUnwritten } from './items-graphql.ts';
import {
  type CalendarRoom,
  type CalendarStatus,
  calendarTopic,
  findCalendar,
  findCalendarOf,
  getRoom,
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

function addFault(builder: Builder) {
  const kind = builder.enumType('MailFaultKind', {
    description: 'Why a request to a mail server failed.',
    values: statusValues.fault,
  });
  return builder.objectRef<NonNullable<CalendarStatus['fault']>>('MailFault').implement({
    description: 'Why the last reading of a calendar failed.',
    fields: (t) => ({
      kind: t.expose('kind', { type: kind, description: 'The kind of fault.' }),
      text: t.exposeString('text', { description: 'For people.' }),
    }),
  });
}

function addSubscription(builder: Builder) {
  const kind = builder.enumType('MailServerKind', {
    description: 'The protocol of a mail server.',
    values: statusValues.kind,
  });
  const fault = addFault(builder);
  const conflict = addConflict(builder);
  const unreadable = addUnreadable(builder);
  const unwritten = addUnwritten(builder);
  const { state, change } = addChange(builder);
  return builder.objectRef<CalendarStatus>('MailSubscription').implement({
    ...nodeOf('mailSubscription', ({ context, viewer }, id) => findCalendar(context.db, viewer, id)),
    description: 'The status of the calendar of a room on the mail server.',
    fields: (t) => ({
      ...idFields(t, 'mailSubscription', ({ id }) => id, 'The id of the calendar.'),
      resource: t.field({
        type: typeNamed<CalendarRoom>('Resource'),
        description: 'The room.',
        resolve: (calendar, _args, { context, viewer }) => getRoom(context.db, viewer, calendar),
      }),
      mailbox: t.exposeString('mailbox', { description: 'The address of the room on the mail server.' }),
      kind: t.expose('kind', { type: kind, description: 'The protocol of the mail server.' }),
      state: t.expose('state', {
        type: state,
        nullable: true,
        description:
          'The state of the active subscription, or else of the newest one; null if there has been none yet.',
      }),
      stateSince: t.expose('stateSince', {
        type: 'DateTime',
        nullable: true,
        description: 'Since when it is in this state.',
      }),
      stateText: t.exposeString('stateText', {
        nullable: true,
        description: 'The last failure of the subscription.',
      }),
      pushWorks: t.boolean({
        description: 'Whether the mail server pushes changes; otherwise they are found by polling.',
        resolve: pushWorks,
      }),
      pushWorksSince: t.field({
        type: 'DateTime',
        nullable: true,
        description: 'Since when; null if it does not.',
        resolve: (calendar) => (pushWorks(calendar) ? calendar.stateSince : null),
      }),
      lastPushAt: t.expose('lastPushAt', {
        type: 'DateTime',
        nullable: true,
        description:
          'When the mail server was last heard from, with CalDav for any calendar of the tenant; null: never.',
      }),
      expiresAt: t.expose('expiresAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When the subscription ends unless it is renewed; null if it does not end.',
      }),
      lastReadAt: t.expose('lastReadAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When the calendar was last read to its end; null: never.',
      }),
      nextReadAt: t.expose('nextReadAt', {
        type: 'DateTime',
        description: 'When it is read next, unless a notification comes before.',
      }),
      foundByPush: t.exposeInt('foundByPush', { description: 'Changes that were found after a notification.' }),
      foundByPoll: t.exposeInt('foundByPoll', {
        description: 'Changes that were found only by polling: many of them mean that push does not work.',
      }),
      fault: t.expose('fault', {
        type: fault,
        nullable: true,
        description: 'Why the last reading failed; null if it succeeded.',
      }),
      conflictCount: t.exposeInt('conflictCount', {
        description: 'Items that are not over and have no booking because their room is taken.',
      }),
      conflicts: t.field(listed(conflict, listConflictsOf, `The first ${most.conflicts} of them`)),
      declinedCount: t.exposeInt('declinedCount', {
        description: 'Items that are not over and were declined on the mail server because their room was taken.',
      }),
      declined: t.field(listed(conflict, listDeclinedOf, `The first ${most.conflicts} of them`)),
      unreadableCount: t.exposeInt('unreadableCount', {
        description: 'Items that have no booking because they cannot be read.',
      }),
      unreadable: t.field(listed(unreadable, listUnreadableOf, `The newest ${most.unreadable} of them`)),
      writingFault: t.exposeString('writingFault', {
        nullable: true,
        description: 'Why the calendar cannot be written at the moment.',
      }),
      unwrittenCount: t.exposeInt('unwrittenCount', {
        description: 'Items that are not over and are not in the calendar as they are booked.',
      }),
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
