import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { openLog } from '../../src/log.ts';
import { nextYear } from '../_util/ahead.ts';
import { makeTenant } from '../_util/factories.ts';
import { hold, releaseAll } from '../_util/hold.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { killPrograms, startProgram, until, visit } from '../_util/process.ts';
import { openWire } from '../_util/wire.ts';

const hour = 3_600_000;
/** Nine o'clock on a day of next January. */
const nine = Date.UTC(nextYear, 0, 11, 8);

let clone: Awaited<ReturnType<typeof cloneDatabase>>;
let db: Database;
beforeAll(async () => {
  clone = await cloneDatabase();
  db = openDatabase(clone.url, { max: 4, log: openLog('silent'), statementTimeout: 10_000 });
});
afterEach(killPrograms);
afterAll(async () => {
  await releaseAll();
  await db.destroy();
  await clone.drop();
});

let tenants = 0;
/** A tenant and its bookings, read from the database directly. */
async function openTenant() {
  const tenant = await makeTenant(db, { code: `t${++tenants}` });
  return {
    tenant,
    /** The number of stored bookings of each subject. */
    async stored(): Promise<Record<string, number>> {
      const { rows } = await sql<{ subject: string; n: number }>`
        select subject, count(*)::int as n from booking where mandator_id = ${tenant.mandatorId} group by subject`.execute(
        db,
      );
      return Object.fromEntries(rows.map(({ subject, n }) => [subject, n]));
    },
  };
}
type Tenant = Awaited<ReturnType<typeof openTenant>>['tenant'];

/** What a person of a tenant does at the process at `url`. */
async function enter(url: string, tenant: Tenant) {
  const { token } = await visit(url, db, tenant);
  return async (subject: string, start: number, rule?: string, room = 0) => {
    const answer = await fetch(`${url}/${tenant.code}/api/v1.0/bookings`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${token}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': subject,
      },
      body: JSON.stringify({
        ResourceId: tenant.resources[room]?.id,
        Subject: subject,
        RecurrenceRule: rule ?? null,
        Start: new Date(start).toISOString(),
        End: new Date(start + hour / 2).toISOString(),
      }),
    });
    const body = (await answer.json()) as { Id: number; Series: { BookingIds: number[] } | null };
    return { status: answer.status, ids: body.Series?.BookingIds ?? [body.Id] };
  };
}

test.each(['before COMMIT', 'after COMMIT'] as const)(
  'the connection is cut %s: a POST that is repeated under its Idempotency-Key makes one booking, or one series',
  async (where) => {
    const wire = await openWire(clone.url);
    const { tenant, stored } = await openTenant();
    const book = await enter(await startProgram(wire.url, { Role: 'Web' }).ready, tenant);
    for (const [subject, rule, count] of [
      ['single', undefined, 1],
      ['series', 'FREQ=DAILY;COUNT=5', 5],
    ] as const) {
      const post = () => book(subject, nine + count * hour, rule);
      wire.cutNext(where, 'idempotent_request');
      expect([(await post()).status, wire.hasCut]).toEqual([503, true]);
      expect((await stored())[subject]).toBe(where === 'after COMMIT' ? count : undefined);
      // The key stays in use until PostgreSQL notices the lost connection.
      const again = await until(`${subject} is answered`, async () => {
        const repeated = await post();
        return repeated.status === 409 ? undefined : repeated;
      });
      expect([again.status, again.ids.length, (await stored())[subject]]).toEqual([201, count, count]);
      expect(await post()).toEqual(again);
    }
    await wire.close();
  },
);

test('a process is killed amid bookings and series: repeated at another one, each is there once and whole', async () => {
  const { tenant, stored } = await openTenant();
  const [doomed, other] = [1, 2].map(() => startProgram(clone.url, { Role: 'Web' })) as [
    ReturnType<typeof startProgram>,
    ReturnType<typeof startProgram>,
  ];
  const book = await enter(await doomed.ready, tenant);
  const wanted = Array.from({ length: 40 }, (_, at) => ({
    subject: `${at}`,
    count: at % 2 ? 50 : 1,
    rule: at % 2 ? 'FREQ=DAILY;COUNT=50' : undefined,
    start: nine + at * (hour / 2),
    // The last one waits for a room of its own: all may else be answered before anybody looks.
    room: at === 39 ? 1 : 0,
  }));
  const release = await hold(db, (trx) =>
    sql`select from resource where id = ${tenant.resources[1]!.id} for no key update`.execute(trx),
  );
  const answers = Promise.all(
    wanted.map(({ subject, start, rule, room }) => book(subject, start, rule, room).catch(() => undefined)),
  );
  await until('some are made', async () => Object.keys(await stored()).length >= 5);
  await doomed.end('SIGKILL');
  await release();
  const heard = await answers;
  expect(heard).toContain(undefined);
  const url = await other.ready;
  const again = await enter(url, tenant);
  for (const [at, { subject, start, rule, room, count }] of wanted.entries()) {
    // An open transaction is rolled back when PostgreSQL notices the lost connection; until then its key is in use.
    const answer = await until(`${subject} is answered`, async () => {
      const repeated = await again(subject, start, rule, room);
      return repeated.status !== 409 && repeated;
    });
    expect([subject, answer.status, answer.ids.length]).toEqual([subject, 201, count]);
    if (heard[at]?.status === 201) expect(answer).toEqual(heard[at]);
  }
  expect(await stored()).toEqual(Object.fromEntries(wanted.map(({ subject, count }) => [subject, count])));
});
