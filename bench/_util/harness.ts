/** What every bench needs: a database of its own, a web and a worker process, and a tenant with a token. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import packageJson from '../../package.json' with { type: 'json' };
import { openDatabase } from '../../src/db/database.ts';
import { createPin } from '../../src/identity/service.ts';
import { openLog } from '../../src/log.ts';
import { makeTenant } from '../../test/_util/factories.ts';
import { freePort } from '../../test/_util/free-port.ts';
import { pepper } from '../../test/_util/pepper.ts';
import { cloneDatabase, startTestPostgres } from '../../test/_util/postgres.ts';
import { tokenFor } from '../../test/_util/token.ts';
import { cpuOf, cpuOfPostgres } from './figures.ts';
import type { Outcome, Run } from './load.ts';

const project = path.join(import.meta.dirname, '..', '..');
/** Those of Node.js in `npm start`. */
const startArguments: string[] = packageJson.scripts.start.split(' ').slice(2);
/** Options of Node.js with which a process answers `longestTurnOf`. */
export const watchingLoop = `--import=${path.join(import.meta.dirname, 'loop.ts')}`;

/** The next Monday four weeks from now, 09:00 UTC, in milliseconds: nothing is past, and opening hours are looked at. */
export const term = Math.floor(Date.now() / 604_800_000) * 604_800_000 + 4 * 604_800_000 + 9 * 3_600_000;

/** Started processes end with this one, however it ends. */
const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});
function keep(child: ChildProcess): ChildProcess {
  children.add(child);
  return child.once('exit', () => children.delete(child));
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (!children.has(child)) return;
  child.kill(signal);
  await once(child, 'exit');
}

/** One process of the service, and the address that it listens on. */
async function startProcess(
  databaseUrl: string,
  role: 'Web' | 'Worker' | 'All',
  port: number,
  url: string,
  settings: Record<string, string>,
): Promise<ChildProcess> {
  const child = spawn(process.execPath, startArguments, {
    cwd: project,
    // Readers of the bench need only errors.
    stdio: ['ignore', 'ignore', settings['LogLevel'] === 'info' ? 'ignore' : 'inherit', 'ipc'],
    env: {
      ...process.env,
      Role: role,
      Port: String(port),
      DatabaseUrl: databaseUrl,
      Pepper: pepper,
      LogLevel: 'warn',
      // The address of the Web process, also in the Worker, which gives it to mail servers.
      IdpUrl: url,
      Limits__JobBodyBytes: String(1024 ** 3),
      Limits__JobsPerBatch: '1000000',
      Limits__LessonsPerBatch: '10000000',
      ...settings,
    },
  });
  keep(child);
  for (const deadline = Date.now() + 300_000; ; await sleep(50)) {
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    if (ready?.ok) return child;
    if (Date.now() > deadline || child.exitCode !== null) throw new Error(`the ${role} process did not become ready`);
  }
}

/**
 * A database with the migrated schema. As in production, the server stores its data durably on a disk; with --smoke it is a server
 * of the tests, the very one of a test that runs this bench.
 */
async function openBenchDatabase(smoke: boolean, opened: AsyncDisposableStack): Promise<string> {
  if (!process.env['ROOMGATE_TEST_TEMPLATE']) {
    const server = await startTestPostgres({ isDurable: !smoke });
    opened.defer(() => server.stop());
    process.env['ROOMGATE_TEST_TEMPLATE'] = server.url;
  }
  const database = await cloneDatabase();
  opened.defer(() => database.drop());
  return database.url;
}

export type Bench = Awaited<ReturnType<typeof openBench>>;

/** A tenant and its database, before the processes start. */
type Site = { client: pg.Client; tenant: Awaited<ReturnType<typeof makeTenant>>; rooms: string[] };

/**
 * @param roomCount how many rooms the tenant has
 * @param options.smoke true if nothing is measured
 * @param options.fill what else is stored before the processes start
 * @param options.onServer a migrated database, on a server of the bench's own
 * @param settings of the processes, written like the environment
 */
