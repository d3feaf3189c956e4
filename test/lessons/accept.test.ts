import { once } from 'node:events';
import http from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { type LessonClient, lessonClient, makeJobs } from '../_util/lessons.ts';
import { type Service, startService } from '../_util/service.ts';

let service: Service;
let client: LessonClient;

beforeAll(async () => {
  service = await startService({ Role: 'Web', Limits__JobBodyBytes: '200000', Limits__BodyBytes: '1000' });
  client = lessonClient(service, await service.signIn());
});
afterAll(() => service.stop());

/** The same with the usual limits. */
async function startLarge() {
  const large = await startService({ Role: 'Web' });
  return { service: large, client: lessonClient(large, await large.signIn()) };
}

async function stored() {
  const count = async (table: 'batch' | 'batch_job' | 'idempotent_request') =>
    (
      await service.context.db
        .selectFrom(table)
        .select(({ fn }) => fn.countAll<number>().as('n'))
        .executeTakeFirstOrThrow()
    ).n;
  return [await count('batch'), await count('batch_job'), await count('idempotent_request')];
}

async function refused(answer: Response) {
  const problem = (await answer.json()) as { status: number; detail: string; Code: string; TraceId: string };
  expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
  expect(problem).toMatchObject({ status: answer.status, TraceId: answer.headers.get('x-request-id') });
  return problem;
}

