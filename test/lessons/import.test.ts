import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { nextYear } from '../_util/ahead.ts';
import { makeTenant } from '../_util/factories.ts';
import {
  type BatchRecord,
  firstMonday,
  type Job,
  type Lesson,
  type LessonClient,
  lessonClient,
  makeJobs,
} from '../_util/lessons.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';

const rooms = Array.from({ length: 20 }, (_, number) => `R${String(number + 1).padStart(3, '0')}`);
let service: Service;
let client: LessonClient;

beforeAll(async () => {
  service = await startService({ Limits__JobsPerBatch: '2000', Limits__LessonsPerBatch: '12000' }, rooms);
  client = lessonClient(service, await service.signIn());
});
afterAll(() => service.stop());

let terms = 0;
/** Jobs in a time of their own, so that tests do not meet. */
const freshJobs = (lessons: number, prefix: string) =>
  makeJobs(lessons, { rooms, prefix, from: firstMonday + 7 * 86_400_000 * 52 * ++terms });

async function count(table: 'lesson' | 'booking' | 'lesson_job'): Promise<number> {
  const { n } = await service.context.db
    .selectFrom(table)
    .select(({ fn }) => fn.countAll<number>().as('n'))
    .executeTakeFirstOrThrow();
  return n;
}

async function everything() {
  return [await count('lesson'), await count('booking'), await count('lesson_job')];
}

/** Hears what is told of batches. */
async function openWatcher() {
  const heard: string[] = [];
  const listener = new pg.Client(service.context.config.DatabaseUrl);
  listener.on('notification', ({ payload = '' }) => heard.push(payload));
  await listener.connect();
  await listener.query('listen roomgate');
  return {
    async timesHeard(batch: BatchRecord): Promise<number> {
      // What is heard comes in the order of the commits.
      await sql`select pg_notify('roomgate', 'last')`.execute(service.context.db);
      while (!heard.includes('last')) await listener.query('select');
      return heard.filter((payload) => payload.endsWith(`:${batch['BatchId']}`)).length;
    },
    end: () => listener.end(),
  };
}

const lessonOf = (job: Job | undefined, index = 0) => job?.LektionList[index] as Lesson;

