import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { claimIdempotencyKey } from '../../src/db/idempotency.ts';
import { ahead } from '../_util/ahead.ts';
import { makeTenant } from '../_util/factories.ts';
import { type GraphqlService, startGraphql } from '../_util/graphql.ts';
import {
  CancelBatchDocument,
  CreateLessonJobsDocument,
  GetBatchDocument,
  ListBatchesDocument,
  NowDocument,
} from '../_util/operations/generated/graphql.ts';
import { cloneDatabase } from '../_util/postgres.ts';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let service: GraphqlService;
let tenant: Awaited<ReturnType<typeof makeTenant>>;
let stranger: Awaited<ReturnType<typeof makeTenant>>;

beforeAll(async () => {
  database = await cloneDatabase();
  service = await startGraphql(database.url);
  tenant = await makeTenant(service.context.db);
  stranger = await makeTenant(service.context.db, { code: 'stranger' });
  service.admit('user', tenant);
  service.admit('display', tenant, { role: 'Display' });
});

afterAll(async () => {
  await service.stop();
  await database.drop();
});

async function insertBatch(of = tenant, changes: Record<string, unknown> = {}): Promise<string> {
  const id = randomUUID();
  await service.context.db
    .insertInto('batch')
    .values({
      mandator_id: of.mandatorId,
      id,
      operation: 'Create',
      job_count: 1,
      request_id: 'test',
      created_by: of.person('User').id,
      ...changes,
    })
    .execute();
  return id;
}

const failed = {
  import_status: 'LessonsImportFailed',
  failure_kind: 'Data',
  error_messages: 'Duplicate JobId: J-17',
  finished_at: new Date(),
};

const lesson = {
  lessonKey: 'L-1',
  start: ahead('2027-01-11T08:00:00Z'),
  end: ahead('2027-01-11T08:45:00Z'),
  resourceName: 'R001',
};

