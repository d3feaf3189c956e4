import type { ArgBuilder } from '@pothos/core';
import type { z } from 'zod';
import { Forbidden, InvalidInput, NotFound, PreconditionFailed } from '../errors.ts';
import { judgedBy, partType } from '../graphql/body.ts';
import { type AddTypes, type Builder, type GraphqlCall, type Types, typeNamed } from '../graphql/builder.ts';
import { given } from '../graphql/given.ts';
import { idArgument } from '../graphql/ids.ts';
import { enumType, recordType } from '../graphql/record.ts';
import * as hours from './service.ts';
import * as wire from './wire.ts';

function addRecords(builder: Builder) {
  enumType(builder, wire.intervalSource);
  enumType(builder, wire.timeZoneSource);
  recordType(builder, 'OpeningPeriod', wire.openingPeriod);
  recordType(builder, 'OpeningRule', wire.openingRule);
  recordType(builder, 'OpeningException', wire.openingException);
  recordType(builder, 'OpenInterval', wire.openInterval);
  const ofResource = recordType(builder, 'ResourceHours', wire.resourceHours);
  return {
    ofResource,
    openingHours: recordType(builder, 'OpeningHours', wire.openingHours),
    ownRules: recordType(builder, 'OpeningRuleList', wire.ownRules),
    ownExceptions: recordType(builder, 'OpeningExceptionList', wire.ownExceptions),
  };
}

type Records = ReturnType<typeof addRecords>;

const askers = new WeakMap<GraphqlCall, hours.Asker>();

/** All fields of a call share its limits. */
function askerOf(call: GraphqlCall): hours.Asker {
  const asker = askers.get(call) ?? hours.openAsker(call.viewer);
  askers.set(call, asker);
  return asker;
}

/** On which dates, and in which zone. */
const whenArguments = (t: ArgBuilder<Types>) => ({
  from: t({
    type: 'Date',
    description: 'The first local date; by default today, in the zone used.',
  }),
  to: t({
    type: 'Date',
    description: `The last local date, at most 366 days in all; by default six days after \`from\`. In one call, or one frame of a subscription, the days of all resources together are at most ${hours.mostRoomDays}, and their rules, exceptions, periods and intervals at most ${hours.mostEntries}.`,
  }),
  timezoneLocationId: idArgument(t, 'location', {
    description: "The location whose time zone is used instead of the caller's.",
  }),
});

function addQueries(builder: Builder, { ofResource, openingHours, ownRules, ownExceptions }: Records): void {
  builder.objectField(typeNamed<{ id: number }>('Resource'), 'openingHours', (t) =>
    t.field({
      type: ofResource,
      args: whenArguments(t.arg),
      complexity: { field: 50, multiplier: 1 },
      description: "When it is open, computed with the clocks of the caller's time zone, in UTC.",
      resolve: async ({ id }, when, call) => {
        call.place?.take(hours.daysAsked(given(when)));
        return wire.toResourceHours(await hours.getHoursOf(call.context.db, askerOf(call), id, given(when)));
      },
    }),
  );
  builder.queryFields((t) => {
    const resourceId = idArgument(t.arg, 'resource', { required: true, description: 'The id of the resource.' });
    const locationId = idArgument(t.arg, 'location', { required: true, description: 'The id of the location.' });
    return {
      openingHours: t.field({
        type: openingHours,
        args: {
          locationId: idArgument(t.arg, 'location', { required: true, description: 'The id of the location.' }),
          ...whenArguments(t.arg),
        },
        // The whole answer is computed, whichever members the query selects.
        complexity: 500,
        description: 'When the resources of a location are open: clock times, converted to UTC.',
        resolve: async (_root, { locationId, ...when }, call) => {
          call.place?.take(hours.usualRooms * hours.daysAsked(given(when)));
          return wire.toOpeningHours(
            await hours.listForLocation(call.context.db, askerOf(call), locationId, given(when)),
          );
        },
      }),
      openingRules: t.field({
        type: ownRules,
        args: { resourceId },
        description: 'The weekly hours of the resource itself; for Admins.',
        resolve: async (_root, { resourceId }, { context, viewer }) =>
          wire.toOwnRules(await hours.getRules(context.db, viewer, { resourceId })),
      }),
      openingExceptions: t.field({
        type: ownExceptions,
        args: { resourceId },
        description: 'The dates on which the resource itself has other hours; for Admins.',
        resolve: async (_root, { resourceId }, { context, viewer }) =>
          wire.toOwnExceptions(await hours.getExceptions(context.db, viewer, { resourceId })),
      }),
      locationOpeningRules: t.field({
        type: ownRules,
        args: { locationId },
        description: 'The weekly hours of a location, for resources without their own; for Admins.',
        resolve: async (_root, { locationId }, { context, viewer }) =>
          wire.toOwnRules(await hours.getRules(context.db, viewer, { locationId })),
      }),
      locationOpeningExceptions: t.field({
        type: ownExceptions,
        args: { locationId },
        description: 'The dates on which the resources of a location have other hours; for Admins.',
        resolve: async (_root, { locationId }, { context, viewer }) =>
          wire.toOwnExceptions(await hours.getExceptions(context.db, viewer, { locationId })),
      }),
    };
  });
}

