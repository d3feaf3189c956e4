/** Webhooks over REST, and how the events of the feed are delivered to them. */

import dns from 'node:dns';
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { type KyselyPlugin, sql } from 'kysely';
import { forgetOldChanges } from '../../src/changes/service.ts';
import type { Database } from '../../src/db/database.ts';
import { openShares } from '../../src/flow/shares.ts';
import { textOf } from '../../src/webhooks/sending.ts';
import {
  deliverEvents,
  examineWebhooks,
  forgetDeliveries,
  giveTimes,
  queueDue,
  webhookFigures,
} from '../../src/webhooks/service.ts';
import { insertBookings } from '../_util/bookings-table.ts';
import { makeDisplay, makeTenant } from '../_util/factories.ts';
import { hold, releaseAll } from '../_util/hold.ts';
import { lessonClient, makeJobs } from '../_util/lessons.ts';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { type Nameserver, startNameserver } from '../_util/nameserver.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';
import { makeCalendar } from '../mail/_util/rows.ts';
import { answering, type Receiver, startReceiver, verified } from './_util/receiver.ts';

type Tree = Record<string, unknown>;
type Made = { Id: number; Version: number; Secret: string; Cursor: string };

const everyKind = [
  ...['BatchEnded', 'BookingCreated', 'BookingChanged', 'BookingCancelled', 'BookingReleased'],
  ...['DisplaySilent', 'DisplayBack', 'MailConflict'],
];

let receiver: Receiver;
let nameserver: Nameserver;
let service: Service;
let db: Database;
let admin: MasterData;
let mandatorId: number;
let room: number;
let hour = 0;

beforeAll(async () => {
  receiver = await startReceiver();
  nameserver = await startNameserver({
    'inner.example': ['10.1.2.3'],
    'alias.example': ['nowhere.example'],
    'half.example': ['nowhere.example'],
    'A half.example': 'fails',
  });
  const [, port = ''] = /:(\d+)$/.exec(receiver.origin) ?? [];
  service = await startService({ Role: 'Web', Webhooks__TrustedOrigins: `http://127.0.0.1:${port}` });
  ({ db } = service.context);
  ({ mandatorId } = service.tenant);
  room = service.tenant.resources[0]!.id;
  admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
});
afterAll(async () => {
  await service.stop();
  await nameserver.close();
  await receiver.close();
});
beforeEach(async () => {
  await db.deleteFrom('webhook').execute();
  receiver.answer(answering(204));
});
afterEach(releaseAll);

const make = async (members: object = {}, by = admin): Promise<Made> => {
  const body = { Name: 'Board', Url: `${receiver.origin}/hook`, Kinds: everyKind, ...members };
  const made = await by.post('/webhooks', body);
  expect([made.status, made.text]).toEqual([201, expect.any(String)]);
  return made.body as Made;
};
const read = async ({ Id }: { Id: number }) => (await admin.get(`/webhooks/${Id}`)).body;
const act = ({ Id }: { Id: number }, what: string, body: object = {}) =>
  admin.post(`/webhooks/${Id}/${what}`, body, { 'If-Match': '*' });
const deliveries = async ({ Id }: { Id: number }, query = '') =>
  (await admin.get(`/webhooks/${Id}/deliveries${query}`)).body['Items'] as Tree[];

const takeJobs = async () =>
  Number((await sql`delete from graphile_worker._private_jobs where key like 'webhook %'`.execute(db)).numAffectedRows);
const shares = openShares(8);
/** Jobs of the worker: one that has taken its time leaves another. */
const deliver = async (
  { Id: webhookId, tenant = service.tenant }: { Id: number; tenant?: { mandatorId: number } },
  signal = new AbortController().signal,
) => {
  const { mandatorId } = tenant;
  do await deliverEvents({ ...service.context, work: db, signal, shares }, { mandatorId, webhookId });
  while ((await takeJobs()) > 0);
};
/** As if all pauses were over. */
const passPauses = async () => {
  await sql`update webhook set due_at = now()`.execute(db);
  await sql`update webhook_event set due_at = now() where due_at is not null`.execute(db);
};
const book = async (count = 1) => {
  const ids = await insertBookings(db, mandatorId, room, { first: hour, count });
  hour += count;
  return ids;
};
const write = (id: number, columns: string, on = db) =>
  sql`update booking set ${sql.raw(columns)} where mandator_id = ${mandatorId} and id = ${id}`.execute(on);
const told = () => receiver.messages().map(({ type, data }) => [type, data['Id']]);
const queued = async () => {
  await queueDue(db);
  return await takeJobs();
};

