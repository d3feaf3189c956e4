import type { InputRef } from '@pothos/core';
import type { z } from 'zod';
import { Conflict, Forbidden, InvalidInput, NotFound, PreconditionFailed } from '../errors.ts';
import { upperFirst } from '../fields.ts';
import { bodyType } from '../graphql/body.ts';
import type { Builder } from '../graphql/builder.ts';
import { connectionType, filteredPage, pageCost, pageOf } from '../graphql/connection.ts';
import { filterType } from '../graphql/filters.ts';
import { given } from '../graphql/given.ts';
import { idArgument } from '../graphql/ids.ts';
import { nodeOf } from '../graphql/nodes.ts';
import { recordType } from '../graphql/record.ts';
import * as profileWire from './profile-wire.ts';
import * as timetables from './service.ts';
import * as wire from './wire.ts';

/** Converts the members of an input to those of REST. */
function readChanges({ name, ...members }: Record<string, unknown>): Partial<timetables.NewProfile> {
  const given = Object.entries(members).filter(([, value]) => value !== undefined);
  const reading = Object.fromEntries(given.map(([member, value]) => [upperFirst(member), value]));
  return { reading, ...(name !== undefined && { name: name as string }) };
}

/** @param parts the input types that a request shares with profiles */
export function addProfiles(builder: Builder, parts: ReadonlyMap<z.core.$ZodType, InputRef<object>>): void {
  recordType(builder, 'TimetableHoliday', wire.holiday);
  recordType(builder, 'TimetableWeek', wire.week);
  recordType(builder, 'TimetableWeekGroup', wire.weekGroup);
  recordType(builder, 'TimetableTerm', wire.term);
  recordType(builder, 'TimetablePeriod', wire.period);
  recordType(builder, 'TimetableRoom', wire.room);
  recordType(builder, 'TimetableMapping', wire.mapping);
  const profile = recordType(
    builder,
    'TimetableProfile',
    profileWire.profileRecord,
    profileWire.toProfileRecord,
    nodeOf('timetableProfile', ({ context, viewer }, id) => timetables.findProfile(context.db, viewer, id)),
  );
  const filter = filterType(builder, 'TimetableProfileFilter', 'Which profiles', profileWire.profileFilter);
  builder.queryField('timetableProfiles', (t) =>
    t.field({
      type: connectionType(builder, profile, timetables.profileList, { isCounted: true }),
      args: filteredPage(t.arg, filter),
      complexity: pageCost,
      description: 'Profiles of how timetable files are read, by id; for those who may import.',
      resolve: (_root, { filter: wanted, ...page }, { context, viewer }) =>
        timetables.listProfiles(context.db, viewer, given(wanted), pageOf(timetables.profileList, page)),
    }),
  );
  const result = (verb: string) => ({
    name: `${verb}TimetableProfileResult`,
    description: 'The profile, or why the request was refused.',
  });
  builder.mutationFields((t) => {
    const named = {
      id: idArgument(t.arg, 'timetableProfile', { required: true, description: 'The id of the profile.' }),
      version: t.arg.int({ required: true, description: 'The version that was read.' }),
    };
    const input = (name: string, schema: Parameters<typeof bodyType>[2], description: string) =>
      t.arg({ type: bodyType(builder, name, schema, parts), required: true, description });
    return {
      createTimetableProfile: t.field({
        type: profile,
        errors: { types: [Conflict, Forbidden, InvalidInput], union: result('Create') },
        args: { input: input('CreateTimetableProfileInput', profileWire.newProfile, 'The profile to create.') },
        description: 'Stores under a name how timetable files are read; `profile` of an import refers to it.',
        resolve: (_root, args, call) =>
          timetables.createProfile(call.context.db, call, readChanges(args.input) as timetables.NewProfile),
      }),
      changeTimetableProfile: t.field({
        type: profile,
        errors: { types: [Conflict, Forbidden, InvalidInput, NotFound, PreconditionFailed], union: result('Change') },
        args: { ...named, input: input('ChangeTimetableProfileInput', profileWire.profileChanges, 'The changes.') },
        description: 'Changes members of a profile, each as a whole; null removes one.',
        resolve: (_root, { id, version, ...args }, call) =>
          timetables.changeProfile(call.context.db, call, id, [version], readChanges(args.input)),
      }),
      deleteTimetableProfile: t.field({
        type: profile,
        errors: { types: [Forbidden, NotFound, PreconditionFailed], union: result('Delete') },
        args: named,
        description: 'Deletes a profile and returns it; what was imported with it stays.',
        resolve: (_root, { id, version }, call) => timetables.deleteProfile(call.context.db, call, id, [version]),
      }),
    };
  });
}
