/** Reads of a tenant cost the same beside many others; `npm run bench:growth` measures it. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type RawBuilder, sql } from 'kysely';
import pg from 'pg';
import type { ListFilter } from '../../src/bookings/selection.ts';
import { selectBookings } from '../../src/bookings/stored-lists.ts';
import { at, openFrontDesk } from '../_util/front-desk.ts';
import { type Plan, partsOf } from '../_util/plans.ts';

const [tenants, perTenant] = [300, 60];
let desk: Awaited<ReturnType<typeof openFrontDesk>>;
let school: Awaited<ReturnType<typeof desk.openTenant>>;
let client: pg.Client;

beforeAll(async () => {
  desk = await openFrontDesk();
  school = await desk.openTenant(Array.from({ length: 50 }, (_, n) => `Room ${n}`));
  client = new pg.Client(desk.url);
  await client.connect();
  await client.query('set session_replication_role = replica');
  await client.query(
    `insert into mandator (id, code, name) overriding system value select 1000 + n, 'n' || n, 'N' from generate_series(1, $1::int) as n`,
    [tenants],
  );
  await client.query(
    `insert into location (mandator_id, name, time_zone) select id, 'L', 'UTC' from mandator where id > 1000`,
  );
  await client.query(
    `insert into resource (mandator_id, location_id, name) select mandator_id, id, 'R' from location where mandator_id > 1000`,
  );
  await client.query(
    `insert into booking (mandator_id, resource_id, kind, status, origin, subject, occupied)
     select mandator_id, id, 'Booking', 'Confirmed', 'Api', 'Number ' || n, tstzrange($1::timestamptz + n * interval '1 hour', $1::timestamptz + (n + 1) * interval '1 hour')
     from resource, generate_series(1, $2::int) as n where mandator_id > 1000`,
    [at(-2, 0), perTenant],
  );
  await client.query('reset session_replication_role');
  await client.query('vacuum analyze');
});
afterAll(async () => {
  await client.end();
  await desk.close();
});

test('a search looks into no index for the bookings of all tenants', async () => {
  const filter: ListFilter = { search: 'Number', from: at(0, 0), to: at(7, 0) };
  const query: RawBuilder<unknown> = selectBookings(school.user, filter, { limit: 50, after: undefined });
  const { rows } = await sql<{ 'QUERY PLAN': [{ Plan: Plan }] }>`explain (format json) ${query}`.execute(desk.db);
  const used = partsOf(rows[0]!['QUERY PLAN'][0].Plan).filter((part) => part['Index Name']?.startsWith('booking_'));
  expect(used.length).toBeGreaterThan(2);
  for (const part of used) expect(part['Index Cond']).toMatch(/\b(resource_id|mandator_id|search_terms)\b/);
});
