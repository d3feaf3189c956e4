/** Each table is written by one room, so that its rules are in one place. */
import fs from 'node:fs';
import path from 'node:path';

/** The tables of each writer, which is a room or a file of src/. */
const owners: Record<string, readonly string[]> = {
  'access.ts': ['audit'],
  bookings: ['booking', 'booking_series', 'booking_undo'],
  'calendar-feed': ['calendar_token'],
  changes: ['change'],
  db: ['idempotent_request', 'rate_count'],
  displays: ['display', 'display_pairing', 'display_resource'],
  identity: ['pepper', 'pin', 'pin_failure', 'signing_key'],
  lessons: ['batch', 'batch_error', 'batch_job', 'lesson', 'lesson_job'],
  mail: ['mail_calendar', 'mail_item', 'mail_reading_page'],
  'mail-inbox': ['mail_notification'],
  'mail-subscriptions': ['mail_server', 'mail_subscription', 'mail_subscription_history'],
  'opening-hours': ['opening_exception', 'opening_rule'],
  tenants: ['location', 'mandator', 'person', 'resource'],
};

/** Files outside of the room of a table that write it, and why they must. */
const exceptions: readonly { file: string; table: string; why: string }[] = [
  { file: 'lessons/coupling.ts', table: 'booking', why: 'an import writes thousands in one statement' },
  { file: 'lessons/insertion.ts', table: 'booking', why: 'an import writes thousands in one statement' },
  { file: 'lessons/plan.ts', table: 'booking', why: 'an import writes thousands in one statement' },
  {
    file: 'changes/upkeep.ts',
    table: 'mandator',
    why: 'its columns changes_… say how far the feed of a tenant is forgotten, in the statement that forgets it',
  },
];

const write =
  /\b(?:insertInto|updateTable|deleteFrom|mergeInto)\(\s*['"](\w+)|\b(?:insert into|update|delete from|merge into|truncate|copy)\s+(?:only\s+)?([a-z_]+)\b/g;

/** The violations in the project, a line each: a foreign writer, a table without an owner, an unused exception. */
export function findForeignWriters(project: string): string[] {
  const ownerOf = new Map(
    Object.entries(owners).flatMap(([owner, tables]) => tables.map((table) => [table, owner] as const)),
  );
  const src = path.join(project, 'src');
  const unused = new Set(exceptions);
  const faults: string[] = [];
  for (const file of fs.globSync('**/*.ts', { cwd: src })) {
    const text = fs.readFileSync(path.join(src, file), 'utf8');
    for (const { 1: called, 2: written, index } of text.matchAll(write)) {
      const table = called ?? written ?? '';
      const owner = ownerOf.get(table);
      const exception = exceptions.find((each) => each.file === file && each.table === table);
      if (exception) unused.delete(exception);
      else if (owner === undefined && called !== undefined)
        faults.push(`${placeOf(file, text, index)}: ${table} has no owner in test/_util/writers.ts`);
      else if (owner !== undefined && file !== owner && !file.startsWith(`${owner}/`))
        faults.push(`${placeOf(file, text, index)}: ${table} is written by src/${owner} alone`);
    }
  }
  for (const { file, table } of unused)
    faults.push(`src/${file} does not write ${table}: drop its exception in test/_util/writers.ts`);
  return faults;
}

const placeOf = (file: string, text: string, index: number) => `src/${file}:${text.slice(0, index).split('\n').length}`;