describe('LessonsCreated', () => {
  test('every lesson has its booking, and the counts are exact', async () => {
    const before = await everything();
    const batch = await client.importJobs(freshJobs(1_000, 'whole-'));
    expect(batch).toMatchObject({
      ImportStatus: 'LessonsCreated',
      Operation: 'Create',
      JobCount: 67,
      LessonCount: 1_000,
      ProcessedCount: 1_000,
      CreatedCount: 1_000,
      ErrorCount: 0,
      WarningCount: 0,
      FailureKind: null,
      ErrorMessages: null,
      Errors: [],
      QueuePosition: null,
      CreatedBy: { DisplayName: 'User of school' },
    });
    expect(await everything()).toEqual([before[0]! + 1_000, before[1]! + 1_000, before[2]! + 67]);
    const { rows } = await sql`select from batch_job where body is not null`.execute(service.context.db);
    expect(rows).toEqual([]);
  });

  test('no table is made for a batch without faults and warnings, also where opening hours are known', async () => {
    const fresh = await startService({}, rooms);
    const { db } = fresh.context;
    const { mandatorId, locationId } = fresh.tenant;
    const always = { weekdays: [1, 2, 3, 4, 5, 6, 7], opens: '00:00', closes: '24:00' };
    await db
      .insertInto('opening_rule')
      .values({ mandator_id: mandatorId, location_id: locationId, ...always })
      .execute();
    const { importJobs } = lessonClient(fresh, await fresh.signIn());
    const soon = Math.floor(Date.now() / 604_800_000) * 604_800_000 + 4 * 604_800_000;
    const jobs = makeJobs(30, { rooms, from: soon });
    // Noted before they go with the transaction. Schemas of temporary tables stay, and sessions share them one after another.
    await sql`create table made (name text)`.execute(db);
    await sql`
      create function note_tables() returns trigger language plpgsql as $$ begin
        insert into made select relname from pg_class where relnamespace = pg_my_temp_schema() and relkind = 'r';
        return null;
      end $$`.execute(db);
    await sql`
      create trigger noted after update on batch for each row
      when (new.import_status in ('LessonsCreated', 'LessonsImportFailed')) execute function note_tables()`.execute(db);
    const made = async () =>
      (await sql<{ name: string }>`select name from made`.execute(db)).rows.map(({ name }) => name);
    expect(await importJobs(jobs)).toMatchObject({ CreatedCount: 30, WarningCount: 0 });
    expect(await made()).toEqual([]);
    expect(await importJobs(jobs)).toMatchObject({ CreatedCount: 0, ErrorCount: 2 });
    expect(await made()).toContain('staged_lesson');
    await fresh.stop();
  });

  test('watchers of a small batch hear that it is stored, started, processed and has ended', async () => {
    const watcher = await openWatcher();
    expect(await watcher.timesHeard(await client.importJobs(freshJobs(30, 'quiet-')))).toBe(4);
    await watcher.end();
  });

  /** Of the bookings of a database: how often an index of them was asked, and the entries that were read. */
  async function readsOf({ context }: Service) {
    const { rows } = await sql<{ checks: string; reads: string }>`
      select sum(idx_scan) as checks, sum(idx_tup_read) as reads from pg_stat_user_indexes
      where relname = 'booking'`.execute(context.db);
    return { checks: Number(rows[0]!.checks), reads: Number(rows[0]!.reads) };
  }

  test('what is in the way of a faulty batch is found without reading all bookings of its rooms', async () => {
    const fresh = await startService({}, ['R001']);
    const { importJobs } = lessonClient(fresh, await fresh.signIn());
    const inOneRoom = (lessons: number, prefix: string, year: number) =>
      makeJobs(lessons, { rooms: ['R001'], prefix, from: Date.UTC(year, 0, 4, 7) });
    await importJobs(inOneRoom(3_000, 'stored-', nextYear));
    await sql`analyze booking`.execute(fresh.context.db);
    await until('the import is told', async () => (await readsOf(fresh)).checks > 3_000);
    const before = await readsOf(fresh);
    const jobs = inOneRoom(1_000, 'faulty-', nextYear + 10);
    lessonOf(jobs.at(-1)).RessourceName = 'Nowhere';
    expect(await importJobs(jobs)).toMatchObject({ ErrorCount: 1, ImportStatus: 'LessonsImportFailed' });
    // Sessions tell what they did a little later.
    await until('all is told', async () => (await readsOf(fresh)).checks > before.checks + 990);
    expect((await readsOf(fresh)).reads - before.reads).toBeLessThan(20_000);
    await fresh.stop();
  });

  test('a large batch reads no more for each lesson after small ones than a first one does', async () => {
    const fresh = await startService({}, rooms);
    const { importJobs } = lessonClient(fresh, await fresh.signIn());
    // The sessions of a worker come to plans of their own after some checks of a kind.
    for (let small = 0; small < 4; small++) await importJobs(freshJobs(5, `small-${small}-`));
    await importJobs(freshJobs(3_000, 'large-'));
    // Sessions tell what they did a little later.
    await until('all is told', async () => (await readsOf(fresh)).checks > 6_000);
    expect((await readsOf(fresh)).reads).toBeLessThan(20_000);
    await fresh.stop();
  });

  test('the job and the booking of each lesson are found by their keys, however few are stored', async () => {
    const fresh = await startService({}, rooms);
    const { db } = fresh.context;
    const { importJobs } = lessonClient(fresh, await fresh.signIn());
    await importJobs(freshJobs(30, 'first-'));
    // A table that was never vacuumed is planned as if it were larger.
    await sql`vacuum analyze lesson_job, booking`.execute(db);
    await sql`create table scanned (name text, rows bigint)`.execute(db);
    await sql`
      create function note_scans() returns trigger language plpgsql as $$ begin
        insert into scanned select relname, seq_tup_read from pg_stat_xact_user_tables where relname in ('lesson_job', 'booking');
        return null;
      end $$`.execute(db);
    await sql`
      create trigger noted after update on batch for each row
      when (new.import_status = 'LessonsCreated') execute function note_scans()`.execute(db);
    expect(await importJobs(freshJobs(600, 'few-'))).toMatchObject({ CreatedCount: 600 });
    const { rows } = await sql<{ name: string; rows: number }>`
      select name, rows::int from scanned order by name`.execute(db);
    expect(rows).toEqual([
      { name: 'booking', rows: 0 },
      { name: 'lesson_job', rows: 0 },
    ]);
    await fresh.stop();
  });

  test('bookings are of Kind Lesson, with title, room and time', async () => {
    const jobs = freshJobs(1, 'title-');
    Object.assign(lessonOf(jobs[0]), { Titel: 'Algebra', Fach: 'Math', Klassen: ['1a', '1b'], Privat: true });
    await client.importJobs(jobs);
    const booking = await service.context.db
      .selectFrom('booking')
      .innerJoin('lesson', 'lesson.booking_id', 'booking.id')
      .innerJoin('resource', 'resource.id', 'booking.resource_id')
      .select([
        'booking.kind',
        'booking.status',
        'subject',
        'is_private',
        'resource.name',
        'klassen',
        sql<Date>`lower(occupied)`.as('start'),
      ])
      .where('subject', '=', 'Algebra')
      .executeTakeFirstOrThrow();
    expect(booking).toEqual({
      kind: 'Lesson',
      status: 'Confirmed',
      subject: 'Algebra',
      is_private: true,
      name: lessonOf(jobs[0]).RessourceName,
      klassen: ['1a', '1b'],
      start: new Date(lessonOf(jobs[0]).Beginn),
    });
  });

  test('names are compared trimmed, in NFC and case-insensitively; members in either spelling', async () => {
    const [job] = freshJobs(1, 'names-');
    const { Beginn, Ende } = lessonOf(job);
    const body = [
      {
        jobId: 'spelled',
        lektionList: [{ lektionId: '1', beginn: Beginn, ende: Ende, ressourceName: ' r001\t' }],
      },
    ];
    expect(await client.importJobs(body)).toMatchObject({ ImportStatus: 'LessonsCreated', WarningCount: 0 });
  });

  test('the last of two members of one name counts, and the one in Pascal case of two spellings', async () => {
    const lists = freshJobs(2, 'again-').flatMap(({ LektionList }) => LektionList);
    const [first, second] = lists.map((lesson) => JSON.stringify([lesson]));
    const body = `[{"JobID":"again-0","JobID":"again-1","jobID":"again-2","LektionList":${first},"LektionList":${second}}]`;
    const { ImportStatus, WarningCount } = await client.importJobs(body);
    expect([ImportStatus, WarningCount]).toEqual(['LessonsCreated', 0]);
    const { Items } = await client.lessons('JobID=again-1');
    expect(Items.map(({ LektionId }) => LektionId)).toEqual([lists[1]?.LektionId]);
  });

  test('an offset is normalised; a lesson may begin when another ends', async () => {
    const [job] = freshJobs(1, 'offset-');
    const lesson = lessonOf(job);
    const next = {
      ...lesson,
      LektionId: 'next',
      Beginn: lesson.Ende.replace('Z', '+00:00'),
      Ende: lesson.Ende.replace(/T.*/, 'T23:00:00.123+05:30'),
    };
    job?.LektionList.push(next);
    expect(await client.importJobs([job])).toMatchObject({ ImportStatus: 'LessonsCreated', LessonCount: 2 });
  });

  test('a cancelled lesson (Entfaellt) takes no room', async () => {
    const jobs = freshJobs(1, 'cancelled-');
    const before = await everything();
    jobs[0]?.LektionList.push({ ...lessonOf(jobs[0]), LektionId: 'off', Status: 'Entfaellt' });
    expect(await client.importJobs(jobs)).toMatchObject({ ImportStatus: 'LessonsCreated', CreatedCount: 2 });
    expect(await everything()).toEqual([before[0]! + 2, before[1]! + 2, before[2]! + 1]);
    const { rows } = await sql`
      select booking.status from lesson join booking on booking.id = lesson.booking_id where lektion_id = 'off'`.execute(
      service.context.db,
    );
    expect(rows).toEqual([{ status: 'Cancelled' }]);
  });

  test('coupled lessons share one booking, within a batch and with one that is there', async () => {
    const [job] = freshJobs(1, 'coupled-');
    const coupled = (JobID: string) => ({
      JobID,
      LektionList: [{ ...lessonOf(job), KopplungId: `K-${terms}` }],
    });
    const before = await everything();
    await client.importJobs([coupled('couple-a'), coupled('couple-b')]);
    expect(await client.importJobs([coupled('couple-c')])).toMatchObject({ ImportStatus: 'LessonsCreated' });
    expect(await everything()).toEqual([before[0]! + 3, before[1]! + 1, before[2]! + 3]);
  });

  test('warnings do not stop it: AssumedUtc, UnknownField, PastLesson', async () => {
    const past = makeJobs(1, { rooms, prefix: 'past-', from: Date.UTC(2020, 0, 6, 7) });
    const [job] = freshJobs(1, 'warned-');
    const lesson = lessonOf(job);
    Object.assign(lesson, { Beginn: lesson.Beginn.replace('Z', ''), Farbe: 'blue' });
    const batch = await client.importJobs([...past, { ...job, Nummer: 7 }]);
    expect(batch).toMatchObject({
      ImportStatus: 'LessonsCreated',
      ErrorCount: 0,
      WarningCount: 4,
      ErrorMessages: null,
    });
    expect(batch.Errors.map(({ Severity, Code, Pointer }) => [Severity, Code, Pointer])).toEqual([
      ['Warning', 'PastLesson', '/0/LektionList/0/Ende'],
      ['Warning', 'UnknownField', '/1/Nummer'],
      ['Warning', 'AssumedUtc', '/1/LektionList/0/Beginn'],
      ['Warning', 'UnknownField', '/1/LektionList/0/Farbe'],
    ]);
  });

  test('OutsideOpeningHours is a warning, in the zone of the room', async () => {
    const { db } = service.context;
    const other = await makeTenant(db, { code: 'hours', rooms: ['R1'], timeZone: 'America/New_York' });
    await db
      .insertInto('opening_rule')
      .values({
        mandator_id: other.mandatorId,
        location_id: other.locationId,
        weekdays: [1, 2, 3, 4, 5, 6, 7],
        opens: '08:00',
        closes: '18:00',
      })
      .execute();
    const own = lessonClient({ url: service.url, tenant: other }, await service.signIn(other));
    const day = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10);
    const lesson = (LektionId: string, from: string, to: string) => ({
      LektionId,
      Beginn: `${day}T${from}:00Z`,
      Ende: `${day}T${to}:00Z`,
      RessourceName: 'R1',
    });
    const batch = await own.importJobs([
      { JobID: 'h', LektionList: [lesson('open', '14:00', '15:00'), lesson('early', '10:00', '11:00')] },
    ]);
    expect(batch.Errors.map(({ Code, LektionId }) => [Code, LektionId])).toEqual([['OutsideOpeningHours', 'early']]);
    expect(batch.ImportStatus).toBe('LessonsCreated');
  });

  test('OutsideOpeningHours asks each room for its own hours, with lessons that follow one another, and across midnight', async () => {
    const { db } = service.context;
    const other = await makeTenant(db, {
      code: 'nights',
      rooms: ['Day', 'Night', 'Closed', 'Always'],
      timeZone: 'UTC',
    });
    const [day, night, closed] = other.resources.map(({ id }) => id);
    const owner = { mandator_id: other.mandatorId, location_id: other.locationId };
    const weekdays = [1, 2, 3, 4, 5, 6, 7];
    await db
      .insertInto('opening_rule')
      .values([
        { ...owner, resource_id: day, weekdays, opens: '08:00', closes: '18:00' },
        { ...owner, resource_id: night, weekdays, opens: '18:00', closes: '02:00' },
        { ...owner, resource_id: closed, weekdays: [1], opens: '08:00', closes: '09:00' },
      ])
      .execute();
    const own = lessonClient({ url: service.url, tenant: other }, await service.signIn(other));
    const monday = Math.floor(Date.now() / 604_800_000) * 604_800_000 + 6 * 604_800_000 - 3 * 86_400_000;
    const at = (hour: number) => new Date(monday + hour * 3_600_000).toISOString();
    const lesson = (LektionId: string, RessourceName: string, from: number, to: number) => ({
      LektionId,
      RessourceName,
      Beginn: at(from),
      Ende: at(to),
    });
    const date = at(0).slice(0, 10);
    /** A lesson that takes place on another day in UTC. */
    const local = (LektionId: string, from: string, to: string) => ({
      LektionId,
      RessourceName: 'Day',
      Beginn: `${date}${from}`,
      Ende: `${date}${to}`,
    });
    const outside = ['day, longer', 'night, longer', 'night, by day', 'tuesday', 'west', 'east'];
    const all = [
      lesson('day, first', 'Day', 8, 10),
      lesson('day, second', 'Day', 10, 17),
      lesson('day, longer', 'Day', 17, 18.25),
      lesson('night, first', 'Night', 18, 24),
      lesson('night, second', 'Night', 24, 25),
      lesson('night, longer', 'Night', 25, 26.25),
      lesson('night, by day', 'Night', 40, 41),
      lesson('monday', 'Closed', 8, 9),
      lesson('tuesday', 'Closed', 32, 33),
      lesson('no hours are known', 'Always', 3, 4),
      local('west', 'T14:00:00-12:00', 'T15:00:00-12:00'),
      local('east', 'T10:00:00+14:00', 'T11:00:00+14:00'),
    ];
    const found = async (list: typeof all, JobID: string) =>
      (await own.importJobs([{ JobID, LektionList: list }])).Errors.map(({ LektionId }) => LektionId);
    expect(await found(all, 'all')).toEqual(outside);
    await own.importJobs([{ JobID: 'all' }], 'delete');
    expect(
      await found(
        all.filter(({ LektionId }) => !outside.includes(LektionId)),
        'inside',
      ),
    ).toEqual([]);
    await own.importJobs([{ JobID: 'inside' }], 'delete');
    for (const LektionId of outside) {
      expect(
        await found(
          all.filter((one) => one.LektionId === LektionId),
          LektionId,
        ),
      ).toEqual([LektionId]);
      await own.importJobs([{ JobID: LektionId }], 'delete');
    }
  });
});

