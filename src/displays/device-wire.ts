/** Paired devices as clients see and send them: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import {
  flag,
  id,
  instant,
  live,
  maybeId,
  maybeInstant,
  maybeText,
  positive,
  recordOf,
  sentId,
  sentInstant,
  sentText,
  text,
} from '../fields.ts';
import { longest } from '../names.ts';
import { mostId } from '../storable.ts';
import { type Display, privacyLevels } from './display.ts';
import { codeMinutes, type Pairing, pollSeconds } from './pairing.ts';
import { mostResources } from './rooms.ts';

/** More than any location has rooms. */
const mostShown = 10_000;

const whole = (least: number, most: number, description: string) => z.int().min(least).max(most).meta({ description });

const descriptions = {
  Name: 'The display name.',
  ResourceIds: 'The rooms that it was given one by one.',
  LocationId: 'The location whose active rooms it also shows; null for none.',
  MayBook: 'Whether it also books, checks in, extends and releases.',
  Privacy: 'The content of bookings that it shows.',
};

export const displayPrivacy = z.enum(privacyLevels, 'must be Title, Organizer or BusyOnly').meta({
  id: 'DisplayPrivacy',
  description:
    'The content of bookings that a display shows: everything, only their organizers, or only that the room is taken. Of private bookings it only shows that the room is taken.',
});

export const healthRecord = z
  .object({
    Program: text(200, 'The program that it runs.'),
    Screen: maybeText(40, 'Width x height of its screen in CSS pixels.'),
    ClockAheadSeconds: whole(-mostId, mostId, "By how many seconds its clock is ahead of the server's.").nullable(),
    Battery: whole(0, 100, 'The charge of its battery in percent.').nullable(),
    Reconnects: whole(0, mostId, 'How often it has lost the stream since it was started.').nullable(),
    StartedAt: maybeInstant('When it was started.'),
    Note: maybeText(500, 'A note for the operators.'),
  })
  .meta({ id: 'DisplayHealth', description: 'The last health report of a device.' });

const { Program, Screen, ClockAheadSeconds, Battery, Reconnects, StartedAt, Note } = healthRecord.shape;
const as = ({ description = '' }: { description?: string | undefined }) => ({ description });
export const healthReport = z
  .strictObject({
    Program: sentText(200).meta(as(Program)),
    Screen: sentText(40).meta(as(Screen)).nullable().default(null),
    ClockAheadSeconds: ClockAheadSeconds.default(null),
    Battery: Battery.default(null),
    Reconnects: Reconnects.default(null),
    StartedAt: sentInstant().nullable().default(null).meta(as(StartedAt)),
    Note: sentText(500).meta(as(Note)).nullable().default(null),
  })
  .meta({ id: 'HealthReport', description: 'The health report of a device.' });

export const roomReference = z
  .object({
    Id: id('resource', 'The id of the resource.'),
    Name: text(longest.name, 'Its name.'),
  })
  .meta({ id: 'DisplayRoom', description: 'A room that a display shows.' });

export const lookRecord = z
  .object({
    Colour: maybeText(7, 'The colour, such as #1e6b47; null for none.'),
    Logo: maybeText(64, 'The name of the logo, which is available at `/{mandator}/logo`; null for none.'),
  })
  .meta({ id: 'DisplayLook', description: 'The colour and the logo of a tenant.' });

export const displayRecord = z
  .object({
    Id: id('display', 'The id of the display.'),
    Name: text(longest.name, descriptions.Name),
    PersonId: id('person', 'The person that it acts as, with the role Display.'),
    ResourceIds: z
      .array(id('resource', 'The id of a resource.'))
      .max(mostResources)
      .meta({ description: descriptions.ResourceIds }),
    LocationId: maybeId('location', descriptions.LocationId),
    Resources: live(
      z.array(roomReference).max(mostShown).meta({ description: 'All rooms that it shows now, by name.' }),
    ),
    MayBook: flag(descriptions.MayBook),
    Privacy: displayPrivacy.meta({ description: descriptions.Privacy }),
    CreatedAt: instant('When it was paired.'),
    ExpiresAt: live(instant('When its token expires unless it is heard from before: 90 days after the last time.')),
    RevokedAt: maybeInstant('When it was revoked; null while it is valid.'),
    HeardAt: live(maybeInstant('When it last called, to the minute; null: it has never called.')),
    SilentSince: live(
      maybeInstant('Since when it is silent, which begins when it is 10 minutes overdue; null if it is not silent.'),
    ),
    Look: live(lookRecord.meta({ description: 'The look of the tenant.' })),
    Health: live(healthRecord.nullable().meta({ description: 'Its last health report; null if there was none yet.' })),
    Version: positive('Increases with each change of its settings; for If-Match.'),
  })
  .meta({ id: 'Display', description: 'A paired device, such as a door sign.' });

