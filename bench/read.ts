/**
 * `npm run bench:read`: requests per second of the reads over REST and GraphQL, as a Web process with its settings as they
 * are serves them to 32 authenticated connections, beside a bare node:http server that runs the same SQL as a prepared
 * statement, in one run and in turns; of reads by id also PostGraphile 5 on the same tables. Before that, each query's plan.
 *
 * `-- --rounds=5 --seconds=1 --connections=32 --stored=1000000 --only=text` changes what is run.
 */
import { type ChildProcess, execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { type CompiledQuery, sql } from 'kysely';
import { selectBusy } from '../src/availability/service.ts';
import { selectBookings, selectStored } from '../src/bookings/stored.ts';
import type { Viewer } from '../src/context.ts';
import { dataDirectory } from '../src/db/embedded.ts';
import { cpuOf, median, openBench, say } from './harness.ts';
import type { Outcome, Run } from './load.ts';
import { daysOf, storeBookings } from './stored-bookings.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '1' },
    connections: { type: 'string', default: '32' },
    stored: { type: 'string', default: '1000000' },
    only: { type: 'string', default: '' },
  },
});
const stored = Number(options.stored);
/** How many different requests of a case are sent in turn. */
const variety = 5_000;

/** One request: the SQL with which a bare server answers it, and how the others are asked for the same. */
type Asked = { statement: CompiledQuery; address: string; variables: object; postgraphile?: object };

type Case = {
  name: string;
  /** `random(n)` is 0 to n - 1. */
  ask(random: (below: number) => number): Asked;
  graphql: string;
  postgraphile?: string;
};

type Server = { port: number; pid: number };
type Servers = { bare: Server; product: Server; peer: Server | undefined };
type Side = Server & { name: string; requests: string[] };

const bench = await openBench(500, { LogLevel: 'info', Limits__RequestsPerMinute: '1000000' });
const { db, tenant } = bench;
const { mandatorId, code, resources } = tenant;
const viewer = {
  ...{ mandatorId, mandator: code, personId: tenant.person('User').id, role: 'User' },
} as Viewer;
const day = 86_400_000;
const { first, days } = daysOf(stored, resources.length);

/** A window of `length` days in which there are bookings. */
function windowOf(length: number, random: (below: number) => number): { from: Date; to: Date } {
  const from = first + random(days - length) * day;
  return { from: new Date(from), to: new Date(from + length * day) };
}

const textOf = (value: unknown) => (value instanceof Date ? value.toISOString() : String(value));
const inAddress = ({ from, to }: { from: Date; to: Date }) => `From=${textOf(from)}&To=${textOf(to)}`;

const record = `id uid resourceId resourceName locationId subject description start end timeZone status kind
  organizer { personId displayName email } isPrivate seriesId recurrenceRule setupMinutes teardownMinutes
  checkIn { required from until checkedInAt } origin { system batchId jobID lektionId mailItemId }
  lektion { fach klassen lehrpersonen status ursprung { ressourceName lehrpersonen fach beginn ende } }
  createdAt createdBy { personId displayName } changedAt version`;

const cases: Case[] = [
  {
    name: 'booking by id',
    ask(random) {
      const id = random(stored) + 1;
      // By an id that it knows the planner has nothing to join, which is the faster statement for one.
      const asked = sql`(select ${mandatorId}::integer as "askedMandator", ${id}::bigint as "askedId", 1 as position) as asked`;
      return {
        ...{ statement: selectStored(asked).compile(db), address: `/v1.0/bookings/${id}` },
        ...{ variables: { id }, postgraphile: { mandatorId, id } },
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
        statement: selectBookings(viewer, { resourceId, ...window }, page).compile(db),
        address: `/v1.0/bookings?ResourceId=${resourceId}&${inAddress(window)}`,
        variables: { filter: { resourceId, ...window } },
      };
    },
    graphql: `query ($filter: BookingFilter!) { bookings(filter: $filter) { nodes { ${record} } pageInfo { hasNextPage endCursor } } }`,
  },
  {
    name: 'availability of 500 rooms for 30 days',
    ask(random) {
      const window = windowOf(30, random);
      return {
        statement: selectBusy(db, viewer, window).compile(db),
        address: `/v1.0/availability?${inAddress(window)}`,
        variables: { input: window },
      };
    },
    graphql: `query ($input: AvailabilityInput!) { availability(input: $input) {
      resourceId resourceName locationId timeZone capacity free { start end } busy { start end } } }`,
  },
];

const processes: ChildProcess[] = [];

/** A program of the bench; a server tells its port as its first message. */
async function start(program: string, env: Record<string, string> = {}): Promise<ChildProcess> {
  const child = fork(path.join(import.meta.dirname, program), { env: { ...process.env, ...env } });
  processes.push(child);
  return child;
}

async function startServer(program: string, env: Record<string, string>) {
  const child = await start(program, { ...env, DATABASE_URL: bench.databaseUrl });
  const [port] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error(`${program} has ended`))),
  ]);
  return { port: port as number, pid: child.pid as number };
}

