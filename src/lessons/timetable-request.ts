/** What the command line sends to import the files of a timetable program (POST timetables). */
import { Buffer } from 'node:buffer';

/** How the files are to be read, as the options of the command have them. */
export type TimetableOptions = {
  term?: unknown;
  timeGrid?: unknown;
  rooms?: unknown;
  mapping?: unknown;
  profile?: string | undefined;
  source?: string | undefined;
  since?: string | undefined;
  location?: string | undefined;
  sharedRooms?: readonly string[] | undefined;
  timeZone?: string | undefined;
  allowRemoval?: boolean | undefined;
};

type Named = Record<string, unknown>;
const isNamed = (value: unknown): value is Named =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Files of options may have names as members: `{"WA": ["A"]}` is a list of one group. */
const listOf = (value: unknown, name: string, member: string): unknown =>
  isNamed(value) ? Object.entries(value).map(([key, inner]) => ({ [name]: key, [member]: inner })) : value;

/** `{"Default": […], "Days": {"5": […]}}` as one list. */
function gridOf(grid: unknown): unknown {
  if (!isNamed(grid)) return grid;
  const { Default = [], Days = {} } = grid as { Default?: object[]; Days?: Record<string, object[]> };
  return [
    ...Default,
    ...Object.entries(Days).flatMap(([day, periods]) => periods.map((period) => ({ Day: Number(day), ...period }))),
  ];
}

/** The members of a request that a profile may keep. */
export function describeReading(options: TimetableOptions): object {
  const { term, timeGrid, rooms, sharedRooms, mapping, source, location, timeZone } = options;
  const { TimeZone, Id, ...rest }: Named = isNamed(term) ? term : {};
  return {
    ...(isNamed(term) && {
      Term: { ...(Id !== undefined && { Name: Id }), ...rest, Groups: listOf(rest['Groups'] ?? [], 'Name', 'Weeks') },
    }),
    ...((timeZone ?? TimeZone) !== undefined && { TimeZone: timeZone ?? TimeZone }),
    ...(timeGrid !== undefined && { Periods: gridOf(timeGrid) }),
    ...(rooms !== undefined && { Rooms: listOf(rooms, 'Name', 'RessourceName') }),
    ...(sharedRooms !== undefined && { SharedRooms: sharedRooms }),
    ...(mapping !== undefined && { Mapping: mapping }),
    ...(source !== undefined && { Source: source }),
    ...(location !== undefined && { Standort: location }),
  };
}

/** Multiples of three bytes end on a character of Base64. */
const piece = 3 * 16_384;

/** The body: the options, then each file in Base64. */
export async function* writeTimetable(
  options: TimetableOptions,
  files: readonly { name: string; content: Blob }[],
): AsyncGenerator<Uint8Array> {
  const { profile, since, allowRemoval } = options;
  const members = {
    ...(profile !== undefined && { Profile: profile }),
    ...describeReading(options),
    ...(since !== undefined && { Since: since }),
    ...(allowRemoval && { AllowRemoval: true }),
  };
  const start = JSON.stringify(members).slice(0, -1);
  yield Buffer.from(`${start}${start === '{' ? '' : ','}"Files":[`);
  for (const [at, { name, content }] of files.entries()) {
    yield Buffer.from(`${at === 0 ? '' : ','}{"Name":${JSON.stringify(name)},"Content":"`);
    for (let from = 0; from < content.size; from += piece)
      yield Buffer.from(Buffer.from(await content.slice(from, from + piece).arrayBuffer()).toString('base64'));
    yield Buffer.from('"}');
  }
  yield Buffer.from(']}');
}
