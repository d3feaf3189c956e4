/**
 * `npm run bench:read`: requests per second of the reads over REST and GraphQL, as a Web process with its settings as they
 * are serves them to 32 authenticated connections, beside a bare node:http server that runs the same SQL as a prepared
 * statement, in one run and in turns; of reads by id also PostGraphile 5 on the same tables. Before that, each query's plan.
 *
 * `-- --rounds=7 --seconds=1 --connections=32 --stored=1000000 --only=text` changes what is run.
 */
import { type ChildProcess, execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { dataDirectory } from '../src/db/embedded.ts';
import { median, openBench, say } from './harness.ts';
import type { Outcome, Run } from './load.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '1' },
    connections: { type: 'string', default: '32' },
    only: { type: 'string', default: '' },
  },
});
/** How many different requests of a case are sent in turn. */
const variety = 5_000;

/** One read: what the product is asked, and the SQL with which a bare server answers the same. */
type Case = {
  name: string;
  sql: string;
  /** The values of a request's SQL; `random(n)` is 0 to n - 1. */
  values(random: (below: number) => number): (string | number)[];
  rest(values: (string | number)[]): string;
  graphql: { query: string; variables(values: (string | number)[]): object };
  postgraphile?: { query: string; variables(values: (string | number)[]): object };
};

type Side = { name: string; port: number; pid: number; requests: string[] };

const bench = await openBench(500, { LogLevel: 'info', Limits__RequestsPerMinute: '1000000' });
const { mandatorId, code, resources } = bench.tenant;

const cases: Case[] = [
  {
    name: 'resource by id',
    sql: 'select id, location_id, name, kind, capacity, equipment, mailbox, active, version from resource where mandator_id = $1 and id = $2',
    values: (random) => [mandatorId, resources[random(resources.length)]?.id ?? 0],
    rest: ([, id]) => `/v1.0/resources/${id}`,
    graphql: {
      query:
        'query ($id: ID!) { resource(id: $id) { id locationId name kind capacity equipment mailbox active version } }',
      variables: ([, id]) => ({ id: String(id) }),
    },
    postgraphile: {
      query:
        'query ($mandatorId: Int!, $id: Int!) { resourceByMandatorIdAndRowId(mandatorId: $mandatorId, rowId: $id) { rowId locationId name kind capacity equipment mailbox active version } }',
      variables: ([mandatorId, id]) => ({ mandatorId, id }),
    },
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

/** Microseconds that a process has spent. */
function cpuOf(pid: number): number {
  const [, fields = ''] = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = fields.split(' ').slice(11, 13).map(Number);
  return ((user ?? 0) + (system ?? 0)) * 10_000;
}

const common = `Host: 127.0.0.1\r\nAuthorization: Bearer ${bench.token}\r\nAccept: application/json\r\n`;
const get = (address: string) => `GET ${address} HTTP/1.1\r\n${common}\r\n`;
function post(address: string, body: object): string {
  const text = JSON.stringify(body);
  return `POST ${address} HTTP/1.1\r\n${common}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
}

async function explain({ name, sql, values }: Case): Promise<void> {
  const { rows } = await bench.client.query<{ 'QUERY PLAN': string }>(
    `explain (analyze, costs off) ${sql}`,
    values(() => 1),
  );
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  say(`\n${name}\n${plan}`);
  if (/Seq Scan on booking/.test(plan)) throw new Error(`${name}: reads the whole table`);
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

try {
  for (const one of cases) await explain(one);
  const chosen = cases.filter(({ name }) => name.includes(options.only));
  const generator = await start('load.ts');
  const bare = await startServer('bare.ts', {
    STATEMENTS: JSON.stringify(
      Object.fromEntries(chosen.map(({ name, sql }) => [name.replaceAll(' ', '-'), sql])),
    ),
  });
  const peer = await startPostGraphile().catch((error: Error) => error);
  if (peer instanceof Error) say(`\nPostGraphile 5: SKIPPED, ${peer.message}`);
  const product = { port: Number(new URL(bench.url).port), pid: bench.webProcess };
  for (const { name, values, rest, graphql, postgraphile } of chosen) {
    const asked = Array.from({ length: variety }, () => values((below) => Math.floor(Math.random() * below)));
    const sides: Side[] = [
      {
        ...{ name: 'bare', ...bare },
        requests: asked.map((some) => get(`/${name.replaceAll(' ', '-')}/${some.join('/')}`)),
      },
      {
        ...{ name: 'REST', ...product },
        requests: asked.map((some) => get(`/${code}/api${rest(some)}`)),
      },
      {
        ...{ name: 'GraphQL', ...product },
        requests: asked.map((some) =>
          post(`/${code}/graphql`, { query: graphql.query, variables: graphql.variables(some) }),
        ),
      },
    ];
    if (postgraphile && !(peer instanceof Error))
      sides.push({
        ...{ name: 'PostGraphile 5', ...peer },
        requests: asked.map((some) =>
          post('/graphql', { query: postgraphile.query, variables: postgraphile.variables(some) }),
        ),
      });
    say(`\n${name.padEnd(14)}    req/s  us CPU/req  of bare`);
    report(sides, await measure(generator, sides));
  }
} finally {
  for (const child of processes) child.kill();
  await bench.close();
}
