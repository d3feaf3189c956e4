/** Groups and policies on the wire. */
import { z } from 'zod';
import { flag, id, recordOf, sentId, text } from '../fields.ts';
import * as parameters from '../query-parameters.ts';
import { groupFields, mostGroups, mostRules, policyFields } from './fields.ts';
import type { Group } from './groups.ts';
import type { PolicyRecord } from './policies.ts';
import { ofName, version } from './wire.ts';

const mostMembers = 1_000;
const members = (description: string) =>
  z
    .array(sentId('person'))
    .max(mostMembers)
    .meta({ description: `${description} Ids of persons, at most ${mostMembers} at a time.` });

const unique = 'Unique in the tenant, regardless of case.';
const name = groupFields.Name.meta({ description: unique });
export const groupRecord = z
  .object({ Id: id('group', 'The id of the group.'), Name: text(200, unique), Version: version })
  .meta({ id: 'Group', description: 'Persons who get rights together by policies.' });
const addMembers = members('Who joins.');
export const newGroup = z
  .strictObject({ Name: name, AddMembers: addMembers.default([]) })
  .meta({ id: 'NewGroup', description: 'A group to create.' });
export const groupChanges = z
  .strictObject({ Name: name, AddMembers: addMembers, RemoveMembers: members('Who leaves.') })
  .partial()
  .meta({ id: 'GroupChanges', description: 'Changes.' });

const mayTold = {
  MaySee: 'The groups that may see its resources and their bookings: ids. Empty: everybody.',
  MayBook: 'The groups that may book its resources, among those who see them: ids. Empty: everybody.',
  MaySkipApproval: 'The groups that book without waiting for a decision: ids.',
  MayDecide: 'The groups that decide, besides Admins: ids. They may also book, without waiting.',
  MayBookForOthers:
    'The groups that may book for other persons, besides Admins: ids. They may also book for themselves.',
};
const ruleTold = {
  LeadMinutes: 'How many minutes before its start a booking must be made; null: no limit.',
  AheadDays: 'How many days ahead a booking may be made; null: no limit.',
  LongestMinutes: 'How many minutes a booking may last; null: no limit.',
  QuotaMinutesPerWeek: 'How many minutes a person may book in a calendar week; null: no limit.',
  QuotaBookingsPerWeek: 'How many bookings a person may have in a calendar week; null: no limit.',
};
const needsApproval = 'Whether a booking waits for a decision.';

/** Equal lists are stored alike. */
const groupIds = z
  .array(sentId('group'))
  .max(mostGroups)
  .transform((ids) => [...new Set(ids)].sort((one, other) => one - other));
const mapped = <Names extends object, Made>(names: Names, make: (each: keyof Names) => Made) =>
  Object.fromEntries(Object.keys(names).map((each) => [each, make(each as keyof Names)])) as Record<keyof Names, Made>;

const listsTold = mapped(mayTold, (each) =>
  z.array(id('group', 'The id of a group.')).max(mostGroups).meta({ description: mayTold[each] }),
);
const rulesTold = mapped(ruleTold, (each) =>
  z.int().min(1).max(mostRules[each]).nullable().meta({ description: ruleTold[each] }),
);
export const policyRecord = z
  .object({
    Id: id('policy', 'The id of the policy.'),
    Name: text(200, unique),
    MaySee: listsTold.MaySee,
    MayBook: listsTold.MayBook,
    NeedsApproval: flag(needsApproval),
    MaySkipApproval: listsTold.MaySkipApproval,
    MayDecide: listsTold.MayDecide,
    MayBookForOthers: listsTold.MayBookForOthers,
    ...rulesTold,
    Version: version,
  })
  .meta({ id: 'Policy', description: 'The rights of groups with regard to the resources that have the policy.' });
const policyLists = mapped(mayTold, (each) => groupIds.meta({ description: mayTold[each] }));
const policyRules = mapped(ruleTold, (each) => policyFields[each].meta({ description: ruleTold[each] }));
export const newPolicy = z
  .strictObject({
    Name: name,
    ...mapped(mayTold, (each) => policyLists[each].default([])),
    NeedsApproval: flag(needsApproval).default(false),
    ...mapped(ruleTold, (each) => policyRules[each].default(null)),
  })
  .meta({ id: 'NewPolicy', description: 'A policy to create.' });
export const policyChanges = z
  .strictObject({ Name: name, ...policyLists, NeedsApproval: flag(needsApproval), ...policyRules })
  .partial()
  .meta({ id: 'PolicyChanges', description: 'Changes; null clears a limit.' });

export const toGroupRecord: (group: Group) => z.output<typeof groupRecord> = recordOf(groupRecord);
export const toPolicyRecord: (policy: PolicyRecord) => z.output<typeof policyRecord> = recordOf(policyRecord);

export const groupFilter = z.strictObject({
  PersonId: parameters.id('person', 'Only groups that this person belongs to.').optional(),
  Name: ofName(200, 'Only the group with this name, regardless of case.'),
});
export const policyFilter = z.strictObject({
  Name: ofName(200, 'Only the policy with this name, regardless of case.'),
});
