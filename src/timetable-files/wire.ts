/** The request with the files of a timetable, and its answer, as REST and GraphQL have them. */
import { z } from 'zod';
import { clockTime, count, date, recordOf, sentText } from '../fields.ts';
import { acceptedBatch, conflictRule } from '../lessons/service.ts';
import { longest } from '../names.ts';
import { storableText } from '../storable.ts';
import type { ColumnName } from './headings.ts';

const text = (most: number, description: string) => storableText.min(1).max(most).meta({ description });
const clock = (description: string) => clockTime.meta({ description });
const list = <Item extends z.core.$ZodType>(item: Item, most: number, description: string) =>
  z.array(item).max(most).default([]).meta({ description });

export const holiday = z
  .strictObject({
    Name: storableText.max(200).default('').meta({ description: 'Its name.' }),
    From: date('The first day without lessons.'),
    To: date('The last day without lessons.'),
  })
  .meta({ id: 'TimetableHoliday', description: 'Days without lessons.' });
export const week = z
  .strictObject({ Monday: date('Its Monday.'), Name: text(40, 'The name, such as A.') })
  .meta({ id: 'TimetableWeek', description: 'A named week of the term.' });
export const weekGroup = z
  .strictObject({
    Name: text(40, 'The name in the file.'),
    Weeks: z
      .array(text(40, 'A name of `Weeks`.'))
      .min(1)
      .max(60)
      .meta({ description: 'The weeks in which it takes place.' }),
  })
  .meta({ id: 'TimetableWeekGroup', description: 'A group of lessons that takes place in some weeks only.' });
export const term = z
  .strictObject({
    Name: text(40, 'The name of the term in JobIDs, such as 2627-2.'),
    From: date('Its first day.'),
    To: date('Its last day, at most 400 days later.'),
    Holidays: list(holiday, 200, 'Days without lessons.'),
    Weeks: list(week, 60, 'The names of weeks, if some lessons do not take place in all of them.'),
    Groups: list(weekGroup, 100, 'Groups of lessons, if a file uses names other than those of weeks.'),
  })
  .meta({ id: 'TimetableTerm', description: 'The days on which weekly lessons take place.' });
export const period = z
  .strictObject({
    Day: z
      .int()
      .min(1)
      .max(7)
      .nullish()
      .meta({ description: '1 is Monday; if left out, the period is for all days without periods of their own.' }),
    Period: z.int().min(0).max(99).meta({ description: 'Its number in the file.' }),
    Begin: clock('When it begins, in local time.'),
    End: clock('When it ends.'),
  })
  .meta({ id: 'TimetablePeriod', description: 'A period of the time grid.' });
export const room = z
  .strictObject({
    Name: text(200, 'The name in the file.'),
    RessourceName: text(200, 'The room; null: its lessons are left out.').nullable(),
  })
  .meta({ id: 'TimetableRoom', description: 'The room that a name in the file stands for.' });

const column = (what: string) => text(200, `The heading of the column with ${what}.`).nullish();
export const mapping = z
  .strictObject({
    Key: column('the id of the lesson'),
    Date: column('the date'),
    Day: column('the weekday, if lessons are weekly'),
    Period: column('the period of the time grid'),
    Weeks: column('the name of the week or group of weeks'),
    Begin: column('the time at which it begins'),
    End: column('the time at which it ends'),
    Room: column('the room'),
    Subject: column('the subject'),
    Title: column('the title'),
    Classes: column('the classes'),
    Teachers: column('the teachers'),
    Remark: column('the remark'),
    Status: column('the status'),
  } satisfies Record<ColumnName, z.core.$ZodType>)
  .meta({
    id: 'TimetableMapping',
    description:
      'The columns of the file. A column that is left out is found by its usual headings; null: there is none.',
  });

export const file = z
  .strictObject({
    Name: text(200, 'The name, for messages.'),
    Content: z.string().meta({ description: 'The bytes in Base64.', contentEncoding: 'base64' }),
  })
  .meta({ id: 'TimetableFile', description: 'A file as the timetable program wrote it.' });

export const mostFiles = 8;

export const format = z
  .enum(['Untis', 'Csv', 'ICalendar'])
  .meta({ id: 'TimetableFormat', description: 'The format of timetable files: Untis, CSV or iCalendar.' });

export type Format = z.output<typeof format>;

