import { once } from 'node:events';
import net from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { sql } from 'kysely';
import { openLog } from '../../src/log.ts';
import { openInbox } from '../../src/mail-inbox/inbox.ts';
import type { InboxRow } from '../../src/mail-inbox/recording.ts';
import { forgetOldNotifications, forgetRefusedNotifications } from '../../src/mail-inbox/retention.ts';
import { type Server, startServer } from '../../src/server.ts';
import { type Cable, layCable } from '../_util/cable.ts';
import { makeTenant } from '../_util/factories.ts';
import { hold, releaseAll } from '../_util/hold.ts';
import { times } from '../_util/long.ts';
import { ewsBody, graphBody, graphItem, push, readInbox, secretsOf, webhookPath } from '../_util/notifications.ts';
import { until } from '../_util/process.ts';
import { type Service, startService, testConfig } from '../_util/service.ts';
import { forgetMail, makeCalendar, makeSubscription } from '../mail/_util/rows.ts';

const different = times(100, 500);
const rooms = Array.from({ length: 10 }, (_, index) => `R${index}`);
let service: Service;
let cable: Cable;
/** Another process of the installation, whose way to the database can be cut. */
let other: Server;
let lines: string[];
let subscriptions: { id: number; calendarId: number; k: string; clientState: string }[];

beforeAll(async () => {
  service = await startService(
    { Role: 'Web', Limits__UnknownNotificationsPerMinute: '20', Limits__NotificationsPerMinute: '900' },
    rooms,
  );
  cable = await layCable(service.databaseUrl);
  const through = new URL(service.databaseUrl);
  through.port = new URL(cable.url).port;
  lines = [];
  const log = openLog('trace', { write: (line) => void lines.push(line) });
  other = await startServer(testConfig(through.href, { Role: 'Web', LogLevel: 'trace' }), log);
  await other.ready;
});
afterEach(async () => {
  await releaseAll();
  cable.mend();
});
afterAll(async () => {
  await other.stop();
  await cable.close();
  await service.stop();
});

beforeEach(async () => {
  const { context, tenant } = service;
  await forgetMail(context.db);
  subscriptions = [];
  for (const [index, { id: resourceId }] of tenant.resources.entries()) {
    const { mandatorId } = tenant;
    const calendarId = await makeCalendar(context.db, { mandatorId, resourceId }, { mailbox: `r${index}@rooms.test` });
    const id = await makeSubscription(context.db, { mandatorId, calendarId }, ['Active']);
    subscriptions.push({ id, calendarId, ...secretsOf(service, id) });
  }
});

const at = (url: string, k = subscriptions[0]!.k) => `${url}${webhookPath}?${k}`;
const otherUrl = () => other.context.config.BaseUrl;

async function countVerdicts(): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { verdict } of await readInbox(service)) counts[verdict] = (counts[verdict] ?? 0) + 1;
  return counts;
}

async function countJobs(): Promise<number> {
  const { rows } = await sql<{
    n: number;
  }>`select count(*)::int as n from graphile_worker._private_jobs`.execute(service.context.db);
  return rows[0]!.n;
}

const lockInbox = () =>
  hold(service.context.db, (trx) => sql`lock table mail_notification in exclusive mode`.execute(trx));

test(`${different} notifications, each three times, shuffled, by two processes at once, are ${different} accepted ones`, async () => {
  const sent = Array.from({ length: 3 * different }, (_, index) => ({
    k: subscriptions[index % 10]!.k,
    body: ewsBody({ watermark: `W${index % different}`, id: `s${index % 10}` }),
    order: Math.random(),
  })).sort((one, another) => one.order - another.order);
  const before = lines.length;
  let refused = 0;
  const answers = await Promise.all(
    sent.map(async ({ k, body }, index) => {
      const address = at(index % 2 ? service.url : otherUrl(), k);
      let answer = await push(address, body);
      // As a mail server does, where the machine is busy.
      for (; answer.status === 503; answer = await push(address, body)) refused++;
      return `${answer.status} ${/>(OK|Unsubscribe)</.exec(answer.text)?.[1]}`;
    }),
  );
  expect(new Set(answers)).toEqual(new Set(['200 OK']));
  const verdicts = await countVerdicts();
  expect(verdicts).toEqual({ Accepted: different, Duplicate: expect.any(Number) });
  // What was recorded after its sender had been told to come back is there once more.
  expect(verdicts['Duplicate']).toBeGreaterThanOrEqual(2 * different);
  expect(verdicts['Duplicate']).toBeLessThanOrEqual(2 * different + refused);
  expect(await countJobs()).toBe(10);
  expect(lines.slice(before).join('')).not.toContain('could not be recorded');
});

