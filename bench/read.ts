/**
 * `npm run bench:read`: requests per second of reads over REST and GraphQL, from a Web process with default settings and 32
 * authenticated connections, beside a bare node:http server that runs the same SQL as a prepared statement, in turns within one run;
 * also beside PostGraphile 5 on the same tables, where it can give the same answer. The plan of each query is printed first. Of
 * availability, the first bare server asks as one would who knows SQL and not our encoding, another one with our SQL; as both return
 * less than the answer contains, a third one sends the same content. The ratio of rates depends on this machine, where a
 * single-threaded server may wait for others; the ratio of the total CPU per answer is steadier. An answer that takes several requests
 * over REST counts as one, with the CPU of all.
 */
import { type ChildProcess, execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';
import { type CompiledQuery, sql } from 'kysely';
import * as availability from '../src/availability/service.ts';
import { selectStored } from '../src/bookings/stored.ts';
import { selectBookings } from '../src/bookings/stored-lists.ts';
import type { Viewer } from '../src/context.ts';
import { dataDirectory } from '../src/db/embedded.ts';
import { cpuOf, cpuOfPostgres, median, say, show } from './_util/figures.ts';
import { answerOf, load, longestTurnOf, openBench, watchingLoop } from './_util/harness.ts';
import { partOf, readOptions, seconds, whole } from './_util/options.ts';
import { requestsOf } from './_util/requests.ts';
import { daysOf, storeBookings } from './_util/stored-bookings.ts';

const longest = 30;
const options = readOptions(
  {
    rounds: { about: 'rounds that count', read: whole(), usual: '5', smoke: '1' },
    seconds: { about: 'how long a side is asked', read: seconds, usual: '1', smoke: '0.05' },
    connections: { about: 'how many ask', read: whole(), usual: '32', smoke: '4' },
    rooms: { about: 'rooms of the tenant', read: whole(), usual: '500', smoke: '10' },
    stored: { about: 'bookings that are stored', read: whole(), usual: '1000000', smoke: '1000' },
    requests: { about: 'different requests of a case', read: whole(), usual: '5000', smoke: '20' },
    only: {
      about: 'cases with this in their names',
      read: partOf('booking by id', 'week of a room', 'availability for 30 days', 'next bookings of 50 rooms'),
      usual: '',
      smoke: '',
    },
  },
  ({ stored, rooms }) =>
    daysOf(stored, rooms).days > longest
      ? undefined
      : `--stored=${stored} for --rooms=${rooms}: they must last for more than ${longest} days, three a day in each room`,
);
const { stored } = options;

/** The SQL with which a bare server answers a request, and the equivalent requests to the others. */
type Asked = {
  statement: CompiledQuery;
  /** The SQL of the product, if that is another. */
  own?: CompiledQuery;
  /** Other SQL, with which a bare server sends the same content as the first way over REST. */
  whole?: CompiledQuery;
  /** The ways to read the same over REST, each with the addresses of its requests. */
  rest: Record<string, string[]>;
  variables: object;
  postgraphile?: object;
};

type Case = {
  name: string;
  /** `random(n)` is 0 to n - 1. */
  ask(random: (below: number) => number): Asked;
  graphql: string;
  postgraphile?: string;
};

type Server = { port: number; process: ChildProcess };
type Servers = { bare: Server; product: Server; peer: Server | undefined };
/** `each`: how many requests make one answer. */
type Side = Server & { name: string; requests: string[]; each: number };

const bench = await openBench(options.rooms, options, {
  LogLevel: 'info',
  NODE_OPTIONS: watchingLoop,
  Limits__RequestsPerMinute: '1000000',
});
const { db, tenant } = bench;
const { mandatorId, locationId, code, resources } = tenant;
const viewer = {
  mandatorId,
  mandator: code,
  personId: tenant.person('User').id,
  role: 'User',
  hiddenRooms: [] as readonly number[],
} as Viewer;
const day = 86_400_000;
const { first, days } = daysOf(stored, resources.length);

/** A window of `length` days with bookings. */
function windowOf(length: number, random: (below: number) => number): { from: Date; to: Date } {
  const from = first + random(days - length) * day;
  return { from: new Date(from), to: new Date(from + length * day) };
}

const textOf = (value: unknown) => (value instanceof Date ? value.toISOString() : String(value));
const inAddress = ({ from, to }: { from: Date; to: Date }) => `From=${textOf(from)}&To=${textOf(to)}`;

/** The rooms of a plan. */
const shown = 50;

/** Three parts of a day, each with one slot of the stored bookings, so that the lessons of 600 rooms fit on one page per part. */
const thirdsOf = ({ from }: { from: Date }) =>
  [0, 10, 13].map((hour, at, hours) => ({
    from: new Date(from.getTime() + hour * 3_600_000),
    to: new Date(from.getTime() + (hours[at + 1] ?? 24) * 3_600_000),
  }));

/** The busy times of all rooms, unprocessed. */
const selectBusy = ({ from, to }: { from: Date; to: Date }) => sql`
  select room.id as "resourceId", room.name as "resourceName", room.location_id as "locationId",
    location.time_zone as "timeZone", room.capacity, busy.occupied
  from (select * from resource where mandator_id = ${mandatorId} and active order by id limit 501) as room
  join location on location.mandator_id = room.mandator_id and location.id = room.location_id
  cross join lateral (
    select string_agg(date_part('epoch', lower(span)) || ',' || date_part('epoch', upper(span)), ',') as occupied
    from (
      select unnest(range_agg(booking.occupied)) as span from booking
      where booking.resource_id = room.id and booking.occupied && tstzrange(${from}, ${to})
        and booking.status in ('Confirmed', 'Tentative')
    ) as merged
  ) as busy
  order by room.id`;

const instantText = (side: 'lower' | 'upper') =>
  sql`to_char(${sql.raw(side)}(span) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
const spansOf = (ranges: ReturnType<typeof sql>) => sql`(
  select coalesce(json_agg(json_build_object('Start', ${instantText('lower')}, 'End', ${instantText('upper')})), '[]')
  from unnest(${ranges}) as span)`;

/** The same content as the answer of REST, made by PostgreSQL: including free times and formatted instants. */
const selectAvailability = ({ from, to }: { from: Date; to: Date }) => sql`
  with asked as materialized (select ${mandatorId}::integer as tenant, ${from}::timestamptz as since, ${to}::timestamptz as until),
  place as materialized (
    select location.id, time_zone, tstzmultirange(tstzrange(since, until)) * (
      select range_agg(tstzrange((day::date + time '06:00') at time zone time_zone, (day::date + time '23:00') at time zone time_zone))
      from generate_series(since::date - 1, until::date + 1, interval '1 day') as day) as open
    from asked join location on location.mandator_id = tenant
  )
  select room.id as "ResourceId", room.name as "ResourceName", place.id as "LocationId", place.time_zone as "TimeZone",
    room.capacity as "Capacity", ${spansOf(sql`open - busy`)} as "Free", ${spansOf(sql`busy`)} as "Busy"
  from asked
  cross join lateral (select * from resource where mandator_id = tenant and active order by id limit 501) as room
  join place on place.id = room.location_id
  cross join lateral (
    select coalesce(range_agg(booking.occupied), '{}') * tstzmultirange(tstzrange(since, until)) as busy from booking
    where booking.resource_id = room.id and booking.occupied && tstzrange(since, until)
      and booking.status in ('Confirmed', 'Tentative')
  ) as booked
  order by room.id`;

const record = `id uid resourceId resourceName locationId subject description start end timeZone status kind
  organizer { personId displayName email } isPrivate seriesId recurrenceRule setupMinutes teardownMinutes
  checkIn { required from until checkedInAt } origin { system batchId jobKey lessonKey mailItemId }
  lessonSummary { subject classes teachers status origin { resourceName teachers subject start end } }
  createdAt createdBy { personId displayName } changedAt version`;

const cases: Case[] = [
  {
    name: 'booking by id',
    ask(random) {
      const id = random(stored) + 1;
      // For a known id the planner has nothing to join, which is faster for one.
      const asked = sql`(select ${mandatorId}::integer as "askedMandator", ${id}::bigint as "askedId", 1 as position) as asked`;
      return {
        statement: selectStored(asked).compile(db),
        rest: { REST: [`/v1.0/bookings/${id}`] },
        variables: { id },
        postgraphile: { mandatorId, id },
      };
    },
    graphql: `query ($id: ID!) { booking(id: $id) { ${record} } }`,
    postgraphile: `query ($mandatorId: Int!, $id: BigInt!) { bookingByMandatorIdAndRowId(mandatorId: $mandatorId, rowId: $id) {
      rowId resourceId subject description occupied { start { value } end { value } } status kind isPrivate seriesId
      setupMinutes teardownMinutes checkInFrom checkInUntil checkedInAt origin batchId createdAt changedAt version
      resourceByMandatorIdAndResourceId { name locationId locationByMandatorIdAndLocationId { timeZone mandatorByMandatorId { uid } } }
      personByMandatorIdAndOrganizerId { rowId name email } personByMandatorIdAndCreatedBy { rowId name }
      bookingSeryByMandatorIdAndSeriesId { recurrenceRule }
      lessonsByMandatorIdAndBookingId { nodes { lektionId fach klassen lehrpersonen status ursprung
        lessonJobByMandatorIdAndJob { jobId personByMandatorIdAndCreatedBy { rowId name } } } } } }`,
  },
  {
    name: 'week of a room',
    ask(random) {
      const resourceId = resources[random(resources.length)]?.id ?? 0;
      const window = windowOf(7, random);
      const page = { limit: 50, after: undefined };
      return {
        statement: selectBookings(viewer, { resourceId: [resourceId], ...window }, page).compile(db),
        rest: { REST: [`/v1.0/bookings?ResourceId=${resourceId}&${inAddress(window)}`] },
        variables: { filter: { resourceId, ...window } },
      };
    },
    graphql: `query ($filter: BookingFilter!) { bookings(filter: $filter) { nodes { ${record} } pageInfo { hasNextPage endCursor } } }`,
  },
  {
    name: 'availability for 30 days',
    ask(random) {
      const window = windowOf(longest, random);
      return {
        statement: selectBusy(window).compile(db),
        own: availability.selectBusy(db, viewer, window).compile(db),
        whole: selectAvailability(window).compile(db),
        rest: { REST: [`/v1.0/availability?${inAddress(window)}`] },
        variables: { input: window },
      };
    },
    graphql: `query ($input: AvailabilityInput!) { availability(input: $input) {
      resourceId resourceName locationId timeZone capacity free { start end } busy { start end } } }`,
  },
  {
    name: 'next bookings of 50 rooms',
    ask(random) {
      const window = windowOf(1, random);
      const ofParent = { resourceId: [sql`parent.id` as unknown as number], ...window };
      const next = selectBookings(viewer, ofParent, { limit: 3, after: undefined });
      const statement = sql`
        select parent.name as room, next.* from (
          select id, name from resource where mandator_id = ${mandatorId} and location_id = ${locationId} and active
          order by id limit ${shown}::int) as parent
        cross join lateral (${next}) as next`;
      const rooms = resources.slice(0, shown);
      const inWindow = inAddress(window);
      const ofLocation = `/v1.0/resources?LocationId=${locationId}&Limit=${shown}`;
      return {
        statement: statement.compile(db),
        rest: {
          'REST, lists': [
            ofLocation,
            `/v1.0/bookings?ResourceId=${rooms.map(({ id }) => id).join(',')}&${inWindow}&Limit=200`,
            ...thirdsOf(window).map((third) => `/v2.0/lessons?${inAddress(third)}&Limit=200`),
          ],
          'REST, room by room': [
            ofLocation,
            ...rooms.flatMap(({ id, name }) => [
              `/v1.0/bookings?ResourceId=${id}&${inWindow}&Limit=3`,
              `/v2.0/lessons?RessourceName=${encodeURIComponent(name)}&${inWindow}&Limit=3`,
            ]),
          ],
        },
        variables: { id: locationId, window },
        postgraphile: { mandatorId, id: locationId, ...window },
      };
    },
    graphql: `query ($id: ID!, $window: EdgeBookingFilter!) { location(id: $id) { resources(first: ${shown}) { nodes { id name
      bookings(first: 3, filter: $window) { nodes { id subject start end status kind
        organizer { displayName email person { name } } lessons { lessonKey subject classes teachers status } } } } } } }`,
    postgraphile: `query ($mandatorId: Int!, $id: Int!, $from: Datetime!, $to: Datetime!) {
      locationByMandatorIdAndRowId(mandatorId: $mandatorId, rowId: $id) {
        resourcesByMandatorIdAndLocationId(first: ${shown}) { nodes { rowId name
          nextBookings(since: $from, until: $to, first: 3) { nodes {
            rowId subject occupied { start { value } end { value } } status kind
            personByMandatorIdAndOrganizerId { name email }
            lessonsByMandatorIdAndBookingId { nodes { lektionId fach klassen lehrpersonen status } } } } } } } }`,
  },
];

/** PostGraphile has no time windows, so they are given in SQL. */
const addNextBookings = `create function resource_next_bookings(resource resource, since timestamptz, until timestamptz)
  returns setof booking language sql stable as $$
    select * from booking
    where mandator_id = resource.mandator_id and resource_id = resource.id and occupied && tstzrange(since, until)
    order by lower(occupied), id $$`;

async function startServer(program: string, env: Record<string, string>): Promise<Server> {
  const child = bench.start(program, env, [watchingLoop]);
  return { port: await answerOf<number>(child), process: child };
}

/** It needs another major version of graphql, so it cannot be a dependency; it is installed once and kept. */
async function startPostGraphile() {
  const folder = path.join(dataDirectory(path.join(import.meta.dirname, '..')), 'bench-postgraphile');
  fs.mkdirSync(folder, { recursive: true });
  const packages = ['postgraphile@5', 'graphql@16', 'pg@8'];
  if (!fs.existsSync(path.join(folder, 'node_modules', 'postgraphile'))) {
    if (options.smoke)
      throw new Error('--smoke installs nothing; npm run bench:read installs it from the npm registry');
    await promisify(execFile)('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', ...packages]);
  }
  return await startServer('postgraphile.ts', { PEER_FOLDER: folder, GRAPHILE_ENV: 'production' });
}

const { get, post } = requestsOf(bench.token);

async function explain({ name, ask }: Case): Promise<void> {
  const { statement } = ask(() => 1);
  const { rows } = await bench.client.query<{ 'QUERY PLAN': string }>(`explain (analyze, costs off) ${statement.sql}`, [
    ...statement.parameters,
  ]);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  say(`\n${name}\n${plan}`);
  if (/Seq Scan on (booking|lesson)/.test(plan)) throw new Error(`${name}: reads the whole table`);
}

/** `all`: the microseconds of CPU of the server, PostgreSQL and the client. */
type Figures = { rate: number; cpu: number; all: number; turn: number };

/** For each side and round: requests per second, microseconds of CPU per request, and the longest turn of the event loop. */
async function measure(generator: ChildProcess, sides: Side[]): Promise<Map<Side, Figures[]>> {
  const figures = new Map<Side, Figures[]>(sides.map((side) => [side, []]));
  const { connections } = options;
  // The first round is a warm-up.
  for (let round = 0; round <= options.rounds; round++)
    for (const side of sides.toSorted(() => Math.random() - 0.5)) {
      const { port, requests } = side;
      const pid = side.process.pid as number;
      await longestTurnOf(side.process);
      const before = cpuOf(pid);
      const others = async () => (await cpuOfPostgres(bench.client)) + cpuOf(generator.pid as number);
      const othersBefore = await others();
      const milliseconds = options.seconds * 1_000;
      const { answers, seconds } = await load(generator, { port, requests, connections, milliseconds });
      const done = answers / side.each;
      if (round > 0) {
        const cpu = (cpuOf(pid) - before) / done;
        const all = cpu + ((await others()) - othersBefore) / done;
        figures.get(side)?.push({ rate: done / seconds, cpu, all, turn: await longestTurnOf(side.process) });
      }
    }
  return figures;
}

function report(name: string, sides: Side[], figures: Map<Side, Figures[]>): void {
  const base = figures.get(sides[0] as Side) ?? [];
  say('');
  show(
    name,
    { 'req/s': 0, 'us CPU/req': 0, 'us of all': 0, 'longest turn, ms': 0, 'ratio to bare': 2, 'by us of all': 2 },
    sides.map((side) => {
      const own = figures.get(side) ?? [];
      return [
        side.name,
        median(own.map(({ rate }) => rate)),
        median(own.map(({ cpu }) => cpu)),
        median(own.map(({ all }) => all)),
        Math.max(...own.map(({ turn }) => turn)),
        median(own.map(({ rate }, round) => rate / (base[round]?.rate ?? 1))),
        // Less than a tick of the clock counts as none.
        Math.max(1, median(base.map(({ all }) => all))) / Math.max(1, median(own.map(({ all }) => all))),
      ];
    }),
  );
}

const pathOf = (name: string) => name.replaceAll(' ', '-');
const ownOf = (name: string) => pathOf(`${name} own`);
const wholeOf = (name: string) => pathOf(`${name} whole`);

/** @throws if the compared answers differ */
async function compareContent({ name, ask }: Case, { bare, product }: Servers): Promise<void> {
  const { whole, rest } = ask(() => 1);
  if (!whole) return;
  const path = [wholeOf(name), ...whole.parameters.map(textOf)].map(encodeURIComponent).join('/');
  const [own] = Object.values(rest);
  const answers = await Promise.all(
    [`${bare.port}/${path}`, `${product.port}/${code}/api${own?.[0]}`].map(async (address) => {
      const answer = await fetch(`http://127.0.0.1:${address}`, {
        headers: { Authorization: `Bearer ${bench.token}` },
      });
      return (await answer.json()) as object;
    }),
  );
  const [bareItems, { Items }] = answers as [object, { Items: object }];
  if (!isDeepStrictEqual(bareItems, Items)) throw new Error(`${name}: the bare server's content is another one`);
}

