import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { checkIn, releaseBooking, releaseNoShows } from '../../src/bookings/attendance.ts';
import type { Booking, NewBooking } from '../../src/bookings/booking.ts';
import { cancelBooking } from '../../src/bookings/cancellation.ts';
import { changeBooking, extendBooking } from '../../src/bookings/change.ts';
import { findBooking, listBookings } from '../../src/bookings/service.ts';
import { forgetOldUndos, undoBooking } from '../../src/bookings/undo.ts';
import type { Viewer } from '../../src/context.ts';
import { type Device, pairDevice } from '../_util/displays.ts';
import { makeDisplay } from '../_util/factories.ts';
import { openFrontDesk } from '../_util/front-desk.ts';
import { countWaiting, hold, releaseAll } from '../_util/hold.ts';
import { type MasterData, masterData, type Reply } from '../_util/master-data.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';

let desk: Awaited<ReturnType<typeof openFrontDesk>>;
let school: Awaited<ReturnType<typeof desk.openTenant>>;
/** A sign of room A, a board of all rooms, and a display that may not book. */
let sign: Viewer;
let board: Viewer;
let blind: Viewer;

beforeAll(async () => {
  desk = await openFrontDesk();
  school = await desk.openTenant(['A', 'B']);
  const make = async (options: Parameters<typeof makeDisplay>[2]) =>
    (await makeDisplay(desk.db, school.tenant, options)).viewer;
  sign = await make({ name: 'Sign of A', resourceIds: [school.roomId('A')] });
  board = await make({ name: 'Board' });
  blind = await make({ name: 'Poster', mayBook: false });
});
beforeEach(() => school.setCheckIn('A', null));
afterEach(async () => {
  await releaseAll();
  // Each test has the rooms for itself.
  await sql`update booking set status = 'Cancelled'`.execute(desk.db);
});
afterAll(() => desk.close());

const minute = 60_000;
const fails = (code: string, message: RegExp, more: object = {}) =>
  expect.objectContaining({ code, message: expect.stringMatching(message), ...more });
const noBooking = fails('NotFound', /^There is no booking of this id\.$/);
/** A walk-in; its start and length in minutes, the start from now. */
function walkIn(from = 0, length = 30): Partial<NewBooking> {
  const start = Date.now() + from * minute;
  return { start: new Date(start), end: new Date(start + length * minute) };
}
const bookNow = (viewer = sign, more: Partial<NewBooking> = {}) => school.book({ ...walkIn(), ...more }, viewer);
/** The outcomes, sorted, of two acts that wait for the lock of room A at the same time. */
async function atOnce(...acts: (() => Promise<unknown>)[]): Promise<string[]> {
  const letGo = await hold(desk.db, (trx) =>
    sql`select from resource where id = ${school.roomId('A')} for no key update`.execute(trx),
  );
  const both = Promise.allSettled(acts.map((act) => act()));
  await until('both wait', async () => (await countWaiting(desk.db)) === 2);
  await letGo();
  return (await both).map((one) => (one.status === 'rejected' ? one.reason.code : 'done')).sort();
}
/** A booking of another person and its check-in time, both in minutes from now. */
async function theirs(from = -5, to = 55, within?: [number, number]): Promise<Booking> {
  const { id } = await school.book({ subject: 'Vertraulich', description: 'Details' });
  await school.shift(id, { from, to, ...(within && { checkIn: within }) });
  return await school.read(id);
}
const undo = ({ id, version }: { id: number; version: number }, viewer = sign) =>
  undoBooking(desk.db, viewer, id, [version]);
const acts = {
  checkIn: (id: number, viewer: Viewer) => checkIn(desk.db, viewer, id),
  release: (id: number, viewer: Viewer) => releaseBooking(desk.db, viewer, id),
  extend: (id: number, viewer: Viewer) => extendBooking(desk.db, viewer, id, undefined, 15),
  undo: (id: number, viewer: Viewer) => undoBooking(desk.db, viewer, id, undefined),
};
type Act = keyof typeof acts;
const names = Object.keys(acts) as Act[];

