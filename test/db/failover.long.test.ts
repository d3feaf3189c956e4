/** A streaming pair behind one URL of two hosts: the primary dies, the standby is promoted, and nothing acknowledged is lost. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { createPin } from '../../src/identity/service.ts';
import { openLog } from '../../src/log.ts';
import { startServer } from '../../src/server.ts';
import { type DatabaseServer, startDatabaseServer } from '../_util/database-server.ts';
import { makeTenant } from '../_util/factories.ts';
import { pepper } from '../_util/pepper.ts';
import { until } from '../_util/process.ts';
import { longWindow, testConfig } from '../_util/service.ts';
import { ask, copyPrimary } from '../_util/streaming.ts';

const rounds = 20;
const servers: DatabaseServer[] = [];
afterAll(async () => {
  for (const server of servers) await server.remove();
});

/** Makes `standby` a copy of `primary` that follows it, and has each commit wait for it. */
async function follow(standby: DatabaseServer, primary: DatabaseServer): Promise<void> {
  await copyPrimary(standby, primary);
  await ask(primary.url, "alter system set synchronous_standby_names = '*'", 'select pg_reload_conf()');
  await until('each commit waits for the standby', async () => {
    const found = await ask(primary.url, "select from pg_stat_replication where sync_state = 'sync'");
    return found.length > 0;
  });
}

/** What an operator does once the primary is gone: without another standby, commits must not wait for one. */
async function promote({ url }: DatabaseServer): Promise<void> {
  await ask(url, 'select pg_promote()');
  await ask(url, 'alter system reset synchronous_standby_names', 'select pg_reload_conf()');
}

test('acknowledged bookings outlive the death of the primary, and the service goes on at the other', async () => {
  let [primary, standby] = [await startDatabaseServer(), await startDatabaseServer()];
  servers.push(primary, standby);
  const other = new URL(standby.url).host;
  const both = primary.url.replace(new URL(primary.url).host, `${new URL(primary.url).host},${other}`);
  const { password } = new URL(primary.url);
  const urlsOf = (server: DatabaseServer) => ({
    ...server,
    url: Object.assign(new URL(server.url), { password }).href,
  });
  const config = testConfig(both);
  const service = await startServer(config, openLog('silent'), { rateWindow: longWindow });
  await service.ready;
  const tenant = await makeTenant(service.context.db);
  const { pin } = await createPin(service.context.db, pepper, {
    mandatorId: tenant.mandatorId,
    personId: tenant.person('User').id,
  });
  const base = service.context.config.BaseUrl;
  const form = { grant_type: 'apikey', scope: 'service_api', client_id: 'timetable-import', apikey: pin };
  const answer = await fetch(`${base}/connect/token`, { method: 'POST', body: new URLSearchParams(form) });
  const { access_token: token } = (await answer.json()) as { access_token: string };
  standby = urlsOf(standby);
  await follow(standby, primary);

  const acknowledged: number[] = [];
  const refused: string[] = [];
  let isDone = false;
  const begin = Math.ceil(Date.now() / 3_600_000) * 3_600_000 + 86_400_000;
  const at = (n: number) => new Date(begin + n * 300_000).toISOString();
  const writing = (async () => {
    for (let n = 0; !isDone && refused.length === 0; n++)
      for (let told = false; !told && !isDone && refused.length === 0; await sleep(told ? 0 : 20)) {
        const made = await fetch(`${base}/school/api/v1.0/bookings`, {
          method: 'POST',
          headers: {
            Authorization: `Bearer ${token}`,
            'Content-Type': 'application/json',
            'Idempotency-Key': `booking-${n}`,
          },
          body: JSON.stringify({ ResourceId: tenant.resources[0]!.id, Subject: `n${n}`, Start: at(n), End: at(n + 1) }),
        });
        const body = (await made.json()) as { Id: number };
        told = made.status === 201;
        if (told) acknowledged.push(body.Id);
        else if (made.status !== 503) refused.push(JSON.stringify(body));
      }
  })();
  const seconds: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const before = acknowledged.length;
    await until('it is written', () => refused[0] ?? acknowledged.length > before + 5);
    await primary.stop('SIGQUIT');
    const since = performance.now();
    await promote(standby);
    const lost = acknowledged.length;
    await until('it is written at the other', () => refused[0] ?? acknowledged.length > lost + 1);
    seconds.push((performance.now() - since) / 1_000);
    await until('it is ready', async () => (await fetch(`${base}/readyz`)).ok);
    [primary, standby] = [standby, primary];
    if (round < rounds - 1) await follow(standby, primary);
  }
  isDone = true;
  await writing;
  const { rows } = await sql<{ id: number; subject: string }>`
    select id, subject from booking where mandator_id = ${tenant.mandatorId}`.execute(service.context.db);
  const ids = new Set(rows.map(({ id }) => id));
  const missing = acknowledged.filter((id) => !ids.has(id));
  const doubled = rows.length - new Set(rows.map(({ subject }) => subject)).size;
  await service.stop();
  process.stdout.write(
    `${rounds} failovers: ${acknowledged.length} acknowledged, ${missing.length} lost, ${doubled} doubled; written again after ` +
      `${seconds.map((one) => one.toFixed(1)).join(', ')} s\n`,
  );
  expect({ refused, missing, doubled }).toEqual({ refused: [], missing: [], doubled: 0 });
}, 1_800_000);
