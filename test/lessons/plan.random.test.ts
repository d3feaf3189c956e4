import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import type { Job } from '../_util/lessons.ts';
import { times } from '../_util/long.ts';
import { type Service, startService } from '../_util/service.ts';
import { at, enterTenant, type LessonRecord, lesson, type Timetable } from '../_util/timetable.ts';

const runs = times(4, 400);
/** Tenants whose batches run beside each other. */
const lanes = 4;

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const rooms = ['A', 'B', 'C'];
const hours = [8, 9, 10];
const ids = ['1', '2', '3', '4'];

const place = fc
  .record({
    RessourceName: fc.constantFrom(...rooms),
    time: fc.constantFrom(...hours).map((hour) => at(hour)),
    KopplungId: fc.constantFrom(null, null, 'K', 'L'),
    Status: fc.constantFrom('Geplant', 'Geplant', 'Geplant', 'Entfaellt'),
    Titel: fc.constantFrom(null, 'x', 'y'),
    Privat: fc.constantFrom(false, false, true),
  })
  .map(({ time, ...members }) => ({ ...members, ...time }));
/** Some members of a lesson, the times always together. */
const part = fc
  .tuple(place, fc.subarray(['RessourceName', 'Beginn', 'KopplungId', 'Status', 'Titel', 'Privat']))
  .map(([{ Ende, ...members }, kept]) => ({
    ...Object.fromEntries(Object.entries(members).filter(([name]) => kept.includes(name))),
    ...(kept.includes('Beginn') && { Ende }),
  }));

const steps = fc.array(
  fc.record({
    kind: fc.constantFrom('change', 'change', 'change', 'change', 'replace', 'recreate'),
    rule: fc.constantFrom('Fail', 'Skip', 'Displace'),
    names: fc.subarray(['J1', 'J2', 'J3'], { minLength: 1 }),
    listed: fc.subarray(ids, { minLength: 1 }),
    parts: fc.array(part, { minLength: 12, maxLength: 12 }),
    places: fc.array(place, { minLength: 12, maxLength: 12 }),
    booking: fc.option(fc.tuple(fc.constantFrom(...rooms), fc.constantFrom(...hours)), { freq: 3 }),
  }),
  { minLength: 6, maxLength: 6 },
);

type State = Record<string, LessonRecord>;
type Wanted = Record<string, ReturnType<typeof plain>>;

const plain = ({ BookingId, Ursprung, RessourceId, ...record }: LessonRecord) => ({
  ...record,
  Beginn: new Date(record.Beginn).toISOString(),
  Ende: new Date(record.Ende).toISOString(),
});
const plainAll = (state: State): Wanted =>
  Object.fromEntries(Object.entries(state).map(([key, record]) => [key, plain(record)]));
const keyOf = ({ JobID, LektionId }: { JobID: string; LektionId: string }) => `${JobID} ${LektionId}`;

async function stateOf({ client }: Timetable): Promise<State> {
  const { Items } = await client.lessons('Limit=200');
  return Object.fromEntries((Items as LessonRecord[]).map((record) => [keyOf(record), record]));
}

const empty = {
  Titel: null,
  Fach: null,
  Bemerkung: null,
  Klassen: null,
  Lehrpersonen: null,
  KopplungId: null,
  Privat: false,
};

/** What jobs ask for. */
function wantedOf(state: State, jobs: Job[]): Wanted {
  const wanted = plainAll(state);
  for (const { JobID, LektionList, ReplaceLektionList } of jobs) {
    const listed = LektionList.map((each) => {
      const key = keyOf({ JobID, LektionId: each.LektionId });
      wanted[key] = plain({ ...empty, JobID, ...wanted[key], ...each } as unknown as LessonRecord);
      return key;
    });
    if (ReplaceLektionList)
      for (const [key, record] of Object.entries(wanted))
        if (record.JobID === JobID && !listed.includes(key)) delete wanted[key];
  }
  return wanted;
}

