import { randomUUID } from 'node:crypto';
import net from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Database } from '../../src/db/database.ts';
import { makeTenant } from '../_util/factories.ts';
import { type Answer, type GraphqlService, startGraphql } from '../_util/graphql.ts';
import { cancelWaiting, hold, releaseAll } from '../_util/hold.ts';
import {
  BatchStatusDocument,
  type BatchStatusSubscription,
  WatchBatchesDocument,
  type WatchBatchesSubscription,
} from '../_util/operations/generated/graphql.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { until } from '../_util/process.ts';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let service: GraphqlService;
let tenant: Awaited<ReturnType<typeof makeTenant>>;
let stranger: Awaited<ReturnType<typeof makeTenant>>;

beforeAll(async () => {
  database = await cloneDatabase();
  service = await startGraphql(database.url);
  stranger = await makeTenant(service.context.db, { code: 'stranger' });
});

beforeEach(async () => {
  tenant = await makeTenant(service.context.db, { code: `school-${randomUUID()}` });
  service.admit('user', tenant);
});

afterEach(() => {
  for (const leave of open.splice(0)) leave();
  return until(() => service.graphql.streamCount() === 0);
});

afterAll(async () => {
  await releaseAll();
  await service.stop();
  await database.drop();
});

async function insertBatch(of = tenant, db: Database = service.context.db): Promise<string> {
  const id = randomUUID();
  const user = of.person('User').id;
  await db
    .insertInto('batch')
    .values({
      mandator_id: of.mandatorId,
      id,
      operation: 'Create',
      job_count: 1,
      request_id: 'test',
      created_by: user,
    })
    .execute();
  return id;
}

const update = (id: string, changes: Record<string, unknown>, db: Database = service.context.db) =>
  db.updateTable('batch').set(changes).where('id', '=', id).execute();

/** Waits until this process has heard of all that was committed so far: a stream tells what is heard while it is open. */
async function hearAll(): Promise<void> {
  const { notifications, db } = service.context;
  const subscription = await notifications.subscribe('fence');
  await sql`select pg_notify('roomgate', 'fence:1')`.execute(db);
  await subscription.next();
  subscription.close();
}

const processing = { import_status: 'AwaitingLessonProcessing', lesson_count: 10 };
const created = {
  import_status: 'LessonsCreated',
  processed_count: 10,
  created_count: 10,
  finished_at: new Date(),
};
const failed = {
  import_status: 'LessonsImportFailed',
  failure_kind: 'Data',
  error_messages: 'Duplicate JobId: J-17',
  finished_at: new Date(),
};

/** What a test has opened and may not have closed. */
const open: (() => void)[] = [];

type Transport = 'sse' | 'ws';
type Frame<Data> = Pick<Answer<Data>, 'data' | 'errors'>;
type Watch<Data> = {
  frames: Frame<Data>[];
  leave(): void;
  ended: Promise<'complete' | 'error' | 'open'>;
};

/** A real client's subscription, with the frames that it has had. */
function watch<Data>(
  transport: Transport,
  query: { toString(): string },
  variables: Record<string, unknown>,
  token = 'user',
  of = service,
): Watch<Data> {
  const client = transport === 'sse' ? of.sse(token) : of.ws(token);
  open.push(() => client.dispose());
  const frames: Frame<Data>[] = [];
  const { promise, resolve } = Promise.withResolvers<'complete' | 'error'>();
  client.subscribe<Data>(
    { query: query.toString(), variables },
    {
      next: (frame) => frames.push(frame as Frame<Data>),
      error: () => resolve('error'),
      complete: () => resolve('complete'),
    },
  );
  const ended = promise.finally(() => client.dispose());
  return { frames, leave: () => client.dispose(), ended };
}

const watchStatus = (transport: Transport, batchId: string, token?: string, of?: GraphqlService) =>
  watch<BatchStatusSubscription>(transport, BatchStatusDocument, { batchId }, token, of);
const watchAll = (transport: Transport, states?: string[], token?: string) =>
  watch<WatchBatchesSubscription>(transport, WatchBatchesDocument, { states }, token);

const statesOf = ({ frames }: Watch<BatchStatusSubscription>) =>
  frames.map(({ data }) => data?.batchStatus.importStatus);
const batchesOf = ({ frames }: Watch<WatchBatchesSubscription>) =>
  frames.map(({ data }) => [data?.batches.id, data?.batches.importStatus] as const);
const lastCode = ({ frames }: Watch<unknown>) => frames.at(-1)?.errors?.[0]?.extensions['code'];

