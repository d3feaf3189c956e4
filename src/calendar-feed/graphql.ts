import type { ArgBuilder } from '@pothos/core';
import { Conflict, Forbidden, InvalidInput, NotFound } from '../errors.ts';
import { idempotencyKey as keySchema } from '../fields.ts';
import { judgedBy } from '../graphql/body.ts';
import { type AddTypes, type Types, typeNamed } from '../graphql/builder.ts';
import { connectionType, pageArguments, pageCost, pageOf } from '../graphql/connection.ts';
import { given } from '../graphql/given.ts';
import { idArgument } from '../graphql/ids.ts';
import { describeMember } from '../graphql/names.ts';
import { nodeOf, orNull } from '../graphql/nodes.ts';
import { recordType } from '../graphql/record.ts';
import type { CreatedToken } from './service.ts';
import * as feed from './service.ts';
import * as wire from './wire.ts';

const keyArgument = (arg: ArgBuilder<Types>) =>
  arg.string({
    description:
      'Repeated within 24 hours, the call creates no second token but returns a ConflictProblem, as a token is shown only once.',
    validate: { schema: keySchema },
  });

type WantedToken = { label?: string | null | undefined; idempotencyKey?: string | null | undefined };
const wantedOf = ({ label, idempotencyKey }: WantedToken) => ({
  label: label ?? null,
  idempotencyKey: idempotencyKey ?? undefined,
});

export const addTypes: AddTypes = (builder) => {
  const token = recordType(
    builder,
    'CalendarToken',
    wire.tokenRecord,
    wire.toTokenRecord,
    nodeOf('calendarToken', ({ context, viewer }, id) => feed.findToken(context.db, viewer, id)),
  );
  builder.objectFields(token, (t) => ({
    resource: t.field({
      type: typeNamed<NonNullable<Awaited<ReturnType<typeof feed.findResourceOf>>>>('Resource'),
      nullable: true,
      description:
        'The resource whose feed it opens; null for a timetable, and if the resource is hidden from the caller.',
      resolve: async (row, _args, { context, viewer }) => (await feed.findResourceOf(context.db, viewer, row)) ?? null,
    }),
    person: t.field({
      type: typeNamed<NonNullable<Awaited<ReturnType<typeof feed.findPersonOf>>>>('Person'),
      nullable: true,
      description: 'The person who created it, for Admins and for that person.',
      resolve: async (row, _args, { context, viewer }) => (await feed.findPersonOf(context.db, viewer, row)) ?? null,
    }),
  }));
  const tokens = connectionType(builder, token, feed.tokenList);
  const created = builder.objectRef<CreatedToken>('CalendarTokenCreated').implement({
    description: 'A token that was created.',
    fields: (t) => ({
      token: t.exposeString('token', {
        description: 'The token. It is shown only this once.',
      }),
      url: t.exposeString('url', { description: 'The address for calendar programs, which contains the token.' }),
      record: t.field({ type: token, description: 'The stored record.', resolve: ({ record }) => record }),
    }),
  });
  builder.queryField('calendarTokens', (t) =>
    t.field({
      type: tokens,
      nullable: true,
      args: {
        resourceId: idArgument(t.arg, 'resource', {
          required: true,
          description: 'The resource whose feed they open.',
        }),
        ...pageArguments(t.arg),
      },
      complexity: pageCost,
      description:
        'Your tokens for the calendar feed of a resource, for Admins those of all persons, oldest first; null if the tenant has no resource with this id.',
      resolve: (_root, { resourceId, ...page }, { context, viewer }) =>
        orNull(feed.listTokens(context.db, viewer, resourceId, pageOf(feed.tokenList, page))),
    }),
  );
  builder.queryField('timetableTokens', (t) =>
    t.field({
      type: tokens,
      args: pageArguments(t.arg),
      complexity: pageCost,
      description: 'Your tokens for calendars of timetables, for Admins those of all persons, oldest first.',
      resolve: (_root, page, { context, viewer }) =>
        feed.listTokens(context.db, viewer, null, pageOf(feed.tokenList, page)),
    }),
  );
  builder.mutationFields((t) => ({
    createTimetableToken: t.field({
      type: created,
      errors: {
        types: [Conflict, Forbidden, InvalidInput],
        union: { name: 'CreateTimetableTokenResult', description: 'The token, or why the request was refused.' },
      },
      args: {
        class: t.arg.string({
          description: describeMember('Klasse', wire.timetableOf.shape.Klasse.description ?? ''),
          validate: judgedBy(wire.timetableOf.shape.Klasse.nullable()),
        }),
        teacher: t.arg.string({
          description: describeMember('Lehrperson', wire.timetableOf.shape.Lehrperson.description ?? ''),
          validate: judgedBy(wire.timetableOf.shape.Lehrperson.nullable()),
        }),
        label: t.arg.string({ description: 'What the token is for.', validate: judgedBy(wire.newToken.shape.Label) }),
        idempotencyKey: keyArgument(t.arg),
      },
      description:
        'Creates an address for calendar programs, which shows the timetable of a class or a teacher, or your own, as you may see it.',
      resolve: (_root, { class: klasse, teacher: lehrperson, ...wanted }, { context, viewer }) =>
        feed.createToken(context, viewer, given({ klasse, lehrperson }), wantedOf(wanted)),
    }),
    createCalendarToken: t.field({
      type: created,
      errors: {
        types: [Conflict, Forbidden, InvalidInput, NotFound],
        union: { name: 'CreateCalendarTokenResult', description: 'The token, or why the request was refused.' },
      },
      args: {
        resourceId: idArgument(t.arg, 'resource', {
          required: true,
          description: 'The resource whose feed it opens.',
        }),
        label: t.arg.string({ description: 'What the token is for.', validate: judgedBy(wire.newToken.shape.Label) }),
        idempotencyKey: keyArgument(t.arg),
      },
      description:
        'Creates an address for calendar programs, which shows the bookings of a resource as you may see them.',
      resolve: (_root, { resourceId, ...wanted }, { context, viewer }) =>
        feed.createToken(context, viewer, { resourceId }, wantedOf(wanted)),
    }),
    revokeCalendarToken: t.field({
      type: token,
      errors: {
        types: [Forbidden, NotFound],
        union: { name: 'RevokeCalendarTokenResult', description: 'The revoked token, or why the request was refused.' },
      },
      args: { id: idArgument(t.arg, 'calendarToken', { required: true, description: 'The id of the token.' }) },
      description: 'Revokes a token of a calendar feed at once; repeating it changes nothing.',
      resolve: (_root, { id }, { context, viewer }) => feed.revokeToken(context.db, viewer, id),
    }),
  }));
};