describe('while the database', () => {
  test('cannot be reached, every request is answered 503, and everything acknowledged is stored', async () => {
    const answers: { watermark: string; status: number }[] = [];
    const send = async (watermark: string) => {
      const { status, headers } = await push(at(otherUrl()), ewsBody({ watermark }));
      if (status === 503) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      answers.push({ watermark, status });
    };
    await send('before');
    cable.cut();
    await Promise.all(Array.from({ length: 20 }, (_, index) => send(`cut ${index}`)));
    expect(answers.map(({ status }) => status)).toEqual([200, ...Array(20).fill(503)]);
    cable.mend();
    await until(async () => {
      await send(`mended ${answers.length}`);
      return answers.at(-1)!.status === 200;
    });
    const stored = (await readInbox(service)).map(({ text }) => text).join('');
    for (const { watermark, status } of answers)
      if (status === 200) expect(stored).toContain(`<t:Watermark>${watermark}<`);
    // What was missed is not known: so all calendars are read.
    await until(async () => (await countJobs()) === rooms.length);
  });

  test('is too slow, the same; what it nevertheless records is a duplicate when it comes again', async () => {
    const release = await lockInbox();
    const [first, second] = await Promise.all([
      push(at(service.url), ewsBody({ watermark: 'slow' })),
      push(at(service.url, subscriptions[1]!.k), ewsBody({ watermark: 'slower' })),
    ]);
    expect([first, second]).toMatchObject([{ status: 503 }, { status: 503 }]);
    await release();
    expect(await push(at(service.url), ewsBody({ watermark: 'slow' }))).toMatchObject({ status: 200 });
  });
});

/** A notification for the inbox itself. */
function row(index: number, fields: Partial<InboxRow> = {}): InboxRow {
  return {
    id: `01a1f8da-707e-77b2-927f-${String(index).padStart(12, '0')}`,
    dialect: 'Ews',
    kind: 'Change',
    subscriptionId: subscriptions[0]!.id,
    claim: 'Proven',
    externalId: null,
    clientState: null,
    dedupeKey: Buffer.from(String(index).padStart(32, '0')),
    watermark: null,
    previousWatermark: null,
    marks: true,
    accounts: [],
    renews: false,
    ends: null,
    contentType: null,
    address: '127.0.0.1',
    requestId: 'r',
    body: Buffer.from('b'),
    bodyBytes: 1,
    bodyHash: Buffer.alloc(32, 1),
    count: 1,
    ...fields,
  };
}

