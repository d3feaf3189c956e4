/** Each table is written by one room, so that its rules are in one place. */
import fs from 'node:fs';
import path from 'node:path';

/** The tables of each writer, which is a room or a file of src/. */
const owners: Record<string, readonly string[]> = {
  'acts.ts': ['audit'],
  bookings: ['booking', 'booking_series', 'booking_undo'],
  'calendar-feed': ['calendar_token'],
  cells: ['move_mark', 'resting_tenant'],
  changes: ['change'],
  db: ['idempotent_request', 'rate_count', 'schema_floor'],
  displays: ['display', 'display_pairing', 'display_resource'],
  holidays: ['holiday', 'holiday_calendar'],
  identity: ['pepper', 'pin', 'pin_failure', 'session', 'signing_key'],
  lessons: ['batch', 'batch_error', 'batch_job', 'lesson', 'lesson_job'],
  mail: ['mail_calendar', 'mail_decline', 'mail_item', 'mail_reading_page', 'mail_writing'],
  'mail-inbox': ['mail_notification'],
  'mail-subscriptions': ['mail_server', 'mail_subscription', 'mail_subscription_history'],
  'opening-hours': ['opening_exception', 'opening_rule'],
  problems: ['room_problem'],
  tenants: ['location', 'mandator', 'person', 'person_group', 'person_group_member', 'policy', 'resource'],
  'timetable-files': ['timetable_profile'],
  webhooks: ['webhook', 'webhook_delivery', 'webhook_event'],
  worker: ['sweep_run'],
};

/** Files outside of the room of a table that write it, and why they must. */
const exceptions: readonly { file: string; table: string; why: string }[] = [
  {
    file: 'cells/move.ts',
    table: 'change',
    why: 'positions that a copy could not follow are set as they are in the original',
  },
  { file: 'cells/archive.ts', table: 'change', why: 'what is imported has places in the feed before it is served' },
  {
    file: 'cells/resting.ts',
    table: 'mandator',
    why: 'a tenant that leaves gives its code away, and gets it back where it is served',
  },
  { file: 'lessons/coupling.ts', table: 'booking', why: 'an import writes thousands in one statement' },
  { file: 'lessons/insertion.ts', table: 'booking', why: 'an import writes thousands in one statement' },
  { file: 'lessons/plan.ts', table: 'booking', why: 'an import writes thousands in one statement' },
  {
    file: 'changes/upkeep.ts',
    table: 'mandator',
    why: 'its columns changes_… say how far the feed of a tenant is forgotten, in the statement that forgets it',
  },
  {
    file: 'mail-inbox/recording.ts',
    table: 'mail_calendar',
    why: 'a notification and the mark of its calendar are stored in one statement, by mark_mail_calendars',
  },
  {
    file: 'mail-subscriptions/marks.ts',
    table: 'mail_calendar',
    why: 'what becomes of a subscription marks its calendar in the same transaction, by functions of sql/',
  },
];

/** Files that write several tables of their own room by one statement. */
const generic = ['opening-hours/change.ts', 'tenants/records.ts'];

const call = /\b(?:insertInto|updateTable|deleteFrom|mergeInto)\(\s*(?:['"](\w+)|\w)/g;
const statement = /\b(?:insert into|update|delete from|merge into|truncate|copy)\s+(?:only\s+)?([a-z_]+)\b/gi;

type Schema = { tables: string[]; writtenBy: Map<string, string[]> };

/** The tables that the migrations make, and those that each of their functions writes. */
function readSchema(project: string): Schema {
  const folder = path.join(project, 'sql');
  const texts = fs.globSync('*.sql', { cwd: folder }).map((file) => fs.readFileSync(path.join(folder, file), 'utf8'));
  const tables = texts.flatMap((text) =>
    [...text.matchAll(/^create (?:unlogged )?table (\w+)/gm)].map(([, name = '']) => name),
  );
  const writtenBy = new Map<string, string[]>();
  for (const text of texts)
    for (const [, name = '', body = ''] of text.matchAll(/^create (?:or replace )?function (\w+)\(.*?\$\$(.*?)\$\$/gms))
      writtenBy.set(
        name,
        [...body.matchAll(statement)].flatMap(([, table = '']) => (tables.includes(table) ? [table] : [])),
      );
  return { tables, writtenBy };
}

type Written = { table: string | undefined; index: number };

/** Where a file writes; `table` is undefined where the text does not tell it. */
function findWrites(text: string, { writtenBy }: Schema): Written[] {
  const calls = [...text.matchAll(call)].map(({ 1: table, index }) => ({ table, index }));
  const statements = [...text.matchAll(statement)].map(({ 1: table, index }) => ({
    table: table?.toLowerCase(),
    index,
  }));
  const functions = [...text.matchAll(/\b(\w+)\(/g)].flatMap(({ 1: name = '', index }) =>
    (writtenBy.get(name) ?? []).map((table) => ({ table, index })),
  );
  return [...calls, ...statements, ...functions];
}

/** The violations in the project, a line each: a foreign writer, a table without an owner, an unused exception. */
export function findForeignWriters(project: string): string[] {
  const ownerOf = new Map(
    Object.entries(owners).flatMap(([owner, tables]) => tables.map((table) => [table, owner] as const)),
  );
  const src = path.join(project, 'src');
  const schema = readSchema(project);
  const unused = new Set(exceptions);
  const faults = schema.tables
    .filter((table) => !ownerOf.has(table))
    .map((table) => `sql/: ${table} has no owner in test/_util/writers.ts`);
  for (const file of fs.globSync('**/*.ts', { cwd: src })) {
    const text = fs.readFileSync(path.join(src, file), 'utf8');
    for (const { table, index } of findWrites(text, schema)) {
      const owner = ownerOf.get(table ?? '');
      const exception = exceptions.find((each) => each.file === file && each.table === table);
      if (exception) unused.delete(exception);
      else if (table === undefined && !generic.includes(file))
        faults.push(`${placeOf(file, text, index)}: names no table; write its name in the call`);
      else if (owner !== undefined && file !== owner && !file.startsWith(`${owner}/`))
        faults.push(`${placeOf(file, text, index)}: ${table} is written by src/${owner} alone`);
    }
  }
  for (const { file, table } of unused)
    faults.push(`src/${file} does not write ${table}: drop its exception in test/_util/writers.ts`);
  return faults;
}

const placeOf = (file: string, text: string, index: number) => `src/${file}:${text.slice(0, index).split('\n').length}`;
