/** Profiles on the wire: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import { id, positive, sentText, text } from '../fields.ts';
import type { Profile } from './profiles.ts';
import { format, longestProfileName, mapping, period, reading, room, term } from './wire.ts';

const told = {
  name: 'Unique in the tenant, regardless of case.',
  format: 'The format of the files; null: recognised by their content.',
};

const members = {
  Format: format.nullish().meta({ description: told.format }),
  ...reading,
};

export const newProfile = z
  .strictObject({ Name: sentText(longestProfileName).meta({ description: told.name }), ...members })
  .meta({ id: 'NewTimetableProfile', description: 'A profile to make.' });
export const profileChanges = z
  .strictObject({ Name: sentText(longestProfileName).optional().meta({ description: told.name }), ...members })
  .meta({
    id: 'TimetableProfileChanges',
    description: 'Changes of a profile: what is left out stays, and what is sent replaces the whole of that member.',
  });

export const profileFilter = z.strictObject({
  Name: z
    .string()
    .min(1)
    .max(longestProfileName)
    .optional()
    .meta({ description: 'Only the one of this name, regardless of case.' }),
});

const list = <Item extends z.ZodType>(item: Item, most: number, description: string) =>
  z.array(item).max(most).meta({ description });

export const profileRecord = z
  .object({
    Id: id('timetableProfile', 'The id of the profile.'),
    Name: text(longestProfileName, told.name),
    Format: format.nullable().meta({ description: told.format }),
    Source: text(40, 'Names where the timetable comes from; null: untis, csv or ics.').nullable(),
    Standort: text(200, 'The location; null: none is named.').nullable(),
    TimeZone: text(100, 'The IANA time zone of the clock times; null: that of the location.').nullable(),
    Term: term.nullable().meta({ description: 'The days on which weekly lessons take place.' }),
    Periods: list(period, 700, 'The times of the periods.'),
    Rooms: list(room, 5_000, 'Rooms that have another name in the file.'),
    SharedRooms: list(text(200, 'A room.'), 500, 'Rooms that several lessons use at one time.'),
    Mapping: mapping.nullable().meta({ description: 'The columns of the file; null: found by their usual headings.' }),
    Version: positive('Counts the changes of the record; its ETag.'),
  })
  .meta({ id: 'TimetableProfile', description: 'How the files of a timetable are read, kept under a name.' });

export const toProfileRecord = ({
  id: Id,
  name: Name,
  version: Version,
  reading: kept,
}: Profile): z.output<typeof profileRecord> => ({
  Id,
  Name,
  Format: kept.Format ?? null,
  Source: kept.Source ?? null,
  Standort: kept.Standort ?? null,
  TimeZone: kept.TimeZone ?? null,
  Term: kept.Term ?? null,
  Periods: kept.Periods ?? [],
  Rooms: kept.Rooms ?? [],
  SharedRooms: kept.SharedRooms ?? [],
  Mapping: kept.Mapping ?? null,
  Version,
});

export const example = {
  Id: 1,
  Name: 'AGs',
  Format: 'Csv' as const,
  Source: 'ag',
  Standort: null,
  TimeZone: null,
  Term: null,
  Periods: [],
  Rooms: [{ Name: 'Turnh.', RessourceName: 'Turnhalle 1' }],
  SharedRooms: ['Turnhalle 1'],
  Mapping: { Date: 'Tag', Begin: 'Anfang', End: 'Ende', Room: 'Saal', Subject: 'Kurs' },
  Version: 1,
};