describe('the inbox', () => {
  /** One for which no time passes, so that it refuses nothing because the machine is slow. */
  function openTimeless() {
    jest.spyOn(performance, 'now').mockReturnValue(performance.now());
    return openInbox(service.context.db, openLog('silent'));
  }
  afterEach(() => void jest.restoreAllMocks());

  test('records what arrives together in few statements, in the order of the requests', async () => {
    const inbox = openTimeless();
    const wrong = { claim: 'Rejected', subscriptionId: null } as const;
    const recorded = await Promise.all(
      Array.from({ length: 300 }, (_, index) =>
        inbox.record([row(index * 2, index % 3 ? wrong : {}), row(index * 2 + 1, wrong)]),
      ),
    );
    await inbox.close();
    expect(recorded.map((pair) => pair.map(({ verdict }) => verdict).join())).toEqual(
      Array.from({ length: 300 }, (_, index) => (index % 3 ? 'Rejected,Rejected' : 'Accepted,Rejected')),
    );
    expect(inbox.figures()).toMatchObject({
      recorded: { Accepted: 100, Rejected: 500 },
      statements: 3,
      failed: 0,
      waiting: 0,
    });
  });

  test('after a statement for several requests, gathers the next ones; after one for a single request it does not', async () => {
    const now = performance.now();
    const clock = jest.spyOn(performance, 'now').mockReturnValue(now);
    const inbox = openInbox(service.context.db, openLog('silent'));
    await inbox.record([row(0)]);
    // By this clock a statement that is to wait begins only when the inbox is closed.
    clock.mockReturnValue(now - 1_000_000);
    await inbox.record([row(1)]);
    await Promise.all([inbox.record([row(2)]), inbox.record([row(3)])]);
    expect(inbox.figures().statements).toBe(3);
    clock.mockReturnValue(now - 2_000_000);
    const gathered = [];
    for (const index of [4, 5, 6]) {
      gathered.push(inbox.record([row(index)]));
      // Enough turns of the event loop for a statement to begin.
      for (let turn = 0; turn < 3; turn += 1) await setImmediate();
    }
    await inbox.close();
    await Promise.all(gathered);
    expect(inbox.figures()).toMatchObject({ recorded: { Accepted: 7 }, statements: 4, failed: 0 });
  });

  test.each([
    ['2,000 requests', 2_300, 'b'],
    ['32 MiB', 60, 'b'.repeat(1_048_576)],
  ])('lets no more wait than %s', async (_what, count, text) => {
    const release = await lockInbox();
    const inbox = openTimeless();
    const body = Buffer.from(text);
    const [first, ...others] = Array.from({ length: count }, (_, index) => {
      const one = inbox.record([row(index, { body })]).then(
        () => 'recorded',
        (error: { code?: string }) => error.code,
      );
      return one;
    });
    const last = others.at(-1);
    expect(await Promise.race([first, last])).toBe('Unavailable');
    await release();
    const outcomes = await Promise.all([first, ...others]);
    const recorded = outcomes.filter((outcome) => outcome === 'recorded').length;
    expect(recorded).toBeGreaterThan(0);
    expect(recorded).toBeLessThan(count);
    expect(new Set(outcomes)).toEqual(new Set(['recorded', 'Unavailable']));
    await inbox.close();
    expect(await countVerdicts()).toEqual({ Accepted: recorded });
  });

  describe('while more comes than can be recorded', () => {
    const outcomeOf = (one: Promise<unknown>) =>
      one.then(
        () => 'recorded',
        ({ code }: { code?: string }) => code,
      );
    /** Of another tenant. */
    const other = async (index: number) => {
      const { mandatorId, resources } = await makeTenant(service.context.db, { code: `other${index}` });
      const place = { mandatorId, resourceId: resources[0]!.id };
      const calendarId = await makeCalendar(service.context.db, place);
      return await makeSubscription(service.context.db, { mandatorId, calendarId }, ['Active']);
    };

    test('of one tenant, another waits only for what is under way', async () => {
      const inbox = openTimeless();
      const subscriptionId = await other(1);
      // From now on it is known whose they are.
      await inbox.record(subscriptions.map(({ id }, index) => row(9_000 + index, { subscriptionId: id })));
      const release = await lockInbox();
      const done: number[] = [];
      const flood = Array.from({ length: 40 }, async (_, post) => {
        const { id } = subscriptions[post % 10]!;
        const many = Array.from({ length: 128 }, (_, at) => row(post * 128 + at, { subscriptionId: id }));
        await inbox.record(many);
        done.push(post);
      });
      const one = inbox.record([row(8_000, { subscriptionId })]).then(() => done.length);
      await release();
      // Two statements of two of them each were under way, and the next ones took up to two more each.
      expect(await one).toBeLessThanOrEqual(8);
      await Promise.all(flood);
      await inbox.close();
    });

    test('the newest of the largest sender gives way, and unproven ones before it', async () => {
      const subscriptionId = await other(2);
      const release = await lockInbox();
      const inbox = openTimeless();
      const wrong = { claim: 'Rejected', subscriptionId: null, address: '192.0.2.7' } as const;
      const send = (from: number, count: number, fields: Partial<InboxRow> = {}) =>
        Array.from({ length: count }, (_, at) => outcomeOf(inbox.record([row(from + at, fields)])));
      const strangers = send(0, 1_500, wrong);
      const own = send(10_000, 400);
      const others = send(20_000, 1, { subscriptionId });
      const more = send(30_000, 2_000);
      others.push(...send(40_000, 1, { subscriptionId }));
      await release();
      expect(await Promise.all(own)).toEqual(Array(400).fill('recorded'));
      expect(await Promise.all(others)).toEqual(['recorded', 'recorded']);
      expect((await Promise.all(more)).at(-1)).toBe('Unavailable');
      // Two groups of them were being recorded already.
      expect((await Promise.all(strangers)).filter((outcome) => outcome === 'recorded').length).toBeLessThanOrEqual(
        512,
      );
      await inbox.close();
    });
  });

  test('records the others when one of them cannot be stored', async () => {
    const { db } = service.context;
    await sql`alter table mail_notification add constraint no_such check (request_id <> 'bad')`.execute(db);
    const inbox = openTimeless();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 9 }, (_, index) => inbox.record([row(index, index === 4 ? { requestId: 'bad' } : {})])),
    );
    await sql`alter table mail_notification drop constraint no_such`.execute(db);
    await inbox.close();
    expect(outcomes.map(({ status }) => status)).toEqual([
      ...Array(4).fill('fulfilled'),
      'rejected',
      ...Array(4).fill('fulfilled'),
    ]);
    expect(await countVerdicts()).toEqual({ Accepted: 8 });
  });
});