describe('a display books', () => {
  test('for itself, from now on; where somebody has to check in it counts as checked in', async () => {
    const wanted = walkIn(-1);
    expect(await bookNow(sign, wanted)).toMatchObject({
      ...wanted,
      subject: 'Sitzung',
      kind: 'Booking',
      status: 'Confirmed',
      checkIn: null,
      version: 1,
      organizer: { personId: sign.personId },
      createdBy: { personId: sign.personId },
      origin: { system: 'Display' },
    });
    await sql`update booking set status = 'Cancelled'`.execute(desk.db);
    await school.setCheckIn('A', 10);
    const checked = await bookNow();
    expect(checked.checkIn).toMatchObject({ required: true, checkedInAt: expect.any(Date) });
  });

  test.each<[string, () => Partial<NewBooking>, string, string]>([
    ['a block', () => ({ kind: 'Block' }), 'Kind', 'NotAtDisplay'],
    ['tentatively', () => ({ status: 'Tentative' }), 'Status', 'NotAtDisplay'],
    ['privately', () => ({ isPrivate: true }), 'IsPrivate', 'NotAtDisplay'],
    ['a setup', () => ({ setupMinutes: 5 }), 'SetupMinutes', 'NotAtDisplay'],
    ['a teardown', () => ({ teardownMinutes: 5 }), 'TeardownMinutes', 'NotAtDisplay'],
    ['for a person', () => ({ organizerId: school.user.personId }), 'OrganizerId', 'NotAtDisplay'],
    ['for nobody', () => ({ organizerId: 2_000_000_000 }), 'OrganizerId', 'NotAtDisplay'],
    ['a series', () => ({ recurrenceRule: 'FREQ=DAILY;COUNT=2' }), 'RecurrenceRule', 'NotAtDisplay'],
    ['later', () => walkIn(6), 'Start', 'NotNow'],
    ['before', () => walkIn(-6), 'Start', 'NotNow'],
    ['shortly', () => walkIn(0, 4), 'End', 'TooShort'],
    ['backwards', () => walkIn(0, -30), 'End', 'TooShort'],
    ['long', () => walkIn(0, 241), 'End', 'TooLong'],
    ['in an unknown room', () => ({ resourceId: 2_000_000_000 }), 'ResourceId', 'UnknownResource'],
    ['in another room', () => ({ resourceId: school.roomId('B') }), 'ResourceId', 'UnknownResource'],
  ])('nothing else: %s', async (_name, wanted, field, code) => {
    const told = expect.stringMatching(new RegExp(`^${field}: .+\\.$`));
    await expect(bookNow(sign, wanted())).rejects.toEqual(
      fails('InvalidInput', /./, { errors: [{ field, pointer: `/${field}`, code, message: told }] }),
    );
  });

  test('a room outside of its grant is like an unknown one, whatever else is wrong', async () => {
    const refusal = async (resourceId: number, more: Partial<NewBooking>) => {
      const error = await bookNow(sign, { resourceId, ...more }).catch((refused) => refused);
      return JSON.stringify([error.code, error.message, error.errors]).replaceAll(/which is [^.]+\.\d+Z/g, '');
    };
    for (const more of [{}, { isPrivate: true }, walkIn(60)])
      expect(await refusal(school.roomId('B'), more)).toBe(await refusal(2_000_000_000, more));
  });

  test('up to the limits', async () => {
    for (const [from, length] of [
      [4.9, 5],
      [-4.9, 240],
    ] as const) {
      const { id } = await bookNow(sign, walkIn(from, length));
      await school.setStatus(id, 'Cancelled');
    }
  });

  test('not when the room is closed', async () => {
    const { mandatorId, tenant } = school;
    const hours = sql`(mandator_id, location_id, resource_id, weekdays, opens, closes, valid_to)`;
    await sql`insert into opening_rule ${hours}
      values (${mandatorId}, ${tenant.locationId}, ${school.roomId('B')}, '{1,2,3,4,5,6,7}', '00:00', '24:00', current_date - 7)`.execute(
      desk.db,
    );
    await expect(bookNow(board, { resourceId: school.roomId('B') })).rejects.toEqual(
      fails('InvalidInput', /./, { errors: [expect.objectContaining({ code: 'OutsideOpeningHours' })] }),
    );
    await sql`delete from opening_rule`.execute(desk.db);
  });

  test('once with an Idempotency-Key, even if the booking is past and cancelled', async () => {
    const wanted = walkIn();
    const send = (viewer = sign) => school.create(wanted, viewer, { idempotencyKey: 'tap' });
    const { booking } = await send();
    expect((await send()).booking).toEqual(booking);
    await school.shift(booking.id, { from: -60, to: -30 });
    expect((await send()).booking).toMatchObject({ id: booking.id, version: 1 });
    // The same key of another display is another key.
    expect((await send(board)).booking.id).not.toBe(booking.id);
  });

  test('409 tells that somebody is there, and of no other room', async () => {
    const taken = await theirs(-5, 10);
    const conflict = await bookNow().catch((error) => error);
    expect(conflict).toEqual(fails('Conflict', /occupied/, { alternatives: [] }));
    expect(conflict.conflicts).toMatchObject([{ bookingId: taken.id, subject: 'Belegt' }]);
    await school.setStatus(taken.id, 'Cancelled');
    // The subject of its own booking is hidden too: another person may stand there by now.
    await bookNow();
    const again = await bookNow().catch((error) => error);
    expect(again.conflicts).toMatchObject([{ subject: 'Belegt' }]);
  });

  test('of two displays at once one wins', async () => {
    const outcomes = await atOnce(
      () => bookNow(sign),
      () => bookNow(board),
    );
    expect(outcomes).toEqual(['Conflict', 'done']);
  });
});

