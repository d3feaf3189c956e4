/**
 * A release replaces the one before it process by process, on one database and under load, is replaced by it again, and once
 * more replaces it: nobody sees an error, and nothing that was acknowledged is lost (docs/upgrading.md).
 */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { openLog } from '../../src/log.ts';
import { startBalancer } from '../_util/balancer.ts';
import { openDice } from '../_util/dice.ts';
import { freePort } from '../_util/free-port.ts';
import { project } from '../_util/generate.ts';
import { seed } from '../_util/long.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { killPrograms, type Program, startProgram, until } from '../_util/process.ts';
import { openLedger } from '../faults/ledger.ts';
import { startLoad } from '../faults/load.ts';

/** Of each kind, while the releases stand as they are. */
const worksPerPhase = { batch: 5, booking: 150 };
/** Far longer than the balancer needs to see it. */
const drainSeconds = '10';

const git = (...args: string[]) => execFileSync('git', args, { cwd: project, encoding: 'utf8' }).trim();

/** The commit of TEST_FORMER, or else the last one before a migration was added. Throws where there is no history. */
function findFormer(): string {
  const { TEST_FORMER } = process.env;
  if (TEST_FORMER) return git('rev-parse', '--verify', `${TEST_FORMER}^{commit}`);
  return git('rev-parse', '--verify', `${git('log', '-1', '--diff-filter=A', '--format=%H', '--', 'sql')}^`);
}

/** The files of a commit, with the packages of this one where they are the same. */
function checkOut(commit: string): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-former-'));
  const archive = execFileSync('git', ['archive', commit], { cwd: project, maxBuffer: 1 << 30 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  const packagesOf = (root: string) =>
    JSON.stringify(JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')).dependencies);
  if (packagesOf(folder) === packagesOf(project))
    fs.symlinkSync(path.join(project, 'node_modules'), path.join(folder, 'node_modules'));
  else execFileSync('npm', ['ci', '--omit=dev', '--ignore-scripts'], { cwd: folder, stdio: 'ignore' });
  return folder;
}

let former: string;
let missing: string | undefined;
try {
  former = findFormer();
} catch (error) {
  missing = (error as Error).message.split('\n')[0];
  process.stderr.write(`SKIPPED: upgrade and back needs the history of git: ${missing}\n`);
}

let folder: string;
let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: Database;
let url: string;
beforeAll(async () => {
  if (missing) return;
  folder = checkOut(former);
  database = await cloneDatabase();
  const empty = new URL(database.url);
  empty.pathname += '_former';
  const server = openDatabase(database.url, { max: 1, log: openLog('silent'), statementTimeout: 0 });
  await sql`create database ${sql.id(empty.pathname.slice(1))} template template0`.execute(server);
  await server.destroy();
  url = empty.href;
  db = openDatabase(url, { max: 6, log: openLog('silent'), statementTimeout: 60_000 });
});
afterAll(async () => {
  await killPrograms();
  if (missing) return;
  await db.destroy();
  const server = openDatabase(database.url, { max: 1, log: openLog('silent'), statementTimeout: 0 });
  await sql`drop database ${sql.id(new URL(url).pathname.slice(1))} with (force)`.execute(server);
  await server.destroy();
  await database.drop();
  fs.rmSync(folder, { recursive: true, force: true });
});

(missing ? test.skip : test)(`upgrade, back, and upgrade again, under load (TEST_SEED=${seed})`, async () => {
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  const balancer = await startBalancer();
  const settings = { BaseUrl: balancer.url, IdpUrl: balancer.url, DrainSeconds: drainSeconds, LogLevel: 'warn' };
  const programs: Program[] = [];

  type Started = { program: Program; url: string };
  /** A process of a release, which an older one may be without a setting for. */
  async function start(Role: 'Web' | 'Worker', release: string): Promise<Started> {
    const port = await freePort();
    const { DrainSeconds, ...others } = settings;
    const own = { ...(release === project && { DrainSeconds }), Role, Port: String(port) };
    const started = {
      program: startProgram(url, { ...others, ...own }, [], release),
      url: `http://127.0.0.1:${port}`,
    };
    programs.push(started.program);
    await started.program.ready;
    if (Role === 'Web') {
      balancer.add(started.url);
      await until('the balancer knows it', () => balancer.isReady(started.url));
    }
    return started;
  }
  type Installation = { release: string; webs: Started[]; worker: Started };
  async function open(release: string): Promise<Installation> {
    const webs = [await start('Web', release), await start('Web', release)];
    return { release, webs, worker: await start('Worker', release) };
  }
  async function end({ program }: Started): Promise<void> {
    expect(await program.end('SIGTERM')).toMatchObject({ code: 0 });
  }
  /** One process after the other: the new one is there before the old one goes. */
  async function replace(before: Installation, release: string): Promise<Installation> {
    const webs: Started[] = [];
    for (const web of before.webs) {
      webs.push(await start('Web', release));
      // A release that does not wait for the balancer is taken out of it first.
      if (before.release !== project) balancer.takeOut(web.url);
      await end(web);
      balancer.takeOut(web.url);
    }
    const worker = await start('Worker', release);
    await end(before.worker);
    return { release, webs, worker };
  }

  let installation = await open(folder);
  const ledger = openLedger(say);
  let drawn = 0;
  const nextDice = () => openDice(seed + 1_000_003 * drawn++);
  const load = await startLoad({
    site: { db, webs: [{ url: balancer.url }] },
    ledger,
    nextDice,
    mailServer: undefined,
    say,
  });
  const figures = () =>
    `${load.figures()}, ${balancer.counts.requests} requests, ${balancer.counts.failed.length} failed`;
  const kinds = ['batch', 'booking'] as const;
  async function work(): Promise<void> {
    const before = kinds.map((kind) => ledger.count(kind));
    await until('the load has gone on', () =>
      kinds.every((kind, at) => ledger.count(kind) >= (before[at] ?? 0) + worksPerPhase[kind]),
    );
  }
  await work();
  // What a busy machine refuses while all clients begin at once says nothing of an upgrade; at the end all is verified.
  say([`before: ${figures()}`, ...balancer.counts.failed].join('\n  '));
  balancer.counts.failed.length = 0;
  ledger.findings.length = 0;
  for (const release of [project, folder, project]) {
    installation = await replace(installation, release);
    await work();
    say(`now ${release === project ? 'this release' : former.slice(0, 8)}: ${figures()}`);
  }
  await load.verify(120);
  ledger.close();
  load.close();
  await balancer.stop();
  const errors = programs.flatMap(({ lines, noise }) => [...lines.filter(({ level }) => level === 'error'), ...noise]);
  expect([balancer.counts.failed, ledger.findings, errors]).toEqual([[], [], []]);
});
