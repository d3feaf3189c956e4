import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { BatchRecord } from '../_util/lessons.ts';
import { isLong, times } from '../_util/long.ts';
import { type Service, startService } from '../_util/service.ts';
import { at, enterTenant, lesson, type Timetable } from '../_util/timetable.ts';

const runs = times(60, 1_000);
/** Tenants whose batches run beside each other. */
const lanes = 6;

let service: Service;
beforeAll(async () => {
  service = await startService({ Limits__JobsPerBatch: '5', Limits__LessonsPerBatch: '14' });
});
afterAll(() => service.stop());

/** A tenant with jobs J1 to J3, cancelled and coupled lessons among theirs, other bookings, and a room name used twice. */
async function prepare(): Promise<Timetable> {
  const timetable = await enterTenant(service, ['A', 'B', 'C', 'D', 'twice']);
  const { db } = service.context;
  const { mandatorId } = timetable.tenant;
  const annexe = await db
    .insertInto('location')
    .values({ mandator_id: mandatorId, name: 'Annexe', time_zone: 'Europe/Lisbon' })
    .returning('id')
    .executeTakeFirstOrThrow();
  await db.insertInto('resource').values({ mandator_id: mandatorId, location_id: annexe.id, name: 'twice' }).execute();
  const everyDay = { weekdays: [1, 2, 3, 4, 5, 6, 7], opens: '08:00', closes: '16:00' };
  await db
    .insertInto('opening_rule')
    .values({ mandator_id: mandatorId, location_id: timetable.tenant.locationId, ...everyDay })
    .execute();
  const list = (room: string, more: object[]) =>
    more.map((members, index) => lesson(`${index}`, room, 8 + index, members as Record<string, unknown>));
  await timetable.done('create', [
    { JobID: 'J1', LektionList: list('A', [{}, { Titel: 'T' }, { Status: 'Entfaellt' }, { Fach: 'F' }]) },
    { JobID: 'J2', LektionList: list('B', [{ KopplungId: 'K' }, { KopplungId: 'K' }, {}, { Privat: true }]) },
    { JobID: 'J3', Standort: 'Annexe', LektionList: list('twice', [{}, {}, {}]) },
    { JobID: 'J4', LektionList: [lesson('0', 'B', 8, { KopplungId: 'K' })] },
  ]);
  await timetable.book('C', 8, 9);
  await timetable.book('C', 10, 11.5, 'MailItem');
  await timetable.book('D', 9, 10, 'Block');
  return timetable;
}

/** Mostly one of `good`, now and then one of `bad`. */
const mostly = <T>(good: T[], bad: T[], weight = 12) =>
  fc.oneof({ weight, arbitrary: fc.constantFrom(...good) }, { weight: 1, arbitrary: fc.constantFrom(...bad) });
const time = (hours: number[]) =>
  mostly<unknown>(
    hours.flatMap((hour) => [at(hour).Beginn, at(hour).Beginn, at(hour).Beginn.replace('Z', '')]),
    [null, 7, 'now', '2031-02-30T08:00:00Z', '2031-01-09T08:00:00Z', '2020-01-06T08:00:00+01:00'],
  );
const text = mostly<unknown>(['x', 'y', null], [5, [], 'x'.repeat(4_001)]);

/** A lesson with any fault, or none. */
const lessonOf = fc.record(
  {
    LektionId: mostly<unknown>(['0', '1', '2', '3', '4'], [null, '', 'x'.repeat(129), 5]),
    Beginn: time([8, 9, 10, 11, 12, 17]),
    Ende: time([9, 10, 11, 12, 13, 18]),
    RessourceName: mostly<unknown>(['A', ' b', 'C', 'D'], [null, '', 'Nowhere', 'twice', 7, 'A\u0308~/']),
    RessourceId: mostly<unknown>([null], [1, 0, 'x', 999_999]),
    Titel: text,
    Fach: text,
    Klassen: mostly<unknown>([['1a'], [], null], ['1a', [1]]),
    Lehrpersonen: mostly<unknown>([['N'], null], [{}, [null]]),
    Status: mostly<unknown>(['Geplant', 'Vertretung', 'Entfaellt', null], ['gone', 1]),
    KopplungId: mostly<unknown>(['K', 'L', null], ['', 8]),
    Privat: mostly<unknown>([true, false, null], ['yes']),
    'Farbe~/': fc.constant(1),
  },
  { requiredKeys: [] },
);
/** Opening hours are looked up for the next two years only. */
const soon = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10);
const lateSoon = { Beginn: `${soon}T20:00:00Z`, Ende: `${soon}T21:00:00Z` };
/** A lesson that is complete, as far as its members go. */
const whole = fc
  .tuple(
    fc.constantFrom('0', '1', '2', '3', '4'),
    fc.constantFrom('A', 'B', 'C', 'D'),
    fc.integer({ min: 8, max: 14 }),
    mostly<Record<string, unknown>>([{}], [lateSoon]),
  )
  .map(([id, room, from, more]) => lesson(id, room, from, more));