test('OutsideOpeningHours is not reported for a lesson at the end of the days whose hours are read, nor beyond', async () => {
  const { db } = service.context;
  const other = await makeTenant(db, { code: 'horizon', rooms: ['Always', 'Never'], timeZone: 'Europe/Berlin' });
  const [always, never] = other.resources.map(({ id }) => id);
  const owner = { mandator_id: other.mandatorId, location_id: other.locationId };
  const weekdays = [1, 2, 3, 4, 5, 6, 7];
  await db
    .insertInto('opening_rule')
    .values([
      { ...owner, resource_id: always, weekdays, opens: '00:00', closes: '24:00' },
      { ...owner, resource_id: never, weekdays, opens: '00:00', closes: '24:00', valid_to: '2000-01-01' },
    ])
    .execute();
  const own = lessonClient({ url: service.url, tenant: other }, await service.signIn(other));
  const half = 1_800_000;
  const lesson = (RessourceName: string, days: number, from = -half, to = half) => {
    const at = Date.now() + days * 86_400_000;
    return {
      LektionId: `${RessourceName} ${days} ${from}`,
      RessourceName,
      Beginn: new Date(at + from).toISOString(),
      Ende: new Date(at + to).toISOString(),
    };
  };
  const LektionList = [-800, 800].flatMap((days) => [
    lesson('Always', days),
    lesson('Always', days + Math.sign(days)),
    lesson('Never', days),
    lesson('Never', days + Math.sign(days)),
  ]);
  const batch = await own.importJobs([{ JobID: 'h', LektionList }]);
  const told = batch.Errors.filter(({ Code }) => Code === 'OutsideOpeningHours').map(({ LektionId }) => LektionId);
  expect([batch.ImportStatus, told]).toEqual(['LessonsCreated', [`Never -800 ${-half}`, `Never 800 ${-half}`]]);
});