/** The sides of a case, the bare server first. */
function sidesOf({ name, ask, graphql, postgraphile }: Case, { bare, product, peer }: Servers): Side[] {
  const random = (below: number) => Math.floor(Math.random() * below);
  const ways = Object.entries(ask(random).rest);
  const most = Math.max(...ways.map(([, addresses]) => addresses.length));
  const all = Array.from({ length: Math.ceil(options.requests / most) }, () => ask(random));
  const bareSide = (side: string, path: string, statements: CompiledQuery[]): Side => ({
    name: side,
    ...bare,
    each: 1,
    requests: statements.map(({ parameters }) =>
      get(`/${[path, ...parameters.map(textOf)].map(encodeURIComponent).join('/')}`),
    ),
  });
  const own = all.flatMap((asked) => asked.own ?? []);
  const everything = all.flatMap((asked) => asked.whole ?? []);
  const ofStatements = all.map(({ statement }) => statement);
  const sides: Side[] = [
    bareSide('bare', pathOf(name), ofStatements),
    ...(own.length > 0 ? [bareSide('bare, our SQL', ownOf(name), own)] : []),
    ...(everything.length > 0 ? [bareSide('bare, same content', wholeOf(name), everything)] : []),
    ...ways.map(([way, { length: each }]) => ({
      name: way,
      ...product,
      each,
      requests: all.flatMap(({ rest }) => (rest[way] ?? []).map((address) => get(`/${code}/api${address}`))),
    })),
    {
      name: 'GraphQL',
      ...product,
      each: 1,
      requests: all.map(({ variables }) => post(`/${code}/graphql`, { query: graphql, variables })),
    },
  ];
  if (postgraphile && peer)
    sides.push({
      name: 'PostGraphile 5',
      ...peer,
      each: 1,
      requests: all.map((one) => post('/graphql', { query: postgraphile, variables: one.postgraphile })),
    });
  return sides;
}

