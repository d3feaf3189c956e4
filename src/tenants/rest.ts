import { z } from 'zod';
import type { Act, Context, Versions, Viewer } from '../context.ts';
import { type List, type Page, type PageRequest, readPage } from '../db/paging.ts';
import { type Fields, toFields } from '../fields.ts';
import { id, paging } from '../query-parameters.ts';
import { listAnswer, listOf } from '../rest/lists.ts';
import { type Route, route } from '../rest/route.ts';
import { readIfMatch, recordAnswer } from '../rest/versions.ts';
import * as examples from './examples.ts';
import * as tenants from './service.ts';
import { tenantChanges, tenantRecord, toTenantRecord } from './tenant-wire.ts';
import * as wire from './wire.ts';

type Body = z.ZodType<object>;

/** The routes of one kind of master data. */
type RecordRoutes<Row, Filter extends object, New extends Body, Changes extends Body> = {
  noun: 'resource' | 'location' | 'person';
  /** Why a reader is refused. */
  refusal: string;
  filter: z.ZodObject;
  list: {
    description: string;
    of: List<Row>;
    run(db: Db, viewer: Viewer, filter: Filter, page: PageRequest): Promise<Page<Row>>;
  };
  read: { description?: string; run(db: Db, viewer: Viewer, id: number): Promise<Row> };
  record: { schema: z.ZodType; example: object; of(row: Row): { Version: number } };
  create: {
    description: string;
    conflict: string;
    schema: New;
    example: object;
    run(db: Db, act: Act, fields: Fields<z.output<New>>): Promise<Row>;
  };
  change: {
    description: string;
    conflict: string;
    schema: Changes;
    example: object;
    run(db: Db, act: Act, id: number, versions: Versions, changes: Fields<z.output<Changes>>): Promise<Row>;
  };
};
type Db = Context['db'];

function recordRoutes<Row extends { id: number }, Filter extends object, New extends Body, Changes extends Body>({
  noun,
  refusal,
  filter,
  list,
  read,
  record,
  create,
  change,
}: RecordRoutes<Row, Filter, New, Changes>): Route[] {
  const path = `/v1.0/${noun}s`;
  const params = z.object({ id: id(`The Id of the ${noun}.`) });
  const tagged = (description: string, body: z.ZodType, example: unknown) => ({
    200: { description, body, example, headers: ['ETag' as const] },
  });
  const listId = `${noun.charAt(0).toUpperCase()}${noun.slice(1)}List`;
  const problems = { 403: refusal };
  const forAdmins = { 403: 'Only an Admin manages master data.' };
  return [
    route({
      method: 'GET',
      path,
      summary: `List ${noun}s`,
      description: list.description,
      query: z.strictObject({ ...filter.shape, ...paging }),
      answers: tagged(`One page of ${noun}s.`, listOf(record.schema, listId), examples.page(record.example)),
      problems,
      handle: async ({ db }, { viewer, query }) => {
        const { Limit, Cursor, ...wanted } = query;
        const page = readPage(list.of, Limit, Cursor);
        return listAnswer(await list.run(db, viewer, toFields(wanted) as Filter, page), record.of);
      },
    }),
    route({
      method: 'GET',
      path: `${path}/:id`,
      summary: `Read a ${noun}`,
      ...(read.description && { description: read.description }),
      params,
      answers: tagged(`The ${noun}.`, record.schema, record.example),
      problems,
      handle: async ({ db }, call) => recordAnswer(record.of(await read.run(db, call.viewer, call.params.id))),
    }),
    route({
      method: 'POST',
      path,
      summary: `Make a ${noun}`,
      description: create.description,
      body: create,
      answers: {
        201: {
          description: `The ${noun}; \`Location\` is where it is read.`,
          body: record.schema,
          example: { ...record.example, ...create.example },
          headers: ['Location', 'ETag'],
        },
      },
      problems: { ...forAdmins, 409: create.conflict },
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
      description: `Changes the members that are sent, and only in the version of \`If-Match\`. ${change.description}`,
      headers: ['If-Match'],
      params,
      body: change,
      answers: tagged(`The ${noun} as it is now.`, record.schema, examples.changed(record.example, change.example)),
      problems: { ...forAdmins, 409: change.conflict },
      handle: async ({ db }, call) => {
        const versions = readIfMatch(call.headers);
        return recordAnswer(record.of(await change.run(db, call, call.params.id, versions, toFields(call.body))));
      },
    }),
  ];
}

const forDisplays = 'A display reads the status of its own resources only.';
const resourceConflict = 'Another resource of the location has this name, or the location is not active.';

const tenantPath = '/v1.0/tenant';

