import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { fail } from '../../src/lessons/lifecycle.ts';
import { makeTenant } from '../_util/factories.ts';
import { hold, releaseAll } from '../_util/hold.ts';
import { type BatchRecord, type LessonClient, lessonClient, makeJobs } from '../_util/lessons.ts';
import { killPrograms, type Program, startProgram, until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';

const rooms = ['R1', 'R2', 'R3', 'R4'];
let service: Service;
let workers: Program[];

beforeAll(async () => {
  service = await startService({ Role: 'Web' }, rooms);
  workers = [1, 2].map(() => startProgram(service.databaseUrl, { Role: 'Worker' }));
  await Promise.all(workers.map(({ ready }) => ready));
});
afterAll(async () => {
  await releaseAll();
  await killPrograms();
  await service.stop();
});

let tenants = 0;

/** A tenant of its own with a client, so that tests do not meet. */
async function enter() {
  const tenant = await makeTenant(service.context.db, { code: `t${++tenants}`, rooms });
  const client = lessonClient({ url: service.url, tenant }, await service.signIn(tenant));
  return { tenant, client };
}
type Entered = Awaited<ReturnType<typeof enter>>;

async function accept(client: LessonClient, jobs: unknown): Promise<string> {
  return ((await (await client.post(jobs)).json()) as { BatchId: string }).BatchId;
}

let hours = 0;
/** Lessons at a time of their own. */
const freshJobs = (lessons: number, prefix: string) =>
  makeJobs(lessons, { rooms, prefix, from: Date.UTC(2030, 0, 7) + ++hours * 7 * 86_400_000 * 60 });

/** Holds the tenant's rooms, so that its import waits in mid-batch until they are released. */
async function holdRooms({ tenant }: Entered): Promise<() => Promise<void>> {
  return await hold(service.context.db, (trx) =>
    sql`select from resource where mandator_id = ${tenant.mandatorId} for update`.execute(trx),
  );
}

const reaches = (client: LessonClient, batchId: string, status: string) =>
  until(`${batchId} is ${status}`, async () => (await client.get(`/batches/${batchId}`)).ImportStatus === status);

const processing = 'AwaitingLessonProcessing';

async function lessonsOf({ tenant }: Entered): Promise<number> {
  const { n } = await service.context.db
    .selectFrom('lesson')
    .select(({ fn }) => fn.countAll<number>().as('n'))
    .where('mandator_id', '=', tenant.mandatorId)
    .executeTakeFirstOrThrow();
  return n;
}

describe('with two workers', () => {
  test('a tenant’s batches run one at a time in order of arrival', async () => {
    const { client } = await enter();
    const ids: string[] = [];
    for (let each = 0; each < 12; each++) ids.push(await accept(client, freshJobs(20, `${each}-`)));
    await Promise.all(ids.map((id) => client.end(id)));
    const batches = await service.context.db
      .selectFrom('batch')
      .select(['id', 'started_at', 'finished_at', 'attempts'])
      .where('id', 'in', ids)
      .orderBy('started_at')
      .execute();
    expect(batches.map(({ id }) => id)).toEqual(ids);
    expect(batches.map(({ attempts }) => attempts)).toEqual(ids.map(() => 1));
    for (const [at, { started_at }] of batches.entries())
      if (at > 0) expect(batches[at - 1]!.finished_at!.getTime()).toBeLessThanOrEqual(started_at!.getTime());
  });

  test('a tenant’s huge batch does not delay another’s small one', async () => {
    const [large, small] = [await enter(), await enter()];
    // As one that takes for ever.
    const release = await holdRooms(large);
    const huge = await accept(large.client, freshJobs(40, 'huge-'));
    await reaches(large.client, huge, processing);
    const batches = await Promise.all([1, 2, 3].map((each) => accept(small.client, freshJobs(10, `small-${each}-`))));
    const ended = await Promise.all(batches.map((id) => small.client.end(id)));
    expect(ended.map(({ ImportStatus }) => ImportStatus)).toEqual(batches.map(() => 'LessonsCreated'));
    expect((await large.client.get(`/batches/${huge}`)).ImportStatus).toBe(processing);
    await release();
    expect((await large.client.end(huge)).ImportStatus).toBe('LessonsCreated');
  });

  test('the same array twenty times at once: one is imported, the others say Duplicate JobId', async () => {
    const entered = await enter();
    const jobs = freshJobs(30, 'same-');
    const ids = await Promise.all(Array.from({ length: 20 }, () => accept(entered.client, jobs)));
    const ended = await Promise.all(ids.map((id) => entered.client.end(id)));
    const failed = ended.filter(({ ImportStatus }) => ImportStatus === 'LessonsImportFailed');
    expect(ended.filter(({ ImportStatus }) => ImportStatus === 'LessonsCreated')).toHaveLength(1);
    expect(failed).toHaveLength(19);
    for (const batch of failed)
      expect(batch).toMatchObject({
        FailureKind: 'Data',
        ErrorMessages: ['same-0', 'same-1']
          .map((id) => `Duplicate JobId: ${id} (it is stored already; jobs/update changes it)`)
          .join('\n'),
        CreatedCount: 0,
      });
    expect(await lessonsOf(entered)).toBe(30);
  });
});

const cancel = (client: LessonClient, id: string) => client.call(`/batches/${id}/cancel`, { method: 'POST' });

describe('POST …/batches/{batchId}/cancel', () => {
  const cancelled = { ImportStatus: 'LessonsImportFailed', FailureKind: 'Cancelled', CreatedCount: 0 };

  test('a waiting batch ends at once, a running one soon, in the middle of whatever it does; nothing of them is stored', async () => {
    const entered = await enter();
    const { client } = entered;
    const release = await holdRooms(entered);
    const running = await accept(client, freshJobs(40, 'running-'));
    await reaches(client, running, processing);
    const waiting = await accept(client, freshJobs(40, 'waiting-'));
    expect(await (await cancel(client, waiting)).json()).toMatchObject(cancelled);
    const answer = await cancel(client, running);
    expect([answer.status, await answer.json()]).toMatchObject([200, { ImportStatus: processing }]);
    expect(await client.end(running)).toMatchObject({
      ...cancelled,
      ErrorMessages: expect.stringContaining('cancelled'),
    });
    await release();
    expect(await lessonsOf(entered)).toBe(0);
    const left = await service.context.db
      .selectFrom('batch_job')
      .where('mandator_id', '=', entered.tenant.mandatorId)
      .where('body', 'is not', null)
      .select('index')
      .execute();
    expect(left).toEqual([]);
  });

  test('what was answered with 200 holds, even in the last moment before the end', async () => {
    const entered = await enter();
    const { client, tenant } = entered;
    const { db } = service.context;
    // A warning is written when every lesson is in and only the end is left to do.
    await sql`create function wait_for_test() returns trigger language plpgsql as $$
      begin perform pg_advisory_xact_lock(1, new.mandator_id); return new; end $$`.execute(db);
    await sql`create trigger waits before insert on batch_error for each row execute function wait_for_test()`.execute(
      db,
    );
    const release = await hold(db, (trx) => sql`select pg_advisory_xact_lock(1, ${tenant.mandatorId})`.execute(trx));
    const id = await accept(client, makeJobs(3, { rooms, from: Date.UTC(2020, 0, 6) }));
    await until('the import waits', async () => {
      const waiting = await sql`
        select from pg_locks where locktype = 'advisory' and classid = 1 and objid = ${tenant.mandatorId}::int and not granted`.execute(
        db,
      );
      return waiting.rows.length > 0;
    });
    expect((await cancel(client, id)).status).toBe(200);
    await release();
    expect(await client.end(id)).toMatchObject(cancelled);
    expect(await lessonsOf(entered)).toBe(0);
    await sql`drop trigger waits on batch_error`.execute(db);
  });

  test('a batch that ends while a worker reaches for it fails nothing, and the next one runs', async () => {
    const entered = await enter();
    const { client } = entered;
    const release = await holdRooms(entered);
    const running = await accept(client, freshJobs(3, 'first-'));
    await reaches(client, running, processing);
    const [waiting, next] = [
      await accept(client, freshJobs(3, 'second-')),
      await accept(client, freshJobs(3, 'third-')),
    ];
    const cancel = await hold(service.context.db, (trx) =>
      fail(trx, { mandatorId: entered.tenant.mandatorId, id: waiting }, 'Cancelled', 'cancelled'),
    );
    await release();
    await until('a worker reaches for it', async () => {
      const { rows } = await sql`
        select from pg_stat_activity where wait_event_type = 'Lock' and query like '%attempts + 1%'
          and datname = current_database()`.execute(service.context.db);
      return rows.length > 0;
    });
    await cancel();
    expect((await client.end(next)).ImportStatus).toBe('LessonsCreated');
    expect(workers.flatMap(({ lines }) => lines.filter(({ level }) => level === 'error'))).toEqual([]);
  });

  test('409 for a batch that has ended, which stays as it is', async () => {
    const { client } = await enter();
    const ended = await client.importJobs(freshJobs(3, 'ended-'));
    const answer = await cancel(client, ended.BatchId);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      409,
      expect.stringMatching('application/problem\\+json'),
    ]);
    expect(await client.get(`/batches/${ended.BatchId}`)).toEqual(ended);
  });

  test('404 for another tenant’s batch, which continues', async () => {
    const [mine, other] = [await enter(), await enter()];
    const release = await holdRooms(mine);
    const id = await accept(mine.client, freshJobs(3, 'mine-'));
    expect((await cancel(other.client, id)).status).toBe(404);
    expect((await cancel(other.client, 'no-id')).status).toBe(404);
    await release();
    expect((await mine.client.end(id)).ImportStatus).toBe('LessonsCreated');
  });
});

