/** A small body may have half a million findings: the first ones are kept, the others counted by code. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { type LessonClient, lessonClient, makeJobs } from '../_util/lessons.ts';
import { type Service, startService } from '../_util/service.ts';

type Omitted = { Severity: string; Code: string; Count: number };
type Page = { Items: Record<string, unknown>[]; NextCursor: string | null; OmittedErrors: Omitted[] };

const kept = 10_000;
let service: Service;
let client: LessonClient;

beforeAll(async () => {
  service = await startService();
  client = lessonClient(service, await service.signIn());
});
afterAll(() => service.stop());

const unknown = Object.fromEntries(Array.from({ length: 20 }, (_, number) => [`x${number}`, 0]));
const day = 86_400_000;
const placed = (number: number) => {
  const beginn = Date.UTC(2031, 0, 6, 8) + number * day;
  const [Beginn, Ende] = [beginn, beginn + day / 48].map((at) => new Date(at).toISOString());
  return { LektionId: `${number}`, RessourceName: 'R001', Beginn, Ende };
};

/** What is stored of a batch's findings, by severity. */
async function stored(batchId: string): Promise<Record<string, number>> {
  const { rows } = await sql<{ severity: string; n: number }>`
    select severity, count(*)::int as n from batch_error where batch_id = ${batchId}::uuid group by 1`.execute(
    service.context.db,
  );
  return Object.fromEntries(rows.map(({ severity, n }) => [severity, n]));
}

describe('a body with more errors and warnings than are kept', () => {
  const lessons = 2_600;
  const omitted = [
    { Severity: 'Error', Code: 'MissingField', Count: 4 * lessons - kept },
    { Severity: 'Warning', Code: 'UnknownField', Count: 20 * lessons - kept },
  ];

  test('counts are exact, the first of each are kept, and every face says how many more there are', async () => {
    const list = [{ ...unknown, RessourceName: 7 }, ...Array.from({ length: lessons - 1 }, () => unknown)];
    const batch = await client.importJobs([{ JobID: 'J', LektionList: list }]);
    expect(batch).toMatchObject({
      ImportStatus: 'LessonsImportFailed',
      FailureKind: 'Data',
      ErrorCount: 4 * lessons,
      WarningCount: 20 * lessons,
      OmittedErrors: omitted,
    });
    const lines = String(batch.ErrorMessages).split('\n');
    expect([lines.length, lines.at(-1)]).toEqual([51, `... and ${4 * lessons - 50} more`]);
    expect(await stored(batch.BatchId)).toEqual({ Error: kept, Warning: kept });

    const page = await client.get<Page>(`/batches/${batch.BatchId}/errors?Limit=24`);
    expect(page.OmittedErrors).toEqual(omitted);
    const places = page.Items.map(({ Severity, LektionIndex, Field }) => [Severity, LektionIndex, Field]);
    expect(places.slice(0, 4).map(([severity, index]) => [severity, index])).toEqual(
      Array.from({ length: 4 }, () => ['Error', 0]),
    );
    expect(places.filter(([severity]) => severity === 'Warning')).toHaveLength(20);

    const answer = await client.call('/../../../graphql', {
      method: 'POST',
      body: JSON.stringify({
        query: `{ batch(id: "${batch.BatchId}") { errorCount omittedErrors { severity code count } } }`,
      }),
      headers: { 'Content-Type': 'application/json' },
    });
    const { data } = (await answer.json()) as { data: { batch: Record<string, unknown> } };
    expect(data.batch).toEqual({
      errorCount: 4 * lessons,
      omittedErrors: omitted.map(({ Severity, Code, Count }) => ({
        severity: Severity,
        code: Code,
        count: Count,
      })),
    });
  });
});

test('a flood of warnings keeps no error out, and a success has its warnings counted', async () => {
  const flood = Array.from({ length: 600 }, (_, number) => ({ ...placed(number), ...unknown }));
  const warnings = [{ Severity: 'Warning', Code: 'UnknownField', Count: 600 * 20 - kept }];
  const wrong = [...flood, { ...placed(601), RessourceName: 'Nowhere' }];
  expect(await client.importJobs([{ JobID: 'F', LektionList: wrong }])).toMatchObject({
    ErrorCount: 1,
    ErrorMessages: expect.stringContaining('Unknown resource: Nowhere'),
    WarningCount: 600 * 20,
    OmittedErrors: warnings,
  });
  const created = await client.importJobs([{ JobID: 'F', LektionList: flood }]);
  expect(created).toMatchObject({
    ImportStatus: 'LessonsCreated',
    CreatedCount: 600,
    WarningCount: 600 * 20,
    OmittedErrors: warnings,
  });
  expect(await stored(created.BatchId)).toEqual({ Warning: kept });
});

