/**
 * `npm run bench:growth`: the waiting times of a tenant in a database of its own, and beside 99 and 999 identical neighbours. Each case
 * has a database, a Web and a Worker process; they are measured in turns, so that other load on the machine affects all of them
 * equally. `--bookings=20000` makes 20 million bookings, for which it needs 15 GB of disk.
 */
import { sql } from 'kysely';
import { allSweeps } from '../src/worker/runner.ts';
import type { Sweep, SweepContext } from '../src/worker/task.ts';
import { makeJobs } from '../test/_util/lessons.ts';
import { testConfig } from '../test/_util/service.ts';
import { cpuOfPostgres, median, say, show } from './_util/figures.ts';
import { type Bench, openBench } from './_util/harness.ts';
import { watchIdle } from './_util/idle.ts';
import { list, readOptions, seconds, whole } from './_util/options.ts';
import { freeSlot, middle, storeTenants } from './_util/stored-tenants.ts';

const options = readOptions(
  {
    tenants: { about: 'tenants of each database', read: list(whole()), usual: '1,100,1000', smoke: '1,2' },
    bookings: { about: 'bookings of each tenant', read: whole(), usual: '1000', smoke: '60' },
    rooms: { about: 'rooms of each tenant', read: whole(), usual: '50', smoke: '3' },
    rounds: { about: 'rounds that count', read: whole(), usual: '5', smoke: '1' },
    seconds: {
      about: 'for how long a round asks each database for one thing',
      read: seconds,
      usual: '0.5',
      smoke: '0.01',
    },
    lessons: { about: 'lessons of an import', read: whole(), usual: '1000', smoke: '10' },
    idle: { about: 'seconds for which the idle processes are watched', read: seconds, usual: '15', smoke: '0.1' },
  },
  ({ tenants }) => (tenants.length < 2 ? 'There must be two databases at least.' : undefined),
);
const { tenants, bookings, rooms } = options;

/** A database with so many tenants, and how many bookings and batches were made in it. */
type Site = { bench: Bench; admin: string; tenants: number; booked: number; imported: number };
type Case = { name: string; ask(site: Site, n: number): Promise<void> };

const hour = 3_600_000;
const iso = (at: number) => new Date(at).toISOString();

