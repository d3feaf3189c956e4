import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { makeTenant } from '../_util/factories.ts';
import { type GraphqlService, startGraphql } from '../_util/graphql.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { statementsOf } from '../_util/statements.ts';

let clone: Awaited<ReturnType<typeof cloneDatabase>>;
let service: GraphqlService;
const count = 50;
const rooms = ['A', 'B', 'C', 'D', 'E'];

/** Fifty lessons of one job, by turns in five rooms. */
beforeAll(async () => {
  clone = await cloneDatabase();
  service = await startGraphql(clone.url);
  const { db } = service.context;
  const tenant = await makeTenant(db, { rooms });
  const { personId } = service.admit('user', tenant);
  await sql`
    with booked as (
      insert into booking (mandator_id, resource_id, kind, status, origin, subject, occupied)
      select ${tenant.mandatorId}, (${tenant.resources.map(({ id }) => id)}::int[])[1 + n % ${rooms.length}],
        'Lesson', 'Confirmed', 'Import', 'No. ' || n, tstzrange(start, start + interval '1 hour')
      from generate_series(0, ${count - 1}) as n
      cross join lateral (select timestamptz '2027-02-01T08:00Z' + interval '2 hours' * n as start) as slot
      returning *
    ), job as (
      insert into lesson_job (mandator_id, job_id, batch_id, created_by)
      values (${tenant.mandatorId}, 'J', gen_random_uuid(), ${personId}) returning id
    )
    insert into lesson (mandator_id, job, lektion_id, booking_id, resource_id, beginn, ende, status)
    select mandator_id, job.id, subject, booked.id, resource_id, lower(occupied), upper(occupied), 'Geplant'
    from booked, job`.execute(db);
});
afterAll(async () => {
  await service.stop();
  await clone.drop();
});

/** What a query answers, and how many statements that took. */
async function ask(query: string): Promise<{ nodes: Record<string, unknown>[]; statements: number }> {
  const { answer, texts } = await statementsOf(service.context.db, () => service.post({ query }));
  const { data } = (await answer.json()) as { data: { page: { nodes: Record<string, unknown>[] } } };
  return { nodes: data.page.nodes, statements: texts.length };
}

const bookings = (members: string) =>
  ask(`{ page: bookings(first: ${count}, filter: { from: "2027-02-01T00:00:00Z", to: "2027-03-01T00:00:00Z" }) {
    nodes { subject ${members} } } }`);
const lessons = (members: string) =>
  ask(`{ page: lessons(first: ${count}) { nodes { lektionId: lessonKey ${members} } } }`);

test('the resources of a page of bookings cost one statement more', async () => {
  const plain = await bookings('resourceName');
  const nested = await bookings('resource { name location { name } }');
  expect(plain.nodes).toHaveLength(count);
  expect(nested.nodes.map(({ resource }) => resource)).toEqual(
    plain.nodes.map(({ resourceName }) => ({ name: resourceName, location: { name: expect.any(String) } })),
  );
  // And one more for the locations of those.
  expect(nested.statements).toBe(plain.statements + 2);
  expect((await bookings('resource { name }')).statements).toBe(plain.statements + 1);
});

test('the bookings of a page of lessons cost one statement more', async () => {
  const plain = await lessons('bookingId');
  const nested = await lessons('booking { id subject kind }');
  expect(nested.nodes).toEqual(
    plain.nodes.map(({ lektionId, bookingId }) => ({
      lektionId,
      booking: { id: bookingId, subject: lektionId, kind: 'Lesson' },
    })),
  );
  expect(plain.nodes).toHaveLength(count);
  expect(nested.statements).toBe(plain.statements + 1);
});