describe('open batches', () => {
  const idOf = async (answer: Response) => ((await answer.json()) as { BatchId: string }).BatchId;

  test('429 for one more than the limit, until one ends; other tenants and replays are answered', async () => {
    const entered = await enter();
    const { client } = entered;
    const release = await holdRooms(entered);
    const keyed = freshJobs(2, 'keyed-');
    const first = await idOf(await client.post(keyed, { 'Idempotency-Key': 'key' }));
    const ids = [first];
    for (const operation of ['update', 'delete', 'create?ValidateOnly=true'])
      ids.push(await idOf(await client.send(operation, [{ JobID: 'keyed-0' }])));
    while (ids.length < 20) ids.push(await accept(client, freshJobs(2, `${ids.length}-`)));

    for (const operation of ['create', 'update', 'delete?ValidateOnly=true']) {
      const answer = await client.send(operation, [{ JobID: 'more' }]);
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '10']);
      expect(answer.headers.get('content-type')).toMatch('application/problem+json');
      expect(await answer.json()).toMatchObject({
        status: 429,
        Code: 'LimitExceeded',
        detail: expect.stringContaining('20 batches'),
      });
    }
    const graphql = await client.call('/../../../graphql', {
      method: 'POST',
      body: JSON.stringify({
        query: `mutation { deleteLessonJobs(jobs: [{ jobKey: "more" }]) { __typename ... on LimitProblem { code retryAfterSeconds } } }`,
      }),
      headers: { 'Content-Type': 'application/json' },
    });
    expect(await graphql.json()).toEqual({
      data: {
        deleteLessonJobs: { __typename: 'LimitProblem', code: 'LimitExceeded', retryAfterSeconds: 10 },
      },
    });
    const replay = await client.post(keyed, { 'Idempotency-Key': 'key' });
    expect([replay.status, await idOf(replay)]).toEqual([202, first]);
    expect((await (await enter()).client.post(freshJobs(2, 'other-'))).status).toBe(202);

    await cancel(client, ids.pop() as string);
    const refilled = await client.post(freshJobs(2, 'refilled-'));
    expect(refilled.status).toBe(202);
    ids.push(await idOf(refilled));
    expect((await client.post(freshJobs(2, 'again-'))).status).toBe(429);
    await release();
    await Promise.all(ids.map((id) => client.end(id)));
    expect((await client.post(freshJobs(2, 'after-'))).status).toBe(202);
  });

  test('forty at once do not pass the limit, and what was refused is not stored', async () => {
    const entered = await enter();
    const release = await holdRooms(entered);
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, each) => entered.client.post(freshJobs(2, `${each}-`))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([
      ...Array.from({ length: 20 }, () => 202),
      ...Array.from({ length: 20 }, () => 429),
    ]);
    const { rows } = await sql<{ batches: number; jobs: number }>`
      select count(*)::int as jobs, count(distinct batch_id)::int as batches from batch_job
      where mandator_id = ${entered.tenant.mandatorId}`.execute(service.context.db);
    expect(rows).toEqual([{ batches: 20, jobs: 20 }]);
    await release();
    for (const answer of answers.filter(({ status }) => status === 202))
      expect((await entered.client.end(await idOf(answer))).ImportStatus).toBe('LessonsCreated');
  });
});