describe('me and serverTime', () => {
  test('say who calls, and when', async () => {
    const { data } = await service.run(NowDocument, {});
    const user = tenant.person('User');
    expect(data?.me).toEqual({
      id: String(user.id),
      name: user.name,
      email: user.email,
      timeZone: 'Europe/Berlin',
      role: 'User',
    });
    expect(data?.serverTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });
});

describe('batch', () => {
  test('has the values of the record', async () => {
    const id = await insertBatch(tenant, {
      import_status: 'AwaitingLessonProcessing',
      lesson_count: 8,
      processed_count: 2,
      warning_count: 1,
      started_at: new Date('2026-11-20T12:00:00.123Z'),
    });
    const { data } = await service.run(GetBatchDocument, { id });
    expect(data?.batch).toMatchObject({
      id,
      operation: 'Create',
      importStatus: 'AwaitingLessonProcessing',
      jobCount: 1,
      lessonCount: 8,
      processedCount: 2,
      progress: 0.25,
      warningCount: 1,
      validateOnly: false,
      startedAt: '2026-11-20T12:00:00.123Z',
      finishedAt: null,
      createdBy: { personId: String(tenant.person('User').id), displayName: 'User of school' },
    });
  });

  test('has no progress while its lessons are not counted', async () => {
    const { data } = await service.run(GetBatchDocument, { id: await insertBatch() });
    expect(data?.batch).toMatchObject({ lessonCount: null, progress: null });
  });

  test('pages through its errors', async () => {
    const id = await insertBatch(tenant, { ...failed, error_count: 3 });
    const rows = [1, 2, 3].map((number) => ({
      mandator_id: tenant.mandatorId,
      batch_id: id,
      number,
      severity: 'Error',
      index: number - 1,
      job_id: `J-${number}`,
      code: 'DuplicateJobId',
      message: `Duplicate JobId: J-${number}`,
    }));
    await service.context.db.insertInto('batch_error').values(rows).execute();
    const first = (await service.run(GetBatchDocument, { id, first: 2 })).data?.batch?.errors;
    expect(first?.nodes.map(({ jobID }) => jobID)).toEqual(['J-1', 'J-2']);
    expect(first?.pageInfo.hasNextPage).toBe(true);
    const after = first?.pageInfo.endCursor ?? '';
    const second = (await service.run(GetBatchDocument, { id, first: 2, after })).data?.batch?.errors;
    expect(second?.nodes).toEqual([
      {
        severity: 'Error',
        index: 2,
        jobID: 'J-3',
        lektionIndex: null,
        lektionId: null,
        field: null,
        code: 'DuplicateJobId',
        message: 'Duplicate JobId: J-3',
        pointer: null,
      },
    ]);
    expect(second?.pageInfo.hasNextPage).toBe(false);
  });

  test.each([
    ['an unknown id', async () => randomUUID()],
    ["another tenant's id", () => insertBatch(stranger)],
    ['what is no UUID', async () => "1' or '1'='1"],
    ['U+0000', async () => '\0'],
  ])('is null for %s', async (_name, idOf) => {
    const { data, errors } = await service.run(GetBatchDocument, { id: await idOf() });
    expect({ data, errors }).toEqual({ data: { batch: null }, errors: undefined });
  });
});

describe('batches', () => {
  test('are those of the tenant that run, newest first, page by page', async () => {
    const of = await makeTenant(service.context.db, { code: 'pages' });
    service.admit('pages', of);
    const ids: string[] = [];
    for (let count = 0; count < 3; count++) ids.unshift(await insertBatch(of));
    await insertBatch(of, failed);
    const first = (await service.run(ListBatchesDocument, { first: 2 }, 'pages')).data?.batches;
    expect(first?.nodes.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    expect(first?.edges.map(({ node }) => node.id)).toEqual(ids.slice(0, 2));
    expect(first?.pageInfo).toEqual({ hasNextPage: true, endCursor: first?.edges[1]?.cursor });
    const after = first?.pageInfo.endCursor ?? '';
    const second = (await service.run(ListBatchesDocument, { after }, 'pages')).data?.batches;
    expect(second?.nodes.map(({ id }) => id)).toEqual(ids.slice(2));
    expect(second?.pageInfo.hasNextPage).toBe(false);
    const ended = await service.run(
      ListBatchesDocument,
      { filter: { importStatus: ['LessonsImportFailed'] } },
      'pages',
    );
    expect(ended.data?.batches?.nodes).toHaveLength(1);
  });

  test.each([
    ['first: 0', { first: 0 }, '/first'],
    ['first: -1', { first: -1 }, '/first'],
    ['no state at all', { filter: { importStatus: [] } }, '/filter/importStatus'],
    ['a JobID of 129 characters', { filter: { jobKey: 'J'.repeat(129) } }, '/filter/jobKey'],
    ['a JobID with U+0000', { filter: { jobKey: 'J\0' } }, '/filter/jobKey'],
  ])('refuse %s as BAD_USER_INPUT that names the argument', async (_name, variables, pointer) => {
    const { data, errors } = await service.run(ListBatchesDocument, variables);
    expect(data).toEqual({ batches: null });
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', errors: [{ pointer }] });
  });

  test('refuse a cursor that we did not make', async () => {
    const { errors } = await service.run(ListBatchesDocument, { after: 'cjE6MTs' });
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT' });
  });

  test.each(['now', '2026-02-30T00:00:00Z', '2026-03-28T08:00:00', '2026-03-28T08:00:00+01:00', 'infinity', ''])(
    'refuse the DateTime %j',
    async (createdAfter) => {
      const { errors } = await service.run(ListBatchesDocument, { filter: { createdAfter } });
      expect(errors?.[0]?.message).toContain('DateTime: write RFC 3339 in UTC');
    },
  );
});

describe('createLessonJobs', () => {
  const storedBody = async (batchId: string | undefined) =>
    (
      await service.context.db
        .selectFrom('batch_job')
        .select('body')
        .where('batch_id', '=', batchId ?? '')
        .executeTakeFirstOrThrow()
    ).body;

  const empty = (jobKey: string) => ({ jobKey, lessons: [] });

  test('stores the jobs under the names of REST', async () => {
    const classes = ['1a', '1b'];
    const jobs = [
      {
        jobKey: 'J-1',
        locationName: 'Campus',
        lessons: [{ ...lesson, classes, resourceId: 7, isPrivate: true }],
      },
    ];
    const { data } = await service.run(CreateLessonJobsDocument, { jobs });
    const result = data?.createLessonJobs;
    expect(result).toMatchObject({
      __typename: 'BatchAccepted',
      batch: { importStatus: 'AwaitingLessonCreation', jobCount: 1 },
    });
    const batch = result?.__typename === 'BatchAccepted' ? result.batch : undefined;
    const times = { Beginn: ahead('2027-01-11T08:00:00Z'), Ende: ahead('2027-01-11T08:45:00Z') };
    const room = { RessourceName: 'R001', RessourceId: 7 };
    expect(await storedBody(batch?.id)).toEqual({
      JobID: 'J-1',
      Standort: 'Campus',
      LektionList: [{ LektionId: 'L-1', ...times, ...room, Klassen: classes, Privat: true }],
    });
  });

  test('takes a job without lessons: its faults are those of the batch', async () => {
    const { data } = await service.run(CreateLessonJobsDocument, { jobs: [empty('J-2')] });
    expect(data?.createLessonJobs.__typename).toBe('BatchAccepted');
  });

  test.each([
    ['member', { jobKey: 'J-3' }, ['of type "LessonJobInput" to include required field "lessons"']],
    [
      'value of an enumeration',
      { jobKey: 'J-3', lessons: [{ ...lesson, status: 'Geplannt' }] },
      ['.lessons[0].status', 'Did you mean the enum value "Geplant"?'],
    ],
    [
      'name',
      { jobKey: 'J-3', lessons: [], designaton: 'x' },
      ['unknown field "designaton"', 'Did you mean "designation"'],
    ],
  ])('a wrong %s of a job is named by GraphQL itself', async (_name, job, texts) => {
    const { errors = [] } = await service.run(CreateLessonJobsDocument, { jobs: [job as never] });
    expect(errors.map(({ extensions }) => extensions['code'])).toEqual(['BAD_USER_INPUT']);
    for (const text of texts) expect(errors[0]?.message).toContain(text);
  });

  test('gives the same batch for the same idempotencyKey', async () => {
    const variables = { jobs: [empty('J-key')], options: { idempotencyKey: 'key-1' } };
    const first = await service.run(CreateLessonJobsDocument, variables);
    const second = await service.run(CreateLessonJobsDocument, variables);
    expect(first.data?.createLessonJobs.__typename).toBe('BatchAccepted');
    expect(second.data).toEqual(first.data);
  });

  test('answers ValidationProblem for the same idempotencyKey with other jobs', async () => {
    const options = { idempotencyKey: 'key-2' };
    await service.run(CreateLessonJobsDocument, { jobs: [empty('J-one')], options });
    const { data } = await service.run(CreateLessonJobsDocument, { jobs: [empty('J-other')], options });
    expect(data?.createLessonJobs).toMatchObject({ __typename: 'ValidationProblem', code: 'InvalidInput' });
  });

  test('answers ValidationProblem for no jobs', async () => {
    const { data } = await service.run(CreateLessonJobsDocument, { jobs: [] });
    expect(data?.createLessonJobs).toMatchObject({
      __typename: 'ValidationProblem',
      errors: [{ field: 'jobs', pointer: '/jobs', code: 'InvalidValue' }],
    });
  });

  test('answers ValidationProblem for a text that PostgreSQL cannot keep', async () => {
    const { data } = await service.run(CreateLessonJobsDocument, { jobs: [empty('J-\0')] });
    expect(data?.createLessonJobs.__typename).toBe('ValidationProblem');
  });

  test('answers ConflictProblem while the first call with its key is still running, as importTimetable does', async () => {
    const content = Buffer.from(ahead('Datum;Beginn;Ende;Raum\n2027-01-11;09:00;09:45;R001')).toString('base64');
    const body = {
      query: `mutation ($jobs: [LessonJobInput!]!, $input: TimetableFilesInput!, $key: String!) {
        createLessonJobs(jobs: $jobs, options: { idempotencyKey: $key }) { __typename ... on Problem { code message } }
        importTimetable(input: $input, options: { idempotencyKey: $key }) { __typename ... on Problem { code message } }
      }`,
      variables: { jobs: [empty('J-5')], input: { files: [{ name: 'a.csv', content }] }, key: 'key-3' },
    };
    const caller = { mandatorId: tenant.mandatorId, personId: tenant.person('User').id };
    const answer = await service.context.db.transaction().execute(async (trx) => {
      await claimIdempotencyKey(trx, caller, 'key-3');
      return await service.post(body);
    });
    const message = 'A request with this idempotencyKey is still running; repeat it in a few seconds.';
    const refused = { __typename: 'ConflictProblem', code: 'Conflict', message };
    expect(await answer.json()).toEqual({ data: { createLessonJobs: refused, importTimetable: refused } });
  });

  test('answers ForbiddenProblem to a display', async () => {
    const { data } = await service.run(CreateLessonJobsDocument, { jobs: [empty('J-4')] }, 'display');
    expect(data?.createLessonJobs).toMatchObject({ __typename: 'ForbiddenProblem', code: 'Forbidden' });
  });
});

describe('cancelBatch', () => {
  test('ends a batch that waits', async () => {
    const id = await insertBatch();
    const { data } = await service.run(CancelBatchDocument, { id });
    expect(data?.cancelBatch).toEqual({
      __typename: 'BatchCancelled',
      batch: { id, importStatus: 'LessonsImportFailed', failureKind: 'Cancelled' },
    });
  });

  test('answers ConflictProblem for one that has ended', async () => {
    const { data } = await service.run(CancelBatchDocument, { id: await insertBatch(tenant, failed) });
    expect(data?.cancelBatch).toMatchObject({ __typename: 'ConflictProblem', code: 'Conflict' });
  });

  test("answers NotFoundProblem for another tenant's, which stays as it is", async () => {
    const id = await insertBatch(stranger);
    const { data } = await service.run(CancelBatchDocument, { id });
    expect(data?.cancelBatch).toMatchObject({ __typename: 'NotFoundProblem', code: 'NotFound' });
    const row = await service.context.db
      .selectFrom('batch')
      .select('cancel_requested')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    expect(row.cancel_requested).toBe(false);
  });
});

describe('a fault of ours', () => {
  test('is masked, with a traceId that leads to the log', async () => {
    const id = await insertBatch();
    await service.context.db.schema.alterTable('batch_error').renameTo('batch_error_gone').execute();
    const { data, errors } = await service.run(GetBatchDocument, { id });
    await service.context.db.schema.alterTable('batch_error_gone').renameTo('batch_error').execute();
    expect(data).toEqual({ batch: null });
    expect(errors).toHaveLength(1);
    expect(JSON.stringify(errors)).not.toContain('batch_error');
    const { code, traceId } = errors?.[0]?.extensions ?? {};
    expect(code).toBe('INTERNAL_ERROR');
    expect(service.lines.filter((line) => line.includes(String(traceId))).join()).toContain(
      'relation \\"batch_error\\" does not exist',
    );
  });
});