/** A list that the profile provides if a request leaves it out. */
const some = <Item extends z.core.$ZodType>(item: Item, most: number, description: string) =>
  z.array(item).max(most).optional().meta({ description });

/** How files are read; a profile can store these members. */
export const reading = {
  Source: z
    .string()
    .regex(
      /^[A-Za-z0-9][\w.-]{0,39}$/,
      'must begin with a letter or digit and have at most 40 letters, digits, ., - and _',
    )
    .nullish()
    .meta({
      description:
        "The name of the timetable's source, with which JobIDs begin; untis, csv or ics if left out. Lessons that this source has written for the same term and no longer lists are deleted.",
    }),
  Standort: text(
    200,
    'The location, if two locations have rooms with the same name; it also determines the time zone.',
  ).nullish(),
  TimeZone: text(100, 'The IANA time zone of the clock times; that of the location if left out.').nullish(),
  Term: term.nullish(),
  Periods: some(period, 700, 'The times of the periods; needed for lessons that have a period instead of times.'),
  Rooms: some(room, 5_000, 'Rooms that have other names in the file.'),
  SharedRooms: some(text(200, 'A room.'), 500, 'Rooms, such as a gym, that several lessons may use at the same time.'),
  Mapping: mapping.nullish(),
};

export const timetableFiles = z
  .strictObject({
    Profile: sentText(longest.profile).nullish().meta({
      description:
        'The name of a profile, which provides the members from Source to Mapping that are not sent. A member that is sent replaces that of the profile as a whole.',
    }),
    ...reading,
    Since: date('Lessons that begin before this day are left unchanged.').nullish(),
    AllowRemoval: z.boolean().default(false).meta({
      description: 'Whether more than a fifth of the stored lessons may be deleted; otherwise such a batch fails.',
    }),
    Files: z.array(file).min(1).max(mostFiles).meta({ description: 'The files, in any order.' }),
  })
  .meta({ id: 'TimetableFiles', description: 'A timetable as a timetable program writes it, and how to read it.' });

export type TimetableRequest = z.output<typeof timetableFiles>;

export const importOptions = {
  Format: format.optional().meta({
    description: 'The format of the files. If left out, it is that of the profile, or detected from their content.',
  }),
  OnConflict: conflictRule.optional().meta({
    description: 'What happens to lessons whose room is occupied; Fail if left out.',
  }),
};

export const readFile = z
  .object({
    Name: z.string().meta({ description: 'Its name.' }),
    Format: z
      .string()
      .meta({ description: 'The format as which it was read: GPU001, GPU002, GPU014, CSV or iCalendar.' }),
    Encoding: z.string().meta({ description: 'Its encoding: utf-8, utf-16le, utf-16be or windows-1252.' }),
    Separator: z.string().nullable().meta({ description: 'The separator of its fields.' }),
    Lines: count('The number of its lines or events, without empty ones.'),
  })
  .meta({ id: 'TimetableFileRead', description: 'How a file was read.' });
export const notice = z
  .object({
    File: z.string().meta({ description: 'The file.' }),
    Line: count('The line.'),
    Code: z.string().meta({ description: 'The kind of notice, for programs.' }),
    Message: z.string().meta({ description: 'What was left out, and why.' }),
  })
  .meta({ id: 'TimetableNotice', description: 'A notice of what was left out.' });

export const acceptedTimetable = acceptedBatch
  .extend({
    Files: z.array(readFile).meta({ description: 'The files, and how they were read.' }),
    JobCount: count('The number of jobs in the batch.'),
    LessonCount: count('The number of lessons that they list.'),
    NoticeCount: count('The number of notices.'),
    Notices: z.array(notice).meta({ description: 'The first hundred notices: what was left out, and why.' }),
  })
  .meta({ id: 'AcceptedTimetable', description: 'A batch that was accepted, and how its files were read.' });

export const toFile = recordOf(readFile);
export const toNotice = recordOf(notice);
const toAccepted = recordOf(acceptedTimetable);
type Read = { files: Parameters<typeof toFile>[0][]; notices: Parameters<typeof toNotice>[0][] } & Record<
  'batchId' | 'importStatus' | 'jobCount' | 'lessonCount' | 'noticeCount',
  unknown
>;
export const toAcceptedTimetable = (answer: Read) =>
  toAccepted({ ...answer, files: answer.files.map(toFile), notices: answer.notices.map(toNotice) });