describe.each(names)('%s', (name) => {
  test('403 for a display that may not book, and for a PIN of role Display, with the remedy', async () => {
    const { id } = await theirs(-5, 55, [-20, 10]);
    await expect(acts[name](id, blind)).rejects.toEqual(fails('Forbidden', /ask an Admin to allow it/));
    await expect(acts[name](id, school.display)).rejects.toEqual(fails('Forbidden', /PIN of a user/));
  });

  test('404 for a booking of another room, as for one that there is not; nobody waits for its lock', async () => {
    const { id } = await school.book({ resourceId: school.roomId('B') });
    await school.shift(id, { from: -5, to: 55, checkIn: [-20, 10] });
    const letGo = await hold(desk.db, async (trx) => {
      await sql`select from resource where id = ${school.roomId('B')} for update`.execute(trx);
      await sql`select from booking where id = ${id} for update`.execute(trx);
    });
    for (const each of [id, 2_000_000_000]) await expect(acts[name](each, sign)).rejects.toEqual(noBooking);
    await letGo();
  });

  test.each([
    ['Lesson', /plan the timetable/],
    ['MailItem', /calendar/],
    ['Block', /An Admin has closed the room/],
  ])('409 for a %s, with a remedy for a person at a door', async (kind, message) => {
    const { id } = await theirs(-5, 55, [-20, 10]);
    await school.setKind(id, kind);
    await expect(acts[name](id, sign)).rejects.toEqual(fails('Conflict', message));
  });
});

describe('whoever organizes it', () => {
  test.each<[Act, object]>([
    ['checkIn', { checkIn: { checkedInAt: expect.any(Date) } }],
    ['release', { status: 'Released' }],
    ['extend', { status: 'Confirmed' }],
  ])('%s works at the door, and tells nothing of what it is about', async (name, changes) => {
    const booking = await theirs(-5, 55, [-20, 10]);
    const done = await acts[name](booking.id, sign);
    expect(done).toMatchObject({
      id: booking.id,
      version: 2,
      subject: 'Belegt',
      description: null,
      organizer: null,
      createdBy: null,
      lektion: null,
      isPrivate: false,
      start: booking.start,
      ...changes,
    });
    expect(await school.read(booking.id)).toMatchObject({ subject: 'Vertraulich', ...changes });
    const minutes = name === 'extend' ? 15 : 0;
    expect(done.end).toEqual(new Date(booking.end.getTime() + minutes * minute));
  });

  test('a booking that waits for its check-in can be ended and extended; a later one cannot', async () => {
    for (const name of ['release', 'extend'] as const) {
      const soon = await theirs(10, 40, [-5, 20]);
      expect(await acts[name](soon.id, sign)).toMatchObject({ version: 2 });
      await school.setStatus(soon.id, 'Cancelled');
      const later = await theirs(60, 90, [45, 70]);
      await expect(acts[name](later.id, sign)).rejects.toEqual(
        fails('Conflict', new RegExp(`begins at ${later.start.toISOString()}`)),
      );
      await school.setStatus(later.id, 'Cancelled');
      const over = await theirs(-90, -60);
      await expect(acts[name](over.id, sign)).rejects.toEqual(fails('Conflict', /is over/));
      await school.setStatus(over.id, 'Cancelled');
    }
  });

  test('an answer that was lost is asked for again: nothing happens twice', async () => {
    const booking = await theirs(-5, 55, [-20, 10]);
    const checked = await acts.checkIn(booking.id, sign);
    expect(await acts.checkIn(booking.id, board)).toEqual(checked);
    const extend = (minutes: number, viewer = sign) =>
      extendBooking(desk.db, viewer, booking.id, [checked.version], minutes);
    const extended = await extend(15);
    expect(await extend(15)).toEqual(extended);
    for (const another of [() => extend(30), () => extend(15, board)])
      await expect(another()).rejects.toEqual(fails('PreconditionFailed', /has changed/));
    const released = await acts.release(booking.id, sign);
    expect(await acts.release(booking.id, board)).toEqual(released);
    expect([extended.version, released.version, (await school.read(booking.id)).version]).toEqual([3, 4, 4]);
    // The board has not acted on this booking last.
    await expect(undo(released, board)).rejects.toEqual(fails('Conflict', /Another display/));
    expect(await undo(released)).toMatchObject({ status: 'Confirmed', end: extended.end, version: 5 });
  });

  test('whoever stands at the door stays four hours from now, not longer', async () => {
    const { id } = await theirs(-5, 200);
    expect(await extendBooking(desk.db, sign, id, undefined, 30)).toMatchObject({ version: 2 });
    await expect(extendBooking(desk.db, sign, id, undefined, 30)).rejects.toEqual(
      fails('InvalidInput', /at most 4 hours/),
    );
  });

  test('a display does not change, cancel or read', async () => {
    const { id } = await bookNow();
    const options = { scope: 'This', conflictHandling: 'Fail' } as const;
    const page = { limit: 10, after: undefined };
    for (const refused of [
      changeBooking(desk.db, sign, id, undefined, { subject: 'S' }, options),
      cancelBooking(desk.db, sign, id, undefined, 'This'),
      findBooking(desk.db, sign, id),
      listBookings(desk.db, sign, {}, page),
    ])
      await expect(refused).rejects.toEqual(fails('Forbidden', /PIN of a user/));
  });
});