const list = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: whole },
    { weight: 6, arbitrary: fc.tuple(whole, lessonOf).map(([good, some]) => ({ ...good, ...some })) },
    { weight: 4, arbitrary: lessonOf },
    { weight: 1, arbitrary: fc.constantFrom<unknown>(7, null, 'x', []) },
  ),
  { maxLength: 5 },
);
const job = fc.record(
  {
    JobID: mostly<unknown>(['J1', 'J2', 'J3', 'J4', 'new', 'other'], [null, 5, '', undefined], 30),
    LektionList: fc.oneof(
      { weight: 12, arbitrary: list },
      { weight: 1, arbitrary: fc.constantFrom<unknown>(null, 'x', undefined) },
    ),
    ReplaceLektionList: mostly<unknown>([true, false, null, undefined], ['yes']),
    Standort: mostly<unknown>(['Campus', 'annexe', null], ['Moon', 3]),
    Bezeichnung: text,
    Nummer: fc.constant(1),
  },
  { requiredKeys: ['JobID', 'LektionList'] },
);
const batches = fc.record({
  operation: fc.constantFrom('create', 'update', 'delete'),
  rule: fc.constantFrom('', 'OnConflict=Fail', 'OnConflict=Skip', 'OnConflict=Displace'),
  jobs: fc.array(job, { minLength: 1, maxLength: 6 }),
});

/** The final state of a batch as a client sees it, with all its errors. */
async function heard({ client }: Timetable, batch: BatchRecord) {
  const { ImportStatus, ErrorMessages, ErrorCount, WarningCount, LessonCount, FailureKind } = batch;
  const errors = await (await client.call(`/batches/${batch.BatchId}/errors?Limit=200`)).text();
  return { ImportStatus, ErrorMessages, ErrorCount, WarningCount, LessonCount, FailureKind, errors };
}

test(`ValidateOnly says what the real run says, byte by byte, and writes nothing: ${runs} batches`, async () => {
  const codes = new Set<string>();
  const ends = { LessonsCreated: 0, LessonsImportFailed: 0 };
  async function lane(number: number): Promise<void> {
    let timetable = await prepare();
    const same = fc.asyncProperty(batches, async ({ operation, rule, jobs }) => {
      const options = operation === 'delete' ? '' : rule;
      const before = await timetable.rows();
      const validated = await timetable.run(`${operation}?ValidateOnly=true&${options}`, jobs);
      expect([validated.CreatedCount, await timetable.rows()]).toEqual([0, before]);
      const real = await timetable.run(`${operation}?${options}`, jobs);
      expect(await heard(timetable, validated)).toEqual(await heard(timetable, real));
      expect(real.FailureKind).not.toBe('Technical');
      for (const { Code } of real.Errors) codes.add(Code);
      ends[real.ImportStatus as keyof typeof ends]++;
      // The real run did what the check predicted.
      if (validated.Difference) {
        const foreseen = validated.Difference as Record<'Added' | 'Changed' | 'Moved' | 'Removed', number>;
        const { Added, Changed, Moved, Removed } = foreseen;
        const { CreatedCount, ChangedCount, MovedCount, RemovedCount } = real;
        expect([CreatedCount, ChangedCount, MovedCount, RemovedCount]).toEqual([Added, Changed, Moved, Removed]);
        expect(validated).toMatchObject({ ChangedCount: null, MovedCount: null, RemovedCount: null });
      }
      if (real.ImportStatus === 'LessonsCreated') timetable = await prepare();
      else expect(await timetable.rows()).toEqual(before);
    });
    await fc.assert(same, { numRuns: Math.ceil(runs / lanes), seed: number });
  }
  const began = performance.now();
  await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)));
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  if (isLong) process.stdout.write(`${runs} batches in ${seconds} s: ${JSON.stringify(ends)}\n`);
  expect(ends.LessonsCreated).toBeGreaterThan(0);
  expect([...codes].sort()).toEqual([
    ...['AmbiguousResource', 'AssumedUtc', 'DuplicateJobId', 'DuplicateLektionId', 'InconsistentIdentifiers'],
    ...['InvalidTime', 'InvalidType', 'LimitExceeded', 'MissingField', 'OutsideOpeningHours', 'PastLesson'],
    ...['ResourceConflict', 'UnknownField', 'UnknownJobId', 'UnknownLektionId', 'UnknownResource'],
  ]);
}, 600_000);