describe('the record', () => {
  test('tells its secret once, keeps it sealed, and the audit has neither it nor the address', async () => {
    const made = await make({ Url: `${receiver.origin}/hook?token=canary` });
    expect(made.Secret).toMatch(/^whsec_[\w+/]{43}=$/);
    const rotated = (await act(made, 'rotate')).body as Made;
    expect(rotated.Secret).not.toBe(made.Secret);
    const { rows: audit } = await sql<{ told: string }>`select audit::text as told from audit`.execute(db);
    const { rows: stored } = await sql<{ told: string }>`
      select webhook::text || encode(secret, 'escape') || encode(former_secret, 'escape') as told from webhook`.execute(
      db,
    );
    const answers = [(await admin.get('/webhooks')).text, (await admin.get(`/webhooks/${made.Id}`)).text];
    for (const secret of [made.Secret, rotated.Secret])
      for (const text of [...answers, ...audit.map((row) => row.told), ...stored.map((row) => row.told)])
        expect(text.includes(secret.slice('whsec_'.length))).toBe(false);
    expect(audit.some((row) => row.told.includes('canary'))).toBe(false);
    expect(audit.filter((row) => /webhook/i.test(row.told))).toHaveLength(2);
  });

  test('has another path: the audit says that the address has changed, and on another server to which', async () => {
    const { Id } = await make();
    const change = async (Url: string) => {
      expect((await admin.patch(`/webhooks/${Id}`, { Url })).status).toBe(200);
      const { body } = await admin.get(`/audit?Subject=Webhook&SubjectId=${Id}&Limit=1`);
      return (body['Items'] as Tree[])[0]!['Changes'];
    };
    expect(await change(`${receiver.origin}/canary`)).toEqual([{ Member: 'Url', From: null, To: null }]);
    expect(await change('https://school.example/canary')).toEqual([
      { Member: 'Url', From: receiver.origin, To: 'https://school.example' },
    ]);
  });

  test.each([
    ['http elsewhere', 'http://example.org/'],
    ['this machine', 'https://127.0.0.1/'],
    ['a name of this machine', 'https://hooks.localhost./'],
    ['a private address', 'https://10.1.2.3/hook'],
    ['a private address of IPv6', 'https://[fd00::1]/'],
    ['the service of a cloud', 'https://169.254.169.254/'],
    ['IPv4 within IPv6', 'https://[::ffff:10.0.0.1]/'],
    ['with a password', 'https://a:b@hooks.example/'],
    ['too long', `https://hooks.example/${'x'.repeat(2_000)}`],
  ])('refuses an address: %s', async (_name, Url) => {
    const { status, body } = await admin.post('/webhooks', { Name: 'Board', Url, Kinds: ['BatchEnded'] });
    expect([status, body['Errors']]).toEqual([422, [expect.objectContaining({ Field: 'Url' })]]);
  });

  test('a tenant has 20 at most, with names of their own', async () => {
    for (let number = 1; number <= 20; number++) await make({ Name: `Board ${number}` });
    const refused = (Name: string) => admin.post('/webhooks', { Name, Url: receiver.origin, Kinds: ['BatchEnded'] });
    expect((await refused('Another')).text).toMatch(/at most 20 webhooks/);
    await sql`delete from webhook where name = 'Board 20'`.execute(db);
    expect((await refused('BOARD 1')).text).toMatch(/has this name already/);
  });
});

describe('over GraphQL a webhook', () => {
  const run = async (mutation: string) => {
    const { data, errors } = await admin.ask(`mutation { result: ${mutation} }`);
    expect(errors).toBeUndefined();
    return data!['result'] as Tree;
  };
  const problem = '... on Problem { code message }';

  test('is made, tested, replayed, changed and deleted as over REST', async () => {
    const input = `{ name: "Board", url: "${receiver.origin}/hook", kinds: [BookingCreated] }`;
    const answered = `{ ... on WebhookWithSecret { secret webhook { restId version kinds } } ${problem} }`;
    const made = await run(`createWebhook(input: ${input}) ${answered}`);
    expect(made).toMatchObject({ secret: expect.stringMatching(/^whsec_/), webhook: { version: 1 } });
    const Id = Number((made['webhook'] as Tree)['restId']);
    const at = (version: number) => `id: "webhook_${Id}", version: ${version}`;
    expect(await run(`createWebhook(input: ${input}) ${answered}`)).toMatchObject({ code: 'Conflict' });
    expect(await run(`testWebhook(id: "webhook_${Id}") { ... on WebhookDelivery { kind status } }`)).toEqual({
      kind: 'Test',
      status: 204,
    });
    const rotated = await run(`rotateWebhookSecret(${at(1)}, input: { overlapHours: 0 }) ${answered}`);
    expect(rotated).toMatchObject({
      secret: expect.not.stringContaining(String(made['secret'])),
      webhook: { version: 2 },
    });
    const whole = `{ ... on Webhook { enabled version disabledBecause } ${problem} }`;
    expect(await run(`changeWebhook(${at(1)}, input: { enabled: false }) ${whole}`)).toMatchObject({
      code: 'PreconditionFailed',
    });
    const changed = await run(`changeWebhook(${at(2)}, input: { enabled: false }) ${whole}`);
    expect(changed).toEqual({ enabled: false, version: 3, disabledBecause: 'Admin' });
    expect(await run(`replayWebhook(${at(3)}, input: { cursor: "now" }) ${whole}`)).toMatchObject({ version: 3 });
    const { data } = await admin.ask(
      '{ webhooks { nodes { deliveries(filter: { failed: false }) { nodes { messageId } } } } }',
    );
    expect(data).toMatchObject({
      webhooks: { nodes: [{ deliveries: { nodes: [{ messageId: expect.stringMatching(/^test_/) }] } }] },
    });
    expect(await run(`deleteWebhook(${at(3)}) ${whole}`)).toMatchObject({ version: 3 });
    expect((await admin.get(`/webhooks/${Id}`)).status).toBe(404);
  });
});