/** Whether one room is wanted twice at one time, other than by lessons that are coupled. */
function hasConflict(wanted: Wanted, booked: { room: string; hour: number }[]): boolean {
  const takers = [
    ...Object.entries(wanted)
      .filter(([, { Status }]) => Status !== 'Entfaellt')
      .map(([key, { RessourceName, Beginn, KopplungId }]) => ({
        place: `${RessourceName} ${Date.parse(Beginn)}`,
        taker: KopplungId ?? key,
      })),
    ...booked.map(({ room, hour }) => ({
      place: `${room} ${Date.parse(at(hour).Beginn)}`,
      taker: 'booking',
    })),
  ];
  return [...Map.groupBy(takers, (each) => each.place).values()].some(
    (wanting) => new Set(wanting.map(({ taker }) => taker)).size > 1,
  );
}

/** Invariants of lessons and their bookings after any batch. @returns the violations */
async function broken({ tenant }: Timetable): Promise<unknown[]> {
  const { rows } = await sql`
    with own as (
      select lesson.*, booking.status as booking_status, booking.resource_id = lesson.resource_id
          and booking.occupied = tstzrange(beginn, ende) and coupling_id is not distinct from kopplung_id as in_place
      from lesson left join booking on booking.mandator_id = lesson.mandator_id and booking.id = booking_id
      where lesson.mandator_id = ${tenant.mandatorId}
    )
    select 'a lesson has a booking at its place' as rule, job, lektion_id from own
      where status <> 'Entfaellt' and (booking_status = 'Confirmed' and in_place) is not true
    union all select 'a cancelled lesson has a cancelled booking', job, lektion_id from own
      where status = 'Entfaellt' and booking_status is distinct from 'Cancelled'
    union all select 'lessons share a booking when they are coupled at one place, and only then', a.job, a.lektion_id
      from own a join own b on (a.job, a.lektion_id) < (b.job, b.lektion_id)
      where a.status <> 'Entfaellt' and b.status <> 'Entfaellt' and (a.booking_id = b.booking_id) <> coalesce(
        (a.kopplung_id, a.resource_id, a.beginn, a.ende) = (b.kopplung_id, b.resource_id, b.beginn, b.ende), false)
    union all select 'an active booking of lessons has one', null, id::text from booking
      where mandator_id = ${tenant.mandatorId} and kind = 'Lesson' and status = 'Confirmed'
        and id not in (select booking_id from own)
    union all select 'a booking says what the first of its lessons says, and is private when one is', null, booking.id::text
      from booking join (
        select booking_id, (array_agg(coalesce(titel, fach) order by job, lektion_id))[1] as subject, bool_or(privat) as is_private
        from own group by 1) as said on said.booking_id = booking.id
      where (booking.subject, booking.is_private) is distinct from (said.subject, said.is_private)`.execute(
    service.context.db,
  );
  return rows;
}

/** Whether something other than the lesson itself, or one coupled to it, is at the place that it wanted. */
function isTaken(place: Wanted[string], key: string, { state, bookings }: Seen): boolean {
  const others = Object.entries(state).filter(
    ([other, { Status, KopplungId }]) =>
      other !== key && Status !== 'Entfaellt' && (KopplungId === null || KopplungId !== place.KopplungId),
  );
  const hour = (Date.parse(place.Beginn) - Date.parse(at(0).Beginn)) / 3_600_000;
  return (
    others.some(
      ([, { RessourceName, Beginn }]) =>
        RessourceName === place.RessourceName && Date.parse(Beginn) === Date.parse(place.Beginn),
    ) ||
    Object.values(bookings).some(
      ({ kind, status, at: where }) =>
        kind !== 'Lesson' && status === 'Confirmed' && where === `${place.RessourceName} ${hour}-${hour + 1}`,
    )
  );
}

type Seen = { state: State; bookings: Awaited<ReturnType<Timetable['bookings']>> };

/** Bookings whose Version has not grown by one when they or their lessons changed, or has when neither did. */
function wronglyCounted(before: Seen, after: Seen): string[] {
  return Object.entries(before.bookings).flatMap(([id, old]) => {
    const now = after.bookings[Number(id)];
    const inside = ({ state }: Seen) =>
      JSON.stringify(
        Object.values(state)
          .filter(({ BookingId }) => BookingId === Number(id))
          .map(plain),
      );
    const grown = (now?.version ?? 0) - old.version;
    const isChanged = JSON.stringify({ ...old, version: 0 }) !== JSON.stringify({ ...now, version: 0 });
    const due = isChanged || inside(before) !== inside(after) ? 1 : 0;
    return grown === due ? [] : [`${id} grew by ${grown} and not by ${due}`];
  });
}

