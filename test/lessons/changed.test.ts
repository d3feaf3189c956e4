/** How PostgreSQL finds the changed lessons of a long time. */
import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Viewer } from '../../src/context.ts';
import { openDatabase } from '../../src/db/database.ts';
import { selectLessons } from '../../src/lessons/timetable.ts';
import { openLog } from '../../src/log.ts';
import { makeTenant } from '../_util/factories.ts';
import { cloneDatabase } from '../_util/postgres.ts';

type Plan = { 'Relation Name'?: string; 'Actual Loops': number; Plans?: Plan[] };
const partsOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(partsOf)];

test('each changed lesson is read once, not once for each room', async () => {
  const database = await cloneDatabase();
  const db = openDatabase(database.url, { max: 1, log: openLog('silent'), statementTimeout: 90_000 });
  const { mandatorId, person } = await makeTenant(db, { rooms: Array.from({ length: 100 }, (_, at) => `R${at}`) });
  const admin = person('Admin').id;
  await sql`
    with sent as (
      insert into batch (mandator_id, id, operation, job_count, request_id, created_by)
      values (${mandatorId}, gen_random_uuid(), 'Create', 1, '', ${admin}) returning id
    ), job as (
      insert into lesson_job (mandator_id, job_id, created_by, batch_id)
      select ${mandatorId}, 'J', ${admin}, id from sent returning id
    ), booked as (
      insert into booking (mandator_id, resource_id, kind, status, origin, occupied)
      select ${mandatorId}, min(id), 'Lesson', 'Cancelled', 'Import', tstzrange('2031-01-01', '2031-01-02') from resource
      where mandator_id = ${mandatorId} returning id
    )
    insert into lesson (mandator_id, job, lektion_id, booking_id, resource_id, origin_resource_id, beginn, ende, status, ursprung)
    select ${mandatorId}, job.id, resource.id || '-' || number, booked.id, resource.id, resource.id, beginn,
      beginn + interval '45 minutes', 'Geplant', jsonb_build_object('Beginn', day || 'T07:00:00.000Z', 'Ende', day || 'T07:45:00.000Z')
    from job, booked, resource, generate_series(1, 200) as number
    cross join lateral (select timestamptz '2031-01-01T08:00Z' + make_interval(days => number) as beginn) as time
    cross join lateral (select to_char(beginn at time zone 'UTC', 'YYYY-MM-DD') as day) as date`.execute(db);
  await sql`analyze lesson, resource`.execute(db);
  const viewer = { mandatorId, personId: admin, role: 'Admin', hiddenRooms: [] } as unknown as Viewer;
  const filter = { changed: true, from: new Date('2031-01-01'), to: new Date('2031-12-31') };
  const query = selectLessons(viewer, filter, { limit: 50, after: undefined });
  const { rows } = await sql<{ 'QUERY PLAN': [{ Plan: Plan }] }>`explain (analyze, format json) ${query}`.execute(db);
  const reads = partsOf(rows[0]!['QUERY PLAN'][0].Plan).filter((part) => part['Relation Name'] === 'lesson');
  expect(Math.max(...reads.map((part) => part['Actual Loops']))).toBeLessThanOrEqual(20_000);
  await db.destroy();
  await database.drop();
});
