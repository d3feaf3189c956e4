/** Groups and policies in GraphQL. */
import type { ObjectRef } from '@pothos/core';
import type { Builder, Types } from '../graphql/builder.ts';
import { connectionType, pageArguments, pageCost, pageOf } from '../graphql/connection.ts';
import { filterType } from '../graphql/filters.ts';
import { given } from '../graphql/given.ts';
import { idArgument } from '../graphql/ids.ts';
import { nodeOf } from '../graphql/nodes.ts';
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
  const filter = filterType(
    builder,
    'GroupFilter',
    'Which groups; members that are left out do not count.',
    wire.groupFilter,
  );
  builder.objectField(group, 'members', (t) =>
    t.field({
      type: 'PersonConnection' as unknown as ObjectRef<Types, Awaited<ReturnType<typeof tenants.listPersons>>>,
      args: pageArguments(t.arg),
      complexity: pageCost,
      description: 'Who belongs to it, by their ids; for Admins.',
      resolve: ({ id }, page, { context, viewer }) =>
        tenants.listMembersOf(context.db, viewer, id, pageOf(tenants.personList, page)),
    }),
  );
  builder.objectField(person, 'groups', (t) =>
    t.field({
      type: connection,
      args: pageArguments(t.arg),
      complexity: pageCost,
      description: 'The groups to which this person belongs, by their ids.',
      resolve: ({ id }, page, { context, viewer }) =>
        tenants.listGroupsOf(context.db, viewer, id, pageOf(tenants.groupList, page)),
    }),
  );
  builder.queryFields((t) => ({
    groups: t.field({
      type: connection,
      args: { filter: t.arg({ type: filter, description: 'Which ones.' }), ...pageArguments(t.arg) },
      complexity: pageCost,
      description: 'The groups of the tenant by their ids, for Admins; with `personId` everybody lists its own.',
      resolve: (_root, { filter: wanted, ...page }, { context, viewer }) =>
        tenants.listGroups(context.db, viewer, given(wanted), pageOf(tenants.groupList, page)),
    }),
    group: t.field({
      type: group,
      nullable: true,
      args: { id: idArgument(t.arg, 'group', { required: true, description: 'The id of the group.' }) },
      description: 'One group, for Admins; null when this tenant has none of that id.',
      resolve: async (_root, { id }, { context, viewer }) => (await tenants.findGroup(context.db, viewer, id)) ?? null,
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
  const filter = filterType(
    builder,
    'PolicyFilter',
    'Which policies; members that are left out do not count.',
    wire.policyFilter,
  );
  builder.objectField(resource, 'policy', (t) =>
    t.field({
      type: policy,
      nullable: true,
      description: 'What groups may do with it; null where everybody may see and book it.',
      resolve: async ({ policyId }, _args, { context, viewer }) =>
        policyId === null ? null : ((await tenants.findPolicy(context.db, viewer, policyId)) ?? null),
    }),
  );
  builder.queryFields((t) => ({
    policies: t.field({
      type: connection,
      args: { filter: t.arg({ type: filter, description: 'Which ones.' }), ...pageArguments(t.arg) },
      complexity: pageCost,
      description: 'The policies of the tenant by their ids, without those whose resources you may not see.',
      resolve: (_root, { filter: wanted, ...page }, { context, viewer }) =>
        tenants.listPolicies(context.db, viewer, given(wanted), pageOf(tenants.policyList, page)),
    }),
    policy: t.field({
      type: policy,
      nullable: true,
      args: { id: idArgument(t.arg, 'policy', { required: true, description: 'The id of the policy.' }) },
      description: 'One policy; null when this tenant has none of that id whose resources you may see.',
      resolve: async (_root, { id }, { context, viewer }) => (await tenants.findPolicy(context.db, viewer, id)) ?? null,
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
