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
    .array(sentId('person'), 'must be a list in brackets')
    .max(mostMembers, `must have at most ${mostMembers} entries`)
    .meta({ description: `${description} Ids of persons, ${mostMembers} at most at a time.` });

const unique = 'Unique in the tenant, in whatever case.';
const name = groupFields.Name.meta({ description: unique });
export const groupRecord = z
  .object({ Id: id('group', 'The id of the group.'), Name: text(200, unique), Version: version })
  .meta({ id: 'Group', description: 'Persons, to whom policies give rights together.' });
const addMembers = members('Who joins.');
export const newGroup = z
  .strictObject({ Name: name, AddMembers: addMembers.default([]) })
  .meta({ id: 'NewGroup', description: 'A group to be made.' });
export const groupChanges = z
  .strictObject({ Name: name, AddMembers: addMembers, RemoveMembers: members('Who leaves.') })
  .partial()
  .meta({ id: 'GroupChanges', description: 'What to change.' });

const mayTold = {
  MaySee: 'Who may see its resources and what is booked there: ids of groups. Nobody named means everybody.',
  MayBook: 'Who may book its resources, of those who see them: ids of groups. Nobody named means everybody.',
  MaySkipApproval: 'Who books without waiting for a decision: ids of groups.',
  MayDecide: 'Who decides, besides Admins: ids of groups. They book, too, and without waiting.',
  MayBookForOthers: 'Who books for other persons, besides Admins: ids of groups. They book for themselves, too.',
};
const ruleTold = {
  LeadMinutes: 'How many minutes before its start a booking is made at the latest; null: no rule.',
  AheadDays: 'How many days before its start a booking is made at the earliest; null: no rule.',
  LongestMinutes: 'How many minutes a booking lasts at most; null: no rule.',
  QuotaMinutesPerWeek: 'How many minutes a person books in a calendar week at most; null: no rule.',
  QuotaBookingsPerWeek: 'How many bookings a person makes for a calendar week at most; null: no rule.',
};
const needsApproval = 'Whether a booking waits until somebody decides about it.';

/** Equal lists are stored alike. */
const groupIds = z
  .array(sentId('group'), 'must be a list in brackets')
  .max(mostGroups, `must have at most ${mostGroups} entries`)
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
  .meta({ id: 'Policy', description: 'What groups may do with the resources that have it.' });
const policyLists = mapped(mayTold, (each) => groupIds.meta({ description: mayTold[each] }));
const policyRules = mapped(ruleTold, (each) => policyFields[each].meta({ description: ruleTold[each] }));
export const newPolicy = z
  .strictObject({
    Name: name,
    ...mapped(mayTold, (each) => policyLists[each].default([])),
    NeedsApproval: flag(needsApproval).default(false),
    ...mapped(ruleTold, (each) => policyRules[each].default(null)),
  })
  .meta({ id: 'NewPolicy', description: 'A policy to be made.' });
export const policyChanges = z
  .strictObject({ Name: name, ...policyLists, NeedsApproval: flag(needsApproval), ...policyRules })
  .partial()
  .meta({ id: 'PolicyChanges', description: 'What to change; null clears a rule.' });

export const toGroupRecord: (group: Group) => z.output<typeof groupRecord> = recordOf(groupRecord);
export const toPolicyRecord: (policy: PolicyRecord) => z.output<typeof policyRecord> = recordOf(policyRecord);

export const groupFilter = z.strictObject({
  PersonId: parameters.id('person', 'Only those that this person belongs to.').optional(),
  Name: ofName(200, 'Only the one of this name, in whatever case.'),
});
export const policyFilter = z.strictObject({ Name: ofName(200, 'Only the one of this name, in whatever case.') });
