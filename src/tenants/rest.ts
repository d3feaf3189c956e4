import { z } from 'zod';
import type { Act, Context, Versions } from '../context.ts';
import { readPage } from '../db/paging.ts';
import { type Fields, toFields } from '../fields.ts';
import { listAnswer, listOf } from '../rest/lists.ts';
import { flag, id, paging, resourceFilter } from '../rest/parameters.ts';
import { type DescribedAnswer, type Route, route } from '../rest/route.ts';
import { readIfMatch, recordAnswer } from '../rest/versions.ts';
import * as examples from './examples.ts';
import * as tenants from './service.ts';
import * as wire from './wire.ts';

const forDisplays = { 403: 'A display reads the status of its own resources only.' };
const forAdmins = { 403: 'Only an Admin manages master data.' };
const ofName = (most: number, description: string) => z.string().min(1).max(most).optional().meta({ description });
const active = flag('Only those that are, or are not, active; both when left out.');

const one = (description: string, body: z.ZodType, example: unknown): Record<200, DescribedAnswer> => ({
  200: { description, body, example, headers: ['ETag'] },
});
const many = (noun: string, items: z.ZodType, listId: string, example: unknown) => ({
  200: {
    description: `One page of ${noun}.`,
    body: listOf(items, listId),
    example: examples.page(example),
    headers: ['ETag'],
  } satisfies DescribedAnswer,
});

type Body = z.ZodType<object>;
type Create<Record, New extends Body> = (db: Context['db'], act: Act, fields: Fields<z.output<New>>) => Promise<Record>;
type Change<Record, Changes extends Body> = (
  db: Context['db'],
  act: Act,
  id: number,
  versions: Versions,
  changes: Fields<z.output<Changes>>,
) => Promise<Record>;

/** The routes by which Admins make and change the records of one kind. */
function adminRoutes<Record extends { id: number }, New extends Body, Changes extends Body>(kind: {
  path: string;
  noun: string;
  rules: { create: string; change: string };
  conflicts: { create: string; change: string };
  record: { schema: z.ZodType; example: object; of(record: Record): { Version: number } };
  create: { schema: New; example: object; run: Create<Record, New> };
  change: { schema: Changes; example: object; run: Change<Record, Changes> };
}): Route[] {
  const { path, noun, rules, conflicts, record, create, change } = kind;
  const params = z.object({ id: id(`The Id of the ${noun}.`) });
  return [
    route({
      method: 'POST',
      path,
      summary: `Make a ${noun}`,
      description: rules.create,
      body: create,
      answers: {
        201: {
          description: `The ${noun}; \`Location\` is where it is read.`,
          body: record.schema,
          example: { ...record.example, ...create.example },
          headers: ['Location', 'ETag'],
        },
      },
      problems: { ...forAdmins, 409: conflicts.create },
      handle: async ({ db, config }, call) => {
        const made = await create.run(db, call, toFields(call.body));
        const location = `${config.BaseUrl}/${call.viewer.mandator}/api${path}/${made.id}`;
        return recordAnswer(record.of(made), { status: 201, location });
      },
    }),
    route({
      method: 'PATCH',
      path: `${path}/:id`,
      summary: `Change a ${noun}`,
      description: `Changes the members that are sent, and only in the version of \`If-Match\`. ${rules.change}`,
      headers: ['If-Match'],
      params,
      body: change,
      answers: one(`The ${noun} as it is now.`, record.schema, examples.changed(record.example, change.example)),
      problems: { ...forAdmins, 409: conflicts.change },
      handle: async ({ db }, call) => {
        const versions = readIfMatch(call.headers);
        const changes = toFields(call.body);
        return recordAnswer(record.of(await change.run(db, call, call.params.id, versions, changes)));
      },
    }),
  ];
}

const resourceRoutes = [
  route({
    method: 'GET',
    path: '/v1.0/resources',
    summary: 'List resources',
    description: 'The resources of the tenant by their ids.',
    query: z.strictObject({
      LocationId: id('Only those of this location.').optional(),
      Kind: ofName(50, 'Only those of this kind, in whatever case.'),
      ...resourceFilter,
      Name: ofName(200, 'Only those of this name, in whatever case.'),
      Active: active,
      ...paging,
    }),
    answers: many('resources', wire.resourceRecord, 'ResourceList', examples.resource),
    problems: forDisplays,
    handle: async ({ db }, { viewer, query }) => {
      const filter = {
        locationId: query.LocationId,
        kind: query.Kind,
        minCapacity: query.MinCapacity,
        equipment: query.Equipment,
        name: query.Name,
        active: query.Active,
      };
      const page = readPage(tenants.resourceList, query.Limit, query.Cursor);
      return listAnswer(await tenants.listResources(db, viewer, filter, page), wire.toResourceRecord);
    },
  }),
  route({
    method: 'GET',
    path: '/v1.0/resources/:id',
    summary: 'Read a resource',
    params: z.object({ id: id('The Id of the resource.') }),
    answers: one('The resource.', wire.resourceRecord, examples.resource),
    problems: forDisplays,
    handle: async ({ db }, { viewer, params }) =>
      recordAnswer(wire.toResourceRecord(await tenants.getResource(db, viewer, params.id))),
  }),
  ...adminRoutes({
    path: '/v1.0/resources',
    noun: 'resource',
    rules: {
      create: 'Makes a resource at a location, where its name must be new.',
      change: 'A resource that is no longer needed is set to inactive; it is never deleted.',
    },
    conflicts: {
      create: 'Another resource of the location has this name, or the location is not active.',
      change: 'Another resource of the location has this name, or the location is not active.',
    },
    record: { schema: wire.resourceRecord, example: examples.resource, of: wire.toResourceRecord },
    create: {
      schema: wire.newResource,
      example: examples.newResource,
      run: tenants.createResource,
    },
    change: {
      schema: wire.resourceChanges,
      example: examples.resourceChanges,
      run: tenants.changeResource,
    },
  }),
];

