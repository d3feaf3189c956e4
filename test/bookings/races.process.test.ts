import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { hashDisplayToken, makeDisplayToken } from '../../src/identity/service.ts';
import { openLog } from '../../src/log.ts';
import { nextYear } from '../_util/ahead.ts';
import { makeDisplay, makeTenant } from '../_util/factories.ts';
import { hold, releaseAll } from '../_util/hold.ts';
import { times } from '../_util/long.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { killPrograms, startProgram, until, visit } from '../_util/process.ts';
import { testConfig } from '../_util/service.ts';

const hour = 3_600_000;
const week = 168 * hour;
/** Nine o'clock on a day of next January, when no clock changes for weeks. */
const nine = Date.UTC(nextYear, 0, 11, 8);

let clone: Awaited<ReturnType<typeof cloneDatabase>>;
let db: Database;
let tenant: Awaited<ReturnType<typeof makeTenant>>;
let processes: (Awaited<ReturnType<typeof visit>> & { url: string })[];

beforeAll(async () => {
  clone = await cloneDatabase();
  db = openDatabase(clone.url, { max: 4, log: openLog('silent'), statementTimeout: 10_000 });
  tenant = await makeTenant(db);
  const urls = await Promise.all([1, 2].map(() => startProgram(clone.url).ready));
  processes = await Promise.all(urls.map(async (url) => ({ url, ...(await visit(url, db, tenant)) })));
});
afterAll(async () => {
  await releaseAll();
  await killPrograms();
  await db.destroy();
  await clone.drop();
});

type Room = { id: number; name: string };
type Place = { from: number; to: number };
type Racer = Place & { room: Room; rule?: string; skip?: boolean };
type Outcome = {
  racer: Racer;
  /** As REST says it: 201 or 409. */
  status: number | string;
  bookings: number[];
  skipped: number;
  conflicts: number[];
};

/** Where a racer wants to be. */
const placesOf = ({ from, to, rule }: Racer): Place[] =>
  [0, 1, 2].slice(0, rule ? 3 : 1).map((weeks) => ({ from: from + weeks * week, to: to + weeks * week }));

const iso = (at: number) => new Date(at).toISOString();

type ById = { BookingId: number };

async function overRest(racer: Racer, { url, token }: (typeof processes)[number]): Promise<Outcome> {
  const answer = await fetch(`${url}/${tenant.code}/api/v1.0/bookings`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      ResourceId: racer.room.id,
      Subject: 'REST',
      Start: iso(racer.from),
      End: iso(racer.to),
      ...(racer.rule && { RecurrenceRule: racer.rule, ConflictHandling: racer.skip ? 'Skip' : 'Fail' }),
    }),
  });
  const body = (await answer.json()) as {
    Id?: number;
    Series?: { BookingIds: number[]; Skipped: object[] } | null;
    Conflicts?: ById[];
  };
  return {
    racer,
    status: answer.status,
    bookings: body.Series?.BookingIds ?? (body.Id === undefined ? [] : [body.Id]),
    skipped: body.Series?.Skipped.length ?? 0,
    conflicts: (body.Conflicts ?? []).map(({ BookingId }) => BookingId),
  };
}

const mutation = `mutation ($input: CreateBookingInput!) {
  createBooking(input: $input) {
    __typename
    ... on BookingCreated { booking { id } }
    ... on SeriesCreated { bookingIds skipped { start } }
    ... on ConflictProblem { conflicts { bookingId } }
  }
}`;
/** The id of REST in one of the graph. */
const plain = (id: string) => Number(id.replace(/^[a-z]+_/, ''));
const statuses: Record<string, number> = { BookingCreated: 201, SeriesCreated: 201, ConflictProblem: 409 };

async function overGraphql(racer: Racer, { url, token }: (typeof processes)[number]): Promise<Outcome> {
  const answer = await fetch(`${url}/${tenant.code}/graphql`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      query: mutation,
      variables: {
        input: {
          resourceId: String(racer.room.id),
          subject: 'GraphQL',
          start: iso(racer.from),
          end: iso(racer.to),
          ...(racer.rule && { recurrenceRule: racer.rule, conflictHandling: racer.skip ? 'Skip' : 'Fail' }),
        },
      },
    }),
  });
  const { data, errors } = (await answer.json()) as {
    data?: {
      createBooking: {
        __typename: string;
        booking?: { id: string };
        bookingIds?: string[];
        skipped?: object[];
        conflicts?: { bookingId: string }[];
      };
    };
    errors?: object[];
  };
  const made = data?.createBooking;
  return {
    racer,
    status: statuses[made?.__typename ?? ''] ?? JSON.stringify([answer.status, errors, made]),
    bookings: (made?.bookingIds ?? (made?.booking ? [made.booking.id] : [])).map(plain),
    skipped: made?.skipped?.length ?? 0,
    conflicts: (made?.conflicts ?? []).map(({ bookingId }) => plain(bookingId)),
  };
}

/** Of ten racers six want the hour, two overlap half of it, two want a series with the hour in its second week. */
function racerAt(index: number, room: Room): Racer {
  const rule = 'FREQ=WEEKLY;COUNT=3';
  const shifts = { 6: -0.5, 7: 0.5, 8: -168, 9: -168 };
  const from = nine + (shifts[(index % 10) as 6] ?? 0) * hour;
  return { room, from, to: from + hour, ...(index % 10 > 7 && { rule, skip: index % 10 === 9 }) };
}