describe('POST …/jobs/create', () => {
  test('202: stored and queued, with Location and Retry-After', async () => {
    const answer = await client.post(makeJobs(3));
    expect(answer.status).toBe(202);
    const body = (await answer.json()) as { BatchId: string };
    expect(body).toEqual({
      BatchId: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      ImportStatus: 'AwaitingLessonCreation',
    });
    expect(answer.headers.get('location')).toBe(`${service.url}/school/api/v2.0/jobs/batches/${body.BatchId}`);
    expect(answer.headers.get('retry-after')).toBe('2');
    expect(answer.headers.get('vary')).toBe('Authorization, X-JsonPropertyFormat');
    const { rows } = await service.context.db
      .selectFrom('batch')
      .select(['id', 'job_count'])
      .where('id', '=', body.BatchId)
      .execute()
      .then((rows) => ({ rows }));
    expect(rows).toEqual([{ id: body.BatchId, job_count: 1 }]);
  });

  test('202: a body in camel case, gzipped, with a byte order mark', async () => {
    const jobs = [{ jobID: 'camel', lektionList: [{ lektionId: '1' }] }];
    const body = gzipSync(`\ufeff${JSON.stringify(jobs)}`);
    const answer = await client.post(body, { 'Content-Encoding': 'gzip', 'X-JsonPropertyFormat': 'camel' });
    expect(answer.status).toBe(202);
    expect(Object.keys((await answer.json()) as object)).toEqual(['batchId', 'importStatus']);
  });

  const invalidUtf8 = Buffer.concat([Buffer.from('[{"JobID":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}]')]);
  const nested = `[{"JobID":${'['.repeat(90_000)}${']'.repeat(90_000)}}]`;
  test.each<[string, number, string | Uint8Array, RegExp]>([
    ['nothing', 400, '', /body is empty/],
    ['white space', 400, ' \n', /body is empty/],
    ['UTF-16', 400, Buffer.from('[{}]', 'utf16le'), /Byte 1 .*not UTF-8; encode/],
    ['UTF-16 with a byte order mark', 400, Buffer.from('\ufeff[{}]', 'utf16le'), /Byte 0 .*not UTF-8; encode/],
    ['a NUL at the end', 400, '[{"JobID":"1"}]\0', /nothing may follow/],
    ['an object', 400, '{}', /Byte 0 .* JSON array/],
    ['an empty array', 400, '[]', /at least one job/],
    ['an array of numbers', 400, '[1,2]', /Byte 1 .*job object/],
    ['a job and a text', 400, '[{"JobID":"1"},"x"]', /Byte 15 /],
    ['two values', 400, '[{"JobID":"1"}] []', /nothing may follow/],
    ['a body cut short', 400, '[{"JobID":"1"', /ends after 13 bytes/],
    ['broken JSON inside', 400, '[{"JobID":"1"},{"JobID":tru}]', /Job 1, from byte 15/],
    ['invalid UTF-8', 400, invalidUtf8, /Byte 12 .*UTF-8/],
    ['U+0000', 400, '[{"JobID":"1"},{"JobID":"a\\u0000b"}]', /Job 1.*U\+0000/],
    ['half a surrogate pair', 400, '[{"JobID":"\\ud800"}]', /Job 0.*surrogate/],
    ['a number out of range', 400, '[{"JobID":1e999999}]', /Jobs 0 to 0/],
    ['nesting without end', 400, nested, /nested deeper than 32/],
    ['more bytes than allowed', 413, JSON.stringify(makeJobs(3_000)), /larger than 200000 bytes/],
  ])('%s: %i, with the place, and nothing stored', async (_name, status, body, detail) => {
    const before = await stored();
    const answer = await client.post(body, { 'Idempotency-Key': 'refused' });
    expect(answer.status).toBe(status);
    expect((await refused(answer)).detail).toMatch(detail);
    expect(await stored()).toEqual(before);
  });

  test.each<[string, string, string]>([
    ['in a lesson', '{"JobID":"a","LektionList":[{},{"Klassen":["3a","\\udc00"]}]}', '/1/LektionList/1/Klassen/1'],
    ['in a name', '{"JobID":"a","LektionList":[{"b\\u0000":1}]}', '/1/LektionList/0'],
  ])('a text that cannot be stored is 400 with its place: %s', async (_name, job, pointer) => {
    const answer = await client.post(`[{"JobID":"1"},${job}]`);
    expect(await answer.json()).toMatchObject({ status: 400, Errors: [{ Pointer: pointer, Code: 'Malformed' }] });
  });

  test('400 while a long body is still being sent: the client receives it', async () => {
    const job = (number: number) => `{"JobID":"${number}","Bemerkung":"${'x'.repeat(1_000)}"}`;
    const jobs = Array.from({ length: 3_000 }, (_, number) => (number === 5 ? '{"JobID":tru}' : job(number)));
    const before = await stored();
    const large = await startLarge();
    const answer = await large.client.post(`[${jobs.join(',')}]`);
    expect(answer.status).toBe(400);
    expect((await refused(answer)).detail).toMatch(/^Job 5, /);
    expect(await stored()).toEqual(before);
    await large.service.stop();
  });

  test('400: broken gzip; 413: the limit holds after inflating', async () => {
    const broken = await client.post('not gzip', { 'Content-Encoding': 'gzip' });
    expect((await refused(broken)).detail).toMatch(/gzip/);
    const bomb = await client.post(gzipSync(Buffer.alloc(5_000_000, ' ')), { 'Content-Encoding': 'gzip' });
    expect(bomb.status).toBe(413);
  });

  test.each([
    ['v2.0/jobs/create', 'send fewer jobs per batch'],
    ['v2.0/timetables', 'send fewer files, or a shorter term'],
    ['v1.0/bookings', 'send less at a time'],
  ])('413 before the client sends a body that is announced to be too large: %s', async (path, remedy) => {
    const request = http.request(`${service.url}/school/api/${path}`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${await service.signIn()}`,
        'Content-Type': 'application/json',
        'Content-Length': 200_001,
      },
    });
    request.flushHeaders();
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    expect([response.statusCode, (await response.toArray()).join('')]).toEqual([413, expect.stringContaining(remedy)]);
    request.destroy();
  });

  test.each(['text/plain', 'application/xml', 'application/json; charset=latin1'])('415: %j', async (type) => {
    const answer = await client.call('/create', {
      method: 'POST',
      body: Buffer.from('[{}]'),
      headers: { 'Content-Type': type },
    });
    expect(answer.status).toBe(415);
    expect((await refused(answer)).detail).toMatch(/application\/json/);
  });

  test.each([
    'application/json;',
    'application/json; charset=utf8',
    'Application/JSON; odata=verbose; Charset="UTF-8"',
  ])('202: %j is JSON in UTF-8', async (type) => {
    expect((await client.post([{ JobID: type }], { 'Content-Type': type })).status).toBe(202);
  });

  test('202 without a Content-Type: the credential says that it is no page of another site', async () => {
    const body = Buffer.from('[{"JobID":"typeless"}]');
    expect((await client.call('/create', { method: 'POST', body })).status).toBe(202);
    const empty = await client.call('/create', { method: 'POST', body, headers: { 'Content-Type': '' } });
    expect(empty.status).toBe(202);
  });

  test('415: an encoding other than gzip', async () => {
    expect((await client.post('x', { 'Content-Encoding': 'br' })).status).toBe(415);
  });

  test('401 without a token, the same for an unknown tenant; 404 with a token of another one', async () => {
    const bare = (tenant: string, headers = {}) =>
      fetch(`${service.url}/${tenant}/api/v2.0/jobs/create`, { method: 'POST', body: '[{}]', headers });
    const answers = [await bare('school'), await bare('nowhere')];
    const problems = await Promise.all(answers.map(refused));
    for (const answer of answers) {
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
    }
    expect({ ...problems[0], TraceId: 0, instance: 0 }).toEqual({ ...problems[1], TraceId: 0, instance: 0 });
    const authorization = { Authorization: `Bearer ${await service.signIn()}` };
    for (const tenant of ['nowhere', 'SCHOOL2']) expect((await bare(tenant, authorization)).status).toBe(404);
    const upper = await fetch(`${service.url}/SCHOOL/api/v2.0/jobs/batches`, { headers: authorization });
    expect(upper.status).toBe(200);
  });

  test('403: a display imports nothing', async () => {
    const display = lessonClient(service, await service.signIn(service.tenant, 'Display'));
    expect((await display.post(makeJobs(1))).status).toBe(403);
  });

  test('an unknown query parameter is ignored, and named with Prefer: handling=strict', async () => {
    const post = (headers: Record<string, string>) =>
      client.call('/create?Nonsense=1', {
        method: 'POST',
        body: '[{}]',
        headers: { 'Content-Type': 'application/json', ...headers },
      });
    expect((await post({})).status).toBe(202);
    expect((await refused(await post({ Prefer: 'handling=strict' }))).detail).toMatch(/Nonsense/);
  });

  test('405 names the methods', async () => {
    const answer = await client.call('/create');
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
  });

  test('a client that leaves in mid-body stores nothing and keeps no connection', async () => {
    const before = await stored();
    const gone = new AbortController();
    const body = new ReadableStream({
      pull(controller) {
        controller.enqueue(Buffer.from('[{"JobID":"1"},'));
        gone.abort();
      },
    });
    await expect(
      client.call('/create', {
        method: 'POST',
        body,
        duplex: 'half',
        signal: gone.signal,
        headers: { 'Content-Type': 'application/json' },
      } as RequestInit),
    ).rejects.toThrow();
    expect(await stored()).toEqual(before);
    expect((await client.post(makeJobs(1, { prefix: 'after' }))).status).toBe(202);
  });
});

describe('Idempotency-Key', () => {
  const send = (jobs: unknown, key: string) => client.post(jobs, { 'Idempotency-Key': key });
  const idOf = async (answer: Response) => ((await answer.json()) as { BatchId: string }).BatchId;

  test('the same key and body replay the same 202', async () => {
    const first = await idOf(await send(makeJobs(2), 'key-1'));
    const again = await send(makeJobs(2), 'key-1');
    expect([again.status, await idOf(again)]).toEqual([202, first]);
  });

  test('422: the same key with another body, operation or option', async () => {
    await send(makeJobs(2), 'key-2');
    const key = { 'Idempotency-Key': 'key-2' };
    for (const answer of [
      await send(makeJobs(3), 'key-2'),
      await client.send('update', makeJobs(2), key),
      await client.send('create?ValidateOnly=true', makeJobs(2), key),
    ]) {
      expect(answer.status).toBe(422);
      expect((await refused(answer)).detail).toContain(
        'for another request before, with another body or other options',
      );
    }
  });

  test('409 while the first is still running says when to repeat it', async () => {
    const { db } = service.context;
    const { mandatorId, person } = service.tenant;
    const name = `idempotency:${mandatorId}:${person('User').id}:key-6`;
    await db.transaction().execute(async (first) => {
      await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(first);
      const answer = await send(makeJobs(2), 'key-6');
      expect([answer.status, answer.headers.get('Retry-After')]).toEqual([409, '2']);
    });
    expect((await send(makeJobs(2), 'key-6')).status).toBe(202);
  });

  test('twenty at once make one batch: each gets its id, or 409 while the first is still running', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(makeJobs(2), 'key-3')));
    const accepted = answers.filter(({ status }) => status === 202);
    expect(answers.every(({ status }) => status === 202 || status === 409)).toBe(true);
    expect(new Set(await Promise.all(accepted.map(idOf))).size).toBe(1);
  });

  test('a key belongs to one person', async () => {
    const other = lessonClient(service, await service.signIn(service.tenant, 'Admin'));
    const mine = await idOf(await send(makeJobs(2), 'key-4'));
    expect(await idOf(await other.post(makeJobs(2), { 'Idempotency-Key': 'key-4' }))).not.toBe(mine);
  });

  test('a key is forgotten after 24 hours', async () => {
    const first = await idOf(await send(makeJobs(2), 'key-5'));
    await service.context.db
      .updateTable('idempotent_request')
      .set({ created_at: new Date(Date.now() - 25 * 3_600_000) })
      .where('key', '=', 'key-5')
      .execute();
    expect(await idOf(await send(makeJobs(2), 'key-5'))).not.toBe(first);
  });

  test.each(['', 'x'.repeat(256), 'a b'])('400: the key %j', async (key) => {
    expect((await send(makeJobs(1), key)).status).toBe(400);
  });
});