test('opening hours that are too many are not compared with the lessons, which a warning says: the batch is imported', async () => {
  const { db } = service.context;
  const names = Array.from({ length: 9 }, (_, number) => `Busy ${number}`);
  const other = await makeTenant(db, { code: 'busy', rooms: names, timeZone: 'Europe/Berlin' });
  await db
    .insertInto('opening_rule')
    .values({
      mandator_id: other.mandatorId,
      location_id: other.locationId,
      weekdays: [1, 2, 3, 4, 5, 6, 7],
      opens: '08:00',
      closes: '09:00',
    })
    .execute();
  // As many as a resource may have, all of them on each date.
  await sql`
    insert into opening_exception (mandator_id, location_id, resource_id, from_date, to_date, closed, periods)
    select mandator_id, location_id, id, date '2000-01-01', date '2999-12-31', false, (
      select jsonb_agg(jsonb_build_object('opens', at, 'closes', to_char(at::time + interval '9 minutes', 'HH24:MI')))
      from generate_series(0, 23) as n, to_char(time '00:00' + n * interval '10 minutes', 'HH24:MI') as at)
    from resource, generate_series(1, 1000)
    where mandator_id = ${other.mandatorId}`.execute(db);
  const own = lessonClient({ url: service.url, tenant: other }, await service.signIn(other));
  const lesson = (RessourceName: string) => {
    const [Beginn, Ende] = [240, 241].map((hours) => new Date(Date.now() + hours * 3_600_000).toISOString());
    return { LektionId: RessourceName, RessourceName, Beginn, Ende };
  };
  const codesOf = ({ Errors }: BatchRecord) =>
    Errors.map(({ Severity, Code, LektionId }) => [Severity, Code, LektionId]);
  const tooMany = ['Warning', 'LimitExceeded', null];
  const all = [{ JobID: 'all', LektionList: names.map(lesson) }];
  const batch = await own.importJobs(all);
  expect([batch.ImportStatus, batch.WarningCount, codesOf(batch)]).toEqual(['LessonsCreated', 1, [tooMany]]);
  expect(batch.Errors[0]).toMatchObject({ Message: expect.stringContaining('more than 200000 exceptions') });
  const refused = await own.importJobs(all);
  expect([refused.ImportStatus, refused.WarningCount]).toEqual(['LessonsImportFailed', 1]);
  expect(codesOf(refused)).toEqual([['Error', 'DuplicateJobId', null], tooMany]);
  await own.importJobs([{ JobID: 'all' }], 'delete');
  const fewer = await own.importJobs([{ JobID: 'fewer', LektionList: [lesson('Busy 1')] }]);
  expect(codesOf(fewer)).toEqual([['Warning', 'OutsideOpeningHours', 'Busy 1']]);
});