describe.each<Transport>(['sse', 'ws'])('batchStatus over %s', (transport) => {
  test('gives the present state at once, each change, and completes after the terminal one', async () => {
    const id = await insertBatch();
    const stream = watchStatus(transport, id);
    await until(() => stream.frames.length === 1);
    await update(id, processing);
    await until(() => stream.frames.length === 2);
    await update(id, { processed_count: 4 });
    await until(() => stream.frames.length === 3);
    await update(id, created);
    expect(await stream.ended).toBe('complete');
    expect(statesOf(stream)).toEqual([
      'AwaitingLessonCreation',
      'AwaitingLessonProcessing',
      'AwaitingLessonProcessing',
      'LessonsCreated',
    ]);
    expect(stream.frames.map(({ data }) => data?.batchStatus.progress)).toEqual([null, 0, 0.4, 1]);
    expect(service.graphql.streamCount()).toBe(0);
  });

  test('gives the one state of a batch that has ended, and completes', async () => {
    const id = await insertBatch();
    await update(id, failed);
    const stream = watchStatus(transport, id);
    expect(await stream.ended).toBe('complete');
    expect(statesOf(stream)).toEqual(['LessonsImportFailed']);
  });

  test('says nothing when nothing visible has changed', async () => {
    const id = await insertBatch();
    const stream = watchStatus(transport, id);
    await until(() => stream.frames.length === 1);
    for (let attempts = 1; attempts <= 20; attempts++) await update(id, { attempts });
    await update(id, failed);
    await stream.ended;
    expect(statesOf(stream)).toEqual(['AwaitingLessonCreation', 'LessonsImportFailed']);
  });

  test('moves up in the queue when the batch before it ends', async () => {
    const before = await insertBatch();
    const stream = watchStatus(transport, await insertBatch());
    await until(() => stream.frames.length === 1);
    await update(before, failed);
    await until(() => stream.frames.length === 2);
    expect(stream.frames.map(({ data }) => data?.batchStatus.queuePosition)).toEqual([2, 1]);
  });

  test('never goes back during 200 updates, and reaches the end', async () => {
    const id = await insertBatch();
    await update(id, { ...processing, lesson_count: 200 });
    const stream = watchStatus(transport, id);
    for (let processed_count = 1; processed_count <= 200; processed_count++) await update(id, { processed_count });
    await update(id, { ...created, processed_count: 200 });
    await stream.ended;
    const counts = stream.frames.map(({ data }) => data?.batchStatus.processedCount ?? -1);
    expect(counts).toEqual([...counts].sort((one, other) => one - other));
    expect(statesOf(stream).at(-1)).toBe('LessonsCreated');
  });

  test.each([
    ['an unknown id', async () => randomUUID()],
    ["another tenant's id", () => insertBatch(stranger)],
    ['what is no UUID', async () => 'x'],
  ])('is NOT_FOUND for %s', async (_name, idOf) => {
    const stream = watchStatus(transport, await idOf());
    await stream.ended;
    expect(lastCode(stream)).toBe('NOT_FOUND');
    expect(service.graphql.streamCount()).toBe(0);
  });

  test('ends with NOT_AUTHENTICATED when the token expires', async () => {
    const { personId } = service.admit('short', tenant);
    const stream = watchStatus(transport, await insertBatch(), 'short');
    await until(() => stream.frames.length === 1);
    // Only once it is open: how long that takes is the machine's affair. The next check finds when the token ends.
    service.admit('short', tenant, { expiresAt: new Date(Date.now() + 100) });
    await sql`select pg_notify('roomgate', ${`person:${personId}`})`.execute(service.context.db);
    expect(await stream.ended).toBe('complete');
    expect(stream.frames).toHaveLength(2);
    expect(stream.frames[1]?.data).toBeNull();
    expect(lastCode(stream)).toBe('NOT_AUTHENTICATED');
  });

  test('ends so too when the token is about to expire as it opens, whether or not it has given a frame', async () => {
    service.admit('shorter', tenant, { expiresAt: new Date(Date.now() + 150) });
    const stream = watchStatus(transport, await insertBatch(), 'shorter');
    expect(await stream.ended).toBe('complete');
    expect(stream.frames.at(-1)?.data).toBeNull();
    expect(lastCode(stream)).toBe('NOT_AUTHENTICATED');
  });

  test('ends with NOT_AUTHENTICATED when its PIN is revoked, and others continue', async () => {
    const { db } = service.context;
    const pinOf = async (name: string) =>
      await db
        .insertInto('pin')
        .values({
          mandator_id: tenant.mandatorId,
          person_id: tenant.person('User').id,
          hash: Buffer.from(`${name} ${tenant.code}`),
        })
        .returning('id')
        .executeTakeFirstOrThrow();
    const [revoked, kept] = [await pinOf('revoked'), await pinOf('kept')];
    service.admit('revoked', tenant, { pinId: revoked.id });
    service.admit('kept', tenant, { pinId: kept.id });
    const id = await insertBatch();
    const [ends, goesOn] = [watchStatus(transport, id, 'revoked'), watchStatus(transport, id, 'kept')];
    await until(() => ends.frames.length === 1 && goesOn.frames.length === 1);
    service.viewers.delete('revoked');
    await db.updateTable('pin').set({ revoked_at: new Date() }).where('id', '=', revoked.id).execute();
    expect(await ends.ended).toBe('complete');
    expect(lastCode(ends)).toBe('NOT_AUTHENTICATED');
    await update(id, failed);
    expect(await goesOn.ended).toBe('complete');
    expect(statesOf(goesOn).at(-1)).toBe('LessonsImportFailed');
  });

  test('ends with UNAVAILABLE when the process stops', async () => {
    const stopping = await startGraphql(database.url);
    stopping.admit('user', tenant);
    const stream = watchStatus(transport, await insertBatch(), 'user', stopping);
    await until(() => stream.frames.length === 1);
    await stopping.stop();
    expect(await stream.ended).toBe('complete');
    expect(stream.frames[1]?.data).toBeNull();
    expect(lastCode(stream)).toBe('UNAVAILABLE');
  });

  test('leaves nothing behind when 50 clients drop', async () => {
    const id = await insertBatch();
    const clients = Array.from({ length: 50 }, () => watchStatus(transport, id));
    await until(() => clients.every(({ frames }) => frames.length === 1));
    expect(service.graphql.streamCount()).toBe(50);
    for (const client of clients) client.leave();
    await until(() => service.graphql.streamCount() === 0);
  });
});

