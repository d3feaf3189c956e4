import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ahead } from '../_util/ahead.ts';
import { makeTenant } from '../_util/factories.ts';
import { type GraphqlService, startGraphql } from '../_util/graphql.ts';
import { type LessonClient, lessonClient, makeJobs } from '../_util/lessons.ts';
import {
  CreateLessonJobsDocument,
  DeleteLessonJobsDocument,
  ListBatchesDocument,
  ListLessonJobsDocument,
  type ListLessonJobsQuery,
  ListLessonsDocument,
  type ListLessonsQuery,
  type ListLessonsQueryVariables,
  type TypedDocumentString,
  UpdateLessonJobsDocument,
} from '../_util/operations/generated/graphql.ts';
import { readPlain } from '../_util/plain-ids.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { type Service, startService } from '../_util/service.ts';

describe('updateLessonJobs and deleteLessonJobs', () => {
  let database: Awaited<ReturnType<typeof cloneDatabase>>;
  let service: GraphqlService;

  beforeAll(async () => {
    database = await cloneDatabase();
    service = await startGraphql(database.url);
    const tenant = await makeTenant(service.context.db);
    service.admit('user', tenant);
    service.admit('display', tenant, { role: 'Display' });
  });
  afterAll(async () => {
    await service.stop();
    await database.drop();
  });

  const storedBody = async (batchId: string) =>
    (
      await service.context.db
        .selectFrom('batch_job')
        .select('body')
        .where('batch_id', '=', batchId)
        .executeTakeFirstOrThrow()
    ).body;

  test('an update reaches the batch under the names of REST: absent stays absent, null is null', async () => {
    const jobs = [
      {
        jobKey: 'J-1',
        designation: null,
        replaceLessons: true,
        lessons: [{ lessonKey: 'L-1', subject: null, classes: null, start: ahead('2027-01-11T08:00:00Z') }],
      },
    ];
    const { data, errors } = await service.run(UpdateLessonJobsDocument, { jobs });
    expect(errors).toBeUndefined();
    const result = data?.updateLessonJobs;
    if (result?.__typename !== 'BatchAccepted') throw new Error(JSON.stringify(result));
    expect(result.batch).toMatchObject({ operation: 'Update', validateOnly: false, onConflict: 'Fail' });
    expect(await storedBody(result.batch.id)).toEqual({
      JobID: 'J-1',
      Bezeichnung: null,
      ReplaceLektionList: true,
      LektionList: [{ LektionId: 'L-1', Beginn: ahead('2027-01-11T08:00:00Z'), Fach: null, Klassen: null }],
    });
  });

  test('a deletion names jobs, or lessons of them', async () => {
    const jobs = [{ jobKey: 'J-1', lessons: [{ lessonKey: 'L-1' }] }];
    const { data } = await service.run(DeleteLessonJobsDocument, { jobs });
    const result = data?.deleteLessonJobs;
    if (result?.__typename !== 'BatchAccepted') throw new Error(JSON.stringify(result));
    expect(result.batch.operation).toBe('Delete');
    expect(await storedBody(result.batch.id)).toEqual({ JobID: 'J-1', LektionList: [{ LektionId: 'L-1' }] });
  });

  test('the options are those of the batch', async () => {
    const options = { validateOnly: true, onConflict: 'Skip' as const };
    const { data } = await service.run(UpdateLessonJobsDocument, { jobs: [{ jobKey: 'J-1' }], options });
    expect(data?.updateLessonJobs).toMatchObject({ batch: { validateOnly: true, onConflict: 'Skip' } });
  });

  test('one idempotencyKey for another operation: ValidationProblem', async () => {
    const variables = { jobs: [{ jobKey: 'J-1' }], options: { idempotencyKey: 'key' } };
    await service.run(UpdateLessonJobsDocument, variables);
    const { data } = await service.run(DeleteLessonJobsDocument, variables);
    expect(data?.deleteLessonJobs).toMatchObject({ __typename: 'ValidationProblem', code: 'InvalidInput' });
  });

  test('FORBIDDEN for a display', async () => {
    const { data } = await service.run(DeleteLessonJobsDocument, { jobs: [{ jobKey: 'J-1' }] }, 'display');
    expect(data?.deleteLessonJobs).toMatchObject({ __typename: 'ForbiddenProblem', code: 'Forbidden' });
    const lists = [
      await service.run(ListLessonsDocument, {}, 'display'),
      await service.run(ListLessonJobsDocument, {}, 'display'),
    ];
    expect(lists.map(({ errors }) => errors?.[0]?.extensions['code'])).toEqual(['FORBIDDEN', 'FORBIDDEN']);
  });

  test('LimitProblem when too many batches are open', async () => {
    const run = () => service.run(CreateLessonJobsDocument, { jobs: [{ jobKey: 'J-1', lessons: [] }] });
    let answer = await run();
    for (let sent = 0; sent < 20; sent++) answer = await run();
    expect(answer.data?.createLessonJobs).toMatchObject({
      __typename: 'LimitProblem',
      code: 'LimitExceeded',
    });
  });
});

