/**
 * A streaming pair under load, whose primary dies or is exchanged: deploy/failover/failover.sh lets the standby take its place,
 * and makes the old one the standby. `FAILOVERS=3` tries it three times instead of twenty.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { serverAccount } from '../../src/db/embedded.ts';
import { migrate } from '../../src/db/migrate.ts';
import { isOutage } from '../../src/flow/database-errors.ts';
import { createPin } from '../../src/identity/service.ts';
import { openLog } from '../../src/log.ts';
import { migrateQueue } from '../../src/worker/queue.ts';
import { openDice } from '../_util/dice.ts';
import { makeTenant } from '../_util/factories.ts';
import { copying, hasPsql, killAll, type Member, openShell, startMember, stopCommand } from '../_util/failover.ts';
import { freePort } from '../_util/free-port.ts';
import { seed } from '../_util/long.ts';
import { pepper } from '../_util/pepper.ts';
import { plainId } from '../_util/plain-ids.ts';
import { killPrograms, startProgram, until } from '../_util/process.ts';
import { ask } from '../_util/streaming.ts';
import { type Client, openClient } from '../faults/client.ts';
import { comesTrue } from '../faults/comes-true.ts';
import { type Ledger, openLedger } from '../faults/ledger.ts';
import { mailTenant, startLoad } from '../faults/load.ts';
import { settingsFor } from '../faults/mail.ts';
import { openMonitor } from '../faults/monitor.ts';
import { startMailServer } from '../mail/_util/mail-server.ts';

const failovers = Number(process.env['FAILOVERS'] ?? 20);
const tenantCode = 'probe';
/** For batches that were under way to end. */
const patienceMs = 100_000;

const say = (line: string) => void process.stdout.write(`${line}\n`);
const closing: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  await killPrograms();
  for (const close of closing.reverse()) await close();
});

/** Two servers, the second of which follows the first. */
async function startPair() {
  const servers = [await startMember('a'), await startMember('b')] as const;
  closing.push(() => Promise.all(servers.map((server) => server.remove())));
  const [a, b] = servers.map(({ member }) => member) as [Member, Member];
  for (const { url } of [a, b])
    await ask(url, "alter system set wal_keep_size = '1GB'", 'alter system set max_connections = 300');
  b.url = Object.assign(new URL(b.url), { password: new URL(a.url).password }).href;
  await servers[1].stop('SIGINT');
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-failover-'));
  closing.push(async () => fs.rmSync(directory, { recursive: true }));
  const { uid, gid } = serverAccount();
  if (uid !== undefined && gid !== undefined) fs.chownSync(directory, uid, gid);
  return { a, b, directory, run: openShell(directory) };
}

type Answered = { how: 'REST' | 'GraphQL'; id: number; subject: string; at: number };

