import type { ObjectRef } from '@pothos/core';
import { Forbidden, InvalidInput, PreconditionFailed } from '../errors.ts';
import { bodyType, partType } from '../graphql/body.ts';
import type { AddTypes, Builder, Types } from '../graphql/builder.ts';
import { connectionType, filteredPage, pageArguments, pageCost, pageOf } from '../graphql/connection.ts';
import { filterType } from '../graphql/filters.ts';
import { given } from '../graphql/given.ts';
import { globalId } from '../graphql/ids.ts';
import { nodeOf, recordQuery } from '../graphql/nodes.ts';
import { enumType, recordFields, recordType } from '../graphql/record.ts';
import { addChanges } from './record-graphql.ts';
import { addRights } from './rights-graphql.ts';
import * as rights from './rights-wire.ts';
import * as tenants from './service.ts';
import { parameterChanges, tenantChanges, tenantParameters, tenantRecord, toTenantRecord } from './tenant-wire.ts';
import * as wire from './wire.ts';

function addLocation(builder: Builder): ObjectRef<Types, tenants.Location> {
  const location = recordType(
    builder,
    'Location',
    wire.locationRecord,
    wire.toLocationRecord,
    nodeOf('location', ({ context, viewer }, id) => tenants.findLocation(context.db, viewer, id)),
  );
  builder.queryFields((t) => ({
    locations: t.field({
      type: [location],
      complexity: { field: 10, multiplier: 50 },
      description: 'All locations of the tenant, including retired ones.',
      resolve: (_root, _args, { context, viewer }) => tenants.listAllLocations(context.db, viewer),
    }),
    location: recordQuery(t, 'location', {
      type: location,
      description: 'A location; null if the tenant has none with this id.',
      find: ({ context, viewer }, id) => tenants.findLocation(context.db, viewer, id),
    }),
  }));
  return location;
}

function addResource(builder: Builder, location: ObjectRef<Types, tenants.Location>) {
  enumType(builder, wire.calendarWriting);
  enumType(builder, wire.calendarEdits);
  const resource = builder.objectRef<tenants.Resource>('Resource').implement({
    ...nodeOf('resource', ({ context, viewer }, id) => tenants.findResource(context.db, viewer, id)),
    description: 'A bookable room or thing.',
    fields: (t) => ({
      ...recordFields(t, wire.resourceRecord, wire.toResourceRecord),
      location: t.field({
        type: location,
        description: 'The location of the resource.',
        resolve: ({ locationId }, _args, { context, viewer }) => tenants.getLocation(context.db, viewer, locationId),
      }),
    }),
  });
  const connection = connectionType(builder, resource, tenants.resourceList, { isCounted: true });
  const filter = filterType(builder, 'ResourceFilter', 'Which resources', wire.resourceFilter);
  builder.objectField(location, 'resources', (t) =>
    t.field({
      type: connection,
      args: {
        filter: t.arg({ type: filter, description: 'The filter; `locationId` is ignored here.' }),
        ...pageArguments(t.arg),
      },
      complexity: pageCost,
      description: 'The resources at this location, by id.',
      resolve: ({ id }, { filter: wanted, ...page }, { context, viewer }) =>
        tenants.listResourcesOf(context.db, viewer, id, given(wanted), pageOf(tenants.resourceList, page)),
    }),
  );
  builder.queryFields((t) => ({
    resources: t.field({
      type: connection,
      args: filteredPage(t.arg, filter),
      complexity: pageCost,
      description: 'The resources of the tenant, by id.',
      resolve: (_root, { filter: wanted, ...page }, { context, viewer }) =>
        tenants.listResources(context.db, viewer, given(wanted), pageOf(tenants.resourceList, page)),
    }),
    resource: recordQuery(t, 'resource', {
      type: resource,
      description: 'A resource; null if the tenant has none with this id.',
      find: ({ context, viewer }, id) => tenants.findResource(context.db, viewer, id),
    }),
  }));
  return resource;
}

function addPerson(builder: Builder) {
  enumType(builder, wire.role);
  const person = recordType(
    builder,
    'Person',
    wire.personRecord,
    wire.toPersonRecord,
    nodeOf('person', ({ context, viewer }, id) => tenants.findPersonById(context.db, viewer, id)),
  );
  const connection = connectionType(builder, person, tenants.personList, { isCounted: true });
  const filter = filterType(builder, 'PersonFilter', 'Which persons', wire.personFilter);
  builder.queryFields((t) => ({
    me: t.field({
      type: person,
      description: 'The person to whom the credential of this call belongs.',
      resolve: (_root, _args, { context, viewer }) => tenants.getOwnPerson(context.db, viewer),
    }),
    persons: t.field({
      type: connection,
      args: filteredPage(t.arg, filter),
      complexity: pageCost,
      description: 'The persons of the tenant by id, for Admins.',
      resolve: (_root, { filter: wanted, ...page }, { context, viewer }) =>
        tenants.listPersons(context.db, viewer, given(wanted), pageOf(tenants.personList, page)),
    }),
    person: recordQuery(t, 'person', {
      type: person,
      description: 'A person, for Admins; null if the tenant has none with this id.',
      find: ({ context, viewer }, id) => tenants.findPersonById(context.db, viewer, id),
    }),
  }));
  return person;
}