async function call({ bench }: Site, path: string, body?: object, token = bench.token): Promise<unknown> {
  const answer = await fetch(`${bench.url}/school/api${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return await answer.json();
}

const get = (name: string, path: (site: Site, n: number) => string): Case => ({
  name,
  ask: async (site, n) => void (await call(site, path(site, n))),
});
const roomOf = ({ bench }: Site, n: number) => bench.tenant.resources[n % rooms]?.id ?? 0;
/** The ids of the tenant's bookings that are adjacent at the beginning of the table. */
const idOf = (n: number) => 1 + ((n * 7) % Math.min(1_000, bookings));
const inDays = (length: number) => `From=${iso(middle)}&To=${iso(middle + length * 24 * hour)}`;

const datesOf = (length: number) =>
  `From=${iso(middle).slice(0, 10)}&To=${iso(middle + (length - 1) * 24 * hour).slice(0, 10)}`;

const cases: Case[] = [
  get('booking by id', (_, n) => `/v1.0/bookings/${idOf(n)}`),
  get('week of a room', (site, n) => `/v1.0/bookings?ResourceId=${roomOf(site, n)}&${inDays(7)}`),
  get('my bookings', ({ bench }) => `/v1.0/bookings?OrganizerId=${bench.tenant.person('User').id}&${inDays(30)}`),
  get('words of a booking', (_, n) => `/v1.0/bookings?Search=Number%20${idOf(n)}&${inDays(7)}`),
  get('lessons of a class', () => `/v2.0/lessons?Search=1a&${inDays(7)}`),
  get(`availability of ${rooms} rooms, 30 days`, () => `/v1.0/availability?${inDays(30)}`),
  get(
    'free rooms',
    (_, n) => `/v1.0/availability/free?From=${iso(middle + (7 + (n % 12)) * hour)}&Minutes=60&Limit=50`,
  ),
  get('a door sign', (site, n) => `/v1.0/displays/${roomOf(site, n)}/snapshot`),
  {
    name: `figures of use of ${rooms} rooms, 30 days`,
    ask: async (site) => void (await call(site, `/v1.0/usage/resources?${datesOf(30)}`, undefined, site.admin)),
  },
  get('changes, a page', () => '/v1.0/changes?Limit=50'),
  get('batches', () => '/v2.0/jobs/batches?ImportStatus=All'),
  {
    name: 'create a booking',
    async ask(site) {
      const { room, start, end } = freeSlot(bookings, rooms, site.booked++);
      const [Start, End] = [start.toISOString(), end.toISOString()];
      await call(site, '/v1.0/bookings', { ResourceId: roomOf(site, room), Subject: 'New', Start, End });
    },
  },
];
const imports: Case = {
  name: `import of ${options.lessons} lessons`,
  async ask(site) {
    // Some each time, years after the stored ones.
    const from = middle + (10 + 3 * site.imported++) * 365 * 24 * hour;
    const jobs = makeJobs(options.lessons, { rooms: site.bench.rooms, from: from - (from % (7 * 24 * hour)) });
    const named = jobs.map((job) => ({ ...job, JobID: `${job.JobID} ${site.imported}` }));
    await site.bench.end(await site.bench.post('create', Buffer.from(JSON.stringify(named))), options.lessons);
  },
};

/** For one measurement in one database: milliseconds of each round, and microseconds of PostgreSQL's CPU per answer. */
type Figures = { ms: number[]; cpu: number[] };

/** @param most the answers of a round */
async function measure(sites: readonly Site[], { name, ask }: Case, most = Number.POSITIVE_INFINITY) {
  const figures = new Map(sites.map((site): [Site, Figures] => [site, { ms: [], cpu: [] }]));
  let n = 0;
  // The first round is a warm-up.
  for (let round = 0; round <= options.rounds; round++)
    for (const site of sites.toSorted(() => Math.random() - 0.5)) {
      const waits: number[] = [];
      const before = await cpuOfPostgres(site.bench.client);
      const begun = performance.now();
      do {
        const asked = performance.now();
        await ask(site, n++);
        waits.push(performance.now() - asked);
      } while (performance.now() - begun < options.seconds * 1_000 && waits.length < most);
      const cpu = ((await cpuOfPostgres(site.bench.client)) - before) / waits.length;
      if (round === 0) continue;
      figures.get(site)?.ms.push(median(waits));
      figures.get(site)?.cpu.push(cpu);
    }
  const own = sites.map((site) => figures.get(site) ?? { ms: [], cpu: [] });
  return { name, ms: own.map(({ ms }) => median(ms)), cpu: own.map(({ cpu }) => median(cpu)) };
}

type Measured = Awaited<ReturnType<typeof measure>>;
const growth = (figures: readonly number[], least: number) =>
  Math.max(least, figures.at(-1) ?? 0) / Math.max(least, figures[0] ?? 0);

function report(what: string, measured: readonly Measured[], unit: { name: string; digits: number }): void {
  const [few, many] = [tenants[0], tenants.at(-1)];
  say('');
  show(
    what,
    {
      ...Object.fromEntries(tenants.map((count) => [`${unit.name}, ${count}`, unit.digits])),
      [`us CPU, ${few}`]: 0,
      [`us CPU, ${many}`]: 0,
      [`ratio to ${few}, ${unit.name}`]: 2,
      'us CPU ratio': 2,
    },
    // Less than that is a tick of the clock, divided by many answers.
    measured.map(({ name, ms, cpu }) => [name, ...ms, cpu[0] ?? 0, cpu.at(-1) ?? 0, growth(ms, 0.01), growth(cpu, 20)]),
  );
}

/** The work of a sweep in each round, with the query that it begins with. */
const sweepCases = (contexts: Map<Site, SweepContext>): Case[] =>
  allSweeps
    .filter(({ follows }) => !follows)
    .map((sweep: Sweep) => ({
      name: sweep.name,
      async ask(site) {
        const context = contexts.get(site);
        if (!context) return;
        const { rows } = await sql<{ due: boolean }>`select ${sweep.isDue?.(context) ?? sql`true`} as due`.execute(
          context.work,
        );
        if (rows[0]?.due) await sweep.run(context);
      },
    }));

/** Makes a change in each tenant, and measures how long the worker takes until it is in all feeds. */
const placing: Case = {
  name: 'a change of each tenant has its place',
  async ask({ bench }) {
    await bench.client.query(
      `insert into change (mandator_id, kind, action, subject_id) select id, 'Location', 'Changed', '1' from mandator`,
    );
    await bench.client.query(`select pg_notify('roomgate', 'location:1:1')`);
    for (;;) {
      const { rows } = await bench.client.query('select from change where position is null limit 1');
      if (rows.length === 0) return;
    }
  },
};

const sites: Site[] = [];
try {
  for (const count of tenants) {
    const begun = performance.now();
    const fill = (site: Parameters<typeof storeTenants>[0]) => storeTenants(site, count, bookings);
    const bench = await openBench(rooms, { ...options, fill }, { Limits__RequestsPerMinute: '1000000' });
    sites.push({ bench, admin: await bench.tokenOf('Admin'), tenants: count, booked: 0, imported: 0 });
    const { rows } = await bench.client.query<{ size: string; booking: string }>(
      `select pg_size_pretty(pg_database_size(current_database())) as size, pg_size_pretty(pg_total_relation_size('booking')) as booking`,
    );
    const took = ((performance.now() - begun) / 1_000).toFixed(0);
    say(
      `${count} tenants, ${count * bookings} bookings: ${rows[0]?.size}, of it bookings ${rows[0]?.booking}; stored in ${took} s`,
    );
  }
  const asked: Measured[] = [];
  for (const one of cases) asked.push(await measure(sites, one));
  asked.push(await measure(sites, imports, 1));
  report('what a caller waits for', asked, { name: 'ms', digits: 2 });
  const idle = [];
  for (const { bench } of sites) idle.push(await watchIdle(bench, options));
  say('');
  show(
    'idle processes, per second',
    { statements: 1, 'us CPU of all': 0 },
    idle.map(({ transactions, cpu }, at) => [`${tenants[at]} tenants`, transactions, cpu]),
  );
  const contexts = new Map(
    sites.map((site): [Site, SweepContext] => {
      const { db, databaseUrl } = site.bench;
      const context = { config: testConfig(databaseUrl), db, work: db, signal: new AbortController().signal };
      return [site, { ...context, log: { info() {} }, once: () => ({}) } as unknown as SweepContext];
    }),
  );
  const swept: Measured[] = [];
  for (const one of sweepCases(contexts)) swept.push(await measure(sites, one, 20));
  swept.push(await measure(sites, placing, 1));
  report('rounds of the worker', swept, { name: 'ms', digits: 2 });
} finally {
  for (const { bench } of sites.toReversed()) await bench.close();
}