describe.each<Transport>(['sse', 'ws'])('batches over %s', (transport) => {
  test('are those that run, then each change, and the end of each', async () => {
    const ended = await insertBatch();
    await update(ended, failed);
    const [one, other] = [await insertBatch(), await insertBatch()];
    await insertBatch(stranger);
    await hearAll();
    const stream = watchAll(transport);
    await until(() => stream.frames.length === 2);
    await update(one, failed);
    await until(() => stream.frames.length === 4);
    const late = await insertBatch();
    await until(() => stream.frames.length === 5);
    expect(batchesOf(stream)).toEqual([
      [one, 'AwaitingLessonCreation'],
      [other, 'AwaitingLessonCreation'],
      [one, 'LessonsImportFailed'],
      [other, 'AwaitingLessonCreation'],
      [late, 'AwaitingLessonCreation'],
    ]);
    expect(stream.frames.map(({ data }) => data?.batches.queuePosition)).toEqual([1, 2, null, 1, 2]);
  });

  test('of a state are reported when they leave it', async () => {
    const id = await insertBatch();
    const stream = watchAll(transport, ['AwaitingLessonProcessing']);
    const other = watchAll(transport, ['LessonsCreated']);
    await until(() => service.graphql.streamCount() === 2);
    await update(id, processing);
    await until(() => stream.frames.length === 1);
    await update(id, created);
    await until(() => stream.frames.length === 2 && other.frames.length === 1);
    expect(batchesOf(stream)).toEqual([
      [id, 'AwaitingLessonProcessing'],
      [id, 'LessonsCreated'],
    ]);
    expect(batchesOf(other)).toEqual([[id, 'LessonsCreated']]);
  });
});