try {
  await storeBookings(bench, stored);
  await bench.client.query(addNextBookings);
  // For a small table a sequential scan is cheaper: with those disabled, one remains only where no index fits.
  if (options.smoke) await bench.client.query('set enable_seqscan = off');
  for (const one of cases) await explain(one);
  const chosen = cases.filter(({ name }) => name.includes(options.only));
  const generator = bench.start('load.ts');
  const statements = chosen.flatMap(({ name, ask }) => {
    const { statement, own, whole } = ask(() => 1);
    return [
      [pathOf(name), statement.sql],
      ...(own ? [[ownOf(name), own.sql]] : []),
      ...(whole ? [[wholeOf(name), whole.sql]] : []),
    ];
  });
  const bare = await startServer('bare.ts', { STATEMENTS: JSON.stringify(Object.fromEntries(statements)) });
  const product = { port: Number(new URL(bench.url).port), process: bench.web };
  const peer = await startPostGraphile().catch((error: Error) => {
    say(`\nPostGraphile 5: SKIPPED, ${error.message}`);
    return undefined;
  });
  for (const one of chosen) {
    await compareContent(one, { bare, product, peer });
    const sides = sidesOf(one, { bare, product, peer });
    report(one.name, sides, await measure(generator, sides));
  }
} finally {
  await bench.close();
}