const locationRoutes = [
  route({
    method: 'GET',
    path: '/v1.0/locations',
    summary: 'List locations',
    description: 'The locations of the tenant by their ids.',
    query: z.strictObject({ Active: active, ...paging }),
    answers: many('locations', wire.locationRecord, 'LocationList', examples.location),
    problems: forDisplays,
    handle: async ({ db }, { viewer, query }) => {
      const page = readPage(tenants.locationList, query.Limit, query.Cursor);
      const found = await tenants.listLocations(db, viewer, { active: query.Active }, page);
      return listAnswer(found, wire.toLocationRecord);
    },
  }),
  route({
    method: 'GET',
    path: '/v1.0/locations/:id',
    summary: 'Read a location',
    params: z.object({ id: id('The Id of the location.') }),
    answers: one('The location.', wire.locationRecord, examples.location),
    problems: forDisplays,
    handle: async ({ db }, { viewer, params }) =>
      recordAnswer(wire.toLocationRecord(await tenants.getLocation(db, viewer, params.id))),
  }),
  ...adminRoutes({
    path: '/v1.0/locations',
    noun: 'location',
    rules: {
      create: 'Makes a location; its name must be new.',
      change:
        'Another time zone moves the opening hours with it: they are local clock times. A location that is no longer needed is set to inactive, after its resources; it is never deleted.',
    },
    conflicts: {
      create: 'Another location has this name.',
      change: 'Another location has this name, or the location still has active resources.',
    },
    record: { schema: wire.locationRecord, example: examples.location, of: wire.toLocationRecord },
    create: {
      schema: wire.newLocation,
      example: examples.newLocation,
      run: tenants.createLocation,
    },
    change: {
      schema: wire.locationChanges,
      example: examples.locationChanges,
      run: tenants.changeLocation,
    },
  }),
];

const personRoutes = [
  route({
    method: 'GET',
    path: '/v1.0/persons/me',
    summary: 'Read oneself',
    description: 'The person whose credential this call carries.',
    answers: one('The person.', wire.personRecord, examples.person),
    handle: async ({ db }, { viewer }) => recordAnswer(wire.toPersonRecord(await tenants.getOwnPerson(db, viewer))),
  }),
  route({
    method: 'GET',
    path: '/v1.0/persons',
    summary: 'List persons',
    description: 'The persons of the tenant by their ids, for Admins.',
    query: z.strictObject({
      Email: ofName(254, 'Only the person of this e-mail address, in whatever case.'),
      Role: wire.role.optional().meta({ description: 'Only those of this role.' }),
      Active: active,
      ...paging,
    }),
    answers: many('persons', wire.personRecord, 'PersonList', examples.person),
    problems: forAdmins,
    handle: async ({ db }, { viewer, query }) => {
      const filter = { email: query.Email, role: query.Role, active: query.Active };
      const page = readPage(tenants.personList, query.Limit, query.Cursor);
      return listAnswer(await tenants.listPersons(db, viewer, filter, page), wire.toPersonRecord);
    },
  }),
  route({
    method: 'GET',
    path: '/v1.0/persons/:id',
    summary: 'Read a person',
    description: 'A person of the tenant, for Admins.',
    params: z.object({ id: id('The Id of the person.') }),
    answers: one('The person.', wire.personRecord, examples.person),
    problems: forAdmins,
    handle: async ({ db }, { viewer, params }) =>
      recordAnswer(wire.toPersonRecord(await tenants.getPersonById(db, viewer, params.id))),
  }),
  ...adminRoutes({
    path: '/v1.0/persons',
    noun: 'person',
    rules: {
      create: 'Makes a person, whose e-mail address must be new. PINs are made apart.',
      change:
        'With `Active` false every PIN and token of the person is refused at once, and open streams end. The e-mail address stays. The last active Admin keeps that role and stays active.',
    },
    conflicts: {
      create: 'Another person has this e-mail address.',
      change: 'The tenant would have no active Admin.',
    },
    record: { schema: wire.personRecord, example: examples.person, of: wire.toPersonRecord },
    create: {
      schema: wire.newPerson,
      example: examples.newPerson,
      run: tenants.createPerson,
    },
    change: {
      schema: wire.personChanges,
      example: examples.personChanges,
      run: tenants.changePerson,
    },
  }),
];

export const routes: Route[] = [...resourceRoutes, ...locationRoutes, ...personRoutes];
