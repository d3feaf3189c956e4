/** Groups and policies in GraphQL. */
import type { ObjectRef } from '@pothos/core';
import type { Builder, Types } from '../graphql/builder.ts';
import { connectionType, filteredPage, pageArguments, pageCost, pageOf } from '../graphql/connection.ts';
import { filterType } from '../graphql/filters.ts';
import { given } from '../graphql/given.ts';
import { nodeOf, recordQuery } from '../graphql/nodes.ts';
import { recordType } from '../graphql/record.ts';
import * as wire from './rights-wire.ts';
import * as tenants from './service.ts';

type Person = Awaited<ReturnType<typeof tenants.getOwnPerson>>;

function addGroup(builder: Builder, person: ObjectRef<Types, Person>) {
  const group = recordType(
    builder,
    'Group',
    wire.groupRecord,
    wire.toGroupRecord,
    nodeOf('group', ({ context, viewer }, id) => tenants.findGroup(context.db, viewer, id)),
  );
  const connection = connectionType(builder, group, tenants.groupList, { isCounted: true });
  const filter = filterType(builder, 'GroupFilter', 'Which groups', wire.groupFilter);
  builder.objectField(group, 'members', (t) =>
    t.field({
      type: 'PersonConnection' as unknown as ObjectRef<Types, Awaited<ReturnType<typeof tenants.listPersons>>>,
      args: pageArguments(t.arg),
      complexity: pageCost,
      description: 'Its members, by id; for Admins.',
      resolve: ({ id }, page, { context, viewer }) =>
        tenants.listMembersOf(context.db, viewer, id, pageOf(tenants.personList, page)),
    }),
  );
  builder.objectField(person, 'groups', (t) =>
    t.field({
      type: connection,
      args: pageArguments(t.arg),
      complexity: pageCost,
      description: 'The groups to which this person belongs, by id.',
      resolve: ({ id }, page, { context, viewer }) =>
        tenants.listGroupsOf(context.db, viewer, id, pageOf(tenants.groupList, page)),
    }),
  );
  builder.queryFields((t) => ({
    groups: t.field({
      type: connection,
      args: filteredPage(t.arg, filter),
      complexity: pageCost,
      description: 'The groups of the tenant by id, for Admins; with `personId`, every person may list its own.',
      resolve: (_root, { filter: wanted, ...page }, { context, viewer }) =>
        tenants.listGroups(context.db, viewer, given(wanted), pageOf(tenants.groupList, page)),
    }),
    group: recordQuery(t, 'group', {
      type: group,
      description: 'A group, for Admins; null if the tenant has none with this id.',
      find: ({ context, viewer }, id) => tenants.findGroup(context.db, viewer, id),
    }),
  }));
  return group;
}

function addPolicy(builder: Builder, resource: ObjectRef<Types, tenants.Resource>) {
  const policy = recordType(
    builder,
    'Policy',
    wire.policyRecord,
    wire.toPolicyRecord,
    nodeOf('policy', ({ context, viewer }, id) => tenants.findPolicy(context.db, viewer, id)),
  );
  const connection = connectionType(builder, policy, tenants.policyList, { isCounted: true });
  const filter = filterType(builder, 'PolicyFilter', 'Which policies', wire.policyFilter);
  builder.objectField(resource, 'policy', (t) =>
    t.field({
      type: policy,
      nullable: true,
      description: 'The policy of the resource; null if everybody may see and book it.',
      resolve: async ({ policyId }, _args, { context, viewer }) =>
        policyId === null ? null : ((await tenants.findPolicy(context.db, viewer, policyId)) ?? null),
    }),
  );
  builder.queryFields((t) => ({
    policies: t.field({
      type: connection,
      args: filteredPage(t.arg, filter),
      complexity: pageCost,
      description: 'The policies of the tenant by id, without those whose resources you may not see.',
      resolve: (_root, { filter: wanted, ...page }, { context, viewer }) =>
        tenants.listPolicies(context.db, viewer, given(wanted), pageOf(tenants.policyList, page)),
    }),
    policy: recordQuery(t, 'policy', {
      type: policy,
      description: 'A policy; null if the tenant has none with this id whose resources you may see.',
      find: ({ context, viewer }, id) => tenants.findPolicy(context.db, viewer, id),
    }),
  }));
  return policy;
}

/** Adds groups and policies, and their edges. */
export function addRights(
  builder: Builder,
  person: ObjectRef<Types, Person>,
  resource: ObjectRef<Types, tenants.Resource>,
) {
  return { group: addGroup(builder, person), policy: addPolicy(builder, resource) };
}