const tenantRoutes = [
  route({
    method: 'GET',
    path: tenantPath,
    summary: 'Read the tenant',
    description: 'The tenant to whom the caller belongs, with its parameters.',
    answers: {
      200: { description: 'The tenant.', body: tenantRecord, example: examples.tenant, headers: ['ETag'] },
    },
    problems: { 403: forDisplays },
    handle: async ({ db }, { viewer }) => recordAnswer(toTenantRecord(await tenants.getTenant(db, viewer))),
  }),
  route({
    method: 'PATCH',
    path: tenantPath,
    summary: 'Change the tenant',
    description:
      'Changes the members and parameters that are sent, and only in the version of `If-Match`; a parameter counts at once. `PinAuthenticationAllowed` is changed by whoever runs the server only, as without PINs nobody might get in any more: 422 with the code `OperatorOnly`.',
    headers: ['If-Match'],
    body: { schema: tenantChanges, example: examples.tenantChanges },
    answers: {
      200: {
        description: 'The tenant as it is now.',
        body: tenantRecord,
        example: {
          ...examples.tenant,
          Parameters: { ...examples.tenant.Parameters, ...examples.tenantChanges.Parameters },
          Version: 2,
        },
        headers: ['ETag'],
      },
    },
    problems: { 403: 'Only an Admin manages master data.' },
    handle: async ({ db }, call) => {
      const versions = readIfMatch(call.headers);
      return recordAnswer(toTenantRecord(await tenants.changeTenant(db, call, versions, toFields(call.body))));
    },
  }),
];

export const routes: Route[] = [
  ...recordRoutes({
    noun: 'resource',
    refusal: forDisplays,
    filter: wire.resourceFilter,
    list: {
      description: 'The resources of the tenant by their ids. Several `Equipment` are sent one by one.',
      of: tenants.resourceList,
      run: tenants.listResources,
    },
    read: { run: tenants.getResource },
    record: { schema: wire.resourceRecord, example: examples.resource, of: wire.toResourceRecord },
    create: {
      description: 'Makes a resource at a location, where its name must be new.',
      conflict: resourceConflict,
      schema: wire.newResource,
      example: examples.newResource,
      run: tenants.createResource,
    },
    change: {
      description:
        'A resource that is no longer needed is set to inactive; it is never deleted. At another `LocationId` its bookings keep their instants and its own opening hours their clock times; hours that come from the location are those of the new one.',
      conflict: resourceConflict,
      schema: wire.resourceChanges,
      example: examples.resourceChanges,
      run: tenants.changeResource,
    },
  }),
  ...recordRoutes({
    noun: 'location',
    refusal: forDisplays,
    filter: wire.locationFilter,
    list: {
      description: 'The locations of the tenant by their ids.',
      of: tenants.locationList,
      run: tenants.listLocations,
    },
    read: { run: tenants.getLocation },
    record: { schema: wire.locationRecord, example: examples.location, of: wire.toLocationRecord },
    create: {
      description: 'Makes a location; its name must be new.',
      conflict: 'Another location has this name.',
      schema: wire.newLocation,
      example: examples.newLocation,
      run: tenants.createLocation,
    },
    change: {
      description:
        'Another time zone moves the opening hours with it: they are local clock times. A location that is no longer needed is set to inactive, after its resources; it is never deleted.',
      conflict: 'Another location has this name, or the location still has active resources.',
      schema: wire.locationChanges,
      example: examples.locationChanges,
      run: tenants.changeLocation,
    },
  }),
  route({
    method: 'GET',
    path: '/v1.0/persons/me',
    summary: 'Read oneself',
    description: 'The person whose credential this call carries.',
    answers: {
      200: { description: 'The person.', body: wire.personRecord, example: examples.person, headers: ['ETag'] },
    },
    handle: async ({ db }, { viewer }) => recordAnswer(wire.toPersonRecord(await tenants.getOwnPerson(db, viewer))),
  }),
  ...recordRoutes({
    noun: 'person',
    refusal: 'Only an Admin manages master data.',
    filter: wire.personFilter,
    list: {
      description: 'The persons of the tenant by their ids, for Admins.',
      of: tenants.personList,
      run: tenants.listPersons,
    },
    read: { description: 'A person of the tenant, for Admins.', run: tenants.getPersonById },
    record: { schema: wire.personRecord, example: examples.person, of: wire.toPersonRecord },
    create: {
      description: 'Makes a person, whose e-mail address must be new. PINs are made apart.',
      conflict: 'Another person has this e-mail address.',
      schema: wire.newPerson,
      example: examples.newPerson,
      run: tenants.createPerson,
    },
    change: {
      description:
        'With `Active` false every PIN and token of the person is refused at once, and open streams end. With another `Email` PINs stay, and tokens of an outside identity provider count when they name the new address. The last active Admin keeps that role and stays active.',
      conflict: 'The tenant would have no active Admin, or another person has this e-mail address.',
      schema: wire.personChanges,
      example: examples.personChanges,
      run: tenants.changePerson,
    },
  }),
  ...tenantRoutes,
];
