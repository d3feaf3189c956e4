/**
 * `npm run bench:webhook`: notifications per second that a Web process with raised limits stores, queues a reading for and answers,
 * beside a bare node:http server that does one INSERT per POST, in turns within one run. Then, with a worker and a mail server: how
 * often a mailbox is read after 500 notifications in two seconds, and how long 1,000 a second wait for their answers while clients read
 * bookings.
 */
import { startMailServer } from '../test/mail/_util/mail-server.ts';
import { cpuOf, cpuOfPostgres, median, quantile, say, show } from './_util/figures.ts';
import { answerOf, load, openBench } from './_util/harness.ts';
import type { Outcome } from './_util/load.ts';
import { mailSettings, notification, numbered, openMailboxes, postOf } from './_util/mailboxes.ts';
import { list, partOf, readOptions, seconds, whole } from './_util/options.ts';

const options = readOptions({
  rounds: { about: 'rounds that count', read: whole(), usual: '7', smoke: '1' },
  seconds: { about: 'how long notifications are sent to a side', read: seconds, usual: '1', smoke: '0.05' },
  connections: { about: 'how many send at once', read: list(whole()), usual: '64,1', smoke: '4' },
  rooms: { about: 'mailboxes', read: whole(), usual: '100', smoke: '2' },
  storm: { about: 'how many seconds the storm lasts', read: seconds, usual: '10', smoke: '0.1' },
  only: {
    about: 'parts with this in their names',
    read: partOf('bare', 'readings', 'storm'),
    usual: '',
    smoke: '',
  },
});
const { rooms } = options;

const mailServer = await startMailServer();
const bench = await openBench(rooms, options, {
  LogLevel: 'info',
  Limits__RequestsPerMinute: '1000000',
  ...mailSettings(mailServer),
});
const { client, tenant } = bench;
const generator = bench.start('load.ts');
const { countOf, settle, subscribe, requestsOf } = openMailboxes(bench, mailServer);

type Side = { name: string; port: number; pid: number; requests: string[]; table: string };

/** Notifications per second of each side, in turns; each stores what it answers. */
async function compare(name: string, sides: Side[], connections: number): Promise<void> {
  const rates = new Map<Side, number[]>(sides.map((side) => [side, []]));
  const costs = new Map<Side, number[]>(sides.map((side) => [side, []]));
  const databaseCosts = new Map<Side, number[]>(sides.map((side) => [side, []]));
  // The first round is a warm-up.
  for (let round = 0; round <= options.rounds; round++)
    for (const side of sides.toSorted(() => Math.random() - 0.5)) {
      const { port, pid, requests, table } = side;
      await client.query(`truncate ${table}`);
      const [before, databaseBefore] = [cpuOf(pid), await cpuOfPostgres(client)];
      const milliseconds = options.seconds * 1_000;
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
  const [bare = []] = rates.values();
  say('');
  show(
    `${name}, ${connections} connection${connections > 1 ? 's' : ''}`,
    { 'POST/s': 0, 'us CPU/POST': 0, 'in PostgreSQL': 0, 'ratio to bare': 2 },
    sides.map((side) => {
      const own = rates.get(side) ?? [];
      return [
        side.name,
        median(own),
        median(costs.get(side) ?? []),
        median(databaseCosts.get(side) ?? []),
        median(own.map((rate, round) => rate / (bare[round] ?? 1))),
      ];
    }),
  );
}

const port = Number(new URL(bench.url).port);

/** Keeps the worker from reading calendars, which would slow down both sides. */
async function compareWithBare(subscriptions: { id: number }[]): Promise<void> {
  await client.query(`
    create table bare_notification (id uuid primary key, received_at timestamptz not null default now(), content_type text,
      address text not null, body bytea not null);
    create index on bare_notification (received_at);
    update mail_calendar set not_before = now() + interval '1 hour'`);
  const server = bench.start('bare-webhook.ts');
  const barePort = await answerOf<number>(server);
  const bare: Side = {
    name: 'bare',
    port: barePort,
    pid: server.pid as number,
    requests: [postOf('/', notification)],
    table: 'bare_notification',
  };
  const ours = (name: string, some: { id: number }[]): Side => ({
    name,
    port,
    pid: bench.webProcess,
    requests: requestsOf(some),
    table: 'mail_notification',
  });
  for (const connections of options.connections)
    await compare(
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
  // Earlier notifications have the same watermarks.
  await client.query('truncate mail_notification');
  const before = await readings();
  const { answers, waits = [] } = await load(generator, {
    port,
    requests: requestsOf([first]),
    connections: 16,
    milliseconds: options.storm * 200,
    numbered,
    perSecond: 250,
  });
  await settle();
  say(
    `\n${answers} notifications for one mailbox within ${options.storm / 5} s: ${(await readings()) - before} readings; answered within ${waits.at(-1)?.toFixed(0)} ms`,
  );
}

async function storm(subscriptions: { id: number }[]): Promise<void> {
  const authorization = `Authorization: Bearer ${bench.token}`;
  const reads = tenant.resources.map(
    ({ id }) => `GET /school/api/v1.0/resources/${id} HTTP/1.1\r\nHost: 127.0.0.1\r\n${authorization}\r\n\r\n`,
  );
  const reader = bench.start('load.ts');
  const read = (milliseconds: number) => load(reader, { port, requests: reads, connections: 8, milliseconds });
  const lasting = options.storm * 1_000;
  await read(lasting / 10);
  const quiet = await read(lasting * 0.4);
  await client.query('truncate mail_notification');
  const [busy, sent] = await Promise.all([
    read(lasting),
    load(generator, {
      port,
      requests: requestsOf(subscriptions),
      connections: 64,
      milliseconds: lasting,
      numbered,
      perSecond: 1_000,
    }),
  ]);
  const stored = await countOf('mail_notification');
  const { waits = [] } = sent;
  const at = (part: number) => quantile(waits, part).toFixed(1);
  const quietAfter = await read(lasting * 0.4);
  const rate = ({ answers, seconds }: Outcome) => answers / seconds;
  const between = (rate(quiet) + rate(quietAfter)) / 2;
  say(
    `\n1,000 notifications a second for ${options.storm} s, over ${subscriptions.length} mailboxes: ${sent.answers} answered, ${stored} stored; ms p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)}`,
  );
  show('reads', { 'req/s': 0, 'ratio to alone': 2 }, [
    ['alone', between, 1],
    ['beside these notifications', rate(busy), rate(busy) / between],
  ]);
}

try {
  const subscriptions = await subscribe();
  const parts = { bare: compareWithBare, readings: countReadings, storm };
  for (const [name, part] of Object.entries(parts)) if (name.includes(options.only)) await part(subscriptions);
} finally {
  await bench.close();
  await mailServer.stop();
}
