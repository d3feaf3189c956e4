/** The schemas of master data that tenant files and the API share. The messages say what is allowed. */
import { z } from 'zod';
import { sentText } from '../fields.ts';
import { longest, mailboxForm } from '../names.ts';
import { isTimeZone } from '../time/zones.ts';

const timeZone = sentText(64).refine(isTimeZone, 'must be an IANA time zone such as Europe/Zurich');

const roles = ['Admin', 'Importer', 'User', 'Display'] as const;
export const role = z
  .enum(roles, 'must be Admin, Importer, User or Display')
  .meta({ id: 'Role', description: 'The role of a person (contract 3).' });
export const calendarWriting = z.enum(['Off', 'Busy', 'Full'], 'must be Off, Busy or Full').meta({
  id: 'CalendarWriting',
  description:
    'What is written of a booking into the calendar of its room on the mail server: nothing, its time, or its subject too.',
});
export const calendarEdits = z.enum(['PutBack', 'TakeOver'], 'must be PutBack or TakeOver').meta({
  id: 'CalendarEdits',
  description:
    'What happens if somebody changes a booking in that calendar: it is put back as it was, or the booking is changed too. Lessons and blocks are always put back.',
});
export const declineConflicts = z.boolean().meta({
  description:
    'Whether an item in the calendar of a room on the mail server is declined there if the room is taken here, so that its organizer is told.',
});
/** More than any room has, and few enough for one record. */
const mostEquipment = 100;

export const locationFields = { Name: sentText(longest.name), TimeZone: timeZone };

export const resourceFields = {
  Name: sentText(longest.name),
  Kind: sentText(longest.kind),
  Capacity: z.int().min(0).max(1_000_000).nullable(),
  Equipment: z.array(sentText(100)).max(mostEquipment),
  Mailbox: sentText(320)
    .refine(
      (written) => mailboxForm.test(written),
      'must be an e-mail address or the name of an account on the mail server',
    )
    .nullable(),
  CheckInMinutes: z.int().min(1).max(240).nullable(),
  CalendarWriting: calendarWriting.nullable(),
  CalendarEdits: calendarEdits.nullable(),
  DeclineConflicts: declineConflicts.nullable(),
};

/** Defaults of a new resource. */
export const resourceDefaults = {
  Kind: 'Room',
  Capacity: null,
  Equipment: [],
  Mailbox: null,
  CheckInMinutes: null,
  CalendarWriting: null,
  CalendarEdits: null,
  DeclineConflicts: null,
};

export const personFields = {
  Name: sentText(longest.name),
  Email: sentText(longest.email).pipe(z.email()),
  TimeZone: timeZone,
  Role: role,
  TeacherCode: sentText(longest.name).nullable(),
};

/** Defaults of a new person. */
export const personDefaults = { TeacherCode: null };

export const groupFields = { Name: sentText(longest.name) };

/** More than any rule needs, and few enough for one record. */
export const mostGroups = 100;
/** The lists of groups of a policy. */
export const policyLists = ['MaySee', 'MayBook', 'MaySkipApproval', 'MayDecide', 'MayBookForOthers'] as const;

/** The greatest values of the rules of a policy. */
export const mostRules = {
  LeadMinutes: 525_600,
  AheadDays: 1_098,
  LongestMinutes: 527_040,
  QuotaMinutesPerWeek: 10_080,
  QuotaBookingsPerWeek: 10_000,
};
const rule = (most: number) => z.int().min(1).max(most).nullable();

/** The members of a policy beside its lists. */
export const policyFields = {
  Name: sentText(longest.name),
  NeedsApproval: z.boolean(),
  ...(Object.fromEntries(Object.entries(mostRules).map(([name, most]) => [name, rule(most)])) as Record<
    keyof typeof mostRules,
    ReturnType<typeof rule>
  >),
};
