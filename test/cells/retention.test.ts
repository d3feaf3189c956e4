/** What is deleted by age, while one of the tenants is frozen. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type RawBuilder, sql } from 'kysely';
import { sweeps as ofActs } from '../../src/audit/tasks.ts';
import { sweeps as ofBookings } from '../../src/bookings/tasks.ts';
import { freezeTenant, thawTenant } from '../../src/cells/service.ts';
import { sweeps as ofFreezes } from '../../src/cells/tasks.ts';
import { sweeps as ofChanges } from '../../src/changes/tasks.ts';
import { sweeps as ofDisplays } from '../../src/displays/tasks.ts';
import { sweeps as ofSessions } from '../../src/identity/tasks.ts';
import { sweeps as ofBatches } from '../../src/lessons/tasks.ts';
import { sweeps as ofNotifications } from '../../src/mail-inbox/tasks.ts';
import { sweeps as ofSubscriptions } from '../../src/mail-subscriptions/tasks.ts';
import { sweeps as ofProblems } from '../../src/problems/tasks.ts';
import { sweeps as ofWebhooks } from '../../src/webhooks/tasks.ts';
import type { Sweep, SweepContext } from '../../src/worker/task.ts';
import { makeTenant } from '../_util/factories.ts';
import { type Service, startService } from '../_util/service.ts';

let service: Service;
beforeAll(async () => {
  // The test sweeps, and no worker.
  service = await startService({ Role: 'Web', Limits__BookingDays: '100', Limits__LessonDays: '100' });
});
afterAll(() => service?.stop());

/** Rows of long ago, by table: what is not null, and no default, and says that they are old. */
const old: Record<string, object> = {
  audit: { person_id: 1, action: 'x', subject_id: 1, request_id: 'x', at: '2001-01-01' },
  batch: {
    id: '00000000-0000-4000-8000-000000000000',
    operation: 'Create',
    import_status: 'LessonsCreated',
    job_count: 1,
    lesson_count: 1,
    processed_count: 1,
    request_id: 'x',
    created_by: 1,
    created_at: '2001-01-01',
    started_at: '2001-01-01',
    finished_at: '2001-01-01',
  },
  booking: {
    kind: 'Booking',
    status: 'Confirmed',
    origin: 'Api',
    occupied: '[2001-01-01,2001-01-02)',
    changed_at: '2001-01-01',
  },
  booking_undo: { booking_id: 1, person_id: 1, version: 1, action: 'Booked', at: '2001-01-01' },
  change: { position: 1, kind: 'Booking', action: 'Created', subject_id: '1', at: '2001-01-01' },
  idempotent_request: { person_id: 1, key: 'x', fingerprint: '', response: {}, created_at: '2001-01-01' },
  lesson_job: {
    job_id: 'x',
    batch_id: '00000000-0000-4000-8000-000000000000',
    created_by: 1,
    changed_at: '2001-01-01',
  },
  mail_notification: {
    received_at: '2001-01-01',
    dialect: 'Ews',
    kind: 'Change',
    verdict: 'Accepted',
    address: 'x',
    request_id: 'x',
    body: '',
    body_bytes: 0,
    body_hash: '',
  },
  mail_subscription: {
    calendar_id: 1,
    kind: 'Ews',
    server_url: 'x',
    state: 'Failed',
    callback_url: 'x',
    state_since: '2001-01-01',
  },
  room_problem: {
    resource_id: 1,
    display_id: 1,
    key: 'x',
    kind: 'Light',
    reported_at: '2001-01-01',
    done_at: '2001-01-01',
    done_by: 1,
  },
  session: { person_id: 1, expires_at: '2001-01-01' },
  webhook_delivery: {
    webhook_id: 1,
    message_id: 'x',
    kind: 'x',
    attempt: 1,
    at: '2001-01-01',
    milliseconds: 1,
  },
};