export async function openBench(
  roomCount: number,
  { smoke, fill, onServer }: { smoke: boolean; fill?: (site: Site) => Promise<void>; onServer?: string },
  settings: Record<string, string> = {},
) {
  await using opening = new AsyncDisposableStack();
  const databaseUrl = onServer ?? (await openBenchDatabase(smoke, opening));
  // Errors go to the caller.
  const db = openDatabase(databaseUrl, { max: 2, log: openLog('silent'), statementTimeout: 0 });
  opening.defer(() => db.destroy());
  const client = new pg.Client(databaseUrl);
  await client.connect();
  opening.defer(() => client.end());

  const rooms = Array.from({ length: roomCount }, (_, number) => `Room ${number + 1}`);
  const tenant = await makeTenant(db, { rooms });
  await client.query(
    `insert into opening_rule (mandator_id, location_id, weekdays, opens, closes) values ($1, $2, '{1,2,3,4,5,6,7}', '06:00', '23:00')`,
    [tenant.mandatorId, tenant.locationId],
  );
  await fill?.({ client, tenant, rooms });
  const webPort = await freePort();
  const url = `http://127.0.0.1:${webPort}`;
  // With --smoke one process has both roles, as starting processes takes most of the time then.
  const startWeb = () => startProcess(databaseUrl, smoke ? 'All' : 'Web', webPort, url, settings);
  opening.defer(async () => {
    await Promise.all([...children].map((child) => end(child, 'SIGTERM')));
  });
  let web = await startWeb();
  const worker = smoke ? undefined : await startProcess(databaseUrl, 'Worker', await freePort(), url, settings);
  async function tokenOf(role: 'User' | 'Admin'): Promise<string> {
    const { pin } = await createPin(db, pepper, { mandatorId: tenant.mandatorId, personId: tenant.person(role).id });
    return await tokenFor(url, pin);
  }
  let token = await tokenOf('User');
  const headers = () => ({ Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' });

  const opened = opening.move();
  let closing: Promise<void> | undefined;
  const close = () => (closing ??= opened.disposeAsync());
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void close().finally(() => process.exit(130)));

  return {
    url,
    databaseUrl,
    /** Of a User; it counts for an hour. */
    get token() {
      return token;
    },
    tokenOf,
    async renewToken(): Promise<void> {
      token = await tokenOf('User');
    },
    db,
    client,
    tenant,
    rooms,
    get web() {
      return web;
    },
    /** Absent with --smoke, where the Web process works as well. */
    worker,
    get webProcess() {
      return web.pid as number;
    },
    /** CPU microseconds of the service: its processes, and PostgreSQL. */
    async cpu(): Promise<number> {
      const own = [web, worker].reduce((sum, child) => sum + (child?.pid ? cpuOf(child.pid) : 0), 0);
      return own + (await cpuOfPostgres(client));
    },
    /** A program of this folder as a process of its own, which ends with the bench. */
    start(program: string, env: Record<string, string> = {}, execArgv: string[] = []): ChildProcess {
      const file = path.join(import.meta.dirname, program);
      return keep(fork(file, { env: { ...process.env, DATABASE_URL: databaseUrl, ...env }, execArgv }));
    },
    /** Starts one more Web process, with these settings as well. */
    async startBeside(further: Record<string, string>): Promise<{ port: number; process: ChildProcess }> {
      const port = await freePort();
      return { port, process: await startProcess(databaseUrl, 'Web', port, url, { ...settings, ...further }) };
    },
    /** Kills the Web process, and starts another at the same address once `meanwhile` is done. */
    async crashWeb(meanwhile: () => Promise<void>): Promise<void> {
      await end(web, 'SIGKILL');
      await meanwhile();
      web = await startWeb();
    },
    /** Posts a batch. @returns its BatchId */
    async post(operation: 'create' | 'update' | 'delete', body: Uint8Array): Promise<string> {
      const answer = await fetch(`${url}/school/api/v2.0/jobs/${operation}`, {
        method: 'POST',
        headers: headers(),
        body: new Uint8Array(body),
      });
      return ((await answer.json()) as { BatchId: string }).BatchId;
    },
    /** Waits until a batch has succeeded. @throws if it has failed, or has another number of lessons */
    async end(batchId: string, lessons: number): Promise<void> {
      for (;;) {
        const read = await fetch(`${url}/school/api/v2.0/jobs/batches/${batchId}?WaitSeconds=30`, {
          headers: headers(),
        });
        const batch = (await read.json()) as {
          ImportStatus: string;
          ProcessedCount: number;
          ErrorMessages: string;
        };
        if (batch.ImportStatus === 'LessonsImportFailed') throw new Error(batch.ErrorMessages);
        if (batch.ImportStatus !== 'LessonsCreated') continue;
        if (batch.ProcessedCount !== lessons) throw new Error(`${batch.ProcessedCount} lessons instead of ${lessons}`);
        return;
      }
    },
    /** Removes all bookings and batches, and everything that refers to them. */
    forget: () => client.query('truncate booking, lesson_job, batch_job, batch_error cascade'),
    /** Does the background work of PostgreSQL now, so that it does not happen during a measurement. */
    async settle(): Promise<void> {
      if (smoke) return;
      await client.query('vacuum analyze');
      await client.query('checkpoint');
    },
    close,
  };
}

/** The next message of a program of the bench. @throws if the program ends instead */
export function answerOf<Answer>(child: ChildProcess): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new Error('A process of the bench has ended.'));
    child.once('exit', onExit);
    child.once('message', (answer) => {
      child.off('exit', onExit);
      resolve(answer as Answer);
    });
  });
}

/** Milliseconds that a process with `watchingLoop` has worked in its longest turn since it was last asked. */
export async function longestTurnOf(child: ChildProcess): Promise<number> {
  child.send('longest turn');
  return await answerOf<number>(child);
}

/** @throws if a request fails */
export async function load(generator: ChildProcess, run: Run): Promise<Outcome> {
  generator.send(run);
  const outcome = await answerOf<Outcome>(generator);
  if (outcome.failure !== undefined) throw new Error(outcome.failure);
  return outcome;
}