describe('of what proves nothing', () => {
  test('an address may send so much a minute; what is proven is not counted', async () => {
    const answers: number[] = [];
    // The window may turn meanwhile.
    await until(async () => {
      const some = await Promise.all(
        Array.from({ length: 25 }, () => push(`${service.url}${webhookPath}`, '{"value":[{}]}')),
      );
      const refused = some.find(({ status }) => status === 429);
      if (refused) {
        expect(refused).toMatchObject({ type: 'application/problem+json; charset=utf-8' });
        expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
        expect(JSON.parse(refused.text).detail).toMatch(
          /^More than 20 notifications, or KiB of them, without a valid secret in a minute for one address \(Limits__UnknownNotificationsPerMinute\); wait \d+ seconds\. Send them to the complete callback URL/,
        );
      }
      answers.push(...some.map(({ status }) => status));
      return refused !== undefined;
    });
    expect(new Set(answers)).toEqual(new Set([202, 429]));
    const stored = await countVerdicts();
    expect(stored).toEqual({ Rejected: answers.filter((status) => status === 202).length });
    expect((await push(`${service.url}${webhookPath}`, '<x/>')).status).toBe(429);
    expect((await push(at(service.url), ewsBody())).status).toBe(200);
  });

  test('a thousand at a time count as a thousand', async () => {
    const many = graphBody(...Array(1_000).fill({}));
    const answers: number[] = [];
    await until(async () => {
      answers.push((await push(`${service.url}${webhookPath}`, many)).status);
      return answers.at(-1) === 429;
    });
    // A window may turn, but holds one of them.
    expect(answers.filter((status) => status === 202).length).toBeLessThanOrEqual(2);
  });
});

test('what comes with the secret of a subscription is counted too, and delays no other', async () => {
  const [noisy, calm] = subscriptions as [(typeof subscriptions)[0], (typeof subscriptions)[0]];
  const many = graphBody(...Array(1_000).fill({}));
  const answers: number[] = [];
  let told = '';
  await until(async () => {
    const { status, text } = await push(at(service.url, noisy.k), many);
    answers.push(status);
    told = text;
    return status === 429;
  });
  expect(JSON.parse(told).detail).toMatch(
    /^More than 900 notifications, or KiB of them, in a minute for one subscription \(Limits__NotificationsPerMinute\); wait \d+ seconds\. Repeat the request then/,
  );
  expect(answers.filter((status) => status === 202).length).toBeLessThanOrEqual(2);
  expect(await push(at(service.url, calm.k), ewsBody())).toMatchObject({ status: 200 });
});

