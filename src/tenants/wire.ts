/** Master data on the wire: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import { flag, id, maybeInstant, maybeText, noted, positive, recordOf, sentId, text } from '../fields.ts';
import { longest } from '../names.ts';
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

export const version = positive('Increases with each change of the record; its ETag.');

const descriptions = {
  resource: {
    Name: 'Unique at its location, regardless of case.',
    Kind: 'The kind: Room, Hall, Laboratory, …',
    Capacity: 'For how many persons; null if unknown.',
    Equipment: 'The equipment.',
    Mailbox: 'The address of its calendar on the mail server; null if it has none.',
    CheckInMinutes:
      'Minutes after its start by which a booking must be checked in to avoid its release; null if no check-in is needed.',
    CalendarWriting:
      'What is written of its bookings into its calendar on the mail server; null: the setting of the tenant applies.',
    CalendarEdits:
      'What happens if somebody changes a booking in that calendar; null: the setting of the tenant applies.',
    DeclineConflicts:
      'Whether items of that calendar are declined there if the resource is taken here; null: the setting of the tenant applies.',
    PolicyId: 'The policy that says who may see and book it; null: everybody may.',
    Active: 'Whether it can be booked; resources are retired, never deleted.',
  },
  location: {
    Name: 'Unique in the tenant, regardless of case.',
    TimeZone: 'The IANA time zone.',
    Active: 'Whether it is in use; locations are retired, never deleted.',
  },
  person: {
    Name: 'The display name.',
    Email: 'Unique in the tenant, regardless of case.',
    TimeZone: 'The IANA time zone of the person.',
    Role: 'The role.',
    TeacherCode:
      'The name of the person among the Lehrpersonen of lessons; unique in the tenant, regardless of case; null for a person who does not teach.',
    Active: 'Whether the credentials of the person are valid; persons are retired, never deleted.',
  },
};

export const resourceRecord = z
  .object({
    Id: id('resource', 'The id of the resource.'),
    LocationId: id('location', 'The location of the resource.'),
    Name: text(200, descriptions.resource.Name),
    Kind: text(50, descriptions.resource.Kind),
    Capacity: z.int().min(0).max(1_000_000).nullable().meta({ description: descriptions.resource.Capacity }),
    Equipment: z.array(z.string().max(100)).max(100).meta({ description: descriptions.resource.Equipment }),
    Mailbox: z.string().max(320).nullable().meta({ description: descriptions.resource.Mailbox }),
    CheckInMinutes: z.int().min(1).max(240).nullable().meta({ description: descriptions.resource.CheckInMinutes }),
    CalendarWriting: calendarWriting.nullable().meta({ description: descriptions.resource.CalendarWriting }),
    CalendarEdits: calendarEdits.nullable().meta({ description: descriptions.resource.CalendarEdits }),
    DeclineConflicts: z.boolean().nullable().meta({ description: descriptions.resource.DeclineConflicts }),
    PolicyId: id('policy', descriptions.resource.PolicyId).nullable(),
    Active: flag(descriptions.resource.Active),
    Version: version,
  })
  .meta({ id: 'Resource', description: 'A bookable room or thing.' });

export const locationRecord = z
  .object({
    Id: id('location', 'The id of the location.'),
    Name: text(200, descriptions.location.Name),
    TimeZone: text(64, descriptions.location.TimeZone),
    Active: flag(descriptions.location.Active),
    Version: version,
  })
  .meta({ id: 'Location', description: 'A site with a time zone.' });

export const personRecord = z
  .object({
    Id: id('person', 'The id of the person.'),
    Name: text(200, descriptions.person.Name),
    Email: text(longest.email, descriptions.person.Email),
    TimeZone: text(64, descriptions.person.TimeZone),
    Role: role.meta({ description: descriptions.person.Role }),
    TeacherCode: maybeText(200, descriptions.person.TeacherCode),
    Active: flag(descriptions.person.Active),
    ErasedAt: maybeInstant('When the person was erased: name and address have been replaced for good. Null otherwise.'),
    Version: version,
  })
  .meta({ id: 'Person', description: 'A user of a tenant.' });

export const personReference = z
  .object({
    PersonId: id('person', 'The id of the person.'),
    DisplayName: text(200, 'The display name.'),
  })
  .meta({ id: 'PersonReference', description: 'A person as others see it.' });

/** Adds descriptions to fields. */
function described<Shape extends Record<string, z.core.$ZodType>>(
  fields: Shape,
  texts: { [Name in keyof Shape]: string },
): Shape {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, noted(field, { description: texts[name] as string })]),
  ) as Shape;
}

const resourceMembers = described(
  { ...resourceFields, PolicyId: sentId('policy').nullable() },
  descriptions.resource as Record<keyof typeof resourceFields | 'PolicyId', string>,
);
const locationMembers = described(locationFields, descriptions.location);
const personMembers = described(personFields, descriptions.person);

const locationId = sentId('location').meta({ description: 'The location of the resource.' });

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
  .meta({ id: 'NewResource', description: 'A resource to create.' });
export const resourceChanges = z
  .strictObject({ LocationId: locationId, ...resourceMembers, Active: flag(descriptions.resource.Active) })
  .partial()
  .meta({
    id: 'ResourceChanges',
    description:
      'Changes; null clears a capacity, a mailbox, the check-in, the policy, or a value that replaces the setting of the tenant.',
  });

export const newLocation = z
  .strictObject(locationMembers)
  .meta({ id: 'NewLocation', description: 'A location to create.' });
export const locationChanges = z
  .strictObject({ ...locationMembers, Active: flag(descriptions.location.Active) })
  .partial()
  .meta({ id: 'LocationChanges', description: 'Changes.' });

export const newPerson = z
  .strictObject({ ...personMembers, TeacherCode: personMembers.TeacherCode.default(personDefaults.TeacherCode) })
  .meta({ id: 'NewPerson', description: 'A person to create.' });
export const personChanges = z
  .strictObject({ ...personMembers, Active: flag(descriptions.person.Active) })
  .partial()
  .meta({ id: 'PersonChanges', description: 'Changes.' });

export const toResourceRecord: (resource: Resource) => z.output<typeof resourceRecord> = recordOf(resourceRecord);
export const toLocationRecord: (location: Location) => z.output<typeof locationRecord> = recordOf(locationRecord);
export const toPersonRecord: (person: PersonRecord) => z.output<typeof personRecord> = recordOf(personRecord);
export const toPersonReference = recordOf(personReference);

export const ofName = (most: number, description: string) =>
  z.string().min(1).max(most).optional().meta({ description });
const active = parameters.flag('Only active ones, or only inactive ones; both if left out.');

/** Which resources, locations and persons a list has. */
export const resourceFilter = z.strictObject({
  LocationId: parameters.id('location', 'Only resources of this location.').optional(),
  ...parameters.resourceFilter,
  Name: ofName(200, 'Only resources with this name, regardless of case.'),
  Active: active,
});
export const locationFilter = z.strictObject({ Active: active });
export const organizerFilter = z.strictObject({
  Search: parameters.search('Only persons whose name contains these words.'),
});
export const personFilter = z.strictObject({
  Search: parameters.search('Only persons whose name and e-mail address contain these words.'),
  Email: ofName(longest.email, 'Only the person with this e-mail address, regardless of case.'),
  Role: role.optional().meta({ description: 'Only persons with this role.' }),
  GroupId: parameters.id('group', 'Only members of this group.').optional(),
  Active: active,
});
