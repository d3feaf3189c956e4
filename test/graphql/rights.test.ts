/** Rights that are lost while somebody watches or waits: nothing that is hidden from then on is sent. */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createClient as createSseClient } from 'graphql-sse';
import { createClient as createWsClient } from 'graphql-ws';
import { sql } from 'kysely';
import WebSocket from 'ws';
import type { Transaction } from '../../src/db/database.ts';
import { createPin } from '../../src/identity/service.ts';
import { heardOfAll } from '../_util/graphql.ts';
import { pepper } from '../_util/pepper.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';
import { tokenFor } from '../_util/token.ts';

type Role = 'Admin' | 'User' | 'Display';
type Frame = { data?: Record<string, unknown> | null; errors?: { extensions?: { code?: string } }[] };

let service: Service;
let batchId: string;
let bookingId: number;
let token: string;
let pinId: number;
let personId: number;
const open: (() => void)[] = [];

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
});
afterEach(() => {
  for (const leave of open.splice(0)) leave();
});
afterAll(() => service.stop());

beforeEach(async () => {
  const { context, tenant, url } = service;
  const { mandatorId } = tenant;
  const person = await context.db
    .insertInto('person')
    .values({
      mandator_id: mandatorId,
      name: 'Somebody',
      email: `${randomUUID()}@school.example`,
      time_zone: 'Europe/Berlin',
      role: 'Admin',
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  personId = person.id;
  const made = await createPin(context.db, pepper, { mandatorId, personId });
  pinId = made.pinId;
  token = await tokenFor(url, made.pin);
  // Of what is there at the beginning nothing looks like what changes.
  await sql`delete from batch where mandator_id = ${mandatorId}`.execute(context.db);
  await sql`delete from booking where mandator_id = ${mandatorId}`.execute(context.db);
  batchId = randomUUID();
  await context.db
    .insertInto('batch')
    .values({
      mandator_id: mandatorId,
      id: batchId,
      operation: 'Create',
      job_count: 1,
      request_id: 'test',
      created_by: tenant.person('User').id,
    })
    .execute();
  const { rows } = await sql<{ id: number }>`
    insert into booking (mandator_id, resource_id, kind, status, origin, subject, occupied)
    values (${mandatorId}, ${tenant.resources[0]!.id}, 'Booking', 'Confirmed', 'Api', 'before',
      tstzrange(now(), now() + interval '1 hour')) returning id`.execute(context.db);
  bookingId = rows[0]!.id;
});

const become = (trx: Transaction | Service['context']['db'], role: Role) =>
  trx.updateTable('person').set({ role }).where('id', '=', personId).execute();

/** Something new of all that is watched here. */
async function changeAll(trx: Transaction): Promise<void> {
  await sql`update booking set subject = 'after', is_private = true, version = version + 1 where id = ${bookingId}`.execute(
    trx,
  );
  await sql`update batch set import_status = 'AwaitingLessonProcessing', lesson_count = 7 where id = ${batchId}`.execute(
    trx,
  );
}

const documents: Record<string, () => string> = {
  bookings: () => 'subscription { bookings(filter: {}) { bookings { subject } } }',
  batches: () => 'subscription { batches { lessonCount } }',
  batchStatus: () => `subscription { batchStatus(batchId: "${batchId}") { lessonCount } }`,
  display: () =>
    `subscription { display(resourceId: "${service.tenant.resources[0]!.id}") { __typename ... on DisplaySnapshot { schedule { subject } } } }`,
  board: () =>
    `subscription { board(locationId: "${service.tenant.locationId}") { __typename ... on DisplaySnapshot { schedule { subject } } } }`,
};

function watch(transport: 'sse' | 'ws', query: string) {
  const url = `${service.url}/${service.tenant.code}/graphql`;
  const authorization = `Bearer ${token}`;
  const client =
    transport === 'sse'
      ? createSseClient({ url, headers: { authorization }, retryAttempts: 0 })
      : createWsClient({
          url: url.replace('http', 'ws'),
          webSocketImpl: WebSocket,
          connectionParams: { authorization },
          retryAttempts: 0,
        });
  open.push(() => client.dispose());
  const frames: Frame[] = [];
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  client.subscribe(
    { query },
    { next: (frame) => frames.push(frame as unknown as Frame), error: () => resolve(), complete: resolve },
  );
  return { frames, ended };
}

const demotions: [from: Role, to: Role, names: string[]][] = [
  ['Admin', 'User', Object.keys(documents)],
  ['User', 'Display', Object.keys(documents)],
];

describe.each(['sse', 'ws'] as const)('over %s', (transport) => {
  describe.each(demotions)('an %s that becomes a %s', (from, to, names) => {
    test.each(names)('sees nothing more of %s, not even what has changed with it', async (name) => {
      const { db } = service.context;
      await become(db, from);
      const { frames, ended } = watch(transport, documents[name]!());
      await until(() => frames.length > 0);
      const seen = frames.length;
      await db.transaction().execute(async (trx) => {
        await become(trx, to);
        await changeAll(trx);
      });
      await ended;
      const rest = JSON.stringify(frames.slice(seen));
      expect(rest).not.toMatch(/after|Belegt|"lessonCount":7/);
      expect(rest).toMatch(/"code":"UNAVAILABLE"|"DisplayEnded"/);
    });
  });

  test('a viewer with only another name continues to watch', async () => {
    const { db } = service.context;
    const { frames } = watch(transport, documents['bookings']!());
    await until(() => frames.length > 0);
    await db.transaction().execute(async (trx) => {
      await trx
        .updateTable('person')
        .set({ name: 'Somebody else', email: `${randomUUID()}@school.example` })
        .where('id', '=', personId)
        .execute();
      await changeAll(trx);
    });
    await until(() => JSON.stringify(frames).includes('after'));
  });
});

describe('a long poll', () => {
  /**
   * Resolves when the service waits for news for the next caller. By then it has read once, with the rights of the moment
   * at which the call came in: a change that was committed before that read would be told.
   */
  function waiting(): Promise<void> {
    const { notifications } = service.context;
    const { promise, resolve } = Promise.withResolvers<void>();
    const { subscribe } = notifications;
    notifications.subscribe = async (...topics) => {
      notifications.subscribe = subscribe;
      const subscription = await subscribe(...topics);
      return {
        ...subscription,
        next() {
          resolve();
          return subscription.next();
        },
      };
    };
    return promise;
  }
  const polls: Record<string, () => string> = {
    'a batch': () => `v2.0/jobs/batches/${batchId}?WaitSeconds=25`,
    changes: () => 'v1.0/changes?Cursor=now&WaitSeconds=25',
  };
  const ask = (poll: string) =>
    fetch(`${service.url}/${service.tenant.code}/api/${poll}`, {
      headers: { authorization: `Bearer ${token}` },
    });
  test('for a batch continues after a notification of a state that it has already read', async () => {
    const { db } = service.context;
    const waits = waiting();
    const answer = ask(polls['a batch']!());
    await waits;
    await sql`select pg_notify('roomgate', ${`batch:${service.tenant.mandatorId}:${batchId}`})`.execute(db);
    await heardOfAll(service.context);
    await db.transaction().execute(changeAll);
    expect(await (await answer).json()).toMatchObject({ LessonCount: 7 });
  });
  const losses: [name: string, lose: () => Promise<unknown>, status: number][] = [
    ['has become a Display', () => become(service.context.db, 'Display'), 403],
    [
      'has lost its PIN',
      () => service.context.db.updateTable('pin').set({ revoked_at: new Date() }).where('id', '=', pinId).execute(),
      401,
    ],
  ];
  describe.each(Object.keys(polls))('for %s', (name) => {
    test.each(losses)('sends nothing to somebody who %s meanwhile', async (_name, lose, status) => {
      // A late notification of an earlier test would have it read while the rights are lost.
      await heardOfAll(service.context);
      const waits = waiting();
      const answer = ask(polls[name]!());
      await waits;
      await lose();
      await service.context.db.transaction().execute(changeAll);
      expect((await answer).status).toBe(status);
    });
  });
});
