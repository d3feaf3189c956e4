import { z } from 'zod';
import { id } from '../query-parameters.ts';
import { recordRoutes } from '../rest/record-routes.ts';
import * as wire from './profile-wire.ts';
import * as timetables from './service.ts';

const forImporters = 'Only those who may import lessons may read and manage profiles.';
const conflict = `Another profile has this name, or the tenant already has ${timetables.mostProfiles}.`;

export const profileRoutes = recordRoutes({
  path: '/v1.0/timetable-profiles',
  noun: 'profile',
  qualifier: 'timetable',
  params: z.object({ id: id('timetableProfile', 'The id of the profile.') }),
  refusals: { read: forImporters, write: forImporters },
  filter: wire.profileFilter,
  list: {
    description: 'Profiles of how timetable files are read, by id.',
    of: timetables.profileList,
    run: timetables.listProfiles,
  },
  read: { run: timetables.getProfile },
  record: { schema: wire.profileRecord, example: wire.example, of: wire.toProfileRecord },
  create: {
    description:
      'Stores under a name how files are read; `Profile` of POST timetables refers to it: the meaning of the columns, the term, the time grid, and the names of rooms.',
    conflict,
    schema: wire.newProfile,
    example: { Name: wire.example.Name, Format: 'Csv', Source: 'ag', Mapping: wire.example.Mapping },
    run: (db, call) => {
      const { Name: name, ...reading } = call.body;
      return timetables.createProfile(db, call, { name, reading });
    },
  },
  change: {
    rule: 'Changes the members that are sent, each as a whole, only in the version of `If-Match`; null removes one.',
    conflict,
    schema: wire.profileChanges,
    example: { SharedRooms: wire.example.SharedRooms },
    run: (db, call, profileId, versions) => {
      const { Name: name, ...reading } = call.body;
      return timetables.changeProfile(db, call, profileId, versions, { reading, ...(name !== undefined && { name }) });
    },
  },
  remove: { description: 'What was imported with it stays.', run: timetables.deleteProfile },
});
