import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { findForeignWriters } from '../_util/writers.ts';

let project: string;
beforeEach(() => {
  project = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-writers-'));
  fs.mkdirSync(path.join(project, 'sql'));
  fs.writeFileSync(
    path.join(project, 'sql', '000001_all.sql'),
    `create table mail_calendar (id integer);
create table novelty (id integer);
create function mark_all(id integer) returns void language sql as $$
  update mail_calendar set id = $1;
$$;`,
  );
});
afterEach(() => fs.rmSync(project, { recursive: true }));

/** Without the exceptions that a small project has no use for. */
function faultsOf(file: string, text: string): string[] {
  fs.mkdirSync(path.dirname(path.join(project, file)), { recursive: true });
  fs.writeFileSync(path.join(project, file), text);
  return findForeignWriters(project).filter((fault) => !/drop its exception|^sql\//.test(fault));
}

test.each([
  ['src/opening-hours/change.ts', "db.insertInto('opening_rule')"],
  ['src/lessons/plan.ts', 'sql`update booking set cancelled_at = now()`'],
  ['src/displays/board.ts', "db.selectFrom('booking')"],
])('%s may write what its room owns, or has an exception for, and read everything', (file, text) => {
  expect(faultsOf(file, text)).toEqual([]);
});

test.each([
  ['src/bookings/change.ts', "\ndb.updateTable('opening_rule')", 'opening_rule is written by src/opening-hours alone'],
  ['src/lessons/import.ts', '\nsql`insert into booking (id)`', 'booking is written by src/bookings alone'],
  ['src/tenants/persons.ts', "\ndb.deleteFrom(\n'audit')", 'audit is written by src/acts.ts alone'],
  ['src/lessons/import.ts', '\nsql`UPDATE ONLY booking set id = 1`', 'booking is written by src/bookings alone'],
  ['src/tenants/persons.ts', '\ndb.insertInto(table)', 'names no table; write its name in the call'],
  ['src/lessons/import.ts', '\nsql`select mark_all(7)`', 'mail_calendar is written by src/mail alone'],
])('%s may not: %j', (file, text, fault) => {
  expect(faultsOf(file, text)).toEqual([`${file}:2: ${fault}`]);
});

test('a table of the migrations without an owner is a fault', () => {
  expect(findForeignWriters(project)).toContain('sql/: novelty has no owner in test/_util/writers.ts');
});

test('an exception that nobody needs any more is a fault', () => {
  expect(findForeignWriters(project)).toContain(
    'src/lessons/plan.ts does not write booking: drop its exception in test/_util/writers.ts',
  );
});