describe('undo', () => {
  test('403 for persons', async () => {
    const { id } = await theirs();
    for (const viewer of [school.user, school.admin])
      await expect(acts.undo(id, viewer)).rejects.toEqual(fails('Forbidden', /Only a display/));
  });

  const checkedIn = async () => acts.checkIn((await theirs(-5, 55, [-20, 10])).id, sign);
  const extended = async () => acts.extend((await theirs(-5, 5, [-20, 5])).id, sign);
  const released = async () => acts.release((await theirs(-5, 55)).id, sign);
  const all: [string, () => Promise<Booking>, object][] = [
    ['what was booked is cancelled', () => bookNow(), { status: 'Cancelled' }],
    ['who was checked in has not come', checkedIn, { checkIn: { checkedInAt: null } }],
    ['what was extended ends as before', extended, { status: 'Confirmed' }],
    ['what was released takes place', released, { status: 'Confirmed' }],
  ];

  test.each(all)('%s; a repetition changes nothing, whatever has happened since', async (_name, act, changes) => {
    const done = await act();
    const undone = await undo(done);
    expect(undone).toMatchObject({ ...changes, version: done.version + 1 });
    expect(await undo(done)).toEqual(undone);
    expect(await acts.undo(done.id, sign)).toEqual(undone);
    await sql`update booking set version = version + 1 where id = ${done.id}`.execute(desk.db);
    expect(await undo(done)).toMatchObject({ version: done.version + 2 });
  });

  test.each(all)('not: %s, after a minute', async (_name, act) => {
    const done = await act();
    await sql`update booking_undo set at = at - interval '59 seconds'`.execute(desk.db);
    const { version } = await school.read(done.id);
    await sql`update booking_undo set at = at - interval '1 second'`.execute(desk.db);
    await expect(undo(done)).rejects.toEqual(fails('Conflict', /more than 60 seconds ago/));
    expect((await school.read(done.id)).version).toBe(version);
  });

  test.each(all)('not: %s, when somebody has changed it since, or in another version', async (_name, act) => {
    const done = await act();
    await expect(undo({ ...done, version: done.version - 1 })).rejects.toEqual(fails('Conflict', /changed since/));
    await sql`update booking set version = version + 1 where id = ${done.id}`.execute(desk.db);
    for (const version of [done.version, done.version + 1])
      await expect(undo({ id: done.id, version })).rejects.toEqual(fails('Conflict', /changed since/));
  });

  test('of several acts takes back the last', async () => {
    const booking = await bookNow();
    const once = await acts.extend(booking.id, sign);
    const twice = await acts.extend(booking.id, sign);
    expect(await undo(twice)).toMatchObject({ end: once.end });
    await expect(undo(once)).rejects.toEqual(fails('Conflict', /changed since/));
    const gone = await acts.release(booking.id, sign);
    expect(await undo(gone)).toMatchObject({ status: 'Confirmed', end: once.end });
  });

  test('an extension gives back the limit of the check-in too', async () => {
    await school.setCheckIn('A', 30);
    const { id } = await school.book();
    await school.shift(id, { from: -5, to: 5, checkIn: [-20, 5] });
    const before = await school.read(id);
    const longer = await acts.extend(id, sign);
    expect(longer.checkIn?.until).toEqual(longer.end);
    expect(await undo(longer)).toMatchObject({ end: before.end, checkIn: before.checkIn });
  });

  test('who was checked in stays so when the check-in is closed', async () => {
    const done = await checkedIn();
    await school.shift(done.id, { from: -30, to: 30, checkIn: [-45, -1] });
    await expect(undo(done)).rejects.toEqual(fails('Conflict', /closed at/));
  });

  test('a release: as tentative as it was, and not for what would be a no-show or is over', async () => {
    const { id } = await theirs(-5, 55, [-20, 10]);
    await school.setStatus(id, 'Tentative');
    const gone = await acts.release(id, sign);
    await school.shift(id, { from: -30, to: 30, checkIn: [-45, -1] });
    await expect(undo(gone)).rejects.toEqual(fails('Conflict', /closed at/));
    await school.shift(id, { from: -30, to: -1 });
    await expect(undo(gone)).rejects.toEqual(fails('Conflict', /is over/));
    await school.shift(id, { from: -5, to: 55 });
    expect(await undo(gone)).toMatchObject({ status: 'Tentative' });
    expect(await releaseNoShows(desk.db)).toBe(0);
  });

  test('a release whose place is taken: 409 that tells by what', async () => {
    const gone = await released();
    const taken = await bookNow(board);
    const conflict = await undo(gone).catch((error) => error);
    expect(conflict).toEqual(fails('Conflict', /occupied/, { alternatives: [] }));
    expect(conflict.conflicts).toMatchObject([{ bookingId: taken.id, subject: 'Belegt' }]);
    // The place is free again within the minute.
    await undo(taken, board);
    expect(await undo(gone)).toMatchObject({ status: 'Confirmed' });
  });

  test('a release against another booking at once: one of them has the room', async () => {
    const gone = await released();
    const outcomes = await atOnce(
      () => undo(gone),
      () => bookNow(board),
    );
    expect(outcomes).toEqual(['Conflict', 'done']);
    const { rows } = await sql`
      select from booking where resource_id = ${school.roomId('A')} and status = 'Confirmed'`.execute(desk.db);
    expect(rows).toHaveLength(1);
  });

  test('acts of persons are not kept for undo; those of displays for an hour', async () => {
    await sql`delete from booking_undo`.execute(desk.db);
    const rows = async () => (await sql`select from booking_undo`.execute(desk.db)).rows.length;
    const { id } = await theirs();
    for (const name of ['extend', 'release'] as const) await acts[name](id, school.user);
    expect(await rows()).toBe(0);
    await bookNow();
    await sql`update booking_undo set at = at - interval '59 minutes'`.execute(desk.db);
    await forgetOldUndos(desk.db);
    expect(await rows()).toBe(1);
    await sql`update booking_undo set at = at - interval '1 minute'`.execute(desk.db);
    await forgetOldUndos(desk.db);
    expect(await rows()).toBe(0);
  });
});

