import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { routes } from '../../src/lessons/rest.ts';
import { makeTenant } from '../_util/factories.ts';
import { type BatchRecord, lessonClient } from '../_util/lessons.ts';
import { type Service, startService } from '../_util/service.ts';

let service: Service;
let tenants = 0;

// Nothing is processed here: batches wait, or are put into the table as they are wanted.
beforeAll(async () => {
  service = await startService({ Role: 'Web' });
});
afterAll(() => service.stop());

/** A tenant of its own. */
async function enter() {
  const tenant = await makeTenant(service.context.db, { code: `t${++tenants}` });
  const client = lessonClient({ url: service.url, tenant }, await service.signIn(tenant, 'Importer'));
  async function accept(operation: string, jobs: unknown = [{ JobID: 'J-1' }]): Promise<string> {
    const answer = await client.send(operation, jobs);
    expect(answer.status).toBe(202);
    return ((await answer.json()) as { BatchId: string }).BatchId;
  }
  /** An ended batch. */
  async function insert(changes: Record<string, unknown> = {}): Promise<string> {
    const id = randomUUID();
    const batch = {
      mandator_id: tenant.mandatorId,
      id,
      operation: 'Create',
      job_count: 1,
      request_id: 'test',
      created_by: tenant.person('Importer').id,
      import_status: 'LessonsCreated',
      finished_at: new Date(),
    };
    await service.context.db
      .insertInto('batch')
      .values({ ...batch, ...changes })
      .execute();
    return id;
  }
  const list = async (query: string) => {
    const { Items, NextCursor } = await client.get<{ Items: BatchRecord[]; NextCursor: string | null }>(
      `/batches?${query}`,
    );
    return { ids: Items.map(({ BatchId }) => BatchId), Items, NextCursor };
  };
  return { tenant, client, accept, insert, list };
}

describe('POST …/jobs/create, /update, /delete', () => {
  test.each([
    ['create', 'Create', false, 'Fail'],
    ['update', 'Update', false, 'Fail'],
    ['delete', 'Delete', false, 'Fail'],
    ['create?ValidateOnly=true&OnConflict=Skip', 'Create', true, 'Skip'],
    ['update?validateOnly=false&onConflict=Displace', 'Update', false, 'Displace'],
    ['delete?ValidateOnly=true', 'Delete', true, 'Fail'],
  ])('202: %s', async (path, operation, validateOnly, onConflict) => {
    const { accept, client } = await enter();
    const id = await accept(path);
    expect(await client.get(`/batches/${id}`)).toMatchObject({
      Operation: operation,
      ValidateOnly: validateOnly,
      ImportStatus: 'AwaitingLessonCreation',
    });
    const row = await service.context.db
      .selectFrom('batch')
      .select('on_conflict')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    expect(row.on_conflict).toBe(onConflict);
  });

  test.each([
    ['create?ValidateOnly=1', /ValidateOnly: must be true or false/],
    ['create?OnConflict=fail', /OnConflict/],
    ['delete?OnConflict=Skip', /OnConflict is not a query parameter/],
    ['update?ReplaceLektionList=true', /ReplaceLektionList is not a query parameter/],
  ])('400: %s', async (path, detail) => {
    const { client } = await enter();
    const answer = await client.send(path, [{ JobID: 'J-1' }], { Prefer: 'handling=strict' });
    expect(answer.status).toBe(400);
    expect(((await answer.json()) as { detail: string }).detail).toMatch(detail);
  });

  test('422: one Idempotency-Key with another operation or option', async () => {
    const { client } = await enter();
    const send = (path: string) => client.send(path, [{ JobID: 'J-1' }], { 'Idempotency-Key': 'key' });
    const answers = [await send('update'), await send('update'), await send('delete')];
    answers.push(await send('update?ValidateOnly=true'));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 422, 422]);
  });
});