async function makeOld({ mandatorId, resources }: Service['tenant']): Promise<void> {
  await service.context.db.transaction().execute(async (trx) => {
    await sql`set local session_replication_role = replica`.execute(trx);
    for (const [table, row] of Object.entries(old)) {
      const whole: Record<string, unknown> = { ...row, mandator_id: mandatorId };
      if (table === 'booking') whole['resource_id'] = resources[0]!.id;
      if (table === 'mail_notification')
        whole['id'] = `00000000-0000-4000-8000-${String(mandatorId).padStart(12, '0')}`;
      if (table === 'session') whole['hash'] = `\\x${mandatorId.toString(16).padStart(8, '0')}`;
      const columns = sql.join(Object.keys(whole).map((name) => sql.ref(name)));
      await sql`
        insert into ${sql.table(table)} (${columns})
        select ${columns} from jsonb_populate_record(null::${sql.table(table)}, ${JSON.stringify(whole)})`.execute(trx);
    }
    // The newest of a calendar stays.
    await sql`
      insert into mail_subscription (mandator_id, calendar_id, kind, server_url, callback_url)
      values (${mandatorId}, 1, 'Ews', 'x', 'x')`.execute(trx);
  });
}

/** What sets the old row of a table apart from those that stay. */
const others: Record<string, RawBuilder<unknown>> = {
  change: sql`and at < '2002-01-01'`,
  mail_subscription: sql`and state = 'Failed'`,
};

/** The tables in which old rows of the tenant are left. */
async function leftOf(mandatorId: number): Promise<string[]> {
  const left = await Promise.all(
    Object.keys(old).map(async (table) => {
      const { rows } = await sql`
        select from ${sql.table(table)} where mandator_id = ${mandatorId}
        ${others[table] ?? sql``}`.execute(service.context.db);
      return rows.length > 0 ? [table] : [];
    }),
  );
  return left.flat();
}

const forgetting = [
  ofActs,
  ofBookings,
  ofChanges,
  ofDisplays,
  ofSessions,
  ofBatches,
  ofNotifications,
  ofSubscriptions,
  ofProblems,
  ofWebhooks,
]
  .flat()
  .filter(({ name }) => name.startsWith('forget '));

async function sweep(sweeps: readonly Sweep[] = forgetting): Promise<void> {
  const { context } = service;
  const sweeping = { ...context, work: context.db, signal: new AbortController().signal } as SweepContext;
  for (const { run } of sweeps) await run(sweeping);
}

test('a frozen tenant keeps what is old until it is written again, and holds up the others', async () => {
  const { context, tenant } = service;
  const other = await makeTenant(context.db, { code: 'other' });
  for (const one of [tenant, other]) await makeOld(one);
  await freezeTenant(context.db, 'school', 600);
  await sweep();
  expect(await leftOf(other.mandatorId)).toEqual([]);
  expect(await leftOf(tenant.mandatorId)).toEqual(Object.keys(old));
  await thawTenant(context.db, 'school');
  await sweep();
  expect(await leftOf(tenant.mandatorId)).toEqual([]);
});

test('a freeze that has ended by itself keeps nothing that is old, and leaves no guards behind', async () => {
  const { db } = service.context;
  const tenant = await makeTenant(db, { code: 'forgotten' });
  const readRests = async () =>
    (
      await sql<{ rests: number; guards: number }>`
        select (select count(*)::int from resting_tenant) as rests,
          (select count(*)::int from pg_trigger where tgname = 'guard_resting_tenant') as guards`.execute(db)
    ).rows[0];
  await freezeTenant(db, 'forgotten', 600);
  await sweep(ofFreezes);
  expect(await readRests()).toEqual({ rests: 1, guards: expect.any(Number) });
  await makeOld(tenant);
  // As a mover that has died would leave it, some time later.
  await sql`update resting_tenant set until = clock_timestamp()`.execute(db);
  await sweep();
  expect(await leftOf(tenant.mandatorId)).toEqual([]);
  // A table that others hold, as a backup does, keeps its guard alone.
  await db.transaction().execute(async (trx) => {
    await sql`lock table location in access share mode`.execute(trx);
    await sweep(ofFreezes);
  });
  expect(await readRests()).toEqual({ rests: 0, guards: 1 });
  await sweep(ofFreezes);
  expect(await readRests()).toEqual({ rests: 0, guards: 0 });
});