describe('a message', () => {
  test('is proven by both secrets while they overlap, and by the new one alone afterwards', async () => {
    const made = await make();
    const { Secret } = (await act(made, 'rotate', { OverlapHours: 1 })).body as Made;
    await act(made, 'test');
    await sql`update webhook set former_until = now()`.execute(db);
    await act(made, 'test');
    const [both, single] = receiver.messages();
    expect(verified(made.Secret, both!)).toEqual(verified(Secret, both!));
    expect(verified(Secret, single!)).toMatchObject({ type: 'webhook.test', data: { Name: 'Board' } });
    expect(() => verified(made.Secret, single!)).toThrow(/signature/i);
    expect(() => verified(Secret, { ...single!, body: single!.body.replace('Board', 'Bored') })).toThrow(/signature/i);
  });

  test('follows no redirect, and of a trusted server keeps the status, and no answer', async () => {
    const made = await make();
    receiver.answer(() => ({
      status: 302,
      headers: { Location: `${receiver.origin}/other` },
      body: `\u0007${'é'.repeat(9_000)}`,
    }));
    const { status, body } = await act(made, 'test');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      Status: 302,
      Fault: expect.stringContaining('give the address'),
      Kind: 'Test',
      Attempt: 1,
    });
    expect(body['Answer']).toBeNull();
    await book();
    await deliver(made);
    expect((await deliveries(made)).map(({ Status, Answer }) => [Status, Answer])).toEqual([
      [302, null],
      [302, null],
    ]);
    expect(receiver.messages().map(({ path }) => path)).toEqual(['/hook', '/hook']);
  });

  test('keeps of another answer the first 500 characters, without controls', () => {
    expect(textOf(Buffer.from(`\u0007${'é'.repeat(9_000)}`))).toBe('é'.repeat(500));
    expect(textOf(Buffer.from('\u001b\r\n'))).toBeNull();
  });

  test('is accepted by the status 200, even if the rest of the answer breaks off', async () => {
    const made = await make();
    receiver.answer(() => ({
      headers: { 'Content-Length': '100' },
      body: (response) => void response.write('half', () => response.socket?.destroy()),
    }));
    expect((await act(made, 'test')).body).toMatchObject({ Status: 200, Fault: null });
  });

  test('tells of a 304 by its status: it leads nowhere', async () => {
    const made = await make();
    receiver.answer(answering(304));
    expect((await act(made, 'test')).body).toMatchObject({ Status: 304, Fault: 'the receiver answers 304' });
  });

  test('tells of an answer that is not of HTTP in words', async () => {
    const made = await make();
    receiver.answer(() => ({ body: (response) => void response.socket?.end('220 mail.example ESMTP\r\n') }));
    expect((await act(made, 'test')).body).toMatchObject({
      Status: null,
      Fault: 'the receiver did not send a valid HTTP answer',
    });
  });

  test('is not sent where a name leads to an address of the inside, also where that is found out only then', async () => {
    const made = await make({ Url: 'https://inner.example/hook' });
    expect((await act(made, 'test')).body).toMatchObject({
      Status: null,
      Answer: null,
      Fault: 'inner.example resolves to an address that is not public',
    });
    await book();
    await deliver(made);
    expect(receiver.asked).toEqual([]);
    expect(await read(made)).toMatchObject({ Waiting: 1, Failures: 1 });
  });

  test.each([
    ['is an alias that leads to no address', 'alias.example', 'ENODATA'],
    ['is such an alias, and the nameserver fails for IPv4', 'half.example', 'ESERVFAIL'],
  ])('cannot be sent where the name of the receiver %s', async (_name, name, code) => {
    const made = await make({ Url: `https://${name}/hook` });
    expect((await act(made, 'test')).body).toMatchObject({
      Status: null,
      Fault: `the receiver cannot be reached: ${code}`,
    });
  });

  test('tells its record as REST does, private ones too', async () => {
    const made = await make();
    const [id = 0] = await book();
    await write(id, 'is_private = true');
    await deliver(made);
    const [message] = receiver.messages();
    expect(message).toMatchObject({ type: 'booking.created', timestamp: expect.stringMatching(/^\d{4}-.*Z$/) });
    expect(message!.data).toEqual((await admin.get(`/bookings/${id}`)).body);
    expect(Math.abs(Number(message!.headers['webhook-timestamp']) * 1_000 - Date.now())).toBeLessThan(300_000);
  });
});

