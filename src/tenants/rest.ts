import { z } from 'zod';
import type { Context } from '../context.ts';
import { toFields } from '../fields.ts';
import { id } from '../query-parameters.ts';
import { listOf, listRoute, pageAnswer } from '../rest/lists.ts';
import { recordRoutes } from '../rest/record-routes.ts';
import { forAdmins, forDisplays, type Route, route } from '../rest/route.ts';
import { readIfMatch, recordAnswer } from '../rest/versions.ts';
import * as examples from './examples.ts';
import * as rights from './rights-wire.ts';
import * as tenants from './service.ts';
import { tenantChanges, tenantRecord, toTenantRecord } from './tenant-wire.ts';
import * as wire from './wire.ts';

const resourceConflict = 'Another resource of the location has this name, or the location is not active.';

/** The code of the tenant, if there is exactly one and the database answers. */
export const findOnlyTenant = ({ db }: Context): Promise<string | undefined> =>
  tenants.getOnlyTenant(db).catch(() => undefined);

/** For the pages of signs and boards. */
export const findLogo = ({ db }: Context, mandator: string) => tenants.findLogo(db, mandator);

const tenantPath = '/v1.0/tenant';

const tenantRoutes = [
  route({
    method: 'GET',
    path: tenantPath,
    summary: 'Read the tenant',
    description: 'The tenant of the caller, with its parameters.',
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
      'Changes the members and parameters that are sent, only in the version of `If-Match`; parameters take effect at once. Only the operator of the server changes `PinAuthenticationAllowed`, as without PINs nobody might be able to sign in: 422 with the code `OperatorOnly`.',
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
    problems: { 403: forAdmins },
    handle: async ({ db }, call) => {
      const versions = readIfMatch(call.headers);
      return recordAnswer(toTenantRecord(await tenants.changeTenant(db, call, versions, toFields(call.body))));
    },
  }),
];