describe('Limits.BatchDays', () => {
  test('an ended batch is forgotten with its errors; its lessons stay, and so do younger and open batches', async () => {
    const entered = await enter();
    const { client, tenant } = entered;
    const jobs = freshJobs(3, 'kept-');
    const created = (await client.importJobs(jobs)).BatchId;
    const failed = (await client.importJobs(jobs)).BatchId;
    const younger = (await client.importJobs(jobs)).BatchId;
    const release = await holdRooms(entered);
    const open = await accept(client, freshJobs(3, 'open-'));
    await reaches(client, open, processing);
    const { db } = service.context;
    await db.transaction().execute(async (trx) => {
      // Past the guard of ended batches.
      await sql`set local session_replication_role = replica`.execute(trx);
      const age = (days: number, ids: string[]) =>
        sql`
        update batch set created_at = now() - make_interval(days => ${days}),
          finished_at = finished_at - make_interval(days => ${days})
        where id = any (${ids}::uuid[])`.execute(trx);
      await age(91, [created, failed, open]);
      await age(89, [younger]);
    });
    const status = async (path: string) => (await client.call(`/batches/${path}`)).status;
    await until('they are forgotten', async () => (await status(created)) === 404);
    await until('they are forgotten', async () => (await status(`${failed}/errors`)) === 404);
    expect([await status(younger), await status(open)]).toEqual([200, 200]);
    const { rows } = await sql<{ id: string }>`
      select distinct batch_id as id from batch_error where mandator_id = ${tenant.mandatorId}`.execute(db);
    expect(rows).toEqual([{ id: younger }]);
    expect((await client.lessons('JobID=kept-0')).Items).toHaveLength(3);
    expect(await client.get('?JobID=kept-0')).toMatchObject({ Items: [{ BatchId: created }] });
    await release();
    expect((await client.end(open)).ImportStatus).toBe('LessonsCreated');
  });
});