/** It needs another major version of graphql, so it cannot be a dependency; what is installed once stays. */
async function startPostGraphile() {
  const folder = path.join(dataDirectory(path.join(import.meta.dirname, '..')), 'bench-postgraphile');
  fs.mkdirSync(folder, { recursive: true });
  const packages = ['postgraphile@5', 'graphql@16', 'pg@8'];
  if (!fs.existsSync(path.join(folder, 'node_modules', 'postgraphile')))
    await promisify(execFile)('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', ...packages]);
  return await startServer('postgraphile.ts', { PEER_FOLDER: folder, GRAPHILE_ENV: 'production' });
}

const common = `Host: 127.0.0.1\r\nAuthorization: Bearer ${bench.token}\r\nAccept: application/json\r\n`;
const get = (address: string) => `GET ${address} HTTP/1.1\r\n${common}\r\n`;
function post(address: string, body: object): string {
  const text = JSON.stringify(body);
  return `POST ${address} HTTP/1.1\r\n${common}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
}

async function explain({ name, ask }: Case): Promise<void> {
  const { statement } = ask(() => 1);
  const { rows } = await bench.client.query<{ 'QUERY PLAN': string }>(
    `explain (analyze, costs off) ${statement.sql}`,
    [...statement.parameters],
  );
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  say(`\n${name}\n${plan}`);
  if (/Seq Scan on (booking|lesson)/.test(plan)) throw new Error(`${name}: reads the whole table`);
}

async function load(generator: ChildProcess, run: Run): Promise<Outcome> {
  generator.send(run);
  const [outcome] = (await once(generator, 'message')) as [Outcome];
  if (outcome.failure !== undefined) throw new Error(outcome.failure);
  return outcome;
}

type Figures = { rate: number; cpu: number };

/** Requests per second and microseconds of CPU per request of each side, round by round. */
async function measure(generator: ChildProcess, sides: Side[]): Promise<Map<Side, Figures[]>> {
  const figures = new Map<Side, Figures[]>(sides.map((side) => [side, []]));
  const connections = Number(options.connections);
  // The first round warms up.
  for (let round = 0; round <= Number(options.rounds); round++)
    for (const side of sides.toSorted(() => Math.random() - 0.5)) {
      const { port, requests } = side;
      const before = cpuOf(side.pid);
      const milliseconds = Number(options.seconds) * 1_000;
      const { answers, seconds } = await load(generator, { port, requests, connections, milliseconds });
      if (round > 0)
        figures.get(side)?.push({ rate: answers / seconds, cpu: (cpuOf(side.pid) - before) / answers });
    }
  return figures;
}

function report(sides: Side[], figures: Map<Side, Figures[]>): void {
  const base = figures.get(sides[0] as Side) ?? [];
  for (const side of sides) {
    const own = figures.get(side) ?? [];
    const cells = [
      side.name.padEnd(14),
      median(own.map(({ rate }) => rate))
        .toFixed(0)
        .padStart(8),
      median(own.map(({ cpu }) => cpu))
        .toFixed(0)
        .padStart(10),
      median(own.map(({ rate }, round) => rate / (base[round]?.rate ?? 1)))
        .toFixed(2)
        .padStart(8),
    ];
    say(cells.join(' '));
  }
}

const pathOf = (name: string) => name.replaceAll(' ', '-');

/** The sides of a case, the bare server first. */
function sidesOf({ name, ask, graphql, postgraphile }: Case, { bare, product, peer }: Servers): Side[] {
  const all = Array.from({ length: variety }, () => ask((below) => Math.floor(Math.random() * below)));
  const sides: Side[] = [
    {
      ...{ name: 'bare', ...bare },
      requests: all.map(({ statement }) =>
        get(`/${[pathOf(name), ...statement.parameters.map(textOf)].map(encodeURIComponent).join('/')}`),
      ),
    },
    { name: 'REST', ...product, requests: all.map(({ address }) => get(`/${code}/api${address}`)) },
    {
      ...{ name: 'GraphQL', ...product },
      requests: all.map(({ variables }) => post(`/${code}/graphql`, { query: graphql, variables })),
    },
  ];
  if (postgraphile && peer)
    sides.push({
      ...{ name: 'PostGraphile 5', ...peer },
      requests: all.map((one) => post('/graphql', { query: postgraphile, variables: one.postgraphile })),
    });
  return sides;
}

try {
  await storeBookings(bench, stored);
  for (const one of cases) await explain(one);
  const chosen = cases.filter(({ name }) => name.includes(options.only));
  const generator = await start('load.ts');
  const statements = chosen.map(({ name, ask }) => [pathOf(name), ask(() => 1).statement.sql]);
  const bare = await startServer('bare.ts', { STATEMENTS: JSON.stringify(Object.fromEntries(statements)) });
  const product = { port: Number(new URL(bench.url).port), pid: bench.webProcess };
  const peer = await startPostGraphile().catch((error: Error) => {
    say(`\nPostGraphile 5: SKIPPED, ${error.message}`);
    return undefined;
  });
  for (const one of chosen) {
    const sides = sidesOf(one, { bare, product, peer });
    say(`\n${one.name}\n                  req/s  us CPU/req  of bare`);
    report(sides, await measure(generator, sides));
  }
} finally {
  for (const child of processes) child.kill();
  await bench.close();
}
