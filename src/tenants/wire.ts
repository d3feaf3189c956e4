/** Master data on the wire: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import { flag, id, maybeInstant, maybeText, positive, recordOf, sentId, text } from '../fields.ts';
import * as parameters from '../query-parameters.ts';
import {
  calendarEdits,
  calendarWriting,
  locationFields,
  personDefaults,
  personFields,
  resourceDefaults,
  resourceFields,
  role,
} from './fields.ts';
import type { Location } from './locations.ts';
import type { PersonRecord } from './persons.ts';
import type { Resource } from './resources.ts';

export { calendarEdits, calendarWriting, role };

export const version = positive('Counts the changes of the record; its ETag.');

const told = {
  resource: {
    Name: 'Unique at its location, in whatever case.',
    Kind: 'What it is: Room, Hall, Laboratory, …',
    Capacity: 'For how many persons; null where nobody has counted.',
    Equipment: 'What is there.',
    Mailbox: 'The address of its calendar on the mail server; null where it has none.',
    CheckInMinutes:
      'Minutes after its start by which a booking must be checked in, or else it is released; null where nobody checks in.',
    CalendarWriting: 'What of its bookings stands in its calendar on the mail server; null where the tenant says so.',
    CalendarEdits: 'What becomes of a booking that somebody changes there; null where the tenant says so.',
    DeclineConflicts:
      'Whether items of that calendar are declined there, for which it is not booked as it is taken here; null where the tenant says so.',
    PolicyId: 'The policy that says who may see and book it; null where everybody may.',
    Active: 'Whether it can be booked; resources are retired, never deleted.',
  },
  location: {
    Name: 'Unique in the tenant, in whatever case.',
    TimeZone: 'IANA name of its zone.',
    Active: 'Whether it is in use; locations are retired, never deleted.',
  },
  person: {
    Name: 'As it is shown.',
    Email: 'Unique in the tenant, in whatever case.',
    TimeZone: 'IANA name of the zone of this person.',
    Role: 'What this person may do.',
    TeacherCode:
      'How lessons name this person among their Lehrpersonen; unique in the tenant, in whatever case, and null for who does not teach.',
    Active: 'Whether the credentials of this person count; persons are retired, never deleted.',
  },
};

export const resourceRecord = z
  .object({
    Id: id('resource', 'The id of the resource.'),
    LocationId: id('location', 'The location where it is.'),
    Name: text(200, told.resource.Name),
    Kind: text(50, told.resource.Kind),
    Capacity: z.int().min(0).max(1_000_000).nullable().meta({ description: told.resource.Capacity }),
    Equipment: z.array(z.string().max(100)).max(100).meta({ description: told.resource.Equipment }),
    Mailbox: z.string().max(320).nullable().meta({ description: told.resource.Mailbox }),
    CheckInMinutes: z.int().min(1).max(240).nullable().meta({ description: told.resource.CheckInMinutes }),
    CalendarWriting: calendarWriting.nullable().meta({ description: told.resource.CalendarWriting }),
    CalendarEdits: calendarEdits.nullable().meta({ description: told.resource.CalendarEdits }),
    DeclineConflicts: z.boolean().nullable().meta({ description: told.resource.DeclineConflicts }),
    PolicyId: id('policy', told.resource.PolicyId).nullable(),
    Active: flag(told.resource.Active),
    Version: version,
  })
  .meta({ id: 'Resource', description: 'A bookable room or thing.' });

export const locationRecord = z
  .object({
    Id: id('location', 'The id of the location.'),
    Name: text(200, told.location.Name),
    TimeZone: text(64, told.location.TimeZone),
    Active: flag(told.location.Active),
    Version: version,
  })
  .meta({ id: 'Location', description: 'A site with a time zone.' });

export const personRecord = z
  .object({
    Id: id('person', 'The id of the person.'),
    Name: text(200, told.person.Name),
    Email: text(254, told.person.Email),
    TimeZone: text(64, told.person.TimeZone),
    Role: role.meta({ description: told.person.Role }),
    TeacherCode: maybeText(200, told.person.TeacherCode),
    Active: flag(told.person.Active),
    ErasedAt: maybeInstant(
      'When this person was erased, for good: name and address are no longer its own. Null otherwise.',
    ),
    Version: version,
  })
  .meta({ id: 'Person', description: 'A user of a tenant.' });

export const personReference = z
  .object({
    PersonId: id('person', 'The id of the person.'),
    DisplayName: text(200, 'As it is shown.'),
  })
  .meta({ id: 'PersonReference', description: 'A person, as others see it.' });

/** Adds descriptions to fields. */
function described<Shape extends Record<string, z.ZodType>>(
  fields: Shape,
  texts: { [Name in keyof Shape]: string },
): Shape {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, field.meta({ description: texts[name] as string })]),
  ) as Shape;
}