test('a batch shows its errors before its warnings, however many warnings come first', async () => {
  const warnedLessons = Array.from({ length: 120 }, (_, number) => ({
    ...placed(number),
    RessourceName: 'R002',
    Extra: 0,
  }));
  const lessons = [...warnedLessons, { LektionId: 'last' }];
  const batch = await client.importJobs([{ JobID: 'Warned', LektionList: lessons }]);
  expect(batch).toMatchObject({ ErrorCount: 3, WarningCount: 120 });
  const shown = batch.Errors.map(({ Severity, LektionIndex }) => [Severity, LektionIndex]);
  const warned = Array.from({ length: 97 }, (_, number) => ['Warning', number]);
  expect(shown).toEqual([...Array.from({ length: 3 }, () => ['Error', 120]), ...warned]);
});

test('up to the bound all are kept, and nothing is said to be missing', async () => {
  const list = Array.from({ length: 499 }, (_, number) => ({
    ...placed(number),
    RessourceName: 'Nowhere',
    ...unknown,
  }));
  const batch = await client.importJobs([{ JobID: 'U', LektionList: list }]);
  expect(batch).toMatchObject({ ErrorCount: 499, WarningCount: 9_980, OmittedErrors: [] });
  expect(await stored(batch.BatchId)).toEqual({ Error: 499, Warning: 9_980 });
});

test('lessons whose rooms are occupied are looked up one by one: none is compared with all jobs, or the whole plan', async () => {
  const { db } = service.context;
  // Notes how many rows an import that fails has read of each table that it has staged.
  await sql`create table rows_read (name text, count bigint)`.execute(db);
  await sql`
    create function note_rows() returns trigger language plpgsql as $$ begin
      insert into rows_read select relname, seq_tup_read + coalesce(idx_tup_fetch, 0)
        from pg_stat_xact_all_tables where schemaname like 'pg_temp_%';
      return null;
    end $$`.execute(db);
  await sql`
    create trigger noted after update on batch for each row
    when (new.import_status = 'LessonsImportFailed') execute function note_rows()`.execute(db);

  const lessons = 1_000;
  await client.importJobs(makeJobs(lessons, { perJob: 2 }));
  await sql`analyze booking, lesson`.execute(db);
  const batch = await client.importJobs(makeJobs(lessons, { perJob: 2, prefix: 'K' }));
  expect(batch).toMatchObject({ ImportStatus: 'LessonsImportFailed', ErrorCount: lessons });
  const { rows } = await sql<{ name: string; count: number }>`select name, count::int from rows_read`.execute(db);
  expect(rows.map(({ name }) => name)).toEqual(expect.arrayContaining(['staged_job', 'staged_lesson', 'booking_plan']));
  expect(rows.filter(({ count }) => count > 100 * lessons)).toEqual([]);
});

test('a body with a warning: its findings are looked for with all plans, and only what it writes is found by its keys', async () => {
  const { db } = service.context;
  // What the planner may do, by the table that is written at that time.
  await sql`create table planned (what text, settings text)`.execute(db);
  await sql`
    create function record_plans() returns trigger language plpgsql as $$
    begin
      insert into planned select tg_table_name, string_agg(current_setting(name), ' ' order by name)
      from unnest(array['enable_bitmapscan', 'enable_seqscan']) as name;
      return null;
    end $$`.execute(db);
  for (const table of ['booking', 'batch_error'])
    await sql`create trigger planned after insert on ${sql.table(table)} execute function record_plans()`.execute(db);
  expect(await client.importJobs([{ JobID: 'planned', LektionList: [{ ...placed(700), odd: 1 }] }])).toMatchObject({
    ImportStatus: 'LessonsCreated',
    WarningCount: 1,
  });
  const { rows } = await sql`select distinct what, settings from planned order by what`.execute(db);
  expect(rows).toEqual([
    { what: 'batch_error', settings: 'on on' },
    { what: 'booking', settings: 'off off' },
  ]);
});
