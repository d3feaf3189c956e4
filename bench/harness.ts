/** What every bench needs: a database of its own, a web and a worker process, and a tenant with a token. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { openDatabase } from '../src/db/database.ts';
import { dataDirectory, startEmbeddedPostgres } from '../src/db/embedded.ts';
import { migrate } from '../src/db/migrate.ts';
import { createPin } from '../src/identity/service.ts';
import { openLog } from '../src/log.ts';
import { migrateQueue } from '../src/worker/queue.ts';
import { makeTenant } from '../test/_util/factories.ts';
import { freePort } from '../test/_util/free-port.ts';
import { pepper } from '../test/_util/service.ts';

const project = path.join(import.meta.dirname, '..');

/** The next Monday four weeks from now, 09:00 UTC, in milliseconds: nothing is past, and opening hours are looked at. */
export const term = Date.now() - (Date.now() % 604_800_000) + 4 * 604_800_000 + 9 * 3_600_000;

export const say = (line: string) => void process.stdout.write(`${line}\n`);
export const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] as number;

/** Microseconds that a process has spent. */
export function cpuOf(pid: number): number {
  const [, fields = ''] = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = fields.split(' ').slice(11, 13).map(Number);
  return ((user ?? 0) + (system ?? 0)) * 10_000;
}

/** Microseconds that a PostgreSQL server has spent on its connections that are open now. */
export async function cpuOfPostgres(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pid from pg_stat_activity');
  return rows.reduce((sum, { pid }) => sum + (fs.existsSync(`/proc/${pid}/stat`) ? cpuOf(pid) : 0), 0);
}

/** One process of the service, and the address that it listens on. */
async function startProcess(
  databaseUrl: string,
  role: 'Web' | 'Worker',
  port: number,
  url: string,
  settings: Record<string, string>,
): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['src/main.ts', 'serve'], {
    cwd: project,
    // Only what goes wrong is for the reader of the bench.
    stdio: ['ignore', 'ignore', settings['LogLevel'] === 'info' ? 'ignore' : 'inherit'],
    env: {
      ...process.env,
      Role: role,
      Port: String(port),
      DatabaseUrl: databaseUrl,
      Pepper: pepper,
      LogLevel: 'warn',
      // Of the Web process, in the Worker too: mail servers are told so.
      IdpUrl: url,
      Limits__JobBodyBytes: String(1024 ** 3),
      Limits__JobsPerBatch: '1000000',
      Limits__LessonsPerBatch: '10000000',
      ...settings,
    },
  });
  for (const deadline = Date.now() + 20_000; ; await sleep(50)) {
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    if (ready?.ok) return child;
    if (Date.now() > deadline || child.exitCode !== null)
      throw new Error(`the ${role} process did not become ready`);
  }
}

export type Bench = Awaited<ReturnType<typeof openBench>>;

/**
 * @param rooms how many rooms the tenant has
 * @param settings of the processes, written like the environment
 */
export async function openBench(rooms: number, settings: Record<string, string> = {}) {
  const log = openLog('warn');
  const server = await startEmbeddedPostgres(path.join(dataDirectory(project), 'bench'), 'postgres', log);
  const database = `bench_${Date.now()}`;
  const admin = new pg.Client(server.url);
  await admin.connect();
  await admin.query(`create database ${database}`);
  const databaseUrl = server.url.replace(/postgres$/, database);
  const db = openDatabase(databaseUrl, { max: 2, log, statementTimeout: 0 });
  await migrate(db, log);
  await migrateQueue(db);
  const client = new pg.Client(databaseUrl);
  await client.connect();

  const roomNames = Array.from({ length: rooms }, (_, number) => `Room ${number + 1}`);
  const tenant = await makeTenant(db, { rooms: roomNames });
  await client.query(
    `insert into opening_rule (mandator_id, location_id, weekdays, opens, closes) values ($1, $2, '{1,2,3,4,5,6,7}', '06:00', '23:00')`,
    [tenant.mandatorId, tenant.locationId],
  );
  const { pin } = await createPin(db, pepper, {
    mandatorId: tenant.mandatorId,
    personId: tenant.person('User').id,
  });
  const webPort = await freePort();
  const url = `http://127.0.0.1:${webPort}`;
  let web = await startProcess(databaseUrl, 'Web', webPort, url, settings);
  const worker = await startProcess(databaseUrl, 'Worker', await freePort(), url, settings);
  const form = { grant_type: 'apikey', scope: 'service_api', client_id: 'timetable-import', apikey: pin };
  const { access_token: token } = (await (
    await fetch(`${url}/connect/token`, { method: 'POST', body: new URLSearchParams(form) })
  ).json()) as { access_token: string };
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };

  return {
    url,
    databaseUrl,
    token,
    db,
    client,
    tenant,
    rooms: roomNames,
    get webProcess() {
      return web.pid as number;
    },
    /** Ends the Web process as a crash does, and starts another one at the same address, after what is done meanwhile. */
    async crashWeb(meanwhile: () => Promise<void>): Promise<void> {
      web.kill('SIGKILL');
      await once(web, 'exit');
      await meanwhile();
      web = await startProcess(databaseUrl, 'Web', webPort, url, settings);
    },
    /** Posts a batch. @returns its BatchId */
    async post(operation: 'create' | 'update' | 'delete', body: Uint8Array): Promise<string> {
      const answer = await fetch(`${url}/school/api/v2.0/jobs/${operation}`, {
        method: 'POST',
        headers,
        body: new Uint8Array(body),
      });
      return ((await answer.json()) as { BatchId: string }).BatchId;
    },
    /** Waits until a batch has ended well. @throws when it has not, or with another number of lessons */
    async end(batchId: string, lessons: number): Promise<void> {
      for (;;) {
        const read = await fetch(`${url}/school/api/v2.0/jobs/batches/${batchId}?WaitSeconds=30`, {
          headers,
        });
        const batch = (await read.json()) as {
          ImportStatus: string;
          ProcessedCount: number;
          ErrorMessages: string;
        };
        if (batch.ImportStatus === 'LessonsImportFailed') throw new Error(batch.ErrorMessages);
        if (batch.ImportStatus !== 'LessonsCreated') continue;
        if (batch.ProcessedCount !== lessons)
          throw new Error(`${batch.ProcessedCount} lessons instead of ${lessons}`);
        return;
      }
    },
    async close(): Promise<void> {
      web.kill('SIGTERM');
      worker.kill('SIGTERM');
      await Promise.all([web, worker].map((child) => new Promise((resolve) => child.once('exit', resolve))));
      await client.end();
      await db.destroy();
      await admin.query(`drop database ${database} with (force)`);
      await admin.end();
      await server.stop();
    },
  };
}