/** Whether `count` connections have waited for a lock, at any time: waiting writers give up and queue again. */
function haveWaited(count: number): () => Promise<boolean> {
  const seen = new Set<number>();
  return async () => {
    const { rows } = await sql<{ pid: number }>`
      select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
    for (const { pid } of rows) seen.add(pid);
    return seen.size >= count;
  };
}

/** Releases the room when all that may wait for its lock have: four writers of each process, and the import. */
async function race(room: Room, count: number, importFirst: boolean) {
  const letGo = await hold(db, (trx) => sql`select from resource where id = ${room.id} for no key update`.execute(trx));
  const lesson = (LektionId: string, from: number) => ({
    LektionId,
    RessourceName: room.name,
    Beginn: iso(from),
    Ende: iso(from + hour),
  });
  const send = () =>
    processes[0]?.importJobs([{ JobID: room.name, LektionList: [lesson('L-0', nine), lesson('L-1', nine + week)] }]);
  let importing = importFirst ? send() : undefined;
  if (importing) await until('the import waits', haveWaited(1));
  const racing = Array.from({ length: count }, (_each, index) => racerAt(Math.floor(index / 4), room))
    .map((racer, index) => ({ racer, index, at: Math.random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ racer, index }) =>
      (index % 4 < 2 ? overRest : overGraphql)(racer, processes[index % 2] as (typeof processes)[number]),
    );
  importing ??= send();
  await until('nine wait', haveWaited(9));
  await letGo();
  const [batch, ...outcomes] = await Promise.all([importing, ...racing]);
  return { batch, outcomes };
}

const creates = times(80, 200);

test.each([
  [`${creates} racing creates over REST and GraphQL and a lesson import`, creates, false],
  ['40 creates after a lesson import that has not ended', 40, true],
])(
  '%s, on two processes: no place is taken twice, and every loser is told by whom',
  async (_name, count, importFirst) => {
    const room = tenant.resources[Number(importFirst)] as Room;
    const { batch, outcomes } = await race(room, count, importFirst);

    const { rows: stored } = await sql<{ id: number; from: Date; to: Date; kind: string }>`
    select id, lower(occupied) as from, upper(occupied) as to, kind from booking
    where resource_id = ${room.id} and status in ('Confirmed', 'Tentative') order by lower(occupied)`.execute(db);
    const bookings = stored.map((row) => ({ ...row, from: row.from.getTime(), to: row.to.getTime() }));
    expect(bookings.filter(({ from }, index) => index > 0 && from < bookings[index - 1]!.to)).toEqual([]);

    const overlapping = (place: Place) => bookings.filter(({ from, to }) => from < place.to && place.from < to);
    // Each half of the wanted hour has exactly one booking.
    for (const half of [nine, nine + hour / 2])
      expect(overlapping({ from: half, to: half + hour / 2 })).toHaveLength(1);

    const winners = outcomes.filter(({ status }) => status === 201);
    const losers = outcomes.filter(({ status }) => status !== 201);
    expect(new Set(losers.map(({ status }) => status))).toEqual(new Set([409]));
    for (const { racer, conflicts } of losers) {
      const inTheWay = placesOf(racer)
        .flatMap(overlapping)
        .map(({ id }) => id);
      expect(conflicts.length).toBeGreaterThan(0);
      expect(inTheWay).toEqual(expect.arrayContaining(conflicts));
    }
    // A winner has all its bookings, except the reported skipped ones.
    for (const { racer, bookings: ids, skipped } of winners) {
      expect(ids.length + skipped).toBe(placesOf(racer).length);
      if (skipped > 0) expect(racer.skip).toBe(true);
      for (const id of ids)
        expect(placesOf(racer)).toContainEqual(
          expect.objectContaining({ from: bookings.find((booking) => booking.id === id)?.from }),
        );
    }
    const lessons = bookings.filter(({ kind }) => kind === 'Lesson');
    expect(bookings.map(({ id }) => id).sort()).toEqual(
      [...winners.flatMap((winner) => winner.bookings), ...lessons.map(({ id }) => id)].sort(),
    );
    if (importFirst) expect(batch?.ImportStatus).toBe('LessonsCreated');
    if (batch?.ImportStatus === 'LessonsCreated') expect(lessons).toHaveLength(2);
    else {
      expect(lessons).toEqual([]);
      expect(new Set(batch?.Errors.map(({ Code }) => Code))).toEqual(new Set(['ResourceConflict']));
    }
  },
);

test('two displays of one room book on two processes at once: one has it, the other is told that it is taken', async () => {
  const { id } = tenant.resources[0] as Room;
  const config = testConfig(clone.url);
  const displays = await Promise.all(
    processes.map(async ({ url }) => {
      const token = makeDisplayToken();
      await makeDisplay(db, tenant, { tokenHash: hashDisplayToken(config, token) });
      return { url, token };
    }),
  );
  const letGo = await hold(db, (trx) => sql`select from resource where id = ${id} for no key update`.execute(trx));
  const [from, to] = [Date.now(), Date.now() + hour / 4];
  const racing = displays.map((display) =>
    overRest({ room: { id, name: '' }, from, to }, display as (typeof processes)[number]),
  );
  await until('both wait', haveWaited(2));
  await letGo();
  const outcomes = await Promise.all(racing);
  const [won, lost] = outcomes.toSorted((one, other) => Number(one.status) - Number(other.status));
  expect([won?.status, lost?.status]).toEqual([201, 409]);
  expect(lost?.conflicts).toEqual(won?.bookings);
});