function addOrganizers(builder: Builder, reference: ObjectRef<Types, { PersonId: number }>): void {
  const list = { name: tenants.organizerList.name, keyOf: ({ PersonId }: { PersonId: number }) => PersonId };
  const filter = filterType(builder, 'OrganizerFilter', 'Which persons', wire.organizerFilter);
  builder.queryField('organizers', (t) =>
    t.field({
      type: connectionType(builder, reference, list),
      args: filteredPage(t.arg, filter),
      complexity: pageCost,
      description:
        'The persons for whom a booking may be made: the active ones by id, for Admins and for those who may book for others by a policy.',
      resolve: async (_root, { filter: wanted, ...asked }, { context, viewer }) => {
        const page = await tenants.listOrganizers(
          context.db,
          viewer,
          given(wanted),
          pageOf(tenants.organizerList, asked),
        );
        return { ...page, items: page.items.map(wire.toPersonReference) };
      },
    }),
  );
}

function addTenant(builder: Builder): void {
  recordType(builder, 'TenantParameters', tenantParameters);
  const tenant = builder.objectRef<tenants.Tenant>('Tenant').implement({
    ...nodeOf('tenant', async ({ context, viewer }, id) => {
      const found = await tenants.getTenant(context.db, viewer);
      return found.id === id ? found : null;
    }),
    description: tenantRecord.description ?? '',
    fields: (t) => ({
      id: t.id({ description: 'The id of the tenant.', resolve: ({ id }) => globalId('tenant', id) }),
      ...recordFields(t, tenantRecord, toTenantRecord),
    }),
  });
  const parameters = partType(builder, 'ChangeTenantParametersInput', parameterChanges);
  const input = bodyType(builder, 'ChangeTenantInput', tenantChanges, new Map([[parameterChanges, parameters]]));
  builder.queryField('tenant', (t) =>
    t.field({
      type: tenant,
      description: 'The tenant of the caller, with its parameters.',
      resolve: (_root, _args, { context, viewer }) => tenants.getTenant(context.db, viewer),
    }),
  );
  builder.mutationField('changeTenant', (t) =>
    t.field({
      type: tenant,
      errors: {
        types: [Forbidden, InvalidInput, PreconditionFailed],
        union: { name: 'ChangeTenantResult', description: 'The tenant, or why the request was refused.' },
      },
      args: {
        version: t.arg.int({ required: true, description: 'The version that was read.' }),
        input: t.arg({ type: input, required: true, description: 'The changes.' }),
      },
      description: 'Changes the name and parameters of the tenant, for Admins.',
      resolve: (_root, { version, input }, call) => tenants.changeTenant(call.context.db, call, [version], input),
    }),
  );
}

export const addTypes: AddTypes = (builder) => {
  const location = addLocation(builder);
  const resource = addResource(builder, location);
  const person = addPerson(builder);
  const reference = recordType<{ PersonId: number }>(builder, 'PersonReference', wire.personReference);
  builder.objectField(reference, 'person', (t) =>
    t.field({
      type: person,
      nullable: true,
      description: 'The whole record, for Admins and for the person itself; null for others.',
      resolve: async ({ PersonId }, _args, { context, viewer }) =>
        (await tenants.findPersonFor(context.db, viewer, PersonId)) ?? null,
    }),
  );
  addOrganizers(builder, reference);
  addTenant(builder);
  const { group, policy } = addRights(builder, person, resource);
  addChanges(builder, 'location', location, {
    create: { schema: wire.newLocation, run: tenants.createLocation },
    change: { schema: wire.locationChanges, run: tenants.changeLocation },
  });
  addChanges(builder, 'resource', resource, {
    create: { schema: wire.newResource, run: tenants.createResource },
    change: { schema: wire.resourceChanges, run: tenants.changeResource },
  });
  addChanges(builder, 'person', person, {
    create: { schema: wire.newPerson, run: tenants.createPerson },
    change: { schema: wire.personChanges, run: tenants.changePerson },
  });
  addChanges(builder, 'group', group, {
    create: { schema: rights.newGroup, run: tenants.createGroup },
    change: { schema: rights.groupChanges, run: tenants.changeGroup },
    remove: tenants.deleteGroup,
  });
  addChanges(builder, 'policy', policy, {
    create: { schema: rights.newPolicy, run: tenants.createPolicy },
    change: { schema: rights.policyChanges, run: tenants.changePolicy },
    remove: tenants.deletePolicy,
  });
};
