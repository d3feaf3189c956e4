/**
 * Many events to a receiver that fails, hangs, hangs up, answers 410 and is away for a while, from workers that are killed: all
 * arrive, those of each record in order, each proven by the library of Standard Webhooks.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { getFirstAdmin } from '../../src/identity/service.ts';
import { openLog } from '../../src/log.ts';
import { createWebhook } from '../../src/webhooks/webhooks.ts';
import { insertBookings } from '../_util/bookings-table.ts';
import { openDice } from '../_util/dice.ts';
import { makeTenant } from '../_util/factories.ts';
import { seed, times } from '../_util/long.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { killPrograms, startProgram, until } from '../_util/process.ts';
import type { Asked, Told } from '../_util/scripted-server.ts';
import { testConfig } from '../_util/service.ts';
import { type Receiver, startReceiver, toMessage, verified } from './_util/receiver.ts';

const events = times(300, 10_000);
const kills = times(1, 5);
/** Changes of a booking after it was made. */
const perBooking = 4;

let receiver: Receiver;
let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: Database;

beforeAll(async () => {
  receiver = await startReceiver();
  database = await cloneDatabase();
  db = openDatabase(database.url, { max: 6, log: openLog('silent'), statementTimeout: 0 });
});
afterAll(async () => {
  await killPrograms();
  await db.destroy();
  await receiver.close();
  await database.drop();
});

test(`${events} events, and ${kills} killed workers`, async () => {
  const { mandatorId, mandator, resources } = await openTenant();
  const config = testConfig(database.url, { Webhooks__TrustedOrigins: receiver.origin });
  const act = { viewer: await getFirstAdmin(db, mandator), requestId: 'test' };
  const { secret } = await createWebhook({ db, config }, act, {
    name: 'Board',
    url: `${receiver.origin}/`,
    kinds: ['BookingCreated', 'BookingChanged'],
  });

  const dice = openDice(seed);
  /** In the order of their arrival: what was asked, and whether it was taken. */
  const arrived: { subject: number; position: number; taken: boolean }[] = [];
  const taken = new Set<number>();
  const refused: string[] = [];
  let away = false;
  let hangs = times(1, 5);
  let gone = 1;
  function answer(asked: Asked): Told {
    const { id, data } = toMessage(asked);
    try {
      verified(secret, asked);
    } catch (error) {
      refused.push(String(error));
    }
    const position = Number(id.split('_')[2]);
    const how = decide();
    arrived.push({ subject: data['Id'] as number, position, taken: how.status === 204 });
    if (how.status === 204) taken.add(position);
    return how;
  }
  function decide(): Told {
    if (away) return { body: (response) => response.destroy() };
    // The last part of all is undisturbed, so that the end comes.
    if (taken.size > events * 0.8) return { status: 204 };
    const number = dice.below(100);
    if (number === 0 && hangs-- > 0) return { body: () => {} };
    if (taken.size > events / 2 && gone-- > 0) return { status: 410 };
    if (number < 3) return { status: 500, body: 'no' };
    if (number < 5) return { body: (response) => response.destroy() };
    if (number < 6) return { status: 503, headers: { 'Retry-After': '60' } };
    return { status: 204 };
  }
  receiver.answer(answer);

  const settings = { Role: 'Worker', Webhooks__TrustedOrigins: receiver.origin };
  let worker = startProgram(database.url, settings);
  /** Pauses are over sooner than they are, and an Admin enables what was disabled. */
  const hurry = async () => {
    // Not those that a worker is writing, which locks them in its own order.
    await sql`
      update webhook_event as event set due_at = now()
      from (select mandator_id, webhook_id, position from webhook_event where due_at > now() for update skip locked) as later
      where (event.mandator_id, event.webhook_id, event.position) = (later.mandator_id, later.webhook_id, later.position)`.execute(
      db,
    );
    await sql`
      update webhook set due_at = now(), disabled_at = null, disabled_because = null,
        rounds = rounds + case when disabled_at is null then 0 else 1 end`.execute(db);
  };
  const writing = write(mandatorId, resources);
  for (let killed = 0; killed < kills; killed++) {
    const enough = (events * (killed + 1)) / (kills + 1) / 2;
    await until('a part has arrived', async () => {
      await hurry();
      return taken.size >= enough;
    });
    away = true;
    await worker.end('SIGKILL');
    away = false;
    await sql`update graphile_worker._private_jobs set locked_at = locked_at - interval '1 minute'`.execute(db);
    worker = startProgram(database.url, settings);
  }
  await writing;
  for (let part = 0; part <= events; part += 500)
    await until('all have arrived', async () => {
      await hurry();
      return taken.size >= Math.min(events, part + 500);
    });
  expect(refused).toEqual([]);
  const { rows: told } = await sql<{ subject: number; position: number }>`
    select subject_id::float8 as subject, position::float8 as position from change
    where mandator_id = ${mandatorId} and kind = 'Booking' order by position`.execute(db);
  expect([...taken].toSorted((a, b) => a - b)).toEqual(told.map(({ position }) => position));
  // Nothing came before all that is earlier of its record was taken.
  const waiting = new Map(
    [...Map.groupBy(told, ({ subject }) => subject)].map(([subject, some]) => [
      subject,
      some.map(({ position }) => position),
    ]),
  );
  for (const { subject, position, taken: wasTaken } of arrived) {
    const before = (waiting.get(subject) ?? []).filter((one) => one < position);
    expect([subject, position, before]).toEqual([subject, position, []]);
    if (wasTaken)
      waiting.set(
        subject,
        (waiting.get(subject) ?? []).filter((one) => one !== position),
      );
  }
  // What was sent again is far less than what was sent: a round at most for each death.
  expect(arrived.filter((one) => one.taken).length).toBeLessThan(events + (kills + 2) * 200);
});

async function openTenant() {
  const rooms = Array.from({ length: 20 }, (_, index) => `R${index}`);
  const tenant = await makeTenant(db, { rooms });
  const { mandatorId, code: mandator, resources } = tenant;
  return { mandatorId, mandator, resources: resources.map(({ id }) => id) };
}

/** Bookings in all rooms, each then changed; in small transactions, of which some end late. */
async function write(mandatorId: number, resources: readonly number[]): Promise<void> {
  const bookings = events / (perBooking + 1);
  const lanes = 4;
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      for (let number = lane; number < bookings; number += lanes) {
        const room = resources[number % resources.length] as number;
        const [id] = await insertBookings(db, mandatorId, room, { first: Math.floor(number / resources.length) });
        for (let change = 0; change < perBooking; change++)
          await sql`
            update booking set subject = ${`Change ${change}`} where mandator_id = ${mandatorId} and id = ${id}`.execute(
            db,
          );
      }
    }),
  );
}