const resourceIds = z.array(sentId('resource')).max(mostResources).meta({ description: descriptions.ResourceIds });
const members = {
  Name: sentText(longest.name).meta({ description: descriptions.Name }),
  ResourceIds: resourceIds,
  LocationId: sentId('location').nullable().meta({ description: descriptions.LocationId }),
  MayBook: flag(descriptions.MayBook),
  Privacy: displayPrivacy.meta({ description: descriptions.Privacy }),
};

export const newDisplay = z
  .strictObject({
    Code: sentText(longest.code).meta({ description: 'The code on the screen of the device, regardless of case.' }),
    Name: members.Name.nullable().default(null).meta({ description: 'The display name; after its rooms if left out.' }),
    ResourceIds: resourceIds.default([]).meta({
      description:
        'The rooms that it shows; without any, and without a location, those of the page that the device has open.',
    }),
    LocationId: members.LocationId.default(null),
    MayBook: members.MayBook.default(false),
    Privacy: displayPrivacy.default('Title').meta({ description: descriptions.Privacy }),
  })
  .meta({ id: 'NewDisplay', description: 'A device to pair.' });

export const displayChanges = z
  .strictObject(members)
  .partial()
  .meta({ id: 'DisplayChanges', description: 'Changes; null removes the location.' });

export const pairingRequest = z
  .strictObject({
    ResourceId: sentId('resource').max(mostId).nullable().default(null).meta({
      description: 'The room whose page the device shows; it is used if the Admin names no room and no location.',
    }),
    LocationId: sentId('location').max(mostId).nullable().default(null).meta({
      description: 'The location whose board the device shows; it is used if the Admin names no room and no location.',
    }),
  })
  .meta({ id: 'PairingRequest', description: 'A device that asks to be paired.' });

export const pairingRecord = z
  .object({
    Code: text(9, 'The code to show on the screen, for an Admin to confirm.'),
    Token: z.string().max(60).meta({
      description:
        'For `Authorization: Bearer …`, once the code is confirmed. It is shown only this once; the device keeps it.',
    }),
    ExpiresAt: instant(`When the code expires: after ${codeMinutes} minutes.`),
    PollSeconds: z.int().min(1).max(3_600).meta({
      description: 'Seconds between calls of `GET …/displays/self`, which answers 401 until the code is confirmed.',
    }),
  })
  .meta({ id: 'Pairing', description: 'A code to show, and a token to keep.' });

const recordOfPairing = recordOf(pairingRecord);
export const toPairingRecord = (pairing: Pairing) => recordOfPairing({ ...pairing, pollSeconds });

const toRoomReference = recordOf(roomReference);
const toLookRecord = recordOf(lookRecord);
const toHealthRecord = recordOf(healthRecord);
const recordOfDisplay = recordOf(displayRecord);
export const toDisplayRecord = (display: Display) =>
  recordOfDisplay({
    ...display,
    resources: display.resources.map(toRoomReference),
    look: toLookRecord(display.look),
    health: display.health && toHealthRecord(display.health),
  });

const example = {
  Id: 1,
  Name: 'HS 101, Tür',
  PersonId: 12,
  ResourceIds: [1],
  LocationId: null,
  Resources: [{ Id: 1, Name: 'HS 101' }],
  MayBook: true,
  Privacy: 'Title',
  CreatedAt: '2026-11-20T08:00:00.000Z',
  ExpiresAt: '2027-02-18T08:00:00.000Z',
  RevokedAt: null,
  HeardAt: '2026-11-20T09:30:00.000Z',
  SilentSince: null,
  Look: { Colour: '#1e6b47', Logo: null },
  Health: {
    Program: 'Firefox 150',
    Screen: '1280x800',
    ClockAheadSeconds: 0,
    Battery: null,
    Reconnects: 1,
    StartedAt: '2026-11-20T08:01:00.000Z',
    Note: null,
  },
  Version: 1,
};
export const examples = {
  display: example,
  page: { Items: [example], NextCursor: null },
  new: { Code: 'K7QM-4D2X', Name: 'HS 101, Tür', ResourceIds: [1], MayBook: true },
  changes: { Privacy: 'Organizer' },
  changed: { ...example, Privacy: 'Organizer', Version: 2 },
  revoked: { ...example, RevokedAt: '2026-11-20T10:00:00.000Z', Version: 2 },
  pairingRequest: { ResourceId: 1 },
  pairing: {
    Code: 'K7QM-4D2X',
    Token: `rgd_${'x'.repeat(43)}`,
    ExpiresAt: '2026-11-20T08:10:00.000Z',
    PollSeconds: pollSeconds,
  },
  health: { Program: 'Firefox 150', Screen: '1280x800', ClockAheadSeconds: 0, Reconnects: 1 },
};
