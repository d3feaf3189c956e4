/** Profiles on the wire: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import { id, positive, sentText, text } from '../fields.ts';
import { longest } from '../names.ts';
import type { Profile } from './profiles.ts';
import { format, mapping, period, reading, room, term } from './wire.ts';

const descriptions = {
  name: 'Unique in the tenant, regardless of case.',
  format: 'The format of the files; null: detected from their content.',
};

const members = {
  Format: format.nullish().meta({ description: descriptions.format }),
  ...reading,
};

export const newProfile = z
  .strictObject({ Name: sentText(longest.profile).meta({ description: descriptions.name }), ...members })
  .meta({ id: 'NewTimetableProfile', description: 'A profile to create.' });
export const profileChanges = z
  .strictObject({ Name: sentText(longest.profile).optional().meta({ description: descriptions.name }), ...members })
  .meta({
    id: 'TimetableProfileChanges',
    description: 'Changes of a profile: a member that is left out stays, and one that is sent is replaced as a whole.',
  });

export const profileFilter = z.strictObject({
  Name: z
    .string()
    .min(1)
    .max(longest.profile)
    .optional()
    .meta({ description: 'Only the profile with this name, regardless of case.' }),
});

const list = <Item extends z.core.$ZodType>(item: Item, most: number, description: string) =>
  z.array(item).max(most).meta({ description });

export const profileRecord = z
  .object({
    Id: id('timetableProfile', 'The id of the profile.'),
    Name: text(longest.profile, descriptions.name),
    Format: format.nullable().meta({ description: descriptions.format }),
    Source: text(40, "The name of the timetable's source; null: untis, csv or ics.").nullable(),
    Standort: text(200, 'The location; null: none.').nullable(),
    TimeZone: text(100, 'The IANA time zone of the clock times; null: that of the location.').nullable(),
    Term: term.nullable().meta({ description: 'The days on which weekly lessons take place.' }),
    Periods: list(period, 700, 'The times of the periods.'),
    Rooms: list(room, 5_000, 'Rooms that have other names in the file.'),
    SharedRooms: list(text(200, 'A room.'), 500, 'Rooms that several lessons may use at the same time.'),
    Mapping: mapping.nullable().meta({ description: 'The columns of the file; null: found by their usual headings.' }),
    Version: positive('Increases with each change of the record; its ETag.'),
  })
  .meta({ id: 'TimetableProfile', description: 'How timetable files are read, stored under a name.' });

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