describe('events', () => {
  /** Makes one event of each kind, in this order. */
  async function makeAll() {
    const [first = 0, second = 0] = await book(2);
    await write(first, "subject = 'Other'");
    await write(first, "status = 'Cancelled'");
    await write(second, "status = 'Released'");
    const other = service.tenant.resources[1]!.id;
    const [third = 0] = await book();
    await write(third, `resource_id = ${other}`);
    const { displayId } = await makeDisplay(db, service.tenant);
    await sql`update display set silent_since = now() where id = ${displayId}`.execute(db);
    await sql`update display set silent_since = null where id = ${displayId}`.execute(db);
    const calendarId = await makeCalendar(db, { mandatorId, resourceId: room });
    const { rows } = await sql<{ id: number }>`
      insert into mail_item (mandator_id, calendar_id, group_id, occurrence, item_id, content_hash, state, subject, occupied)
      values (${mandatorId}, ${calendarId}, 'g', '', 'i', ${Buffer.alloc(32)}, 'Conflict', 'Chor',
        tstzrange('2027-03-01T00:00Z', '2027-03-01T01:00Z')) returning id::float8 as id`.execute(db);
    await sql`update mail_item set reason = 'Taken' where state = 'Conflict'`.execute(db);
    await sql`delete from mail_calendar where id = ${calendarId}`.execute(db);
    return { first, second, third, displayId, item: rows[0]!.id };
  }

  test('of each kind are told once, and of what is gone the id', async () => {
    const made = await make();
    const { first, second, third, displayId, item } = await makeAll();
    await deliver(made);
    const ofRecord = (id: number) => told().filter(([, other]) => other === id);
    expect(ofRecord(first)).toEqual([
      ['booking.created', first],
      ['booking.changed', first],
      ['booking.cancelled', first],
    ]);
    expect(ofRecord(second).map(([type]) => type)).toEqual(['booking.created', 'booking.released']);
    // One that moves leaves a change for each of two rooms.
    expect(ofRecord(third).map(([type]) => type)).toEqual(['booking.created', 'booking.changed']);
    expect(told()).toContainEqual(['display.silent', displayId]);
    expect(told()).toContainEqual(['display.back', displayId]);
    expect(receiver.messages().find(({ type }) => type === 'mail.conflict')?.data).toEqual({ Id: item });
    expect(told()).toHaveLength(10);
    for (const message of receiver.messages()) verified(made.Secret, message);
    // Readers of the feed are not told of the mail item.
    const { body } = await admin.get(`/changes?Cursor=${made.Cursor}`);
    const kinds = (body['Items'] as Tree[]).map(({ Kind }) => Kind);
    expect(kinds.filter((kind) => kind === 'Resource')).toEqual([]);
  });

  test('of other kinds, of other tenants and of before are not told', async () => {
    await book();
    const made = await make({ Kinds: ['BookingCancelled'] });
    const other = await makeTenant(db, { code: `other-${hour}` });
    const [theirs = 0] = await insertBookings(db, other.mandatorId, other.resources[0]!.id);
    await sql`update booking set status = 'Cancelled' where id = ${theirs}`.execute(db);
    const [ours = 0] = await book();
    await write(ours, "status = 'Cancelled'");
    await deliver(made);
    expect(told()).toEqual([['booking.cancelled', ours]]);
  });

  test('a batch that has ended is told with its record, and none before', async () => {
    const made = await make();
    const lessons = lessonClient(service, admin.token);
    const { BatchId } = (await (await lessons.post(makeJobs(1))).json()) as { BatchId: string };
    await deliver(made);
    expect(told()).toEqual([]);
    await fetch(`${service.url}/school/api/v2.0/jobs/batches/${BatchId}/cancel`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${admin.token}` },
    });
    await deliver(made);
    const [message] = receiver.messages();
    expect(message).toMatchObject({ type: 'batch.ended', data: { BatchId, ImportStatus: 'LessonsImportFailed' } });
  });

  test('that are committed late are not skipped, and no second job is queued for what was sent', async () => {
    const made = await make();
    let late: number[] = [];
    const commit = await hold(db, async (trx) => {
      late = await insertBookings(trx, mandatorId, room, { first: hour++ });
    });
    const early = await book();
    await deliver(made);
    expect(told()).toEqual(early.map((id) => ['booking.created', id]));
    expect(await queued()).toBe(0);
    await commit();
    // Not only when it has its position.
    expect(await queued()).toBe(1);
    await deliver(made);
    expect(told()).toEqual([...early, ...late].map((id) => ['booking.created', id]));
  });
});

test('while a job runs no other is queued for the same webhook', async () => {
  await make();
  const jobs = async () =>
    (await sql<{ id: string }>`select id from graphile_worker._private_jobs where key like 'webhook %'`.execute(db))
      .rows;
  // Once more, as the ids of the webhook and of the job may be equal.
  for (let time = 0; time < 2; time++) {
    await book();
    await Promise.all([queueDue(db), queueDue(db)]);
    const found = await jobs();
    expect(found).toHaveLength(1);
    await sql`update graphile_worker._private_jobs set locked_at = now(), locked_by = 'x', attempts = 1`.execute(db);
    await book();
    await queueDue(db);
    expect(await jobs()).toEqual(found);
    await sql`delete from graphile_worker._private_jobs`.execute(db);
  }
});

describe('a receiver that fails', () => {
  test('gets what has failed again, in the order of each record, and what is of other records meanwhile', async () => {
    const made = await make();
    const [bad = 0, good = 0] = await book(2);
    await write(bad, "subject = 'Other'");
    receiver.answer(({ body }) => ({ status: body.includes(`"Id":${bad},`) ? 500 : 200 }));
    await deliver(made);
    expect(told().toSorted()).toEqual(
      [
        ['booking.created', bad],
        ['booking.created', good],
      ].toSorted(),
    );
    expect(await read(made)).toMatchObject({ Waiting: 2, Enabled: true });
    // It is not due again yet.
    expect(await queued()).toBe(0);
    receiver.answer(answering(200));
    await passPauses();
    expect(await queued()).toBe(1);
    await deliver(made);
    expect(told()).toEqual([
      ['booking.created', bad],
      ['booking.changed', bad],
    ]);
    expect(await read(made)).toMatchObject({ Waiting: 0, Failures: 0, FailingSince: null });
    const [failed] = await deliveries(made, '?Failed=true');
    expect(failed).toMatchObject({ Status: 500, Attempt: 1, Kind: 'BookingCreated', Subject: `Booking ${bad}` });
    const ids = (await deliveries(made)).filter(({ Subject }) => Subject === `Booking ${bad}`);
    expect(ids.map(({ Attempt, MessageId }) => [Attempt, MessageId === failed!['MessageId']])).toEqual([
      [1, false],
      [2, true],
      [1, true],
    ]);
  });

  test('gets events of other records at once, however often one event has failed', async () => {
    const made = await make();
    const [bad = 0] = await book();
    receiver.answer(({ body }) => ({ status: body.includes(`"Id":${bad},`) ? 500 : 204 }));
    for (let attempt = 1; attempt <= 15; attempt++) {
      await passPauses();
      await deliver(made);
    }
    expect(await read(made)).toMatchObject({ Failures: 15 });
    const [good = 0] = await book();
    await deliver(made);
    expect(told().at(-1)).toEqual(['booking.created', good]);
  });

  test('is tried again when the event that failed is due, and not once it is disabled', async () => {
    const made = await make();
    await book();
    receiver.answer(answering(500));
    for (let attempt = 1; attempt <= 5; attempt++) {
      await passPauses();
      await deliver(made);
    }
    const { rows } = await sql<{ at: Date }>`select due_at as at from webhook_event`.execute(db);
    const countWaiting = () => webhookFigures.roomgate_webhook_events_waiting.read(db);
    expect(await countWaiting()).toBe(1);
    expect(await read(made)).toMatchObject({ Failures: 5, NextAttemptAt: rows[0]!.at.toISOString() });
    expect(await examineWebhooks(service.context)).toMatchObject([
      { level: 'ok', text: expect.stringMatching(/1 that cannot be delivered to now, none for an hour yet/) },
    ]);
    await passPauses();
    receiver.answer(answering(410));
    await deliver(made);
    expect(await read(made)).toMatchObject({ Enabled: false, Failures: 6, NextAttemptAt: null });
    expect(await countWaiting()).toBe(0);
  });

  test('is probed with one message after five failures, and rests for the time that it asks for', async () => {
    const made = await make();
    await book(30);
    /** The next attempt is within a minute of so long after the delivery, however long that takes. */
    const deliverAndRest = async (seconds: number) => {
      const begun = Date.now();
      await deliver(made);
      const next = Date.parse(String((await read(made))['NextAttemptAt'])) - seconds * 1_000;
      expect(next).toBeGreaterThan(begun - 60_000);
      expect(next).toBeLessThan(Date.now() + 60_000);
    };
    receiver.answer(answering(503, { 'Retry-After': '120.5' }));
    await deliverAndRest(120);
    const first = receiver.asked.length;
    expect(first).toBeLessThanOrEqual(5);
    await passPauses();
    receiver.answer(answering(503, { 'Retry-After': '99999999999999999999' }));
    await deliverAndRest(3_600);
    await sql`update webhook set receiver_failures = 5`.execute(db);
    await passPauses();
    receiver.answer(answering(500));
    await deliver(made);
    expect(receiver.asked).toHaveLength(1);
    await passPauses();
    receiver.answer(answering(200));
    await deliver(made);
    expect(receiver.asked).toHaveLength(30);
    expect(await read(made)).toMatchObject({ Waiting: 0, Failures: 0 });
  });

  test('rests for about five seconds first, however many messages were under way', async () => {
    const made = await make();
    await book(30);
    receiver.answer(answering(500));
    await deliver(made);
    const { rows } = await sql<{ seconds: number }>`
      select extract(epoch from due_at - failing_since)::float8 as seconds from webhook`.execute(db);
    expect(rows[0]!.seconds).toBeLessThan(6.26);
  });

  test('is not among those whose receivers accept events while an Admin has disabled it', async () => {
    const made = await make();
    const examine = async () => (await examineWebhooks(service.context)).map(({ text }) => text);
    expect(await examine()).toEqual(['1 whose receivers accept events']);
    await admin.patch(`/webhooks/${made.Id}`, { Enabled: false });
    expect(await examine()).toEqual(['1 disabled by an Admin']);
  });

  test('is disabled by 410 at once, and continues where it was when it is enabled', async () => {
    const made = await make();
    const ids = await book(3);
    receiver.answer(answering(410));
    await deliver(made);
    const disabled = await read(made);
    expect(disabled).toMatchObject({
      Enabled: false,
      DisabledBecause: 'Gone',
      DisabledAt: expect.any(String),
      Waiting: 3,
    });
    expect(await queued()).toBe(0);
    const { rows } = await sql<{ action: string; person: number | null }>`
      select action, person_id as person from audit order by id desc limit 1`.execute(db);
    expect(rows).toEqual([{ action: 'disable webhook', person: null }]);
    expect(await examineWebhooks(service.context)).toEqual([
      expect.objectContaining({ level: 'warning', text: expect.stringMatching(/^school\/Board: disabled .* 410$/) }),
    ]);
    receiver.answer(answering(204));
    await deliver(made);
    expect(receiver.asked).toEqual([]);
    expect((await admin.patch(`/webhooks/${made.Id}`, { Enabled: true })).body).toMatchObject({
      Enabled: true,
      Version: 3,
    });
    await deliver(made);
    expect(new Set(told().map(([, id]) => id))).toEqual(new Set(ids));
  });

  test('is disabled with the first failure after three days', async () => {
    const made = await make();
    await book();
    receiver.answer(answering(500));
    await deliver(made);
    for (const [days, enabled] of [
      [2.9, true],
      [3.1, false],
    ] as const) {
      await sql`update webhook_event set failed_at = now() - make_interval(secs => ${days * 86_400})`.execute(db);
      await passPauses();
      await deliver(made);
      expect(await read(made)).toMatchObject({
        Enabled: enabled,
        DisabledBecause: enabled ? null : 'Failing',
        Waiting: 1,
      });
    }
  });

  test('is disabled when the feed no longer keeps what comes next, and then continues with the oldest that is kept', async () => {
    const made = await make();
    await book(2);
    await admin.get('/changes?Cursor=now');
    await sql`update change set at = now() - interval '31 days'`.execute(db);
    await forgetOldChanges(db, 30);
    const [kept = 0] = await book();
    await deliver(made);
    expect(await read(made)).toMatchObject({ Enabled: false, DisabledBecause: 'HistoryLost' });
    await admin.patch(`/webhooks/${made.Id}`, { Enabled: true });
    await deliver(made);
    expect(told()).toEqual([['booking.created', kept]]);
  });

  test('continues from where it is replayed, not with the oldest change, when it is enabled after that', async () => {
    const made = await make();
    await book(2);
    await admin.get('/changes?Cursor=now');
    await sql`update change set at = now() - interval '31 days'`.execute(db);
    await forgetOldChanges(db, 30);
    await book();
    await deliver(made);
    expect(await read(made)).toMatchObject({ DisabledBecause: 'HistoryLost' });
    expect((await act(made, 'replay', { Cursor: 'now' })).status).toBe(200);
    const [next = 0] = await book();
    await admin.patch(`/webhooks/${made.Id}`, { Enabled: true });
    await deliver(made);
    expect(told()).toEqual([['booking.created', next]]);
  });

  /** As if an event of this subject had waited, and is due. */
  const addWaiting = ({ Id }: Made, subject: string) =>
    sql`
      insert into webhook_event (mandator_id, webhook_id, position, micros, subject, kind, at, due_at)
      values (${mandatorId}, ${Id}, 1, 1, ${subject}, 'MailConflict', now(), now())`.execute(db);

  /** As if so many records had failed, and are sent again in an hour. */
  const failBefore = ({ Id }: Made, records: number) =>
    sql`
      insert into webhook_event (mandator_id, webhook_id, position, micros, subject, kind, at, attempts, failed_at, due_at)
      select ${mandatorId}, ${Id}, -n, 1, 'Booking -' || n, 'BookingChanged', now(), 1, now(), now() + interval '1 hour'
      from generate_series(1, ${records}::int) as n`.execute(db);

  test('for thousands of records holds up no other, neither while these rest nor when they are due', async () => {
    const made = await make();
    await failBefore(made, 2_000);
    receiver.answer(({ body }) => ({ status: body.includes('"Id":-') ? 500 : 200 }));
    const [first = 0] = await book();
    await deliver(made);
    expect(told()).toEqual([['booking.created', first]]);
    expect(await read(made)).toMatchObject({ Waiting: 2_000 });
    expect(await queued()).toBe(0);
    await passPauses();
    await sql`update webhook set failures = 5, receiver_failures = 5, failing_since = now()`.execute(db);
    const [second = 0] = await book();
    await deliver(made);
    expect(told()[1]).toEqual(['booking.created', second]);
  });

  test('gets what waits of a record in its order, and what comes after it in the feed behind it', async () => {
    const made = await make();
    const [id = 0] = await book();
    await write(id, "subject = 'A'");
    receiver.answer(answering(500));
    await deliver(made);
    for (let at = 0; at < 30; at++) await write(id, `subject = 'Change ${at}'`);
    receiver.answer(answering(200));
    await deliver(made);
    expect(told()).toEqual([]);
    await passPauses();
    await write(id, "subject = 'Last'");
    await deliver(made);
    const positions = (await deliveries(made)).map(({ MessageId }) => Number(String(MessageId).split('_')[2]));
    const sent = positions.slice(0, -1).toReversed();
    expect(sent).toHaveLength(33);
    expect(sent).toEqual(sent.toSorted((one, other) => one - other));
    expect(await read(made)).toMatchObject({ Waiting: 0 });
  });

  test('gets the other events if one cannot be made into a message, which is tried again later and is not its failure', async () => {
    const made = await make();
    // No item has such an id: to read it is an error of PostgreSQL.
    await addWaiting(made, 'MailItem x');
    const ids = await book(8);
    await deliver(made);
    expect(
      told()
        .map(([, id]) => Number(id))
        .toSorted((one, other) => one - other),
    ).toEqual(ids);
    expect(await read(made)).toMatchObject({ Failures: 0, Waiting: 1 });
    const waiting = await db.selectFrom('webhook_event').select(['attempts', 'due_at']).execute();
    expect(waiting).toEqual([{ attempts: 1, due_at: expect.any(Date) }]);
  });

  test('gets the other events if the database does not answer for one of them, which is tried again after a second', async () => {
    const made = await make();
    await addWaiting(made, 'MailItem 1');
    const ids = await book(2);
    const failing: KyselyPlugin = {
      transformQuery({ node }) {
        if (JSON.stringify(node).includes('from mail_item'))
          throw Object.assign(new Error('I/O error'), { code: '58030' });
        return node;
      },
      transformResult: async ({ result }) => result,
    };
    const { pool, states, pooled } = db as Database & Record<'pool' | 'states' | 'pooled', unknown>;
    const work: Database = Object.assign(db.withPlugin(failing), { pool, states, pooled });
    const { signal } = new AbortController();
    await deliverEvents({ ...service.context, work, signal, shares }, { mandatorId, webhookId: made.Id });
    expect(await takeJobs()).toBe(0);
    expect(
      told()
        .map(([, id]) => Number(id))
        .toSorted((one, other) => one - other),
    ).toEqual(ids);
    expect(await read(made)).toMatchObject({ Failures: 0, Waiting: 1 });
    await passPauses();
    await deliver(made);
    expect(await read(made)).toMatchObject({ Waiting: 0 });
  });

  test('leaves in the feed what happens while it rests', async () => {
    const made = await make();
    receiver.answer(answering(500));
    await book(300);
    for (let probe = 0; probe < 4; probe++) {
      await deliver(made);
      await sql`update webhook set due_at = now()`.execute(db);
      await sql`update webhook_event set due_at = now() + interval '1 hour' where attempts > 0`.execute(db);
    }
    expect(await read(made)).toMatchObject({ Waiting: 200 });
  });

  test('is disabled once nothing was taken for three days, whichever event fails', async () => {
    const made = await make();
    await book(8);
    receiver.answer(answering(500));
    await deliver(made);
    await sql`update webhook set failing_since = now() - interval '73 hours'`.execute(db);
    await passPauses();
    await deliver(made);
    expect(await read(made)).toMatchObject({ Enabled: false, DisabledBecause: 'Failing', Waiting: 8 });
  });

  test('stays enabled after three days without a success if it takes another event at last', async () => {
    const made = await make();
    const [bad = 0] = await book();
    receiver.answer(({ body }) => ({ status: body.includes(`"Id":${bad},`) ? 500 : 200 }));
    await deliver(made);
    await sql`update webhook set failing_since = now() - interval '73 hours'`.execute(db);
    const failing = await read(made);
    await passPauses();
    await book();
    await deliver(made);
    const now = await read(made);
    expect(now).toMatchObject({ Enabled: true, Waiting: 1, Failures: 1 });
    expect(now['FailingSince']).not.toBe(failing['FailingSince']);
  });

  test('gets no more of a kind that is taken out, not even what waits, and then what waits behind that', async () => {
    const made = await make();
    const [id = 0] = await book();
    await write(id, "subject = 'A'");
    receiver.answer(answering(500));
    await deliver(made);
    expect(await read(made)).toMatchObject({ Waiting: 2, Failures: 1 });
    const { body } = await admin.patch(`/webhooks/${made.Id}`, { Kinds: ['BookingChanged'] });
    expect(body).toMatchObject({ Waiting: 1, Failures: 0, FailingSince: null });
    receiver.answer(answering(204));
    await deliver(made);
    expect(told()).toEqual([['booking.changed', id]]);
    expect(await read(made)).toMatchObject({ Waiting: 0 });
  });

  test('gets what a worker of a former release has left without a time', async () => {
    const made = await make();
    const [id = 0] = await book();
    await write(id, "subject = 'A'");
    receiver.answer(answering(500));
    await deliver(made);
    await sql`update webhook_event set due_at = null`.execute(db);
    receiver.answer(answering(200));
    expect(await queued()).toBe(0);
    await giveTimes(db);
    expect(await queued()).toBe(1);
    await deliver(made);
    expect(told().map(([type]) => type)).toEqual(['booking.created', 'booking.changed']);
  });

  test('hangs, and holds no other receiver meanwhile', async () => {
    const held: ServerResponse[] = [];
    receiver.answer(({ path }) =>
      path === '/hang' ? { body: (response) => void held.push(response) } : { status: 204 },
    );
    const [hanging, other] = [await make({ Name: 'Hangs', Url: `${receiver.origin}/hang` }), await make()];
    await book(8);
    const stop = new AbortController();
    const waiting = deliver(hanging, stop.signal);
    await until(() => held.length === 5);
    await deliver(other);
    expect(receiver.messages().filter(({ path }) => path === '/hook')).toHaveLength(8);
    expect(held).toHaveLength(5);
    stop.abort();
    await waiting;
    // The worker has ended it, so that it counts as no failure.
    expect(await read(hanging)).toMatchObject({ Failures: 0, Waiting: 8 });
    await passPauses();
    receiver.answer(answering(204));
    await deliver(hanging);
    expect(receiver.asked).toHaveLength(8);
  });

  test('is one of many of its tenant that take long: three of them are sent to at a time, and as many of another tenant', async () => {
    const other = await makeTenant(db, { code: 'long' });
    const hooks: (Made & { tenant: typeof other })[] = [];
    for (const [tenant, count] of [
      [service.tenant, 5],
      [other, 3],
    ] as const) {
      const by = masterData(service, await service.signIn(tenant, 'Admin'), tenant.code);
      for (let index = 0; index < count; index++) {
        const members = { Name: `Board ${index}`, Url: `${receiver.origin}/${tenant.code}${index}` };
        hooks.push({ ...(await make(members, by)), tenant });
      }
    }
    const begin = performance.now();
    let passed = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => begin + passed);
    /** Sends an event to all of them, which takes so long. @returns who got it */
    const round = async (most: number, ms: number) => {
      await book();
      await insertBookings(db, other.mandatorId, other.resources[0]!.id, { first: hour });
      await passPauses();
      const { promise, resolve } = Promise.withResolvers<void>();
      receiver.answer(() => ({ status: 204, body: (response) => void promise.then(() => response.end()) }));
      const jobs = hooks.map((hook) => deliver(hook));
      const sentTo = () => [...new Set(receiver.asked.map(({ path }) => path))].sort();
      await until(() => sentTo().length >= most);
      passed += ms;
      resolve();
      await Promise.all(jobs);
      return sentTo();
    };
    try {
      expect(await round(8, 2_000)).toHaveLength(8);
      expect(await round(6, 2_000)).toEqual(['/long0', '/long1', '/long2', '/school0', '/school1', '/school2']);
      expect(await round(6, 0)).toEqual(['/long0', '/long1', '/long2', '/school0', '/school3', '/school4']);
    } finally {
      clock.mockRestore();
    }
  });

  test('has a nameserver that does not answer, and delays no other name', async () => {
    const silent = await make({ Name: 'Silent', Url: 'https://silent.example/hook' });
    const other = await make({ Url: 'https://inner.example/hook' });
    await book(5);
    const stop = new AbortController();
    const ended = deliver(silent, stop.signal).then(() => 'ended before the others');
    const asked = () => nameserver.asked.filter((name) => name === 'silent.example').length;
    // Five messages ask for both kinds of addresses.
    await until(() => asked() === 10);
    const others = Promise.all([act(other, 'test'), dns.promises.lookup('localhost')]);
    expect(await Promise.race([ended, others])).toMatchObject([
      { body: { Fault: 'inner.example resolves to an address that is not public' } },
      { address: expect.any(String) },
    ]);
    stop.abort();
    await ended;
    expect(await read(silent)).toMatchObject({ Failures: 0, Waiting: 5 });
  });
});

describe('what was sent', () => {
  test('is sent again from a place in the feed, and a round that is under way does not count then', async () => {
    const made = await make();
    const ids = await book(3);
    await deliver(made);
    const listed = await deliveries(made);
    const first = listed.find(({ Subject }) => Subject === `Booking ${ids[0]}`);
    receiver.answer(answering(204));
    expect((await act(made, 'replay', { Cursor: first!['Cursor'] })).status).toBe(200);
    await deliver(made);
    expect(told().map(([, id]) => id)).toEqual(ids.slice(1));
    expect(new Set(receiver.messages().map(({ id }) => id))).toEqual(
      new Set(listed.filter(({ Subject }) => Subject !== `Booking ${ids[0]}`).map(({ MessageId }) => MessageId)),
    );
    const [last = 0] = await book();
    const answers: ServerResponse[] = [];
    receiver.answer(() => ({ body: (response) => void answers.push(response) }));
    const under = deliver(made);
    await until(() => answers.length === 1);
    await act(made, 'replay', { Cursor: first!['Cursor'] });
    receiver.answer(answering(204));
    for (const response of answers) response.end();
    await under;
    await deliver(made);
    expect(new Set(told().map(([, id]) => id))).toEqual(new Set([...ids.slice(1), last]));
    expect(await act(made, 'replay', { Cursor: 'x' })).toMatchObject({
      status: 400,
      body: { detail: expect.stringMatching(/^Cursor: pass a cursor of the feed of changes unchanged, /) },
    });
    await act(made, 'replay', { Cursor: 'now' });
    receiver.answer(answering(204));
    await deliver(made);
    expect(told()).toEqual([]);
  });

  test('is forgotten after seven days', async () => {
    const made = await make();
    await book(2);
    await deliver(made);
    await sql`update webhook_delivery set at = now() - interval '7 days 1 minute' where id = (select min(id) from webhook_delivery)`.execute(
      db,
    );
    await forgetDeliveries(db);
    const [kept] = await deliveries(made);
    expect(await deliveries(made)).toEqual([kept]);
    // However many there are.
    await sql`
      insert into webhook_delivery (mandator_id, webhook_id, message_id, kind, attempt, at, milliseconds)
      select mandator_id, webhook_id, message_id, kind, attempt, now() - interval '8 days', milliseconds
      from webhook_delivery, generate_series(1, 5001) where id = ${kept!['Id']}`.execute(db);
    await forgetDeliveries(db);
    const { rows } = await sql`select from webhook_delivery where webhook_id = ${made.Id}`.execute(db);
    expect(rows).toHaveLength(1);
  });
});