describe('GET …/batches/{batchId}?WaitSeconds', () => {
  test('answers when the batch changes, and not before', async () => {
    const entered = await enter();
    const { client } = entered;
    const release = await holdRooms(entered);
    const id = await accept(client, freshJobs(3, 'wait-'));
    await reaches(client, id, processing);
    let answered = false;
    const poll = client.get<BatchRecord>(`/batches/${id}?WaitSeconds=25`).finally(() => {
      answered = true;
    });
    const unchanged = await client.get(`/batches/${id}?WaitSeconds=1`);
    expect(unchanged.ImportStatus).toBe(processing);
    expect(answered).toBe(false);
    await release();
    const changed = await poll;
    expect([changed.ImportStatus, changed.ProcessedCount]).not.toEqual([processing, 0]);
  });

  test('answers at once for a batch that has ended, and 404 for another tenant’s', async () => {
    const [mine, other] = [await enter(), await enter()];
    const { BatchId } = await mine.client.importJobs(freshJobs(3, 'over-'));
    expect((await mine.client.get(`/batches/${BatchId}?WaitSeconds=30`)).ImportStatus).toBe('LessonsCreated');
    for (const path of ['', '?WaitSeconds=30', '/errors'])
      expect((await other.client.call(`/batches/${BatchId}${path}`)).status).toBe(404);
  });
});

