/** The options of `import` that say how the files of a timetable program are read. */
import { type Command, Option } from 'commander';
import { z } from 'zod';
import { CommandFailed, readJsonFile } from '../cli/command.ts';
import { formatTable } from '../cli/output.ts';
import { InvalidInput } from '../errors.ts';
import { readInput } from '../input.ts';
import { isJsonFile } from '../names.ts';
import type { BatchRecord, TimetableAnswer, TimetableOptions } from './service.ts';

/** As REST has them. */
export const fileFormats = { untis: 'Untis', csv: 'Csv', ical: 'ICalendar' } as const;
export type FileFormat = keyof typeof fileFormats | 'json';

export type ReadingOptions = {
  format?: FileFormat;
  term?: string;
  timeGrid?: string;
  rooms?: string;
  mapping?: string;
  profile?: string;
  saveProfile?: string;
  source?: string;
  since?: string;
  location?: string;
  sharedRoom?: string[];
  allowRemoval?: true;
};

export const addReadingOptions = (command: Command): Command =>
  command
    .addOption(
      new Option('--format <format>', 'of the files; recognised by their names and content when left out').choices([
        'json',
        ...Object.keys(fileFormats),
      ]),
    )
    .option('--term <file>', 'JSON with the days of the term, its holidays and the names of its weeks')
    .option('--time-grid <file>', 'JSON with the times of the periods')
    .option('--rooms <file>', 'JSON with what rooms of the files are called here: {"101": "HS 101"}')
    .option('--mapping <file>', 'JSON with the headings of a CSV: {"Room": "Raum", "Date": "Datum"}')
    .option('--profile <name>', 'what was kept of how the files are read; options that are given count instead')
    .option('--save-profile <name>', 'keep the options under this name for the next time')
    .option('--source <name>', 'what JobIDs begin with; untis, csv or ics when left out')
    .option('--since <date>', 'leave what begins before this day as it is stored')
    .option('--location <name>', 'the location, where two have rooms of the same name')
    .option(
      '--shared-room <name>',
      'a room, such as a gym, that several lessons use at one time; may be given several times',
      (name: string, names: string[] = []) => [...names, name],
    )
    .option('--allow-removal', 'delete more than a fifth of the stored lessons, if the files do not list them');

const readingOptions: readonly (keyof ReadingOptions)[] = [
  'term',
  'timeGrid',
  'rooms',
  'mapping',
  'profile',
  'saveProfile',
  'source',
  'since',
  'location',
  'sharedRoom',
  'allowRemoval',
];

/** @throws CommandFailed for options that say how timetable files are read: JSON files take none */
export function refuseReadingOptions(options: ReadingOptions): void {
  const given = readingOptions.filter((name) => options[name] !== undefined);
  if (given.length === 0) return;
  const named = given.map((name) => `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`);
  throw new CommandFailed(`${named.join(', ')}: cannot be used with JSON, which needs no such options; remove it.`);
}

/**
 * The given format, or `json` if the first file is JSON; undefined: the server detects it.
 * @param head the beginning of the first file
 */
export const formatOf = ({ format }: ReadingOptions, file: string, head: string): FileFormat | undefined =>
  format ?? (isJsonFile(file, head) ? 'json' : undefined);

const periods = z.array(z.unknown());
const weekdays = ['1', '2', '3', '4', '5', '6', '7'];
/** The shapes of option files. Only the command line knows these files; the server checks their content. */
const shapes = {
  term: z.looseObject({ Id: z.string() }),
  timeGrid: z.union([
    periods.min(1),
    z
      .strictObject({
        Default: periods.default([]),
        Days: z.strictObject(Object.fromEntries(weekdays.map((day) => [day, periods.optional()]))).default({}),
      })
      .refine(({ Default, Days }) => Default.length > 0 || Object.keys(Days).length > 0, {
        path: ['Default'],
        message: 'has no periods, and Days has none',
      }),
  ]),
};

/** @throws CommandFailed with the file and its fault */
function check(shape: z.core.$ZodType, file: string | undefined, value: unknown): void {
  if (file === undefined) return;
  try {
    readInput(shape, value);
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    throw new CommandFailed(`${file}: ${error.message} Write it as docs/timetables.md says.`);
  }
}

/** @throws CommandFailed for files that do not exist, are not JSON, or have another shape */
export async function readOptions(options: ReadingOptions): Promise<TimetableOptions> {
  const { term, timeGrid, rooms, mapping, saveProfile: _, sharedRoom, ...named } = options;
  const [read, grid, names, columns] = await Promise.all(
    [term, timeGrid, rooms, mapping].map((file) => (file === undefined ? undefined : readJsonFile(file))),
  );
  check(shapes.term, term, read);
  check(shapes.timeGrid, timeGrid, grid);
  return { ...named, term: read, timeGrid: grid, rooms: names, mapping: columns, sharedRooms: sharedRoom };
}

/** Patterns in the server's messages: what each is about, and the option for it. */
const optionsOf = [
  [/\bStandort\b/, 'Standort', '--location'],
  [/\bRooms\b/, 'Rooms', '--rooms'],
  [/\bMapping\b/, 'Mapping', '--mapping'],
  [/send a time grid|to the time grid/, 'the time grid', '--time-grid'],
  [/send a term/, 'the term', '--term'],
] as const;

/** @throws `error`; the message also names the options for the members that it mentions */
export function nameOptions(error: unknown): never {
  if (!(error instanceof CommandFailed)) throw error;
  const named = optionsOf.filter(([pattern]) => pattern.test(error.message));
  if (named.length === 0) throw error;
  const told = named.map(([, name, option]) => `for ${name} is ${option}`).join(', ');
  throw new CommandFailed(`${error.message}\nThe option ${told}.`);
}

const separators: Record<string, string> = { ',': 'comma', ';': 'semicolon', '\t': 'tab' };

/** How each file was read: format, encoding and separator. */
export const describeFiles = (files: TimetableAnswer['Files']): string[] =>
  files.map(({ Name, Format, Encoding, Separator, Lines }) =>
    [`${Name} was read as ${Format}`, Encoding, ...(Separator === null ? [] : [separators[Separator] ?? Separator])]
      .concat(`${Lines} ${Format === 'iCalendar' ? 'events' : 'lines'}.`)
      .join(', '),
  );

const kinds = ['Added', 'Changed', 'Moved', 'Removed', 'Unchanged'] as const;
type ToldDifference = Record<(typeof kinds)[number], number> & {
  Lessons: { Kind: string; JobID: string; LektionId: string; Fields: string[] }[];
};

const mostShown = 20;

/** Describes what the run would change after a dry run; empty for other batches. */
export function describeDifference(batch: BatchRecord): string {
  const difference = batch.Difference as ToldDifference | null | undefined;
  if (!difference) return '';
  const counts = kinds.map((kind) => `${kind.toLowerCase()} ${difference[kind]}`).join(', ');
  const shown = difference.Lessons.slice(0, mostShown);
  const table = formatTable(
    ['Would be', 'JobID', 'LektionId', 'Fields'],
    shown.map(({ Kind, JobID, LektionId, Fields }) => [Kind, JobID, LektionId, Fields.join(', ')]),
  );
  const more = difference.Added + difference.Changed + difference.Moved + difference.Removed - shown.length;
  const rest = more > 0 ? `... and ${more} more\n` : '';
  return `\nLessons: ${counts}\n${shown.length === 0 ? '' : `${table}\n${rest}`}`;
}