describe('the limit of streams', () => {
  test('counts SSE and WebSocket of a token together, and not those of another token', async () => {
    service.admit('other', tenant);
    const id = await insertBatch();
    const full = Array.from({ length: 50 }, (_, index) => watchStatus(index % 2 ? 'sse' : 'ws', id));
    await until(() => full.every(({ frames }) => frames.length === 1));
    for (const transport of ['sse', 'ws'] as const) {
      const refused = watchStatus(transport, id);
      await refused.ended;
      expect(lastCode(refused)).toBe('LIMIT');
    }
    const other = watchStatus('sse', id, 'other');
    await until(() => other.frames.length === 1);
    full[0]?.leave();
    await until(() => service.graphql.streamCount() === 50);
    const again = watchStatus('ws', id);
    await until(() => again.frames.length === 1);
  });

  test('counts those of all tokens of a person together, and not those of another person', async () => {
    const small = await startGraphql(database.url, { StreamsPerToken: 1 });
    try {
      const tokens = ['a', 'b', 'c', 'd', 'e'];
      for (const token of tokens) small.admit(token, tenant);
      small.admit('other', tenant, { role: 'Importer' });
      const id = await insertBatch();
      const full = tokens.slice(0, 4).map((token) => watchStatus('sse', id, token, small));
      await until(() => full.every(({ frames }) => frames.length === 1));
      const refused = watchStatus('ws', id, 'e', small);
      await refused.ended;
      expect(lastCode(refused)).toBe('LIMIT');
      const other = watchStatus('sse', id, 'other', small);
      await until(() => other.frames.length === 1);
    } finally {
      await small.stop();
    }
  });

  test('counts those of all persons of a tenant together, and not those of another tenant', async () => {
    const small = await startGraphql(database.url, { StreamsPerTenant: 2 });
    try {
      small.admit('user', tenant);
      small.admit('other', tenant, { role: 'Importer' });
      small.admit('stranger', stranger);
      const id = await insertBatch();
      const full = ['user', 'other'].map((token) => watchStatus('sse', id, token, small));
      await until(() => full.every(({ frames }) => frames.length === 1));
      const refused = watchStatus('ws', id, 'other', small);
      await refused.ended;
      expect(lastCode(refused)).toBe('LIMIT');
      const strange = watchStatus('ws', await insertBatch(stranger), 'stranger', small);
      await until(() => strange.frames.length === 1);
    } finally {
      await small.stop();
    }
  });
});