describe('of what is kept', () => {
  test('the newest are kept, and everything for as long as NotificationDays says', async () => {
    const { db } = service.context;
    const fill = (verdict: string, count: number, age: string) =>
      sql`
        insert into mail_notification (id, received_at, dialect, kind, verdict, address, request_id, body, body_bytes, body_hash)
        select gen_random_uuid(), now() - ${age}::interval - n * interval '1 ms', 'Unknown', 'Unknown', ${verdict}, 'a', 'r', '', 0, ''
        from generate_series(1, ${count}::integer) as n`.execute(db);
    await fill('Accepted', 7, '29 days');
    await fill('Accepted', 3, '31 days');
    await fill('Duplicate', 2, '1 day');
    await fill('Rejected', 10, '1 hour');
    await fill('Unrecognised', 10, '1 minute');
    await forgetOldNotifications(db, 60);
    expect(await countVerdicts()).toMatchObject({ Accepted: 10 });
    await forgetOldNotifications(db, 30);
    await forgetRefusedNotifications(db, 12);
    expect(await countVerdicts()).toEqual({ Accepted: 7, Duplicate: 2, Rejected: 2, Unrecognised: 10 });
    await forgetRefusedNotifications(db, 12);
    expect(await countVerdicts()).toMatchObject({ Rejected: 2, Unrecognised: 10 });
  });
});

describe('a body', () => {
  test('of 10 MB is refused with 413, with or without a Content-Length, and the sender receives that', async () => {
    const large = Buffer.alloc(10_000_000, 'x');
    expect(await push(at(service.url), large)).toMatchObject({ status: 413 });
    const stream = new ReadableStream({
      start(controller) {
        for (let part = 0; part < 10; part++) controller.enqueue(large.subarray(0, 1_000_000));
        controller.close();
      },
    });
    const options = { method: 'POST', body: stream, duplex: 'half' } as RequestInit;
    expect((await fetch(at(service.url), options)).status).toBe(413);
    expect(await readInbox(service)).toEqual([]);
  });

  test('that is cut short leaves nothing', async () => {
    const socket = net.connect(Number(new URL(otherUrl()).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(
      `POST ${webhookPath}?${subscriptions[0]!.k} HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n{"value"`,
    );
    const before = lines.length;
    socket.end();
    await until(() => lines.slice(before).some((line) => line.includes('"request"')));
    expect(await readInbox(service)).toEqual([]);
  });
});

test('no secret is in the log, whatever goes wrong', async () => {
  const { id, k, clientState } = subscriptions[0]!;
  await sql`update mail_subscription set kind = 'Graph' where id = ${id}`.execute(service.context.db);
  const secrets = [k, clientState].map((secret) => secret.replace(/^.*\./, ''));
  const url = at(otherUrl());
  await push(url, ewsBody());
  await push(url, `<x a="${clientState}">`);
  await push(url, graphBody(graphItem({ clientState }), graphItem({ clientState: `${clientState}x` })));
  await push(`${url}&validationToken=${clientState}`, '');
  await push(url, null, { method: 'GET' });
  await push(`${otherUrl()}/WebServices/SyncNotification.svc/${k}?school&${k}`, '');
  const { db } = service.context;
  await sql`alter table mail_notification add constraint none check (false) not valid`.execute(db);
  expect((await push(url, graphBody(graphItem({ clientState })))).status).toBe(500);
  await sql`alter table mail_notification drop constraint none`.execute(db);
  const log = lines.join('');
  expect(log).toContain('could not be recorded');
  expect(log).toContain(webhookPath);
  for (const secret of secrets) expect(log).not.toContain(secret);
  const items = (await readInbox(service)).filter(({ dialect, kind }) => dialect === 'Graph' && kind === 'Change');
  expect(items.map(({ verdict }) => verdict)).toEqual(['Accepted', 'Rejected']);
  expect(JSON.stringify(items)).not.toContain(secrets[1]);
});
