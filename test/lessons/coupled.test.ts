/** How many coupled lessons may share a booking, how much of them is read, and which of them is in the way. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { masterData } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';
import { at, enterTenant, lesson, type Timetable, told } from '../_util/timetable.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const most = 200;
const K = { KopplungId: 'K' };

const group = (count: number, room = 'A') =>
  Array.from({ length: count }, (_, index) => lesson(`${room}8-${index}`, room, 8, K));
const job = (JobID: string, ...LektionList: object[]) => ({ JobID, LektionList });

/** A tenant with as many coupled lessons in room A at eight as may share a booking, and one beside them. */
async function full() {
  const timetable = await enterTenant(service);
  await timetable.done('create', [job('J', ...group(most), lesson('beside', 'B', 8, K))]);
  return timetable;
}

/** Stores two coupled lessons more, as before there was a limit. */
async function overfill({ tenant }: Timetable): Promise<void> {
  await sql`
    insert into lesson (mandator_id, job, lektion_id, booking_id, resource_id, beginn, ende, status, kopplung_id)
    select mandator_id, job, 'more-' || number, booking_id, resource_id, beginn, ende, status, kopplung_id
    from lesson cross join generate_series(1, 2) as number where mandator_id = ${tenant.mandatorId} and lektion_id = 'A8-0'`.execute(
    service.context.db,
  );
}

test('201 in one batch are refused, once for each booking, at the first lesson that is too many', async () => {
  const timetable = await enterTenant(service);
  const jobs = [job('J', ...group(most + 1), ...group(most, 'C')), job('J2', ...group(most + 3, 'B'))];
  for (const operation of ['create', 'create?ValidateOnly=true', 'create?OnConflict=Skip']) {
    const { Errors } = await timetable.fails(operation, jobs);
    expect(Errors.map(({ Pointer, Code, Message }) => [Pointer, Code, Message])).toEqual([
      [
        ...[`/0/LektionList/${most}/KopplungId`, 'LimitExceeded'],
        'KopplungId K couples 201 lessons in A at one time; at most 200 may share a booking',
      ],
      [
        ...[`/1/LektionList/${most}/KopplungId`, 'LimitExceeded'],
        'KopplungId K couples 203 lessons in B at one time; at most 200 may share a booking',
      ],
    ]);
  }
});

test('200 are taken; another lesson cannot join them, in whatever way, but be in another room or at another time', async () => {
  const timetable = await full();
  const tooMany = ['/0/LektionList/0/KopplungId LimitExceeded'];
  expect(told(await timetable.fails('create', [job('J2', lesson('new', 'A', 8, K))]))).toEqual(tooMany);
  const move = [job('J', { LektionId: 'beside', RessourceName: 'A' })];
  expect(told(await timetable.fails('update', move))).toEqual(tooMany);
  await timetable.done('create', [job('J3', lesson('later', 'A', 9, K), lesson('elsewhere', 'C', 8, K))]);
});

test('one may take the place of another, and all may move together', async () => {
  const timetable = await full();
  const replaced = [job('J', { LektionId: 'beside', RessourceName: 'A' }, { LektionId: 'A8-0', RessourceName: 'B' })];
  await timetable.done('update', replaced);
  const { id } = await timetable.bookingOf('beside');
  const members = Object.values(await timetable.lessons()).filter(({ BookingId }) => BookingId === id);
  await timetable.done('update', [
    job('J', ...members.map(({ LektionId }) => ({ LektionId, RessourceName: 'C', Status: 'Vertretung' }))),
  ]);
  expect(await timetable.bookingOf('beside')).toMatchObject({ id, at: 'C 8-9' });
});

test('of more that are stored already, each may change and go, but none may come', async () => {
  const timetable = await full();
  await overfill(timetable);
  await timetable.done('update', [job('J', { LektionId: 'more-1', Titel: 'T' })]);
  const move = [job('J', { LektionId: 'beside', RessourceName: 'A' })];
  const { Errors } = await timetable.fails('update', move);
  expect(Errors.map(({ Message }) => Message)).toEqual([
    'KopplungId K couples 203 lessons in A at one time; at most 200 may share a booking',
  ]);
  await timetable.done('delete', [job('J', { LektionId: 'A8-1' })]);
});

test('the lessons of a job that is sent again are reported as duplicates of the job only', async () => {
  const timetable = await full();
  const again = [job('J', ...group(most))];
  expect(told(await timetable.fails('create', again))).toEqual(['/0/JobID DuplicateJobId']);
  const twice = [job('J2', ...group(most, 'C')), job('J2', ...group(most, 'C'))];
  expect(told(await timetable.fails('create', twice))).toEqual(['/1/JobID DuplicateJobId']);
});

test('a lesson that cannot leave the others is told of one that stays, and not of itself', async () => {
  const timetable = await enterTenant(service);
  await timetable.done('create', [job('J', ...group(3))]);
  const { id } = await timetable.bookingOf('A8-0');
  const longer = [job('J', { LektionId: 'A8-0', ...at(8, 10) })];
  const occupied = `A is occupied 2031-01-06 08:00-09:00 UTC by booking ${id} (lesson A8-1 of job J)`;
  for (const [operation, end] of [
    ['update', ''],
    ['update?OnConflict=Skip', '; the lesson was left as it was'],
  ] as const) {
    const { Errors } = await timetable.run(operation, longer);
    expect(Errors.map(({ LektionId, Message }) => [LektionId, Message])).toEqual([['A8-0', occupied + end]]);
  }
});

describe('a booking of lessons with many names', () => {
  const names = (kind: string, index: number, length: number) =>
    Array.from({ length: 200 }, (_, at) => `${kind}${index * 200 + at}`.padEnd(length, '-'));
  async function read(timetable: Timetable, length: number) {
    await timetable.done('create', [
      job('J', ...group(10).map((one, index) => ({ ...one, Klassen: names('k', index, length) }))),
    ]);
    const { tenant } = timetable;
    const rest = masterData(service, await service.signIn(tenant, 'Admin'), tenant.code);
    const { id } = await timetable.bookingOf('A8-0');
    return (await rest.get(`/bookings/${id}`)).body as { Lektion: { Klassen: string[] } };
  }

  test('has the first 1,000', async () => {
    const { Lektion } = await read(await enterTenant(service), 5);
    expect(Lektion.Klassen).toEqual([0, 1, 2, 3, 4].flatMap((index) => names('k', index, 5)));
  });

  test('has those of the first lessons only, if they are long', async () => {
    const { Lektion } = await read(await enterTenant(service), 200);
    expect(Lektion.Klassen).toEqual([0, 1, 2].flatMap((index) => names('k', index, 200)));
  });
});
