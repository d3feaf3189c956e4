/**
 * `npm run bench:webhook`: notifications per second that are stored, have queued the reading of their calendar and are
 * answered, by a Web process with its settings as they are, beside a bare node:http server that does one INSERT per POST, in
 * one run and in turns. Then, with a worker and a mail server: how often a mailbox is read after 500 notifications in two
 * seconds, and how long 1,000 a second wait for their answers while clients read bookings.
 *
 * `-- --rounds=7 --seconds=1 --connections=64,1 --only=text` changes what is run.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Config } from '../src/config.ts';
import { makeSecret } from '../src/mail/secrets.ts';
import { startMailServer } from '../test/_util/mail-server.ts';
import { ewsBody, webhookPath } from '../test/_util/notifications.ts';
import { pepper } from '../test/_util/service.ts';
import { cpuOf, cpuOfPostgres, median, openBench, say } from './harness.ts';
import type { Outcome, Run } from './load.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '1' },
    connections: { type: 'string', default: '64,1' },
    only: { type: 'string', default: '' },
  },
});
const rooms = 100;
const numbered = '##########';

const mailServer = await startMailServer();
const bench = await openBench(rooms, {
  LogLevel: 'info',
  Limits__RequestsPerMinute: '1000000',
  MailServer__school__Kind: 'Ews',
  MailServer__school__Url: mailServer.ews,
  MailServer__school__User: mailServer.user,
  MailServer__school__Password: mailServer.password,
  MailServer__school__FutureDays: '14',
});
const { client, tenant } = bench;
const mailboxOf = (index: number) => `room${index}@rooms.test`;
const processes: ChildProcess[] = [];

function start(program: string): ChildProcess {
  const child = fork(path.join(import.meta.dirname, program), {
    env: { ...process.env, DATABASE_URL: bench.databaseUrl },
  });
  processes.push(child);
  return child;
}

async function load(generator: ChildProcess, run: Run): Promise<Outcome> {
  generator.send(run);
  const [outcome] = (await once(generator, 'message')) as [Outcome];
  if (outcome.failure !== undefined) throw new Error(outcome.failure);
  return outcome;
}

async function countOf(from: string): Promise<number> {
  const { rows } = await client.query<{ n: number }>(`select count(*)::int as n from ${from}`);
  return rows[0]?.n ?? 0;
}

async function until(reached: () => Promise<boolean>, seconds: number, what: string): Promise<void> {
  for (const deadline = Date.now() + seconds * 1_000; !(await reached()); await sleep(50))
    if (Date.now() > deadline) throw new Error(`after ${seconds} s ${what}`);
}

/** Each room's mailbox with its subscription, as the worker has got them. */
async function subscribe(): Promise<{ id: number; calendarId: number }[]> {
  for (const [index] of tenant.resources.entries()) await mailServer.addRoom(mailboxOf(index));
  await client.query(
    `update resource set mailbox = 'room' || (position - 1) || '@rooms.test'
     from unnest($1::integer[]) with ordinality as room(id, position) where resource.id = room.id`,
    [tenant.resources.map(({ id }) => id)],
  );
  const active = `mail_subscription where state = 'Active'`;
  await until(async () => (await countOf(active)) === rooms, 60, 'not every mailbox has a subscription');
  await settle();
  const { rows: found } = await client.query(
    `select id, calendar_id as "calendarId" from ${active} order by calendar_id`,
  );
  return found;
}

/** Waits until nothing is left to be read. */
const settle = () =>
  until(
    async () =>
      (await countOf('mail_calendar where dirty_since is not null')) +
        (await countOf(`graphile_worker._private_jobs where key like 'mail calendar %'`)) ===
      0,
    60,
    'calendars are still to be read',
  );