/** Books one time after another, and has each booking shown at once. It takes no rest, so that it knows when writing is possible. */
function startProbe(client: Client, how: Answered['how'], resourceId: number, ledger: Ledger) {
  const answered: Answered[] = [];
  const statuses = new Map<string, number>();
  const count = (what: string) => statuses.set(what, (statuses.get(what) ?? 0) + 1);
  let isStopped = false;
  const first = Math.ceil(Date.now() / 3_600_000) * 3_600_000 + 86_400_000;
  const at = (n: number) => new Date(first + n * 300_000).toISOString();

  async function query(text: string, variables: object) {
    const url = client.nextUrl();
    const token = await client.signIn(url);
    const answer = await fetch(`${url}/${client.mandator}/graphql`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ query: text, variables }),
      signal: AbortSignal.timeout(12_000),
    });
    count(String(answer.status));
    const body = (await answer.json()) as { data?: Record<string, unknown>; errors?: object[] };
    const told = JSON.stringify(body);
    if (answer.status >= 500 && answer.status !== 503)
      ledger.blame('otherwise wrong', `GraphQL: ${answer.status} ${told}`);
    return { data: body.data ?? {}, isVague: answer.status === 503 || /"Unavailable"/i.test(told), told };
  }

  /** @returns undefined where nothing is known of it, and it is to be sent again */
  async function book(n: number, subject: string): Promise<number | undefined> {
    if (how === 'REST') {
      const body = JSON.stringify({ ResourceId: resourceId, Subject: subject, Start: at(n), End: at(n + 1) });
      const headers = { 'Idempotency-Key': subject };
      const sent = { method: 'POST', path: '/v1.0/bookings', body, headers };
      const answer = await client.call(client.nextUrl(), sent);
      count(String(answer?.status));
      if (answer?.status === 201) return answer.body['Id'] as number;
      if (answer && ![401, 503].includes(answer.status) && !answer.text.includes('still running'))
        throw new Error(`${answer.status} ${answer.text}`);
      return undefined;
    }
    const input = { resourceId, subject, start: at(n), end: at(n + 1), idempotencyKey: subject };
    const { data, isVague, told } = await query(
      `mutation ($input: CreateBookingInput!) { createBooking(input: $input) { __typename
        ... on BookingCreated { booking { id } } ... on ConflictProblem { message } } }`,
      { input },
    );
    const { booking } = (data['createBooking'] ?? {}) as { booking?: { id: string } };
    if (booking) return Number(plainId('', booking.id));
    if (!isVague && !told.includes('still running')) throw new Error(told);
    return undefined;
  }

  /** Whether a booking is shown at another process; of an outage nothing is known. */
  async function isMissing(id: number): Promise<boolean> {
    const { data, isVague } = await query('query ($id: ID!) { booking(id: $id) { id } }', { id });
    return !isVague && data['booking'] === null;
  }

  const running = (async () => {
    for (let n = 0; !isStopped; n++) {
      const subject = `${how}-${n}`;
      for (let id: number | undefined; id === undefined && !isStopped; await sleep(20)) {
        id = await book(n, subject).catch((error: Error) => {
          // Connections that break, and answers that do not come.
          if (/^(AbortError|TimeoutError|TypeError)$/.test(error.name)) count(error.name);
          else ledger.blame('otherwise wrong', `${subject}: ${error.message}`);
          return undefined;
        });
        if (id === undefined) continue;
        answered.push({ how, id, subject, at: performance.now() });
        if (await isMissing(id).catch(() => false)) ledger.blame('lost', `${subject}, booking ${id}, is not shown`);
      }
    }
  })();

  return {
    answered,
    statuses,
    async stop(): Promise<void> {
      isStopped = true;
      await running;
    },
  };
}

/** Where batches stand that should have ended. */
async function describe(db: Database, batches: readonly { id: string }[]): Promise<string> {
  const ids = batches.map(({ id }) => id);
  const { rows } = await sql<{ told: string }>`
    select jsonb_build_object('now', now(), 'batches', (
        select jsonb_agg(to_jsonb(batch) - array['body', 'report']) from batch
        where id = any (${ids}::uuid[]) and finished_at is null),
      'jobs', (select jsonb_agg(to_jsonb(job) - 'payload') from graphile_worker._private_jobs as job
        where locked_by is not null or attempts > 0 or run_at > now() or key like '%batch%'),
      'queues', (select jsonb_agg(to_jsonb(queue)) from graphile_worker._private_job_queues as queue where locked_by is not null),
      'sessions', (select jsonb_agg(jsonb_build_array(pid, application_name, state, wait_event, xact_start, left(query, 80)))
        from pg_stat_activity where backend_type = 'client backend' and state <> 'idle'),
      'locks', (select jsonb_agg(jsonb_build_array(pid, classid, objid, mode, granted)) from pg_locks where locktype = 'advisory')
    )::text as told`.execute(db);
  return rows[0]?.told ?? '';
}

const quantile = (values: readonly number[], part: number) =>
  values.toSorted((x, y) => x - y)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? Number.NaN;

/** Answers of a Web process by their status. */
async function answersOf(url: string): Promise<Map<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const counts = new Map<string, number>();
  for (const [, route, status = '', count] of text.matchAll(
    /^http_request_duration_seconds_count\{.*?route="([^"]*)".*?status="(\d+)".*?\} (\d+)/gm,
  ))
    if (!/readyz|metrics/.test(route ?? '')) counts.set(status, (counts.get(status) ?? 0) + Number(count));
  return counts;
}

