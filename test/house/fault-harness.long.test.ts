/** A short run of the harness of test/faults; `npm run test:faults` runs it at length. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Database } from '../../src/db/database.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { killPrograms } from '../_util/process.ts';
import { runFaults, smoke } from '../faults/harness.ts';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
beforeAll(async () => {
  database = await cloneDatabase();
});
afterAll(async () => {
  await killPrograms();
  await database.drop();
});

/** As if the service had lost, doubled and half applied something, of each the first that there is. */
async function spoil(db: Database): Promise<void> {
  await sql`delete from booking where id = (
    select min(id) from booking where status = 'Cancelled' and description is not null and version > 1)`.execute(db);
  await sql`insert into booking (mandator_id, resource_id, kind, status, origin, subject, description, organizer_id, occupied)
    select mandator_id, resource_id, kind, 'Cancelled', origin, subject, description, organizer_id, occupied from booking
    where id = (select max(id) from booking where kind = 'Booking')`.execute(db);
  await sql`delete from lesson where (mandator_id, job, lektion_id) = (
    select mandator_id, job, lektion_id from lesson order by job desc limit 1)`.execute(db);
  await sql`insert into batch (mandator_id, id, operation, job_count, request_id, created_by)
    select mandator_id, '00000000-0000-7000-8000-000000000000', operation, job_count, request_id, created_by from batch
    order by arrival limit 1`.execute(db);
}

test('after kill -9 and connections that are cut after COMMIT, only planted faults are found', async () => {
  const said: string[] = [];
  const { text, findings } = await runFaults({
    ...smoke,
    seed: 1,
    databaseUrl: database.url,
    spoil,
    say: (line) => void said.push(line),
  });
  const harms = findings.map(({ harm, text }) => `${harm}: ${text}`).sort();
  expect(harms).toEqual([
    expect.stringMatching(/^doubled: batch 0{8}-.* is there, and no client was told so$/),
    expect.stringMatching(/^doubled: .* made bookings \d+, \d+$/),
    expect.stringMatching(/^half-applied: batch .*, created (\d+): (?!\1)\d+ lessons/),
    expect.stringMatching(/^half-applied: .*"lessons":\d+.* acknowledged, .*"lessons":\d+.* stored$/),
    expect.stringMatching(/^lost: .* was acknowledged, and is not there$/),
  ]);
  expect([text, said.join('\n')]).toEqual([
    expect.stringMatching(/\| Kill -9 \| 1 \|/i),
    expect.stringContaining('cut after COMMIT'),
  ]);
});