describe('lessonJobs and lessons', () => {
  let service: Service;
  let rest: LessonClient;
  let token: string;

  beforeAll(async () => {
    service = await startService();
    token = await service.signIn(service.tenant, 'Importer');
    rest = lessonClient(service, token);
    const jobs = makeJobs(12, { perJob: 3 });
    Object.assign(jobs[0] ?? {}, { Bezeichnung: 'Mathematik', Standort: 'Campus' });
    Object.assign(jobs[0]?.LektionList[0] ?? {}, {
      Fach: 'M',
      Klassen: ['1a'],
      Privat: true,
      KopplungId: 'K',
    });
    expect((await rest.importJobs(jobs)).ImportStatus).toBe('LessonsCreated');
  });
  afterAll(() => service.stop());

  async function run<Data, Variables>(document: TypedDocumentString<Data, Variables>, variables: Variables) {
    const answer = await fetch(`${service.url}/school/graphql`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ query: document.toString(), variables }),
    });
    return readPlain<{ data: Data; errors?: { extensions: { code: string } }[] }>(await answer.text());
  }

  async function camel<Record>(path: string): Promise<Record[]> {
    const answer = await rest.call(path, { headers: { 'X-JsonPropertyFormat': 'camel' } });
    return ((await answer.json()) as { items: Record[] }).items;
  }

  type Lesson = NonNullable<ListLessonsQuery['lessons']>['nodes'][number];
  type Job = NonNullable<ListLessonJobsQuery['lessonJobs']>['nodes'][number];

  test.each<[string, ListLessonsQueryVariables['filter']]>([
    ['', null],
    ['JobID=J0', { jobKey: 'J0' }],
    ['RessourceName=r002', { resourceName: 'r002' }],
    [
      ahead('From=2027-02-01T07:30:00Z&To=2027-02-02T07:00:00Z'),
      { from: ahead('2027-02-01T07:30:00Z'), to: ahead('2027-02-02T07:00:00Z') },
    ],
    ['JobID=unknown', { jobKey: 'unknown' }],
  ])('lessons: the same values as REST with %j', async (query, filter) => {
    const { data } = await run(ListLessonsDocument, { filter });
    const items = await camel<Lesson>(`/../lessons?${query}`);
    expect(data.lessons!.nodes).toEqual(
      items.map((item) => ({ ...item, bookingId: String(item.bookingId), ressourceId: String(item.ressourceId) })),
    );
    expect(items.length === 0).toBe(query.includes('unknown'));
  });

  test('Vary names what an answer hangs on', async () => {
    const answer = await fetch(`${service.url}/school/graphql`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: '{"query":"{ serverTime }"}',
    });
    expect([answer.status, answer.headers.get('vary')]).toEqual([200, expect.stringMatching(/\bAuthorization\b/)]);
  });

  test('lessonJobs: the same values as REST', async () => {
    const { data } = await run(ListLessonJobsDocument, {});
    const items = await camel<Job>('');
    expect(items).toHaveLength(4);
    expect(data.lessonJobs!.nodes).toEqual(
      items.map(({ createdBy, ...item }) => ({
        ...item,
        createdBy: { ...createdBy, personId: String(createdBy.personId) },
      })),
    );
    const one = await run(ListLessonJobsDocument, { jobKey: 'J2' });
    expect(one.data.lessonJobs!.nodes.map(({ jobID }) => jobID)).toEqual(['J2']);
  });

  test('pages: each lesson once', async () => {
    const seen: string[] = [];
    let after: string | null = null;
    do {
      const { data }: { data: ListLessonsQuery } = await run(ListLessonsDocument, { first: 5, after });
      seen.push(...data.lessons!.nodes.map(({ lektionId }) => lektionId));
      after = data.lessons!.pageInfo.hasNextPage ? data.lessons!.pageInfo.endCursor : null;
    } while (after);
    expect([seen.length, new Set(seen).size]).toEqual([12, 12]);
    const jobs = await run(ListLessonJobsDocument, { first: 3 });
    const rest = await run(ListLessonJobsDocument, { after: jobs.data.lessonJobs!.pageInfo.endCursor });
    expect(rest.data.lessonJobs!.nodes.map(({ jobID }) => jobID)).toEqual(['J0']);
  });

  test.each([1600, 2300])('pages: lessons of the year %i', async (year) => {
    const name = 'R'.repeat(200);
    const { db } = service.context;
    const { mandatorId, locationId } = service.tenant;
    await db
      .insertInto('resource')
      .values({ mandator_id: mandatorId, location_id: locationId, name })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    const from = Date.UTC(year, 0, 4, 8);
    const jobs = makeJobs(5, { rooms: [name], prefix: `year-${year}-`, from });
    expect((await rest.importJobs(jobs)).ImportStatus).toBe('LessonsCreated');
    const filter = {
      resourceName: name,
      from: `${year}-01-01T00:00:00Z`,
      to: `${year + 1}-01-01T00:00:00Z`,
    };
    const seen: string[] = [];
    for (let after: string | null = null; seen.length < 5; ) {
      const { data, errors }: { data: ListLessonsQuery; errors?: unknown } = await run(ListLessonsDocument, {
        filter,
        first: 2,
        after,
      });
      expect(errors).toBeUndefined();
      seen.push(...data.lessons!.nodes.map(({ lektionId }) => lektionId));
      after = data.lessons!.pageInfo.endCursor ?? null;
    }
    expect(seen).toEqual(jobs[0]?.LektionList.map(({ LektionId }) => LektionId));
  });

  test('a page of 200 with every field is within the limits', async () => {
    expect((await run(ListLessonsDocument, { first: 200 })).errors).toBeUndefined();
  });

  test('BAD_USER_INPUT for the cursor of another list', async () => {
    const { data } = await run(ListLessonJobsDocument, { first: 1 });
    const after = data.lessonJobs!.pageInfo.endCursor;
    for (const document of [ListLessonsDocument, ListBatchesDocument]) {
      const { errors } = await run<unknown, { after: string | null }>(document, { after });
      expect(errors?.[0]?.extensions.code).toBe('BAD_USER_INPUT');
    }
  });
});