(hasPsql ? test : test.skip)(
  `${hasPsql ? '' : 'SKIPPED: psql is not installed: '}nothing acknowledged is lost when a standby takes the place of the primary`,
  async () => {
    const { a, b, directory, run } = await startPair();
    let [primary, standby] = [a, b];
    await run('alone', '--primary', a.url, '--standby-is-off');
    const join = async (member: Member, to: Member) => {
      const { code, said } = await run(
        ...['rejoin', '--data', member.data, '--primary', to.url, '--name', member.name],
        ...['--bin', member.bin, '--start', member.start, ...copying(to)],
      );
      for (const old of fs.globSync(`${member.data}.before-*`)) fs.rmSync(old, { recursive: true });
      expect([code, said]).toEqual([0, expect.stringContaining('the pair is whole again')]);
    };
    const both = a.url.replace(new URL(a.url).host, `${new URL(a.url).host},${new URL(b.url).host}`);
    const db = openDatabase(both, { max: 6, log: openLog('silent'), statementTimeout: 60_000 });
    closing.push(() => db.destroy());
    await migrate(db, openLog('silent'));
    await migrateQueue(db);
    await join(b, a);

    const ledger = openLedger(say);
    const mailServer = await startMailServer();
    closing.push(() => mailServer.stop());
    const ports = [await freePort(), await freePort()];
    const shared = {
      ...settingsFor(mailTenant, mailServer),
      IdpUrl: `http://127.0.0.1:${ports[0]}`,
      LogLevel: 'warn',
    };
    const webs = ports.map((port) => startProgram(both, { ...shared, Role: 'Web', Port: String(port) }));
    const workers = [0, 1].map(() => startProgram(both, { ...shared, Role: 'Worker' }));
    let isOver = false;
    for (const program of [...webs, ...workers])
      void program.exited.then(({ code, signal }) => {
        const said = [...program.lines.slice(-2).map(({ msg, err }) => `${msg} ${err ?? ''}`), ...program.noise];
        if (!isOver) ledger.blame('otherwise wrong', `${program.name} ended (${signal ?? code}): ${said.join(' | ')}`);
      });
    const urls = await Promise.all([...webs, ...workers].map(({ ready }) => ready));
    const site = {
      db,
      webs: ports.map((port) => ({ url: `http://127.0.0.1:${port}` })),
      /** Again where the database cannot answer at the moment. */
      async ask<T>(question: (at: typeof db) => Promise<T>): Promise<T> {
        for (;;)
          try {
            return await question(db);
          } catch (error) {
            if (!isOutage(error)) throw error;
            await sleep(100);
          }
      },
    };
    const monitor = await openMonitor(site, ledger);
    let drawn = 0;
    const load = await startLoad({
      site,
      ledger,
      nextDice: () => openDice(seed + 1_000_003 * drawn++),
      mailServer,
      say,
    });
    const tenant = await makeTenant(db, { code: tenantCode });
    const { mandatorId } = tenant;
    const { pin } = await createPin(db, pepper, { mandatorId, personId: tenant.person('User').id });
    const over = new AbortController();
    const webUrls = site.webs.map(({ url }) => url);
    const client = openClient({ urls: webUrls, mandator: tenantCode, pin, ledger, over: over.signal });
    const probes = (['REST', 'GraphQL'] as const).map((how, at) =>
      startProbe(client, how, tenant.resources[at]!.id, ledger),
    );
    const countOf = () => probes.map(({ answered }) => answered.length);
    const written = async (more: number) => {
      const before = countOf();
      await until('it is written', () => countOf().every((count, at) => count >= (before[at] ?? 0) + more));
    };

    const pauses: Record<string, number[]> = { 'kill -9': [], 'in order': [] };
    const webReadies: number[] = [];
    const readies: number[] = [];
    const takeovers: number[] = [];
    for (let round = 0; round < failovers; round++) {
      const state = path.join(directory, 'state');
      const pair = ['--standby', standby.url, '--primary', primary.url, '--state', state];
      await written(5);
      await until('a failover would lose nothing', async () => (await run('check', ...pair)).code === 0);
      load.wantLarge();
      const isImporting = async () =>
        (await Promise.all(workers.map(({ name }) => monitor.isImporting(name)))).some(Boolean);
      const isHit = await comesTrue(isImporting, 20_000);

      const how = round % 2 === 0 ? 'kill -9' : 'in order';
      const noted = ledger.begin(`failover, ${how}`);
      const since = performance.now();
      const before = await monitor.findOpen();
      if (how === 'kill -9') killAll(primary);
      const stop = stopCommand(primary);
      const { code, said } = await run(
        ...['promote', ...pair, '--fence', how === 'kill -9' ? `! ${stop.replace('stop', 'status')}` : stop],
      );
      if (code !== 0) throw new Error(said);
      noted.times = 1;
      const hits = [...before, ...(await monitor.findOpen())];
      await written(2);
      const moments = probes.flatMap(({ answered }) => answered.map(({ at }) => at)).sort((x, y) => x - y);
      const around = moments.slice(Math.max(0, moments.findIndex((at) => at > since) - 1));
      const pause = Math.max(...around.slice(1).map((at, next) => at - (around[next] ?? at))) / 1_000;
      pauses[how]?.push(pause);
      const isReady = async (url: string) => (await fetch(`${url}/readyz`)).ok;
      const areReady = async (some: readonly string[]) => (await Promise.all(some.map(isReady))).every(Boolean);
      await until('the Web processes are ready', () => areReady(webUrls));
      webReadies.push((performance.now() - since) / 1_000);
      await until('all are ready', () => areReady(urls));
      const ready = (performance.now() - since) / 1_000;
      readies.push(ready);
      await join(primary, standby);
      const haveEnded = await comesTrue(async () => (await monitor.countOpen(hits)) === 0, patienceMs);
      noted.silenceMs = await monitor.measureSilence(noted, hits);
      if (!haveEnded)
        ledger.blame(
          'stuck',
          `not ended ${patienceMs / 1_000} s after failover ${round + 1}: ${await site.ask((at) => describe(at, hits))}`,
        );
      takeovers.push(noted.silenceMs / 1_000);
      noted.over = Date.now();
      await monitor.check();
      const [, scripted] = /takes writes, (\d+\.\d) s/.exec(said) ?? [];
      say(
        `${round + 1}. ${how}${isHit ? ' in the middle of an import' : ''}: ${hits.length} batches open; no write was acknowledged for ${pause.toFixed(1)} s, ` +
          `the script took ${scripted} s; all ready after ${ready.toFixed(1)} s; longest pause of a tenant's batches ${(noted.silenceMs / 1_000).toFixed(1)} s`,
      );
      [primary, standby] = [standby, primary];
    }

    await Promise.all(probes.map((probe) => probe.stop()));
    await load.verify(patienceMs / 1_000);
    await monitor.check();
    const { rows } = await sql<{ id: string; subject: string }>`
      select id, subject from booking where mandator_id = ${mandatorId}`.execute(db);
    const answered = probes.flatMap((probe) => probe.answered);
    const stored = new Map(rows.map(({ id, subject }) => [Number(id), subject]));
    const lost = answered.filter(({ id, subject }) => stored.get(id) !== subject);
    const doubled = rows.length - new Set(rows.map(({ subject }) => subject)).size;
    const answers = await Promise.all(webUrls.map(answersOf));
    const sum = (wanted: (status: string) => boolean) =>
      answers.flatMap((counts) => [...counts]).reduce((all, [status, n]) => all + (wanted(status) ? n : 0), 0);
    ledger.close();
    load.close();
    over.abort();
    isOver = true;
    const all = Object.values(pauses).flat();
    say(
      [
        `${failovers} failovers: ${answered.length} bookings of the probes, ${load.figures()}: ${ledger.findings.length + lost.length + doubled} lost, doubled, half done or otherwise wrong`,
        ...Object.entries({
          ...pauses,
          'all of them': all,
          'until both Web processes were ready': webReadies,
          'until all were': readies,
          'batches of a tenant': takeovers,
        }).map(
          ([what, seconds]) =>
            `${what}: p50 ${quantile(seconds, 0.5).toFixed(1)} s, max ${quantile(seconds, 1).toFixed(1)} s`,
        ),
        `answers: ${sum(() => true)}, of which 503: ${sum((status) => status === '503')}, other 5xx: ${sum((status) => /^5/.test(status) && status !== '503')}`,
        `probes: ${probes.map(({ statuses }) => JSON.stringify(Object.fromEntries(statuses))).join(' ')}; seed ${seed}`,
      ].join('\n'),
    );
    expect({ findings: ledger.findings, lost, doubled }).toEqual({ findings: [], lost: [], doubled: 0 });
    expect(sum((status) => /^5/.test(status) && status !== '503')).toBe(0);
  },
  3_600_000,
);
