import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { releaseNoShows } from '../../src/bookings/attendance.ts';
import { nextYear } from '../_util/ahead.ts';
import type { Contract } from '../_util/contract.ts';
import { makeTenant } from '../_util/factories.ts';
import { type Call, graphqlFront, restFront } from '../_util/fronts.ts';
import { seed, times } from '../_util/long.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';
import {
  type Changes,
  clockChange,
  isRefused,
  type Model,
  minute,
  occupied,
  openModel,
  type Person,
  type Refusal,
  type Room,
  type Row,
  type Wanted,
  writeRule,
} from './_util/model.ts';

const runs = times(3, 300);
/** Tenants beside each other. */
const lanes = 3;
const day = 1_440 * minute;

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const names = ['plain', 'with check-in', 'open at night', 'retired'];
const half = 30 * minute;

const place = fc.record({
  room: fc.constantFrom(0, 0, 1, 1, 2, 2, 3),
  /** Around now, or around a change of the clocks. */
  near: fc.boolean(),
  day: fc.constantFrom(-1, 0, 0, 1),
  slot: fc.integer({ min: 0, max: 9 }),
  length: fc.constantFrom(1, 1, 1, 2, 2, 3, 4, 0, 49),
  setup: fc.constantFrom(0, 0, 0, 15, 30),
  teardown: fc.constantFrom(0, 0, 0, 15, 30),
});
const step = fc.record({
  act: fc.constantFrom(
    ...['create', 'create', 'create', 'series', 'series', 'change', 'change', 'change', 'change', 'cancel'],
    ...['checkIn', 'checkIn', 'releaseBooking', 'extend', 'noShow', 'lessons', 'lessons', 'lessons'],
  ),
  asAdmin: fc.constantFrom(true, true, false),
  overGraphql: fc.constantFrom(false, false, true),
  place,
  target: fc.nat(),
  rule: fc.record({
    days: fc.constantFrom(1, 1, 1, 2, 7),
    count: fc.integer({ min: 1, max: 4 }),
    until: fc.constantFrom('count' as const, 'date' as const, 'instant' as const, 'before' as const),
  }),
  kind: fc.constantFrom('Booking' as const, 'Booking' as const, 'Booking' as const, 'Block' as const),
  status: fc.constantFrom('Confirmed', 'Confirmed', 'Tentative'),
  forUser: fc.boolean(),
  isPrivate: fc.boolean(),
  skip: fc.boolean(),
  repeated: fc.constantFrom(false, false, false, true),
  scope: fc.constantFrom('This' as const, 'Following' as const, 'All' as const),
  version: fc.constantFrom('right', 'right', 'right', 'any', 'wrong'),
  members: fc.subarray(['room', 'move', 'move', 'length', 'setup', 'teardown', 'subject', 'isPrivate', 'status'], {
    maxLength: 3,
  }),
  by: fc.integer({ min: -2, max: 2 }),
  minutes: fc.constantFrom(15, 30, 60, 1_440),
  lessons: fc.record({
    operation: fc.constantFrom('create' as const, 'create' as const, 'update' as const, 'delete' as const),
    job: fc.constantFrom('J1', 'J2'),
    onConflict: fc.constantFrom('Fail' as const, 'Skip' as const, 'Displace' as const),
    listed: fc.subarray([0, 1, 2], { minLength: 1 }),
    places: fc.array(place, { minLength: 3, maxLength: 3 }),
    cancelled: fc.subarray([0, 1, 2]),
    isPrivate: fc.subarray([0, 1, 2], { maxLength: 1 }),
  }),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
const begun = ({ place, ...others }: Step): Step => ({
  ...others,
  act: 'create',
  kind: 'Booking',
  place: { ...place, room: 1, near: true, day: 0, slot: 1, length: 2 },
});
const attended = (attending: Step): Step => ({ ...attending, act: 'checkIn', asAdmin: true, target: 1 });
const changing = ({ place, rule, ...others }: Step): Step => ({
  ...others,
  act: 'series',
  kind: 'Booking',
  asAdmin: false,
  forUser: false,
  rule: { ...rule, count: 4 },
  place: { ...place, room: 0, near: false, day: -1 },
});
const scenario = fc.record({
  autumn: fc.boolean(),
  // A booking that is checked in, and a series over the change of the clocks, come first.
  steps: fc
    .tuple(step, step, step, fc.array(step, { minLength: 12, maxLength: 12 }))
    .map(([one, two, three, rest]) => [begun(one), attended(two), changing(three), ...rest]),
});

// biome-ignore lint/suspicious/noExplicitAny: of two fronts
type Answer = any;
const iso = (at: number) => new Date(at).toISOString();
const time = (text: string | null) => (text === null ? null : Date.parse(text));
const number = (id: unknown) => (id === null ? null : Number(id));

const simpleConflict = ({ bookingId, resourceId: _, kind: __, ...rest }: Answer) => ({
  bookingId: Number(bookingId),
  subject: rest.subject,
  start: time(rest.start),
  end: time(rest.end),
  wantedStart: time(rest.wantedStart),
});

/** A record of either front as a row of the model has it. */
const rowOf = (record: Answer): Omit<Row, 'createdBy'> => ({
  resourceId: number(record.resourceId) as number,
  start: time(record.start)!,
  end: time(record.end)!,
  setup: record.setupMinutes,
  teardown: record.teardownMinutes,
  id: Number(record.id),
  kind: record.kind,
  status: record.status,
  subject: record.subject,
  isPrivate: record.isPrivate,
  organizerId: record.organizer && Number(record.organizer.personId),
  seriesId: number(record.seriesId),
  checkIn: record.checkIn && {
    from: time(record.checkIn.from)!,
    until: time(record.checkIn.until)!,
    done: record.checkIn.checkedInAt !== null,
  },
  version: record.version,
});

let tenants = 0;

/** A new tenant, a model of it, and the steps for both. */
async function enter(autumn: boolean) {
  const { db } = service.context;
  const tenant = await makeTenant(db, { code: `model-${++tenants}`, rooms: names });
  const { mandatorId } = tenant;
  const [, checked, night, retired] = tenant.resources as [Room, Room, Room, Room];
  await sql`update resource set check_in_minutes = 30 where id = ${checked.id}`.execute(db);
  await sql`update resource set active = false where id = ${retired.id}`.execute(db);
  await sql`insert into opening_rule (mandator_id, location_id, resource_id, weekdays, opens, closes)
    values (${mandatorId}, ${tenant.locationId}, ${night.id}, '{1,2,3,4,5,6,7}', '01:00', '04:30')`.execute(db);
  const rooms: Room[] = tenant.resources.map((room) => ({
    ...room,
    active: room.id !== retired.id,
    checkInMinutes: room.id === checked.id ? 30 : null,
    ...(room.id === night.id && { open: { from: 60, to: 270 } }),
  }));
  const model = openModel(rooms);
  const persons = { Admin: tenant.person('Admin'), User: tenant.person('User') };
  const [admin, user] = (['Admin', 'User'] as const).map((role) => ({ id: persons[role].id, role })) as [
    Person,
    Person,
  ];
  const tokens = new Map<Person, string>([
    [admin, await service.signIn(tenant, 'Admin')],
    [user, await service.signIn(tenant, 'User')],
  ]);
  const { url } = service;
  const used = new Set<string>();
  const contract = { fetch: (path: string, init: RequestInit) => fetch(url + path, init) } as Contract;
  const rest = restFront({ contract, mandator: tenant.code, casing: 'pascal', used });
  const graphql = graphqlFront({ url, mandator: tenant.code, used });
  const credential = (viewer: Person) => ({ Authorization: `Bearer ${tokens.get(viewer)}` });
  const ask = (call: Call, viewer: Person, overGraphql = false): Promise<Answer> =>
    (overGraphql ? graphql : rest)(call, credential(viewer), false);
  const get = async (path: string): Promise<Answer> =>
    (await fetch(`${url}/${tenant.code}/api/v1.0${path}`, { headers: credential(admin) })).json();
  // Whole slots from this instant are never close to the present, so that no step depends on its exact time.
  const now = Math.floor(Date.now() / minute) * minute - 7 * minute;
  const change = clockChange(nextYear, autumn ? 9 : 2);
  const startOf = (at: { near: boolean; day: number; slot: number }) =>
    (at.near ? now - half + (at.slot % 5) * half : change - 3 * half + at.slot * half) + at.day * day;
  const windows = [now, change].map((around) => ({ from: around - 3 * day, to: around + 30 * day }));
  return { db, mandatorId, rooms, model, admin, user, ask, get, startOf, windows };
}
type Tenant = Awaited<ReturnType<typeof enter>>;

const placeOf = ({ startOf, rooms }: Tenant, at: Step['place']) => ({
  resourceId: rooms[at.room]!.id,
  start: startOf(at),
  end: startOf(at) + at.length * half,
  setup: at.setup,
  teardown: at.teardown,
});

const failedOf = (answer: Answer): string =>
  answer.failed === 'CONFLICT' && /has changed since you read it/.test(answer.message) ? 'VERSION' : answer.failed;

function expectRefusal(answer: Answer, { failed, conflicts }: Refusal): void {
  expect({
    failed: answer.failed === undefined ? answer : failedOf(answer),
    ...(answer.conflicts && { conflicts: answer.conflicts.map(simpleConflict) }),
  }).toEqual({ failed, ...(conflicts && { conflicts }) });
}

/** Every suggested alternative must be possible. */
function expectAlternatives({ model }: Tenant, viewer: Person, wanted: Wanted, { alternatives = [] }: Answer): void {
  expect(alternatives.length).toBeLessThanOrEqual(5);
  for (const { resourceId, start, end } of alternatives) {
    const place = { ...wanted, resourceId: Number(resourceId), start: time(start)!, end: time(end)! };
    expect([place, place.end - place.start]).toEqual([place, wanted.end - wanted.start]);
    expect([place, model.isPossible({ ...viewer, role: 'User' }, 'Booking', place)]).toEqual([place, true]);
  }
}

let made = 0;

async function create(tenant: Tenant, step: Step, viewer: Person): Promise<void> {
  const { model, ask, user } = tenant;
  const wanted: Wanted = {
    ...placeOf(tenant, step.place),
    kind: step.kind,
    status: step.status,
    isPrivate: step.isPrivate,
    skip: step.skip,
    subject: `${++made}`,
    organizerId: step.forUser ? user.id : undefined,
    rule: step.act === 'series' ? step.rule : undefined,
  };
  const input = {
    resourceId: wanted.resourceId,
    start: iso(wanted.start),
    end: iso(wanted.end),
    subject: wanted.subject,
    setupMinutes: wanted.setup,
    teardownMinutes: wanted.teardown,
    kind: wanted.kind,
    status: wanted.status,
    isPrivate: wanted.isPrivate,
    conflictHandling: wanted.skip ? 'Skip' : 'Fail',
    ...(wanted.organizerId && { organizerId: wanted.organizerId }),
    ...(wanted.rule && { recurrenceRule: writeRule(wanted.rule, wanted.start).text }),
  };
  const args = { input, ...(step.repeated && { idempotencyKey: `key-${made}` }) };
  const expected = model.create(viewer, wanted, Date.now());
  const answer = await ask({ name: 'book', args }, viewer, step.overGraphql);
  if (isRefused(expected)) {
    expectRefusal(answer, expected);
    if (!wanted.rule) expectAlternatives(tenant, viewer, wanted, answer);
    if (step.repeated) expectRefusal(await ask({ name: 'book', args }, viewer, step.overGraphql), expected);
    return;
  }
  expect(answer.failed).toBeUndefined();
  const ids: number[] = answer.series ? answer.series.bookingIds.map(Number) : [Number(answer.id)];
  const highest = Math.max(0, ...model.rows().keys());
  expect(ids.every((id, at) => id > (ids[at - 1] ?? highest))).toBe(true);
  expect([ids.length, ids[0]]).toEqual([expected.made.length, Number(answer.id)]);
  expect(answer.series === null).toBe(wanted.rule === undefined);
  if (answer.series)
    expect(
      answer.series.skipped.map((skipped: Answer) => ({
        start: time(skipped.start),
        end: time(skipped.end),
        conflicts: skipped.conflicts.map(simpleConflict),
      })),
    ).toEqual(expected.skipped);
  const seriesId = answer.series ? Number(answer.series.seriesId) : null;
  model.write(expected.made.map((row, at) => ({ ...row, id: ids[at]!, seriesId })));
  if (!step.repeated) return;
  expect(await ask({ name: 'book', args }, viewer, step.overGraphql)).toEqual(answer);
  const other = { ...args, input: { ...input, subject: 'other' } };
  expectRefusal(await ask({ name: 'book', args: other }, viewer), { failed: 'BAD_USER_INPUT' });
}

/** The booking of a step: mostly one that the step applies to, sometimes another or none. */
function targetOf({ model }: Tenant, { target, act }: Step): Row | undefined {
  const rows = [...model.rows().values()];
  const apt = rows.filter(
    ({ kind, status, checkIn }) =>
      kind !== 'Lesson' &&
      /Confirmed|Tentative/.test(status) &&
      (act !== 'checkIn' || (checkIn && checkIn.from < Date.now())),
  );
  if (target % 31 === 0) return undefined;
  const among = target % 5 === 0 || apt.length === 0 ? rows : apt;
  return among[target % among.length];
}

async function act(tenant: Tenant, step: Step, viewer: Person, target: number | undefined): Promise<void> {
  const { model, ask } = tenant;
  const row = target === undefined ? undefined : model.rows().get(target);
  const id = row?.id ?? 2_000_000_000;
  const named = { id: String(id) };
  const { scope, skip, overGraphql } = step;
  const exact = step.version === 'wrong' ? (row?.version ?? 1) + 1 : (row?.version ?? 1);
  const now = Date.now();
  let expected: Refusal | { written: Row[] };
  let answer: Answer;
  if (step.act === 'change') {
    const changes = changesOf(tenant, step, row);
    expected = model.change(viewer, id, changes, { scope, skip, version: exact, now });
    const { setup, teardown, start, end, ...rest } = changes;
    const input = {
      ...rest,
      ...(start !== undefined && { start: iso(start) }),
      ...(end !== undefined && { end: iso(end) }),
      ...(setup !== undefined && { setupMinutes: setup }),
      ...(teardown !== undefined && { teardownMinutes: teardown }),
    };
    const args = {
      ...named,
      input,
      scope,
      version: exact,
      conflictHandling: skip ? 'Skip' : 'Fail',
    } as const;
    answer = await ask({ name: 'changeBooking', args }, viewer, overGraphql);
  } else if (step.act === 'cancel') {
    const version = step.version === 'any' ? undefined : exact;
    expected = model.cancel(viewer, id, { scope, version, now });
    const args = { ...named, scope, ...(version !== undefined && { version }) };
    answer = await ask({ name: 'cancelBooking', args }, viewer, overGraphql);
  } else if (step.act === 'extend') {
    expected = model.extend(viewer, id, step.minutes, now);
    answer = await ask({ name: 'extendBooking', args: { ...named, minutes: step.minutes } }, viewer, overGraphql);
  } else {
    const name = step.act as 'checkIn' | 'releaseBooking';
    expected = model.attend(viewer, id, name, now);
    answer = await ask({ name, args: named }, viewer, overGraphql);
  }
  if (isRefused(expected)) return expectRefusal(answer, expected);
  expect(answer.failed).toBeUndefined();
  model.write(expected.written);
  expect([Number(answer.id), answer.version]).toEqual([id, model.rows().get(id)?.version]);
}

function changesOf(tenant: Tenant, { members, place, by, isPrivate, status }: Step, row: Row | undefined): Changes {
  const changes: Changes = {};
  for (const member of members)
    switch (member) {
      case 'room':
        changes.resourceId = tenant.rooms[place.room]!.id;
        break;
      case 'move':
        changes.start = (row?.start ?? tenant.startOf(place)) + by * half;
        changes.end = (row?.end ?? tenant.startOf(place) + half) + by * half;
        break;
      case 'length':
        changes.end = (changes.start ?? row?.start ?? tenant.startOf(place)) + place.length * half;
        break;
      case 'setup':
        changes.setup = place.setup;
        break;
      case 'teardown':
        changes.teardown = place.teardown;
        break;
      case 'subject':
        changes.subject = `${++made}`;
        break;
      case 'isPrivate':
        changes.isPrivate = isPrivate;
        break;
      case 'status':
        changes.status = status;
    }
  return changes;
}

/** Makes a booking a no-show: moves its check-in limit into the past, without a change in the feed. */
async function missCheckIn(tenant: Tenant, step: Step): Promise<void> {
  const { db, mandatorId, model } = tenant;
  const rows = [...model.rows().values()].filter(
    ({ checkIn, status }) => checkIn && !checkIn.done && /Confirmed|Tentative/.test(status),
  );
  const row = rows[step.target % rows.length];
  if (!row?.checkIn) return;
  const limit = Math.min(Math.floor(Date.now() / minute) * minute, row.checkIn.until);
  await db.transaction().execute(async (trx) => {
    await sql`set local session_replication_role = replica`.execute(trx);
    await sql`update booking set check_in_until = ${new Date(limit)}
      where mandator_id = ${mandatorId} and id = ${row.id}`.execute(trx);
  });
  const isDue = limit <= Date.now();
  if (isDue)
    // The worker may release it first.
    await until('it is released', async () => {
      await releaseNoShows(db);
      return (
        (await db.selectFrom('booking').where('id', '=', row.id).select('status').executeTakeFirst())?.status ===
        'Released'
      );
    });
  const checkIn = { ...row.checkIn, until: limit };
  model.write([{ ...row, checkIn, ...(isDue && { status: 'Released', version: row.version + 1 }) }]);
}

type LessonState = { row: number; cancelled: boolean };
/** By job and number; lesson n is always in room n. */
type Timetable = Map<string, Map<number, LessonState>>;

async function importLessons(tenant: Tenant, timetable: Timetable, step: Step): Promise<void> {
  const { model, rooms, admin, ask, startOf } = tenant;
  const { operation, job, onConflict, listed, places, cancelled, isPrivate } = step.lessons;
  const stored = timetable.get(job);
  const whole = operation === 'delete' && step.skip;
  const wanted = listed.map((at) => {
    const place = places[at]!;
    const start = startOf(place);
    const end = start + Math.max(1, place.length % 8) * half;
    return {
      at,
      start,
      end,
      isPrivate: isPrivate.includes(at),
      cancelled: cancelled.includes(at),
      titel: `${++made}`,
    };
  });
  const lektionList = wanted.map(({ at, start, end, ...lesson }) =>
    operation === 'delete'
      ? { lektionId: `${at}` }
      : {
          lektionId: `${at}`,
          ressourceName: rooms[at]!.name,
          beginn: iso(start),
          ende: iso(end),
          titel: lesson.titel,
          privat: lesson.isPrivate,
          status: lesson.cancelled ? 'Entfaellt' : 'Geplant',
        },
  );
  const jobs = [{ jobID: job, ...(!whole && { lektionList }) }];
  const args = { jobs, ...(operation !== 'delete' && { onConflict }) };
  const queued = await ask({ name: operation, args }, admin, step.overGraphql);
  const batch = await ask({ name: 'end', args: { id: queued.batchId } }, admin);

  const isKnown =
    operation === 'create' ? !stored : stored !== undefined && (whole || listed.every((at) => stored.has(at)));
  const claims = wanted.map((lesson) => {
    const old = stored?.get(lesson.at)?.row;
    const place = {
      resourceId: rooms[lesson.at]!.id,
      start: lesson.start,
      end: lesson.end,
      setup: 0,
      teardown: 0,
    };
    const ways = lesson.cancelled ? [] : model.inTheWayOf(place, old === undefined ? [] : [old]);
    return { ...lesson, old, place, ways };
  });
  const blocking = claims.filter(({ ways }) =>
    ways.some(({ kind }) => onConflict === 'Fail' || (onConflict === 'Displace' && kind !== 'Booking')),
  );
  const succeeds = isKnown && (operation === 'delete' || blocking.length === 0);
  expect([batch.importStatus, batch.errors]).toEqual([
    succeeds ? 'LessonsCreated' : 'LessonsImportFailed',
    expect.anything(),
  ]);
  if (!succeeds) return;

  if (operation === 'delete') {
    const gone = whole ? [...stored!.keys()] : listed;
    // Also of one that was cancelled before: it has no lesson any more.
    model.write(
      gone
        .map((at) => model.rows().get(stored!.get(at)!.row) as Row)
        .map((row) => ({ ...row, status: 'Cancelled', version: row.version + 1 })),
    );
    for (const at of gone) stored!.delete(at);
    if (whole) timetable.delete(job);
    return;
  }
  const lessons = stored ?? new Map<number, LessonState>();
  timetable.set(job, lessons);
  const { items } = await ask({ name: 'lessons', args: { jobID: job, limit: 100 } }, admin);
  for (const { at, old, place, ways, ...lesson } of claims) {
    if (ways.length > 0 && onConflict === 'Skip') continue;
    model.write(ways.map((row) => ({ ...row, status: 'Cancelled', version: row.version + 1 })));
    const bookingId = Number(items.find((item: Answer) => item.lektionId === `${at}`).bookingId);
    if (old !== undefined) expect(bookingId).toBe(old);
    model.write([
      {
        ...place,
        id: bookingId,
        kind: 'Lesson',
        subject: lesson.titel,
        isPrivate: lesson.isPrivate,
        status: lesson.cancelled ? 'Cancelled' : 'Confirmed',
        organizerId: null,
        createdBy: admin.id,
        seriesId: null,
        checkIn: null,
        version: old === undefined ? 1 : model.rows().get(old)!.version + 1,
      },
    ]);
    lessons.set(at, { row: bookingId, cancelled: lesson.cancelled });
  }
}

/** Every booking, page by page. */
async function listAll({ ask, windows, admin }: Tenant, limit: number, overGraphql = false, viewer = admin) {
  const found = new Map<number, Answer>();
  for (const { from, to } of windows) {
    let last = Number.NEGATIVE_INFINITY;
    for (let cursor: string | null = ''; cursor !== null; ) {
      const args = { from: iso(from), to: iso(to), limit, ...(cursor && { cursor }) };
      const page: Answer = await ask({ name: 'bookings', args }, viewer, overGraphql);
      for (const item of page.items) {
        expect(found.has(Number(item.id))).toBe(false);
        const begin = occupied(rowOf(item)).from;
        expect(begin).toBeGreaterThanOrEqual(last);
        last = begin;
        found.set(Number(item.id), item);
      }
      cursor = page.nextCursor;
    }
  }
  return found;
}

/** The state of a client that follows the feed. */
type Follower = { cursor: string; known: Map<number, Answer> };

/** The changes of bookings since the last time, in their order: `Created 5 of 2`. */
async function follow({ get }: Tenant, follower: Follower): Promise<string[]> {
  const news: string[] = [];
  for (let hasMore = true; hasMore; ) {
    const page = await get(`/changes?Limit=7&Cursor=${follower.cursor}`);
    for (const { Kind, Id, Action, ResourceId } of page.Items)
      if (Kind === 'Booking') news.push(`${Action} ${Id} of ${ResourceId}`);
    follower.cursor = page.NextCursor;
    hasMore = page.HasMore;
  }
  return news;
}

const newsOf = (before: ReadonlyMap<number, Row>, after: ReadonlyMap<number, Row>) =>
  [...after.values()].flatMap((row) => {
    const old = before.get(row.id);
    if (!old) return [`Created ${row.id} of ${row.resourceId}`];
    if (old.version === row.version) return [];
    return [...new Set([old.resourceId, row.resourceId])].map((room) => `Changed ${row.id} of ${room}`);
  });

async function compare(
  tenant: Tenant,
  before: ReadonlyMap<number, Row>,
  follower: Follower,
  limit: number,
  began: number,
): Promise<void> {
  const { db, mandatorId, model } = tenant;
  const listed = await listAll(tenant, limit);
  const rows = [...model.rows().values()].map((row) => {
    const seen = listed.get(row.id)?.checkIn;
    // Asked for from now on: as long as the call took it may be later.
    const late = seen && row.checkIn ? Date.parse(seen.until) - row.checkIn.until : 0;
    return before.get(row.id)?.version !== row.version && late > 0 && late <= Date.now() - began
      ? { ...row, checkIn: { ...row.checkIn!, until: row.checkIn!.until + late } }
      : row;
  });
  model.write(rows);
  const byId = (one: { id: number }, other: { id: number }) => one.id - other.id;
  expect([...listed.values()].map(rowOf).sort(byId)).toEqual(rows.map(({ createdBy: _, ...row }) => row).sort(byId));
  const { rows: wrong } = await sql`
    select one.id, other.id as with from booking as one join booking as other
      on one.mandator_id = other.mandator_id and one.resource_id = other.resource_id and one.id < other.id
      and one.occupied && other.occupied
    where one.mandator_id = ${mandatorId} and one.status in ('Confirmed', 'Tentative')
      and other.status in ('Confirmed', 'Tentative')
    union all select count(*), ${rows.length} from booking where mandator_id = ${mandatorId}
      having count(*) <> ${rows.length}`.execute(db);
  expect(wrong).toEqual([]);

  const news = await follow(tenant, follower);
  expect(news.toSorted()).toEqual(newsOf(before, model.rows()).toSorted());
  for (const text of news) {
    const id = Number(text.split(' ')[1]);
    follower.known.set(id, listed.get(id));
  }
  expect(follower.known).toEqual(listed);
}

async function compareAvailability(tenant: Tenant): Promise<void> {
  const { model, rooms, get, startOf } = tenant;
  for (const near of [true, false]) {
    const from = startOf({ near, day: -1, slot: 0 }) - half;
    const to = startOf({ near, day: 1, slot: 14 });
    const { Items } = await get(`/availability?From=${iso(from)}&To=${iso(to)}`);
    const spans = (list: { Start: string; End: string }[]) =>
      list.map(({ Start, End }) => ({ start: time(Start), end: time(End) }));
    expect(
      Items.map((item: Answer) => ({ id: item.ResourceId, busy: spans(item.Busy), free: spans(item.Free) })),
    ).toEqual(rooms.filter(({ active }) => active).map(({ id }) => ({ id, ...model.availability(id, from, to) })));
  }
}

/** REST and GraphQL answer the same, and hide private content from a user. */
async function compareReaders(tenant: Tenant, model: Model): Promise<void> {
  const { user } = tenant;
  const texts = (value: unknown) =>
    JSON.stringify(value, (_, each) => (typeof each === 'number' ? String(each) : each));
  const [rest, graphql] = [await listAll(tenant, 5, false, user), await listAll(tenant, 40, true, user)];
  const sorted = (records: Map<number, Answer>) =>
    [...records].map(([id, record]) => [id, JSON.parse(texts(record))]).toSorted(([a], [b]) => a - b);
  expect(sorted(graphql)).toEqual(sorted(rest));
  for (const [id, { subject }] of rest)
    expect([id, subject]).toEqual([id, model.subjectFor(user, model.rows().get(id)!)]);
}

test('whatever people and timetables do, each answer and the stored data agree with the model', async () => {
  const met = new Set<string>();
  const property = fc.asyncProperty(scenario, async ({ autumn, steps }) => {
    const tenant = await enter(autumn);
    const { model, admin, user } = tenant;
    const timetable: Timetable = new Map();
    const follower: Follower = {
      cursor: (await tenant.get('/changes?Cursor=now')).NextCursor,
      known: new Map(),
    };
    for (const [at, step] of steps.entries()) {
      const viewer = step.asAdmin ? admin : user;
      const target = targetOf(tenant, step)?.id;
      // A repeated step, with the version of that time, mostly changes nothing.
      for (const _ of step.repeated ? [1, 2] : [1]) {
        const before = model.rows();
        const began = Date.now();
        if (step.act === 'create' || step.act === 'series') await create(tenant, step, viewer);
        else if (step.act === 'lessons') await importLessons(tenant, timetable, step);
        else if (step.act === 'noShow') await missCheckIn(tenant, step);
        else await act(tenant, step, viewer, target);
        if (model.rows() !== before) met.add(step.act);
        await compare(tenant, before, follower, at % 4 === 0 ? 3 : 200, began);
      }
      if (at % 5 === 4) await compareAvailability(tenant);
    }
    await compareReaders(tenant, model);
  });
  await Promise.all(
    Array.from({ length: lanes }, (_, lane) =>
      fc.assert(property, {
        numRuns: Math.ceil(runs / lanes),
        seed: seed + lane,
        endOnFailure: true,
      }),
    ),
  );
  for (const name of ['create', 'series', 'change', 'cancel', 'checkIn', 'lessons']) expect(met).toContain(name);
}, 3_600_000);