const resourceMembers = described(
  { ...resourceFields, PolicyId: sentId('policy').nullable() },
  told.resource as Record<keyof typeof resourceFields | 'PolicyId', string>,
);
const locationMembers = described(locationFields, told.location);
const personMembers = described(personFields, told.person);

const locationId = sentId('location').meta({ description: 'The location where it is.' });

export const newResource = z
  .strictObject({
    LocationId: locationId,
    Name: resourceMembers.Name,
    Kind: resourceMembers.Kind.default(resourceDefaults.Kind),
    Capacity: resourceMembers.Capacity.default(resourceDefaults.Capacity),
    Equipment: resourceMembers.Equipment.default(resourceDefaults.Equipment),
    Mailbox: resourceMembers.Mailbox.default(resourceDefaults.Mailbox),
    CheckInMinutes: resourceMembers.CheckInMinutes.default(resourceDefaults.CheckInMinutes),
    CalendarWriting: resourceMembers.CalendarWriting.default(null),
    CalendarEdits: resourceMembers.CalendarEdits.default(null),
    DeclineConflicts: resourceMembers.DeclineConflicts.default(null),
    PolicyId: resourceMembers.PolicyId.default(null),
  })
  .meta({ id: 'NewResource', description: 'A resource to be made.' });
export const resourceChanges = z
  .strictObject({ LocationId: locationId, ...resourceMembers, Active: flag(told.resource.Active) })
  .partial()
  .meta({
    id: 'ResourceChanges',
    description:
      'What to change; null clears a capacity, a mailbox, the check-in, the policy, or what deviates from the tenant.',
  });

export const newLocation = z
  .strictObject(locationMembers)
  .meta({ id: 'NewLocation', description: 'A location to be made.' });
export const locationChanges = z
  .strictObject({ ...locationMembers, Active: flag(told.location.Active) })
  .partial()
  .meta({ id: 'LocationChanges', description: 'What to change.' });

export const newPerson = z
  .strictObject({ ...personMembers, TeacherCode: personMembers.TeacherCode.default(personDefaults.TeacherCode) })
  .meta({ id: 'NewPerson', description: 'A person to be made.' });
export const personChanges = z
  .strictObject({ ...personMembers, Active: flag(told.person.Active) })
  .partial()
  .meta({ id: 'PersonChanges', description: 'What to change.' });

export const toResourceRecord: (resource: Resource) => z.output<typeof resourceRecord> = recordOf(resourceRecord);
export const toLocationRecord: (location: Location) => z.output<typeof locationRecord> = recordOf(locationRecord);
export const toPersonRecord: (person: PersonRecord) => z.output<typeof personRecord> = recordOf(personRecord);
export const toPersonReference = recordOf(personReference);

export const ofName = (most: number, description: string) =>
  z.string().min(1).max(most).optional().meta({ description });
const active = parameters.flag('Only those that are, or are not, active; both when left out.');

/** Which resources, locations and persons a list has. */
export const resourceFilter = z.strictObject({
  LocationId: parameters.id('location', 'Only those of this location.').optional(),
  ...parameters.resourceFilter,
  Name: ofName(200, 'Only those of this name, in whatever case.'),
  Active: active,
});
export const locationFilter = z.strictObject({ Active: active });
export const organizerFilter = z.strictObject({
  Search: parameters.search('Only those whose name has these words.'),
});
export const personFilter = z.strictObject({
  Search: parameters.search('Only those whose name and e-mail address have these words.'),
  Email: ofName(254, 'Only the person of this e-mail address, in whatever case.'),
  Role: role.optional().meta({ description: 'Only those of this role.' }),
  GroupId: parameters.id('group', 'Only the members of this group.').optional(),
  Active: active,
});