function post(address: string, body: string): string {
  return `POST ${address} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/xml; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** What Exchange sends of a change: the item, and its folder. */
const body = ewsBody({ watermark: `AQAAA${numbered}`, events: ['ModifiedEvent', 'ModifiedEvent'] });
const requestsOf = (subscriptions: readonly { id: number }[]) =>
  subscriptions.map(({ id }) =>
    post(`${webhookPath}?k=${makeSecret({ Pepper: pepper } as Config, 'callback', id)}`, body),
  );

type Side = { name: string; port: number; pid: number; requests: string[]; table: string };

/** Notifications per second of the sides, in turns; each has stored what it has answered. */
async function compare(
  generator: ChildProcess,
  name: string,
  sides: Side[],
  connections: number,
): Promise<void> {
  const rates = new Map<Side, number[]>(sides.map((side) => [side, []]));
  const costs = new Map<Side, number[]>(sides.map((side) => [side, []]));
  const databaseCosts = new Map<Side, number[]>(sides.map((side) => [side, []]));
  // The first round warms up.
  for (let round = 0; round <= Number(options.rounds); round++)
    for (const side of sides.toSorted(() => Math.random() - 0.5)) {
      const { port, pid, requests, table } = side;
      await client.query(`truncate ${table}`);
      const [before, databaseBefore] = [cpuOf(pid), await cpuOfPostgres(client)];
      const milliseconds = Number(options.seconds) * 1_000;
      const { answers, seconds } = await load(generator, {
        port,
        requests,
        connections,
        milliseconds,
        numbered,
      });
      const [after, databaseAfter] = [cpuOf(pid), await cpuOfPostgres(client)];
      const stored = await countOf(table);
      if (stored !== answers) throw new Error(`${side.name} has answered ${answers} and stored ${stored}`);
      if (round === 0) continue;
      rates.get(side)?.push(answers / seconds);
      costs.get(side)?.push((after - before) / answers);
      databaseCosts.get(side)?.push((databaseAfter - databaseBefore) / answers);
    }
  say(
    `\n${name}, ${connections} connection${connections > 1 ? 's' : ''}\n                     POST/s  us CPU/POST  in PostgreSQL  of bare`,
  );
  const [bare = []] = rates.values();
  for (const side of sides) {
    const own = rates.get(side) ?? [];
    const ratio = median(own.map((rate, round) => rate / (bare[round] ?? 1)));
    say(
      [
        side.name.padEnd(18),
        median(own).toFixed(0).padStart(8),
        median(costs.get(side) ?? [])
          .toFixed(0)
          .padStart(12),
        median(databaseCosts.get(side) ?? [])
          .toFixed(0)
          .padStart(14),
        ratio.toFixed(2).padStart(8),
      ].join(' '),
    );
  }
}

const port = Number(new URL(bench.url).port);

/** Without the worker's readings, which both sides would pay for: no calendar may be read yet. */
async function compareWithBare(subscriptions: { id: number }[]): Promise<void> {
  await client.query(`
    create table bare_notification (id uuid primary key, received_at timestamptz not null default now(), content_type text,
      address text not null, body bytea not null);
    create index on bare_notification (received_at);
    update mail_calendar set not_before = now() + interval '1 hour'`);
  const generator = start('load.ts');
  const server = start('bare-webhook.ts');
  const [barePort] = await once(server, 'message');
  const bare: Side = {
    ...{ name: 'bare', port: barePort as number, pid: server.pid as number },
    ...{ requests: [post('/', body)], table: 'bare_notification' },
  };
  const ours = (name: string, some: { id: number }[]): Side => ({
    ...{ name, port, pid: bench.webProcess, requests: requestsOf(some), table: 'mail_notification' },
  });
  for (const connections of options.connections.split(',').map(Number))
    await compare(
      generator,
      'Exchange notifications',
      [bare, ours('one mailbox', subscriptions.slice(0, 1)), ours(`${rooms} mailboxes`, subscriptions)],
      connections,
    );
  await client.query(`
    delete from graphile_worker._private_jobs where key like 'mail calendar %';
    update mail_calendar set not_before = null, dirty_since = null, dirty_by = null`);
}

async function countReadings(subscriptions: { id: number; calendarId: number }[]): Promise<void> {
  const [first] = subscriptions;
  if (!first) return;
  const readings = async () =>
    (
      await client.query<{ n: number }>('select readings::int as n from mail_calendar where id = $1', [
        first.calendarId,
      ])
    ).rows[0]?.n ?? 0;
  await settle();
  // What was sent before has the same watermarks.
  await client.query('truncate mail_notification');
  const before = await readings();
  const { answers, waits = [] } = await load(start('load.ts'), {
    ...{
      port,
      requests: requestsOf([first]),
      connections: 16,
      milliseconds: 2_000,
      numbered,
      perSecond: 250,
    },
  });
  await settle();
  say(
    `\n${answers} notifications for one mailbox within 2 s: ${(await readings()) - before} readings; answered within ${waits.at(-1)?.toFixed(0)} ms`,
  );
}

async function storm(subscriptions: { id: number }[]): Promise<void> {
  const authorization = `Authorization: Bearer ${bench.token}`;
  const reads = tenant.resources.map(
    ({ id }) =>
      `GET /school/api/v1.0/resources/${id} HTTP/1.1\r\nHost: 127.0.0.1\r\n${authorization}\r\n\r\n`,
  );
  const [reader, sender] = [start('load.ts'), start('load.ts')];
  const read = (milliseconds: number) =>
    load(reader, { port, requests: reads, connections: 8, milliseconds });
  await read(1_000);
  const quiet = await read(4_000);
  await client.query('truncate mail_notification');
  const [busy, sent] = await Promise.all([
    read(10_000),
    load(sender, {
      ...{
        port,
        requests: requestsOf(subscriptions),
        connections: 64,
        milliseconds: 10_000,
        numbered,
        perSecond: 1_000,
      },
    }),
  ]);
  const stored = await countOf('mail_notification');
  const { waits = [] } = sent;
  const at = (share: number) => waits[Math.floor((waits.length - 1) * share)]?.toFixed(1);
  const quietAfter = await read(4_000);
  const rate = ({ answers, seconds }: Outcome) => answers / seconds;
  const between = (rate(quiet) + rate(quietAfter)) / 2;
  say(
    `\n1,000 notifications a second for 10 s, over ${subscriptions.length} mailboxes: ${sent.answers} answered, ${stored} stored; ms p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)}`,
  );
  say(
    `reads beside it: ${rate(busy).toFixed(0)}/s, without it ${between.toFixed(0)}/s: ${(rate(busy) / between).toFixed(2)}`,
  );
}

try {
  const subscriptions = await subscribe();
  const parts = { bare: compareWithBare, readings: countReadings, storm };
  for (const [name, part] of Object.entries(parts))
    if (name.includes(options.only)) await part(subscriptions);
} finally {
  for (const child of processes) child.kill();
  await bench.close();
  await mailServer.stop();
}