describe('over REST and GraphQL', () => {
  let service: Service;
  let admin: MasterData;
  let first: Device;
  let second: Device;
  let room: number;
  beforeAll(async () => {
    service = await startService({ Role: 'Web' });
    admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
    first = await pairDevice(service, admin, { MayBook: true });
    second = await pairDevice(service, admin, { MayBook: true });
    room = service.tenant.resources[0]!.id;
  });
  afterEach(() => sql`update booking set status = 'Cancelled'`.execute(service.context.db));
  afterAll(() => service.stop());

  const times = () => ({
    start: new Date().toISOString(),
    end: new Date(Date.now() + 30 * minute).toISOString(),
  });
  const walkInBody = (ResourceId = room) => {
    const { start, end } = times();
    return { ResourceId, Subject: 'Spontan', Start: start, End: end };
  };
  const versionOf = (answer: Reply) => ({ 'If-Match': answer.headers.get('etag') as string });
  const bookings = '/bookings';

  test('a walk-in, its extension and its end, each taken back; answers that were lost are asked for again', async () => {
    const key = { 'Idempotency-Key': 'tap-1' };
    const body = walkInBody();
    const booked = await first.post(bookings, body, key);
    expect([booked.status, booked.body['Origin']]).toEqual([201, expect.objectContaining({ System: 'Display' })]);
    expect((await first.post(bookings, body, key)).body).toEqual(booked.body);
    const one = `${bookings}/${booked.body['Id']}`;
    const extend = () => first.post(`${one}/extend`, { Minutes: 15 }, versionOf(booked));
    const extended = await extend();
    expect([extended.status, extended.body['Version'], (await extend()).body]).toEqual([...[200, 2, extended.body]]);
    const released = await first.post(`${one}/release`, undefined);
    expect(released.body).toMatchObject({ Status: 'Released', Version: 3 });
    const undo = (headers: Record<string, string>) => first.post(`${one}/undo`, undefined, headers);
    const undone = await undo(versionOf(released));
    expect([undone.status, undone.headers.get('etag'), undone.body]).toMatchObject([
      ...[200, '"4"', { Status: 'Confirmed', End: extended.body['End'] }],
    ]);
    expect((await undo(versionOf(released))).body).toEqual(undone.body);
    expect((await undo({})).status).toBe(428);
    expect((await undo(versionOf(booked))).status).toBe(409);
    expect((await first.get(one)).status).toBe(403);
  });

  const mutations = `mutation ($input: CreateBookingInput!) { made: createBooking(input: $input) {
    __typename ... on BookingCreated { booking { id version subject } }
    ... on ConflictProblem { message conflicts { subject } alternatives { resourceId } } } }`;
  const result =
    '{ __typename ... on Booking { version status subject checkIn { checkedInAt } } ... on Problem { message } }';

  test('the same over GraphQL', async () => {
    const input = { resourceId: String(room), subject: 'Spontan', ...times(), idempotencyKey: 'tap-2' };
    const { data } = await first.ask(mutations, { input });
    expect(data).toMatchObject({ made: { booking: { version: 1, subject: 'Spontan' } } });
    const { id } = (data as { made: { booking: { id: string } } }).made.booking;
    const act = async (field: string, device = first) =>
      (await device.ask(`mutation { made: ${field} ${result} }`)).data?.['made'];
    expect(await act(`extendBooking(id: ${id}, version: 1, minutes: 15)`, second)).toMatchObject({
      version: 2,
      subject: 'Belegt',
    });
    expect(await act(`undoBooking(id: ${id}, version: 2)`)).toMatchObject({ __typename: 'ConflictProblem' });
    for (const _again of [1, 2])
      expect(await act(`undoBooking(id: ${id}, version: 2)`, second)).toMatchObject({ version: 3 });
    expect(await act(`releaseBooking(id: ${id})`)).toMatchObject({ version: 4, status: 'Released' });
    expect(await act(`undoBooking(id: ${id}, version: 4)`)).toMatchObject({
      version: 5,
      status: 'Confirmed',
    });
    expect(await act(`checkIn(id: ${id})`)).toMatchObject({ __typename: 'ConflictProblem' });
    const told = await second.ask(mutations, { input: { ...input, idempotencyKey: null } });
    expect(told.data).toMatchObject({ made: { conflicts: [{ subject: 'Belegt' }], alternatives: [] } });
    const { errors } = await first.ask(`{ booking(id: ${id}) { id } }`);
    expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
  });

  test('its scope ends where its rooms end, and with the permission of an Admin', async () => {
    const other = service.tenant.resources[1]!.id;
    const answer = await first.post(bookings, walkInBody(other));
    expect([answer.status, answer.body['Errors']]).toMatchObject([422, [{ Code: 'UnknownResource' }]]);
    const booked = await first.post(bookings, walkInBody());
    const { status } = await admin.patch(`/displays/${first.id}`, { MayBook: false });
    expect(status).toBe(200);
    const refused = await until('the permission ends', async () => {
      const again = await first.post(`${bookings}/${booked.body['Id']}/release`, undefined);
      return again.status === 403 && again;
    });
    expect(refused.body['detail']).toMatch(/ask an Admin to allow it/);
  });
});
