import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { heardOfAll } from '../_util/graphql.ts';
import { type Service, startService } from '../_util/service.ts';
import { at, enterTenant, lesson, type Timetable } from '../_util/timetable.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

/** The room where each lesson was to be before its first change, by LektionId; of those that have changed. */
async function origins({ tenant }: Timetable): Promise<Record<string, string>> {
  const { rows } = await sql<{ id: string; room: string }>`
    select lektion_id as id, name as room from lesson
    join resource on resource.mandator_id = lesson.mandator_id and resource.id = origin_resource_id
    where lesson.mandator_id = ${tenant.mandatorId} order by lektion_id`.execute(service.context.db);
  return Object.fromEntries(rows.map(({ id, room }) => [id, room]));
}

/** The names of the rooms whose signs are told while `work` is done, in order. */
async function roomsTold({ tenant, roomId }: Timetable, work: () => Promise<unknown>): Promise<string> {
  const { db, notifications } = service.context;
  // Nothing of what came before is told now.
  await heardOfAll(service.context);
  const heard = await notifications.subscribe(`booking:${tenant.mandatorId}`);
  await work();
  await sql`select pg_notify('roomgate', ${`booking:${tenant.mandatorId}:end`})`.execute(db);
  const keys = new Set<string>();
  while (!keys.has('end')) for (const key of (await heard.next())?.keys ?? []) keys.add(key);
  heard.close();
  return ['A', 'B', 'C', 'D', 'E'].filter((name) => keys.has(String(roomId(name)))).join(' ');
}

const K = { KopplungId: 'K' };
const to = (LektionId: string, RessourceName: string, more: object = {}) => ({
  LektionId,
  RessourceName,
  ...more,
});
const update = (...LektionList: object[]) => ['update', [{ JobID: 'J', LektionList }]] as const;
const replace = (...LektionList: object[]) =>
  ['update', [{ JobID: 'J', ReplaceLektionList: true, LektionList }]] as const;
const remove = (...ids: string[]) =>
  ['delete', [{ JobID: 'J', LektionList: ids.map((LektionId) => ({ LektionId })) }]] as const;

type Batch = readonly [operation: string, jobs: unknown];
type Step = [batch: Batch, origins: Record<string, string>, told: string];

describe('a changed lesson keeps the room that it was first planned in, whose sign shows every change', () => {
  const one = [lesson('1', 'A', 8, { Lehrpersonen: ['N'], Fach: 'Math' })];
  const two = [...one, lesson('2', 'B', 8)];
  const coupled = [lesson('1', 'A', 8, K), lesson('2', 'A', 8, K), lesson('3', 'D', 8)];

  test.each<[string, object[], Step[]]>([
    [
      'moved once, twice, back, and away again',
      one,
      [
        [update(to('1', 'B')), { 1: 'A' }, 'A B'],
        [update(to('1', 'C')), { 1: 'A' }, 'A B C'],
        [update(to('1', 'A')), { 1: 'A' }, 'A C'],
        [update(to('1', 'B')), { 1: 'A' }, 'A B'],
      ],
    ],
    [
      'moved, then changed in what its booking does not know, cancelled, and deleted',
      one,
      [
        [update(to('1', 'B', at(10))), { 1: 'A' }, 'A B'],
        [update({ LektionId: '1', Lehrpersonen: ['T'] }), { 1: 'A' }, 'A B'],
        [update({ LektionId: '1', Klassen: ['1a'] }), { 1: 'A' }, 'A B'],
        [update({ LektionId: '1', Status: 'Vertretung' }), { 1: 'A' }, 'A B'],
        [update({ LektionId: '1', Status: 'Entfaellt' }), { 1: 'A' }, 'A B'],
        [remove('1'), {}, 'A B'],
      ],
    ],
    [
      'only its teacher, its subject or its status changed',
      one,
      [
        [update({ LektionId: '1', Status: 'Vertretung' }), {}, 'A'],
        [update({ LektionId: '1', Lehrpersonen: ['T'] }), { 1: 'A' }, 'A'],
        [update({ LektionId: '1', Fach: 'Art' }), { 1: 'A' }, 'A'],
        [update(to('1', 'B')), { 1: 'A' }, 'A B'],
      ],
    ],
    ['another time', one, [[update({ LektionId: '1', ...at(12) }), { 1: 'A' }, 'A']]],
    ['two swap rooms in one batch', two, [[update(to('1', 'B'), to('2', 'A')), { 1: 'A', 2: 'B' }, 'A B']]],
    [
      'ReplaceLektionList keeps, changes, and deletes',
      two,
      [
        [update(to('1', 'C'), to('2', 'D')), { 1: 'A', 2: 'B' }, 'A B C D'],
        [replace(lesson('1', 'C', 8, { Lehrpersonen: ['T'] })), { 1: 'A' }, 'A B C D'],
        [replace(lesson('9', 'E', 9)), {}, 'A C E'],
      ],
    ],
    [
      'coupled: one leaves, its teacher changes, it comes back; then all move',
      coupled,
      [
        [update(to('2', 'B')), { 2: 'A' }, 'A B'],
        [update({ LektionId: '2', Lehrpersonen: ['T'] }), { 2: 'A' }, 'A B'],
        [update(to('2', 'A')), { 2: 'A' }, 'A B'],
        [update({ LektionId: '1', Lehrpersonen: ['T'] }), { 1: 'A', 2: 'A' }, 'A'],
        [update(to('1', 'C'), to('2', 'C')), { 1: 'A', 2: 'A' }, 'A C'],
        [update({ LektionId: '2', Lehrpersonen: ['U'] }), { 1: 'A', 2: 'A' }, 'A C'],
        [remove('2'), { 1: 'A' }, 'A C'],
      ],
    ],
    ['nothing', one, [[update(to('1', 'A', { Lehrpersonen: ['N'] })), {}, '']]],
  ])('%s', async (_name, LektionList, steps) => {
    const timetable = await enterTenant(service);
    await timetable.done('create', [{ JobID: 'J', LektionList }]);
    for (const [[operation, jobs], expected, told] of steps) {
      expect(await roomsTold(timetable, () => timetable.done(operation, jobs))).toBe(told);
      expect(await origins(timetable)).toEqual(expected);
    }
  });
});

test('a substitution of only the teacher is in the feed of changes, and gives the booking a new version', async () => {
  const timetable = await enterTenant(service);
  await timetable.done('create', [{ JobID: 'J', LektionList: [lesson('1', 'A', 8)] }]);
  const { id, version } = await timetable.bookingOf('1');
  const changes = async () => {
    const { rows } = await sql`
      select from change where mandator_id = ${timetable.tenant.mandatorId} and kind = 'Booking' and action = 'Changed'
        and subject_id = ${String(id)} and resource_id = ${timetable.roomId('A')}`.execute(service.context.db);
    return rows.length;
  };
  expect([version, await changes()]).toEqual([1, 0]);
  await timetable.done(...update({ LektionId: '1', Lehrpersonen: ['T'] }));
  expect([(await timetable.bookingOf('1')).version, await changes()]).toEqual([2, 1]);
});