function addMutations(builder: Builder, { ownRules, ownExceptions }: Records): void {
  const period = partType(builder, 'OpeningPeriodInput', wire.openingPeriod);
  const rule = partType(builder, 'OpeningRuleInput', wire.newRule);
  const exception = partType(
    builder,
    'OpeningExceptionInput',
    wire.newException,
    new Map([[wire.openingPeriod, period]]),
  );
  const problems = [InvalidInput, NotFound, Forbidden, PreconditionFailed];
  builder.mutationFields((t) => {
    const version = t.arg.int({ required: true, description: 'The version that was read.' });
    const ofResource = {
      resourceId: idArgument(t.arg, 'resource', { required: true, description: 'The id of the resource.' }),
      version,
    };
    const ofLocation = {
      locationId: idArgument(t.arg, 'location', { required: true, description: 'The id of the location.' }),
      version,
    };
    const rules = t.arg({
      type: [rule],
      required: true,
      description: 'All rules of the list.',
      validate: judgedBy(wire.rulesBody.shape.Items),
    });
    const exceptions = t.arg({
      type: [exception],
      required: true,
      description: 'All exceptions of the list.',
      validate: judgedBy(wire.exceptionsBody.shape.Items),
    });
    const result = (list: string) => ({
      types: problems,
      union: { name: `Set${list}Result`, description: 'The list, or why the request was refused.' },
    });
    type Sent<Item> = { version: number; items: readonly Item[] };
    const setRules = async (
      owner: hours.HoursOwner,
      { version, items }: Sent<z.output<typeof wire.newRule>>,
      call: GraphqlCall,
    ) => wire.toOwnRules(await hours.replaceRules(call.context.db, call, owner, [version], items.map(hours.toNewRule)));
    const setExceptions = async (
      owner: hours.HoursOwner,
      { version, items }: Sent<z.output<typeof wire.newException>>,
      call: GraphqlCall,
    ) => {
      const written = items.map(hours.toNewException);
      return wire.toOwnExceptions(await hours.replaceExceptions(call.context.db, call, owner, [version], written));
    };
    return {
      setOpeningRules: t.field({
        type: ownRules,
        errors: result('OpeningRules'),
        args: { ...ofResource, items: rules },
        description: 'Replaces the rules of a resource; for Admins.',
        resolve: (_root, { resourceId, ...args }, call) => setRules({ resourceId }, args, call),
      }),
      setOpeningExceptions: t.field({
        type: ownExceptions,
        errors: result('OpeningExceptions'),
        args: { ...ofResource, items: exceptions },
        description: 'Replaces the exceptions of a resource; for Admins.',
        resolve: (_root, { resourceId, ...args }, call) => setExceptions({ resourceId }, args, call),
      }),
      setLocationOpeningRules: t.field({
        type: ownRules,
        errors: result('LocationOpeningRules'),
        args: { ...ofLocation, items: rules },
        description: 'Replaces the rules of a location; for Admins.',
        resolve: (_root, { locationId, ...args }, call) => setRules({ locationId }, args, call),
      }),
      setLocationOpeningExceptions: t.field({
        type: ownExceptions,
        errors: result('LocationOpeningExceptions'),
        args: { ...ofLocation, items: exceptions },
        description: 'Replaces the exceptions of a location; for Admins.',
        resolve: (_root, { locationId, ...args }, call) => setExceptions({ locationId }, args, call),
      }),
    };
  });
}

export const addTypes: AddTypes = (builder) => {
  const records = addRecords(builder);
  addQueries(builder, records);
  addMutations(builder, records);
};
