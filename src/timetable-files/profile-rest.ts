import { z } from 'zod';
import { readPage } from '../db/paging.ts';
import { toFields } from '../fields.ts';
import { id, paging } from '../query-parameters.ts';
import { listAnswer, listOf } from '../rest/lists.ts';
import { type Route, route } from '../rest/route.ts';
import { readIfMatch, recordAnswer, versionProblems } from '../rest/versions.ts';
import * as wire from './profile-wire.ts';
import * as timetables from './service.ts';

const path = '/v1.0/timetable-profiles';
const params = z.object({ id: id('timetableProfile', 'The id of the profile.') });
const forImporters = { 403: 'Only who may import lessons reads and keeps profiles.' };
const conflict = `Another profile has this name, or the tenant has ${timetables.mostProfiles} already.`;

const answered = (description: string, example: object = wire.example) => ({
  200: { description, body: wire.profileRecord, example, headers: ['ETag' as const] },
});

export const profileRoutes: Route[] = [
  route({
    method: 'GET',
    path,
    summary: 'List timetable profiles',
    description: 'How files of timetables are read, by the ids of the profiles.',
    query: z.strictObject({ ...wire.profileFilter.shape, ...paging }),
    answers: {
      200: {
        description: 'One page of profiles.',
        body: listOf(wire.profileRecord, 'TimetableProfileList'),
        example: { Items: [wire.example], NextCursor: null },
        headers: ['ETag'],
      },
    },
    problems: forImporters,
    handle: async ({ db }, { viewer, query }) => {
      const { Limit, Cursor, ...filter } = query;
      const page = readPage(timetables.profileList, Limit, Cursor);
      return listAnswer(await timetables.listProfiles(db, viewer, toFields(filter), page), wire.toProfileRecord);
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    summary: 'Read a timetable profile',
    params,
    answers: answered('The profile.'),
    problems: forImporters,
    handle: async ({ db }, call) =>
      recordAnswer(wire.toProfileRecord(await timetables.getProfile(db, call.viewer, call.params.id))),
  }),
  route({
    method: 'POST',
    path,
    summary: 'Make a timetable profile',
    description:
      'Keeps how files are read under a name, which `Profile` of POST timetables then names: which column is which, the term, the time grid, what rooms are called.',
    body: {
      schema: wire.newProfile,
      example: { Name: wire.example.Name, Format: 'Csv', Source: 'ag', Mapping: wire.example.Mapping },
    },
    answers: {
      201: {
        description: 'The profile; `Location` is where it is read.',
        body: wire.profileRecord,
        example: wire.example,
        headers: ['Location', 'ETag'],
      },
    },
    problems: { ...forImporters, 409: conflict },
    handle: async ({ db, config }, call) => {
      const { Name: name, ...reading } = call.body;
      const made = await timetables.createProfile(db, call, { name, reading });
      const location = `${config.BaseUrl}/${call.viewer.mandator}/api${path}/${made.id}`;
      return recordAnswer(wire.toProfileRecord(made), { status: 201, location });
    },
  }),
  route({
    method: 'PATCH',
    path: `${path}/:id`,
    summary: 'Change a timetable profile',
    description:
      'Changes the members that are sent, each as a whole, and only in the version of `If-Match`; null removes one.',
    headers: ['If-Match'],
    params,
    body: { schema: wire.profileChanges, example: { SharedRooms: wire.example.SharedRooms } },
    answers: answered('The profile as it is now.', { ...wire.example, Version: 2 }),
    problems: { ...forImporters, 409: conflict },
    handle: async ({ db }, call) => {
      const { Name: name, ...reading } = call.body;
      const versions = readIfMatch(call.headers);
      const changes = { reading, ...(name !== undefined && { name }) };
      return recordAnswer(
        wire.toProfileRecord(await timetables.changeProfile(db, call, call.params.id, versions, changes)),
      );
    },
  }),
  route({
    method: 'DELETE',
    path: `${path}/:id`,
    summary: 'Delete a timetable profile',
    description: 'Only in the version of `If-Match`. What was imported with it stays.',
    headers: ['If-Match'],
    params,
    answers: { 204: { description: 'It is gone.' } },
    problems: { ...forImporters, ...versionProblems },
    handle: async ({ db }, call) => {
      await timetables.deleteProfile(db, call, call.params.id, readIfMatch(call.headers));
      return { status: 204 };
    },
  }),
];