describe('GET …/batches', () => {
  type List = { Items: BatchRecord[]; NextCursor: string | null };
  let entered: Entered;
  let release: () => Promise<void>;
  let ended: string;
  let open: string[];
  const list = async (query = '', client = entered.client) => await client.get<List>(`/batches${query}`);
  const idsOf = ({ Items }: List) => Items.map(({ BatchId }) => BatchId);

  beforeAll(async () => {
    entered = await enter();
    ended = (await entered.client.importJobs(freshJobs(3, 'list-ended-'))).BatchId;
    release = await holdRooms(entered);
    open = [];
    for (let each = 0; each < 5; each++) open.push(await accept(entered.client, freshJobs(3, `list-${each}-`)));
    await reaches(entered.client, open[0]!, processing);
  });
  afterAll(async () => {
    await release();
    await Promise.all(open.map((id) => entered.client.end(id)));
  });

  test('the running and waiting ones, newest first, with their place in the queue', async () => {
    const page = await list();
    expect(idsOf(page)).toEqual(open.toReversed());
    expect(page.Items.map((batch) => batch['QueuePosition'])).toEqual([5, 4, 3, 2, 1]);
    expect(page.Items.map(({ ImportStatus }) => ImportStatus)).toEqual([
      ...open.slice(1).map(() => 'AwaitingLessonCreation'),
      processing,
    ]);
    expect(Object.keys(page.Items[0]!)).not.toEqual(expect.arrayContaining(['Errors']));
    expect(page.Items[0]).not.toHaveProperty('ErrorMessages');
  });

  test('filters', async () => {
    const all = [...open.toReversed(), ended];
    const ofAll = await list('?ImportStatus=All');
    expect(idsOf(ofAll)).toEqual(all);
    const at = encodeURIComponent(String(ofAll.Items[2]!['CreatedAt']));
    expect(idsOf(await list(`?ImportStatus=${processing}`))).toEqual([open[0]]);
    expect(idsOf(await list('?ImportStatus=LessonsCreated'))).toEqual([ended]);
    expect(idsOf(await list('?Operation=Create'))).toEqual(open.toReversed());
    expect(idsOf(await list('?Operation=Delete'))).toEqual([]);
    expect(idsOf(await list('?JobID=list-3-0'))).toEqual([open[3]]);
    expect(idsOf(await list('?ImportStatus=All&JobID=list-ended-0'))).toEqual([ended]);
    expect(idsOf(await list(`?ImportStatus=All&CreatedBefore=${at}`))).toEqual(
      expect.arrayContaining([ended, open[0]]),
    );
    expect(idsOf(await list(`?ImportStatus=All&CreatedAfter=${at}`))).not.toContain(ended);
    expect(idsOf(await list('?Mine=true'))).toEqual(open.toReversed());
    const { tenant } = entered;
    const colleague = lessonClient({ url: service.url, tenant }, await service.signIn(tenant, 'Admin'));
    expect(idsOf(await list('?Mine=true', colleague))).toEqual([]);
    expect(idsOf(await list('', colleague))).toEqual(open.toReversed());
    expect(idsOf(await list('?ImportStatus=All', (await enter()).client))).toEqual([]);
  });

  test('pages do not shift when batches are added between them', async () => {
    const seen: string[] = [];
    const added: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: List = await list(`?ImportStatus=All&Limit=2${cursor && `&Cursor=${cursor}`}`);
      seen.push(...idsOf(page));
      cursor = page.NextCursor;
      added.push(await accept(entered.client, freshJobs(3, `added-${added.length}-`)));
    }
    expect(seen).toEqual([...open.toReversed(), ended]);
    open.push(...added);
  });
});