describe('GET …/jobs/batches', () => {
  test('JobID: batches with a job of that name, ended ones too', async () => {
    const { client, accept, list } = await enter();
    const waiting = await accept('create', [{ JobID: 'other' }, { jobId: 'J-17' }]);
    const cancelled = await accept('delete', [{ JobID: 'J-17' }]);
    await client.call(`/batches/${cancelled}/cancel`, { method: 'POST' });
    await accept('create', [{ JobID: 'J-170' }]);
    expect((await list('JobID=J-17')).ids).toEqual([waiting]);
    expect((await list('JobID=J-17&ImportStatus=All')).ids).toEqual([cancelled, waiting]);
    expect((await list('JobID=J-17&ImportStatus=All&Operation=Delete')).ids).toEqual([cancelled]);
    expect((await list('JobID=j-17&ImportStatus=All')).ids).toEqual([]);
  });

  test('Mine, CreatedAfter and CreatedBefore', async () => {
    const { tenant, insert, list } = await enter();
    const at = (hour: number) => new Date(Date.UTC(2026, 10, 1, hour));
    const mine = await insert({ created_at: at(8) });
    const theirs = await insert({ created_at: at(10), created_by: tenant.person('Admin').id });
    const all = 'ImportStatus=All';
    expect((await list(`${all}&Mine=true`)).ids).toEqual([mine]);
    expect((await list(`${all}&Mine=false`)).ids).toEqual([theirs, mine]);
    expect((await list(`${all}&CreatedAfter=2026-11-01T08:00:00Z`)).ids).toEqual([theirs]);
    expect((await list(`${all}&CreatedBefore=2026-11-01T11:00:00%2B01:00`)).ids).toEqual([mine]);
  });

  test('pages are stable: batches that are sent in between come before them', async () => {
    const { insert, list } = await enter();
    const ids: string[] = [];
    for (let count = 0; count < 5; count++) ids.unshift(await insert());
    const first = await list('ImportStatus=All&Limit=2');
    await insert();
    const second = await list(`ImportStatus=All&Limit=2&Cursor=${first.NextCursor}`);
    const third = await list(`ImportStatus=All&Limit=2&Cursor=${second.NextCursor}`);
    expect([...first.ids, ...second.ids, ...third.ids]).toEqual(ids);
    expect(third.NextCursor).toBeNull();
  });

  test('QueuePosition: 1 is next, null has ended', async () => {
    const { accept, insert, list } = await enter();
    await accept('create');
    await insert();
    await accept('update');
    const { Items } = await list('ImportStatus=All');
    expect(Items.map(({ QueuePosition }) => QueuePosition)).toEqual([2, null, 1]);
  });

  test('Retry-After: 2, 5, 10, 20, 30 by the age of the youngest that has not ended; none when all have', async () => {
    const { client, insert } = await enter();
    const wait = async () => (await client.call('/batches?ImportStatus=All')).headers.get('retry-after');
    await insert();
    expect(await wait()).toBeNull();
    const waits: (string | null)[] = [];
    for (const age of [700, 300, 60, 20, 5]) {
      const id = await insert({
        import_status: 'AwaitingLessonProcessing',
        finished_at: null,
        created_at: new Date(Date.now() - age * 1_000),
      });
      const one = (await client.call(`/batches/${id}`)).headers.get('retry-after');
      waits.push(one);
      expect(await wait()).toBe(one);
    }
    expect(waits).toEqual(['30', '20', '10', '5', '2']);
  });

  test.each(['Mine=yes', 'Operation=create', 'ImportStatus=Done', 'CreatedAfter=1', 'Limit=0', 'Cursor=x'])(
    '400: %s',
    async (query) => {
      const { client } = await enter();
      expect((await client.call(`/batches?${query}`)).status).toBe(400);
    },
  );

  test('404: a batch of no such id, or of another tenant', async () => {
    const { insert } = await enter();
    const { client } = await enter();
    for (const id of [await insert(), randomUUID(), 'no-uuid', "1'or'1"]) {
      expect((await client.call(`/batches/${id}`)).status).toBe(404);
      expect((await client.call(`/batches/${id}/errors`)).status).toBe(404);
      expect((await client.call(`/batches/${id}/cancel`, { method: 'POST' })).status).toBe(404);
    }
  });
});

describe('the examples of the documentation', () => {
  const revived = (example: unknown) =>
    JSON.parse(JSON.stringify(example), (_key, value) =>
      /^\d{4}-\d\d-\d\dT.*\.\d{3}Z$/.test(value) ? new Date(value) : value,
    );
  const answers = routes.flatMap(({ method, path, answers }) =>
    Object.entries(answers).map(([status, answer]) => ({ name: `${method} ${path} ${status}`, answer })),
  );

  test.each(answers)('$name fits its schema', ({ answer: { body, example } }) => {
    expect(body && z.safeParse(body, revived(example)).error).toBeUndefined();
  });

  test.each(routes.filter(({ body }) => body))('the body of $path fits its schema', ({ body }) => {
    expect(body && z.safeParse(body.schema, body.example).error).toBeUndefined();
  });
});