test('for any jobs only the end state decides, and lessons and bookings agree', async () => {
  const met = new Set<string>();
  const property = fc.asyncProperty(steps, async (list) => {
    const timetable = await enterTenant(service, rooms);
    const look = async (): Promise<Seen> => {
      expect(await broken(timetable)).toEqual([]);
      return { state: await stateOf(timetable), bookings: await timetable.bookings() };
    };
    const daily = (room: string, more = {}) =>
      hours.map((hour, index) => lesson(ids[index] as string, room, hour, more));
    await timetable.done('create', [
      { JobID: 'J1', LektionList: daily('A') },
      { JobID: 'J2', LektionList: daily('B', { KopplungId: 'K' }) },
      { JobID: 'J3', LektionList: daily('B', { KopplungId: 'K' }) },
    ]);
    const booked = new Map<number, { room: string; hour: number }>();
    for (const { kind, rule, names, listed, parts, places, booking } of list) {
      if (booking) {
        const [room, hour] = booking;
        const id = await timetable.book(room, hour, hour + 1).catch(() => 0);
        if (id) booked.set(id, { room, hour });
      }
      const whole = names.map((JobID) => ({ JobID }));
      if (kind === 'recreate') await timetable.done('delete', whole);
      const before = await look();
      const jobs = names.map((JobID, job) => ({
        JobID,
        ReplaceLektionList: kind === 'replace',
        LektionList: listed.flatMap((LektionId) => {
          const at = job * ids.length + ids.indexOf(LektionId);
          if (before.state[keyOf({ JobID, LektionId })]) return [{ LektionId, ...parts[at] }];
          return kind === 'change' ? [] : [{ LektionId, ...places[at] }];
        }),
      })) as Job[];
      const sent = jobs.filter(({ LektionList }) => LektionList.length > 0);
      if (sent.length === 0) continue;
      const wanted = wantedOf(before.state, sent);
      const conflict = hasConflict(wanted, rule === 'Displace' ? [] : [...booked.values()]);
      const operation = kind === 'recreate' ? 'create' : 'update';
      met.add(`${operation} ${rule} ${conflict}`);

      const batch = await timetable.run(`${operation}?OnConflict=${rule}`, sent);
      const after = await look();
      const fails = conflict && rule !== 'Skip';
      expect(batch.ImportStatus).toBe(fails ? 'LessonsImportFailed' : 'LessonsCreated');
      if (fails) {
        expect(after).toEqual(before);
        const cancelled = { LektionList: [lesson('1', 'A', 8, { Status: 'Entfaellt' })] };
        if (kind === 'recreate')
          await timetable.done(
            'create',
            whole.map((job) => ({ ...job, ...cancelled })),
          );
        continue;
      }
      const warned = batch.Errors.filter(({ Code }) => Code === 'ResourceConflict');
      if (rule === 'Skip') {
        expect(warned.length > 0).toBe(conflict);
        for (const key of warned.map(keyOf)) {
          expect([key, isTaken(wanted[key]!, key, after)]).toEqual([key, true]);
          const kept = before.state[key];
          if (kept) wanted[key] = plain(kept);
          else delete wanted[key];
        }
      }
      expect(plainAll(after.state)).toEqual(wanted);
      expect(wronglyCounted(before, after)).toEqual([]);
      for (const id of booked.keys())
        if (after.bookings[id]?.status === 'Cancelled') booked.delete(id);
        else expect(after.bookings[id]).toEqual(before.bookings[id]);
    }
  });
  await Promise.all(
    Array.from({ length: lanes }, (_, seed) =>
      fc.assert(property, { numRuns: Math.ceil(runs / lanes), seed, endOnFailure: true }),
    ),
  );
  for (const rule of ['Fail', 'Skip', 'Displace'])
    for (const conflict of [true, false]) expect(met).toContain(`update ${rule} ${conflict}`);
}, 600_000);