describe('LessonsImportFailed', () => {
  test('the same file again: every JobID is a duplicate, and nothing changes', async () => {
    const jobs = freshJobs(300, 'twice-');
    await client.importJobs(jobs);
    const before = await everything();
    const again = await client.importJobs(jobs);
    expect(again).toMatchObject({
      ImportStatus: 'LessonsImportFailed',
      FailureKind: 'Data',
      ErrorCount: 20,
      CreatedCount: 0,
    });
    expect(again.ErrorMessages?.split('\n')).toEqual(
      jobs.map(({ JobID }) => `Duplicate JobId: ${JobID} (it is stored already; jobs/update changes it)`),
    );
    expect(await everything()).toEqual(before);
  });

  test('all 40 faults among 10,000 lessons are reported with their place; the corrected file then passes, and watchers hear of its progress', async () => {
    const jobs = freshJobs(10_005, 'forty-');
    const faulty = structuredClone(jobs);
    const wanted: string[] = [];
    const spoil = (at: number, code: string, field: string, change: (lesson: Lesson, job: Job) => void) => {
      const job = faulty[at * 16] as Job;
      change(job.LektionList[3] as Lesson, job);
      wanted.push(`/${at * 16}/LektionList/3/${field} ${code}`);
    };
    const spoilers: [string, string, (lesson: Lesson, job: Job) => void][] = [
      ['MissingField', 'LektionId', (lesson) => Object.assign(lesson, { LektionId: null })],
      ['MissingField', 'Beginn', (lesson) => Object.assign(lesson, { Beginn: undefined })],
      ['InvalidTime', 'Beginn', (lesson) => Object.assign(lesson, { Beginn: '2027-02-30T08:00:00Z' })],
      ['InvalidTime', 'Ende', (lesson) => Object.assign(lesson, { Ende: 'infinity' })],
      ['InvalidTime', 'Ende', (lesson) => Object.assign(lesson, { Ende: lesson.Beginn })],
      ['InvalidType', 'RessourceName', (lesson) => Object.assign(lesson, { RessourceName: 7 })],
      ['UnknownResource', 'RessourceName', (lesson) => Object.assign(lesson, { RessourceName: 'Nowhere' })],
      [
        'DuplicateLektionId',
        'LektionId',
        (lesson, job) => Object.assign(lesson, { LektionId: job.LektionList[0]?.LektionId }),
      ],
      ['InconsistentIdentifiers', 'RessourceId', (lesson) => Object.assign(lesson, { RessourceId: 999_999 })],
      ['InvalidType', 'Klassen', (lesson) => Object.assign(lesson, { Klassen: 'all' })],
    ];
    for (let at = 0; at < 40; at++) {
      const [code, field, change] = spoilers[at % spoilers.length] as (typeof spoilers)[number];
      spoil(at, code, field, change);
    }
    const before = await everything();
    const failed = await client.importJobs(faulty);
    expect(failed).toMatchObject({
      ImportStatus: 'LessonsImportFailed',
      ErrorCount: 40,
      LessonCount: 10_005,
    });
    expect(failed.Errors.map(({ Pointer, Code }) => `${Pointer} ${Code}`)).toEqual(wanted);
    for (const error of failed.Errors) {
      expect(error).toMatchObject({ JobID: faulty[error.Index]?.JobID, LektionIndex: 3 });
      expect(error.LektionId).toBe(faulty[error.Index]?.LektionList[3]?.LektionId);
    }
    expect(await everything()).toEqual(before);
    const watcher = await openWatcher();
    const passed = await client.importJobs(jobs);
    expect(passed).toMatchObject({ ImportStatus: 'LessonsCreated', CreatedCount: 10_005 });
    expect(await watcher.timesHeard(passed)).toBe(6);
    await watcher.end();
  });

  test.each([
    ['now', 'InvalidTime'],
    ['2027-02-01T24:00:00Z', 'InvalidTime'],
    ['2027-02-01T08:00:60Z', 'InvalidTime'],
    ['2027-13-01T08:00:00Z', 'InvalidTime'],
    ['294276-12-31T23:59:59Z', 'InvalidTime'],
    ['9999-12-31T23:59:59-14:00', 'InvalidTime'],
    ['0001-01-01T00:00:00+14:00', 'InvalidTime'],
    [' 027-02-01T08:00:00Z', 'InvalidTime'],
    ['2027-02- 1T08:00:00Z', 'InvalidTime'],
    ['2027-02-01', 'InvalidTime'],
    ['1e999', 'InvalidTime'],
    ['0000-01-01T00:00:00Z', 'InvalidTime'],
    [1_800_000_000, 'InvalidType'],
    ['', 'InvalidTime'],
  ])('Beginn %j: %s', async (Beginn, code) => {
    const [job] = freshJobs(1, 'time-');
    Object.assign(lessonOf(job), { Beginn });
    const batch = await client.importJobs([job]);
    expect(batch.Errors.map(({ Code, Pointer }) => [Code, Pointer])).toEqual([[code, '/0/LektionList/0/Beginn']]);
  });

  test('faults of jobs: missing, wrong and repeated JobID, no lessons, a list that is none', async () => {
    const [first, second] = freshJobs(30, 'jobs-');
    const list = { LektionList: first?.LektionList };
    const batch = await client.importJobs([
      list,
      { JobID: 5, LektionList: second?.LektionList },
      { JobID: 'same', ...list },
      { JobID: 'same', LektionList: [] },
      { JobID: 'text', LektionList: 'x' },
      { JobID: 'number', LektionList: [7] },
      { JobID: '', LektionList: null, Standort: 1 },
    ]);
    expect(
      batch.Errors.filter(({ Code }) => Code !== 'ResourceConflict').map(({ Pointer, Code }) => `${Pointer} ${Code}`),
    ).toEqual([
      '/0/JobID MissingField',
      '/1/JobID InvalidType',
      '/3/JobID DuplicateJobId',
      '/3/LektionList MissingField',
      '/4/LektionList InvalidType',
      '/5/LektionList/0 InvalidType',
      '/6/JobID InvalidType',
      '/6/Standort InvalidType',
      '/6/LektionList MissingField',
    ]);
  });

  test('numbers of few bytes and many digits are of a wrong type, as others, and never written out', async () => {
    const number = '1e131071';
    const numbers = `[${number},0e-16383]`;
    const [job] = freshJobs(1, 'digits-');
    const lessonWith = (member: string, value: string) =>
      JSON.stringify({ ...lessonOf(job), LektionId: member, [member]: 0 }).replace(/:0\b/, `:${value}`);
    const members: [string, string, string][] = [
      ['LektionId', numbers, 'an array with numbers'],
      ['Beginn', numbers, 'an array with numbers'],
      ['Ende', number, 'a number of many digits'],
      ['RessourceName', numbers, 'an array with numbers'],
      ['RessourceId', number, 'a number of many digits'],
      ['Titel', `{"deep":[${number}]}`, 'an object with numbers'],
      ['Fach', '0e-16383', 'a number of many digits'],
      ['Bemerkung', '-12.5', '-12.5'],
      ['Klassen', `["5a",${number}]`, 'an array with numbers'],
      ['Lehrpersonen', '{"Name":"Noether"}', '{"Name": "Noether"}'],
      ['Privat', '["ja"]', '["ja"]'],
    ];
    const sent = `[
      {"JobID":${numbers},"LektionList":[${number}]},
      {"JobID":"digits","LektionList":[${members.map(([member, value]) => lessonWith(member, value)).join()}]},
      {"JobID":"none","LektionList":${number}}]`;
    const answer = await client.post(sent);
    expect(answer.status).toBe(202);
    const batch = await client.end(((await answer.json()) as BatchRecord).BatchId);
    expect(batch).toMatchObject({ FailureKind: 'Data', ErrorMessages: expect.not.stringMatching(/0{20}/) });
    const told = (index: number) => batch.Errors.filter(({ Index }) => Index === index);
    expect(told(0).map(({ JobID, Message }) => [JobID, Message])).toEqual([
      [null, 'JobID must be a text of 1 to 128 characters, not an array with numbers'],
      [null, 'a lesson must be an object, not a number of many digits'],
    ]);
    expect(
      told(1)
        .filter(({ Code }) => Code === 'InvalidType')
        .map(({ Field, LektionId, Message }) => [Field, LektionId, Message.replace(/.*, not /, '')]),
    ).toEqual(members.map(([member, , shown]) => [member, member === 'LektionId' ? null : member, shown]));
    expect(told(2).map(({ Message }) => Message)).toEqual([
      'LektionList must be an array of lessons, not a number of many digits',
    ]);
    const { rows } = await sql`
      select from batch_job where batch_id = ${batch.BatchId} and length(job_id) > 10`.execute(service.context.db);
    expect(rows).toEqual([]);
  });

  test('an overlap within the body is reported at the later lesson; one with a booking names the booking', async () => {
    const [job] = freshJobs(2, 'clash-');
    await client.importJobs([job]);
    const [first, second] = [lessonOf(job, 0), lessonOf(job, 1)];
    const free = { Beginn: second.Ende, Ende: second.Ende.replace(/T.*/, 'T23:59:59Z') };
    const batch = await client.importJobs([
      {
        JobID: 'clash-a',
        LektionList: [
          { ...first, LektionId: 'taken' },
          { ...second, ...free, LektionId: 'ok' },
        ],
      },
      { JobID: 'clash-b', LektionList: [{ ...second, ...free, LektionId: 'inside' }] },
    ]);
    expect(batch.Errors.map(({ Code, LektionId }) => [Code, LektionId])).toEqual([
      ['ResourceConflict', 'taken'],
      ['ResourceConflict', 'inside'],
    ]);
    expect(batch.ErrorMessages).toMatch(/by booking \d+ \(lesson 0-0 of job clash-0\)/);
  });

  test('AmbiguousResource where two locations share a name; Standort makes it unique', async () => {
    const { db } = service.context;
    const { mandatorId } = service.tenant;
    const location = await db
      .insertInto('location')
      .values({ mandator_id: mandatorId, name: 'Annexe', time_zone: 'Europe/Lisbon' })
      .returning('id')
      .executeTakeFirstOrThrow();
    await db
      .insertInto('resource')
      .values({ mandator_id: mandatorId, location_id: location.id, name: 'r020' })
      .execute();
    const [job] = freshJobs(1, 'where-');
    Object.assign(lessonOf(job), { RessourceName: 'R020' });
    const codes = async (Standort?: string) =>
      (await client.importJobs([{ ...job, ...(Standort && { Standort }) }])).Errors.map(({ Code }) => Code);
    expect(await codes()).toEqual(['AmbiguousResource']);
    expect(await codes('Nowhere')).toEqual(['UnknownResource']);
    expect(await codes('ANNEXE')).toEqual([]);
  });

  test('the message of a retired room says that it is retired, unless another room in use has its name', async () => {
    const { db } = service.context;
    const { mandatorId } = service.tenant;
    const { id } = await db
      .insertInto('location')
      .values({ mandator_id: mandatorId, name: 'Old wing', time_zone: 'Europe/Lisbon' })
      .returning('id')
      .executeTakeFirstOrThrow();
    const room = { mandator_id: mandatorId, location_id: id, active: false };
    await db
      .insertInto('resource')
      .values([
        { ...room, name: 'Attic' },
        { ...room, name: 'r001' },
      ])
      .execute();
    const [job] = freshJobs(3, 'retired-');
    for (const [at, RessourceName] of ['attic', 'R001', 'Nowhere'].entries())
      Object.assign(lessonOf(job, at), { RessourceName });
    const messages = async (Standort?: string) =>
      (await client.importJobs([{ ...job, ...(Standort && { Standort }) }])).Errors.map(
        ({ Code, Message }) => `${Code} ${Message}`,
      );
    expect(await messages()).toEqual([
      'UnknownResource Retired resource: attic; name another room',
      'UnknownResource Unknown resource: Nowhere',
    ]);
    expect(await messages('Old wing')).toEqual([
      'UnknownResource Retired resource: attic in Old wing; name another room',
      'UnknownResource Retired resource: R001 in Old wing; name another room',
      'UnknownResource Unknown resource: Nowhere in Old wing',
    ]);
  });

  test('LimitExceeded: too many jobs, too many lessons', async () => {
    const jobs = await client.importJobs(Array.from({ length: 2_001 }, (_, number) => ({ JobID: `many-${number}` })));
    const lessons = await client.importJobs(freshJobs(12_001, 'many-'));
    for (const batch of [jobs, lessons])
      expect(batch).toMatchObject({
        ImportStatus: 'LessonsImportFailed',
        FailureKind: 'Data',
        Errors: [{ Code: 'LimitExceeded' }],
      });
  });

  test('ErrorMessages shows the first 50 lines, Errors the first 100, the errors page all', async () => {
    const jobs = freshJobs(250, 'all-').map((job) => ({
      ...job,
      LektionList: job.LektionList.map((lesson) => ({ ...lesson, RessourceName: 'Nowhere' })),
    }));
    const batch = await client.importJobs(jobs);
    expect(batch.ErrorMessages?.split('\n').slice(-1)).toEqual(['... and 200 more']);
    expect(batch.Errors).toHaveLength(100);
    const pages: number[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: { Items: { Index: number }[]; NextCursor: string | null } = await client.get(
        `/batches/${batch.BatchId}/errors?Limit=120${cursor && `&Cursor=${cursor}`}`,
      );
      pages.push(page.Items.length);
      cursor = page.NextCursor;
    }
    expect(pages).toEqual([120, 120, 10]);
  });
});

describe('the database as the last guard', () => {
  test('no two bookings of a room overlap, whatever was imported', async () => {
    // One that begins before an earlier one has ended: pair by pair 30,000 bookings take seconds.
    const { rows } = await sql`
      select from (
        select lower(occupied) < max(upper(occupied)) over (
          partition by resource_id order by lower(occupied), upper(occupied), id
          rows between unbounded preceding and 1 preceding) as is_taken
        from booking where status in ('Confirmed', 'Tentative')) as taken
      where is_taken`.execute(service.context.db);
    expect(rows).toEqual([]);
  });
});
