/** Answers of more than a megabyte hold one of their person's places until their readers have taken them. */
import net from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import { sql } from 'kysely';
import { LimitExceeded } from '../../src/errors.ts';
import { openLargeAnswers } from '../../src/flow/large-answers.ts';
import type { Places } from '../../src/flow/places.ts';
import { tenantNow } from '../../src/flow/working.ts';
import { openChunks } from '../../src/http/pieces.ts';
import { ahead } from '../_util/ahead.ts';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';

const range = (count: number) => Array.from({ length: count }, (_, index) => index);
/** Of 200 lessons with 50,000 characters each, as with the longest lists of names: far more than the system keeps for a reader. */
const large = '/api/v2.0/lessons?Limit=200';
const small = '/api/v2.0/lessons?Limit=1';

let service: Service;
let places: Places;
let user: MasterData;
let holder: { mandatorId: number; personId: number };

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  const { context, tenant } = service;
  const { mandatorId, resources } = tenant;
  places = context.once(openLargeAnswers);
  holder = { mandatorId, personId: tenant.person('User').id };
  user = masterData(service, await service.signIn());
  const times = sql`timestamptz '2027-03-01T08:00Z' + n * interval '1 day'`;
  await sql`
    with job as (
      insert into lesson_job (mandator_id, job_id, batch_id, created_by)
      values (${mandatorId}, 'J', gen_random_uuid(), ${tenant.person('Importer').id}) returning id
    ), booking as (
      insert into booking (mandator_id, resource_id, kind, status, origin, occupied)
      select ${mandatorId}, ${resources[0]?.id}, 'Lesson', 'Confirmed', 'Import', tstzrange(${times}, ${times} + interval '1 hour')
      from generate_series(1, 200) as n returning id, resource_id, occupied
    )
    insert into lesson (mandator_id, job, lektion_id, booking_id, resource_id, beginn, ende, status, ursprung)
    select ${mandatorId}, job.id, booking.id::text, booking.id, resource_id, lower(occupied), upper(occupied), 'Geplant',
      jsonb_build_object('RessourceName', repeat('x', 50000), 'Beginn', lower(occupied), 'Ende', upper(occupied))
    from job, booking`.execute(context.db);
});
afterAll(() => service.stop());

const held: (() => void)[] = [];
/** Takes so many of the 8 places that the person may have. */
async function take(count: number): Promise<void> {
  held.push(...(await Promise.all(range(count).map(() => places.take(holder)))));
}
function giveBack(): void {
  for (const leave of held.splice(0)) leave();
}

/** The person's requests for a place from now on. */
const spied = () => ({ take: jest.spyOn(places, 'take'), takeIfFree: jest.spyOn(places, 'takeIfFree') });
let asked: ReturnType<typeof spied>;
beforeEach(() => {
  asked = spied();
});
afterEach(() => {
  giveBack();
  jest.restoreAllMocks();
});

const get = (path: string, caller = user, headers: Record<string, string> = {}) =>
  fetch(`${service.url}/school${path}`, { headers: { Authorization: `Bearer ${caller.token}`, ...headers } });

test('a person that takes none of its large answers gets no more of them until it does: 429; small ones, and others, are answered', async () => {
  await take(7);
  const client = net.connect(service.context.config.Port, '127.0.0.1').pause();
  client.write(`GET /school${large} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer ${user.token}\r\n\r\n`);
  await until('it is sent', () => asked.takeIfFree.mock.calls.length === 1);
  asked.take.mockRejectedValueOnce(new LimitExceeded('All are taken.', 10));
  const refused = await get(large);
  expect([refused.status, refused.headers.get('retry-after'), refused.headers.get('etag')]).toEqual([429, '10', null]);
  expect((await get(small)).status).toBe(200);
  const other = masterData(service, await service.signIn(service.tenant, 'Admin'));
  expect((await (await get(large, other)).text()).length).toBeGreaterThan(10_000_000);
  const waiting = get(large);
  await until('it waits', () => asked.take.mock.calls.length === 9);
  client.destroy();
  expect((await (await waiting).text()).length).toBeGreaterThan(10_000_000);
  giveBack();
});

test('one that waits for its place is made again with it, and is then the same answer', async () => {
  const usual = await get(large);
  const etag = usual.headers.get('etag') ?? '';
  const text = await usual.text();
  await take(8);
  const known = await get(large, user, { 'If-None-Match': etag });
  expect([known.status, asked.take.mock.calls.length]).toEqual([304, 8]);
  const waiting = get(large);
  await until('it waits', () => asked.take.mock.calls.length === 9);
  giveBack();
  const answer = await waiting;
  expect([answer.status, answer.headers.get('etag')]).toEqual([200, etag]);
  expect((await answer.text()) === text).toBe(true);
  await take(8);
});

test('a change that has been done is answered, whatever its person has under way, and its answer counts', async () => {
  await take(8);
  const counted = jest.spyOn(places, 'takeAtOnce');
  const room = service.tenant.resources[1]?.id;
  const first = Date.parse(ahead('2027-03-01T08:00Z'));
  await sql`
    insert into booking (mandator_id, resource_id, kind, status, origin, subject, occupied)
    select ${holder.mandatorId}, ${room}, 'Booking', 'Confirmed', 'Api', repeat(chr(1), 200), tstzrange(at, at + interval '5 minutes')
    from generate_series(1, 365) as day, generate_series(0, 9) as n,
      lateral (select ${new Date(first)}::timestamptz + day * interval '24 hours' + n * interval '5 minutes' as at) as its`.execute(
    service.context.db,
  );
  const [Start, End] = [first, first + 3_600_000].map((at) => new Date(at).toISOString());
  const series = { RecurrenceRule: 'FREQ=DAILY;COUNT=366', ConflictHandling: 'Skip' };
  const answer = await user.post('/bookings', { ResourceId: room, Subject: 'S', Start, End, ...series });
  expect(answer.status).toBe(201);
  expect(answer.text.length).toBeGreaterThan(2 ** 20);
  expect(counted).toHaveBeenCalledTimes(1);
  giveBack();
  await take(8);
});

test('one is sent in the turns of its tenant, as it is made', async () => {
  const chunks = service.context.once(openChunks);
  const { take } = chunks;
  const tenants: unknown[] = [];
  jest.spyOn(chunks, 'take').mockImplementation((length) => {
    tenants.push(tenantNow());
    return take(length);
  });
  const [from, to] = [ahead('2027-03-01T00:00:00Z'), ahead('2027-03-02T00:00:00Z')];
  expect((await get(`/api/v1.0/availability?From=${from}&To=${to}`)).status).toBe(200);
  expect(new Set(tenants)).toEqual(new Set([holder.mandatorId]));
});