describe('a client that does not read', () => {
  /** A raw SSE connection; paused, its buffers fill and stay full. */
  async function connect(batchId: string): Promise<net.Socket> {
    const body = JSON.stringify({
      query: `subscription { batchStatus(batchId: "${batchId}") { processedCount createdBy { displayName } } }`,
    });
    const socket = net.connect(service.port, '127.0.0.1');
    open.push(() => socket.destroy());
    socket.write(
      `POST /school/graphql HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer user\r\nAccept: text/event-stream\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    await until(() => service.graphql.streamCount() > 0);
    return socket.pause();
  }

  test('costs no memory over 5,000 updates, and gets the last state when it reads again', async () => {
    // Frames large enough that the buffers of the two sockets are soon full.
    const name = 'x'.repeat(20_000);
    await service.context.db.updateTable('person').set({ name }).where('mandator_id', '=', tenant.mandatorId).execute();
    const id = await insertBatch();
    await update(id, { ...processing, lesson_count: 5_000 });
    const socket = await connect(id);
    const before = process.memoryUsage().rss;
    for (let count = 0; count < 5_000; count += 100)
      await Promise.all(
        Array.from({ length: 100 }, () =>
          sql`update batch set processed_count = processed_count + 1 where id = ${id}`.execute(service.context.db),
        ),
      );
    const grown = process.memoryUsage().rss - before;
    await update(id, { ...created, processed_count: 5_000 });
    let text = '';
    socket.on('data', (chunk) => (text += chunk));
    socket.resume();
    await until(() => text.includes('event: complete'));
    const counts = [...text.matchAll(/"processedCount":(\d+)/g)].map(([, count]) => Number(count));
    expect(counts.at(-1)).toBe(5_000);
    expect(counts).toEqual([...counts].sort((one, other) => one - other));
    expect(counts.length).toBeLessThan(2_500);
    expect(grown).toBeLessThan(64 * 1024 * 1024);
  });
});

describe('SSE', () => {
  test('is not buffered by proxies and not compressed', async () => {
    const gone = new AbortController();
    const response = await service.post(
      { query: BatchStatusDocument.toString(), variables: { batchId: await insertBatch() } },
      { accept: 'text/event-stream', 'accept-encoding': 'gzip' },
      gone.signal,
    );
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(response.headers.get('x-accel-buffering')).toBe('no');
    expect(response.headers.get('content-encoding')).toBe('none');
    gone.abort();
    await until(() => service.graphql.streamCount() === 0);
  });

  test('a subscription that does not accept event-stream is 406 and leaves nothing behind', async () => {
    const response = await service.post(
      { query: BatchStatusDocument.toString(), variables: { batchId: await insertBatch() } },
      { accept: 'application/json' },
    );
    expect(response.status).toBe(406);
    await response.arrayBuffer();
    await until(() => service.graphql.streamCount() === 0);
  });
});

describe('reads that fail because the database does not answer', () => {
  test('are repeated until the outage is over: no stream ends without the final state', async () => {
    const [id, another] = [await insertBatch(), await insertBatch()];
    const streams = [watchStatus('sse', id), watchStatus('ws', id)];
    const all = watchAll('sse');
    await until(() => streams.every(({ frames }) => frames.length === 1) && all.frames.length === 2);
    const { db } = service.context;
    const release = await hold(db, async (trx) => {
      await sql`lock table batch in access exclusive mode`.execute(trx);
      await trx.updateTable('batch').set(processing).where('id', '=', id).execute();
      await trx.updateTable('batch').set(created).where('id', '=', id).execute();
    });
    await sql`select pg_notify('roomgate', 'batch:' || ${tenant.mandatorId}::int || ':' || ${id}::text)`.execute(db);
    // Each of the three, and most of them again.
    await cancelWaiting(db, 8);
    await release();
    for (const stream of streams) {
      expect(await stream.ended).toBe('complete');
      expect(statesOf(stream)).toEqual(['AwaitingLessonCreation', 'LessonsCreated']);
    }
    await until(() => all.frames.length >= 3);
    await update(another, failed);
    await until(() => batchesOf(all).some(([batch, state]) => batch === another && state === failed.import_status));
    expect(batchesOf(all)).toContainEqual([id, 'LessonsCreated']);
    expect([...streams, all].flatMap(({ frames }) => frames.flatMap(({ errors }) => errors ?? []))).toEqual([]);
  });

  test('hold up no stop: the stream ends with its last frame', async () => {
    const stopping = await startGraphql(database.url);
    stopping.admit('user', tenant);
    const id = await insertBatch();
    const stream = watchStatus('sse', id, 'user', stopping);
    await until(() => stream.frames.length === 1);
    const { db } = service.context;
    const release = await hold(db, (trx) => sql`lock table batch in access exclusive mode`.execute(trx));
    await sql`select pg_notify('roomgate', 'batch:' || ${tenant.mandatorId}::int || ':' || ${id}::text)`.execute(db);
    // Many, so that the pause before the next is longer than a stop may take.
    await cancelWaiting(db, 4);
    const stopped = stopping.stop();
    expect(await stream.ended).toBe('complete');
    expect(lastCode(stream)).toBe('UNAVAILABLE');
    await release();
    await stopped;
  });
});

describe('a LISTEN connection that dies', () => {
  /** Ends the backend of the LISTEN connection; returns when another one listens. */
  async function loseListener(during: () => Promise<void>): Promise<void> {
    const { notifications, db } = service.context;
    const backend = sql`pg_stat_activity where application_name = 'roomgate listen' and datname = current_database()`;
    const { rows } = await sql<{ pid: number }>`select pid, pg_terminate_backend(pid) from ${backend}`.execute(db);
    await during();
    await until(async () => {
      const { rows: others } = await sql`select from ${backend} and pid <> ${rows[0]?.pid}`.execute(db);
      return others.length > 0 && notifications.listening;
    });
  }

  test('loses no state of a batch', async () => {
    const id = await insertBatch();
    const stream = watchStatus('sse', id);
    await until(() => stream.frames.length === 1);
    await loseListener(async () => {
      await update(id, processing);
    });
    await until(() => stream.frames.length === 2);
    await loseListener(async () => {
      await update(id, created);
    });
    expect(await stream.ended).toBe('complete');
    expect(statesOf(stream)).toEqual(['AwaitingLessonCreation', 'AwaitingLessonProcessing', 'LessonsCreated']);
  });

  test('ends a stream whose PIN was revoked meanwhile', async () => {
    service.admit('revoked', tenant);
    const stream = watchStatus('sse', await insertBatch(), 'revoked');
    await until(() => stream.frames.length === 1);
    await loseListener(async () => void service.viewers.delete('revoked'));
    expect(await stream.ended).toBe('complete');
    expect(lastCode(stream)).toBe('NOT_AUTHENTICATED');
  });

  test('loses no batch that came and ended meanwhile, and reports it once', async () => {
    const running = await insertBatch();
    const stream = watchAll('sse');
    await until(() => stream.frames.length === 1);
    let missed = '';
    // In one commit: of whatever is heard of it, each batch is told as it has ended.
    await loseListener(() =>
      service.context.db.transaction().execute(async (trx) => {
        missed = await insertBatch(tenant, trx);
        await update(missed, failed, trx);
        await update(running, failed, trx);
      }),
    );
    await until(() => stream.frames.length === 3);
    const last = await insertBatch();
    await until(() => stream.frames.length === 4);
    const [, ...told] = batchesOf(stream);
    expect(new Map(told.slice(0, 2))).toEqual(
      new Map([
        [running, 'LessonsImportFailed'],
        [missed, 'LessonsImportFailed'],
      ]),
    );
    expect(told.slice(2)).toEqual([[last, 'AwaitingLessonCreation']]);
  });
});