export const routes: Route[] = [
  ...recordRoutes({
    path: '/v1.0/resources',
    noun: 'resource',
    params: z.object({ id: id('resource', 'The Id of the resource.') }),
    refusals: { read: forDisplays, write: forAdmins },
    filter: wire.resourceFilter,
    list: {
      description: 'The resources of the tenant by id. Repeat `Equipment` for several values.',
      of: tenants.resourceList,
      run: tenants.listResources,
    },
    read: { run: tenants.getResource },
    record: { schema: wire.resourceRecord, example: examples.resource, of: wire.toResourceRecord },
    create: {
      description: 'Creates a resource at a location, where its name must be new.',
      conflict: resourceConflict,
      schema: wire.newResource,
      example: examples.newResource,
      run: tenants.createResource,
    },
    change: {
      description:
        'A resource that is no longer needed is set to inactive; it is never deleted. If `LocationId` changes, its bookings keep their instants and its own opening hours their clock times; hours that come from the location are those of the new one.',
      conflict: resourceConflict,
      schema: wire.resourceChanges,
      example: examples.resourceChanges,
      run: tenants.changeResource,
    },
  }),
  ...recordRoutes({
    path: '/v1.0/locations',
    noun: 'location',
    params: z.object({ id: id('location', 'The Id of the location.') }),
    refusals: { read: forDisplays, write: forAdmins },
    filter: wire.locationFilter,
    list: {
      description: 'The locations of the tenant by id.',
      of: tenants.locationList,
      run: tenants.listLocations,
    },
    read: { run: tenants.getLocation },
    record: { schema: wire.locationRecord, example: examples.location, of: wire.toLocationRecord },
    create: {
      description: 'Creates a location, whose name must be new.',
      conflict: 'Another location has this name.',
      schema: wire.newLocation,
      example: examples.newLocation,
      run: tenants.createLocation,
    },
    change: {
      description:
        'Another time zone moves the opening hours with it, as they are local clock times. A location that is no longer needed is set to inactive, after its resources; it is never deleted.',
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
    description: 'The person to whom the credential of this call belongs.',
    answers: {
      200: { description: 'The person.', body: wire.personRecord, example: examples.person, headers: ['ETag'] },
    },
    handle: async ({ db }, { viewer }) => recordAnswer(wire.toPersonRecord(await tenants.getOwnPerson(db, viewer))),
  }),
  listRoute({
    path: '/v1.0/persons/organizers',
    summary: 'List persons for whom a booking may be made',
    description:
      'The names of the active persons by id, without displays; for those who may book for others: Admins, and the groups that a policy names.',
    filter: wire.organizerFilter,
    page: pageAnswer('One page of persons.', listOf(wire.personReference, 'PersonReferenceList'), {
      PersonId: 1,
      DisplayName: 'Ada Admin',
    }),
    problems: { 403: 'The caller may not book for others.' },
    of: tenants.organizerList,
    run: tenants.listOrganizers,
    toRecord: wire.toPersonReference,
  }),
  ...recordRoutes({
    path: '/v1.0/persons',
    noun: 'person',
    params: z.object({ id: id('person', 'The Id of the person.') }),
    refusals: { read: forAdmins, write: forAdmins },
    filter: wire.personFilter,
    list: {
      description: 'The persons of the tenant by id, for Admins.',
      of: tenants.personList,
      run: tenants.listPersons,
    },
    read: { description: 'A person of the tenant, for Admins.', run: tenants.getPersonById },
    record: { schema: wire.personRecord, example: examples.person, of: wire.toPersonRecord },
    create: {
      description: 'Creates a person, whose e-mail address must be new. PINs are created separately.',
      conflict: 'Another person has this e-mail address.',
      schema: wire.newPerson,
      example: examples.newPerson,
      run: tenants.createPerson,
    },
    change: {
      description:
        'With `Active` false, every PIN and token of the person is refused at once, and its open streams end. With another `Email`, PINs stay, and tokens of an outside identity provider are valid if they name the new address. The last active Admin keeps that role and stays active.',
      conflict: 'The tenant would have no active Admin left, or another person has this e-mail address.',
      schema: wire.personChanges,
      example: examples.personChanges,
      run: tenants.changePerson,
    },
  }),
  ...tenantRoutes,
  ...recordRoutes({
    path: '/v1.0/groups',
    noun: 'group',
    params: z.object({ id: id('group', 'The Id of the group.') }),
    refusals: {
      read: 'Only an Admin may manage master data; every person may list the groups that it belongs to.',
      write: forAdmins,
    },
    filter: rights.groupFilter,
    list: {
      description:
        'The groups of the tenant by id, for Admins; with `PersonId`, every person may list its own. `persons?GroupId=` lists the members of a group.',
      of: tenants.groupList,
      run: tenants.listGroups,
    },
    read: { description: 'A group of the tenant, for Admins.', run: tenants.getGroup },
    record: { schema: rights.groupRecord, example: examples.group, of: rights.toGroupRecord },
    create: {
      description: 'Creates a group, whose name must be new.',
      conflict: 'Another group has this name.',
      schema: rights.newGroup,
      example: examples.newGroup,
      run: tenants.createGroup,
    },
    change: {
      description: 'The rights of the members change at once, and their open streams end.',
      conflict: 'Another group has this name.',
      schema: rights.groupChanges,
      example: examples.groupChanges,
      run: tenants.changeGroup,
    },
    remove: {
      description: 'A group that a policy names cannot be deleted: remove it from the policy first.',
      conflict: 'A policy names the group.',
      run: tenants.deleteGroup,
    },
  }),
  ...recordRoutes({
    path: '/v1.0/policies',
    noun: 'policy',
    plural: 'policies',
    params: z.object({ id: id('policy', 'The Id of the policy.') }),
    refusals: { read: forDisplays, write: forAdmins },
    filter: rights.policyFilter,
    list: {
      description: 'The policies of the tenant by id, without those whose resources you may not see.',
      of: tenants.policyList,
      run: tenants.listPolicies,
    },
    read: { run: tenants.getPolicy },
    record: { schema: rights.policyRecord, example: examples.policy, of: rights.toPolicyRecord },
    create: {
      description: 'Creates a policy, whose name must be new. It applies to the resources that get its `PolicyId`.',
      conflict: 'Another policy has this name.',
      schema: rights.newPolicy,
      example: examples.newPolicy,
      run: tenants.createPolicy,
    },
    change: {
      description:
        'A list replaces the stored one, and null clears a limit. Persons who may no longer see the resources get 404 for them at once, and their open streams end.',
      conflict: 'Another policy has this name.',
      schema: rights.policyChanges,
      example: examples.policyChanges,
      run: tenants.changePolicy,
    },
    remove: {
      description: 'A policy that a resource has cannot be deleted: give the resource another one first, or none.',
      conflict: 'A resource has the policy.',
      run: tenants.deletePolicy,
    },
  }),
];
