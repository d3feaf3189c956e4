/**
 * `npm run bench:events`: how soon an idle receiver learns of a booking; and the bookings per second that a webhook reports, beside a
 * client that reads the same changes in the feed and then each booking, as it would have to without webhooks; alone, and beside a
 * receiver that never answers.
 */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../src/config.ts';
import { getFirstAdmin } from '../src/identity/service.ts';
import { createWebhook } from '../src/webhooks/webhooks.ts';
import { insertBookings } from '../test/_util/bookings-table.ts';
import { pepper } from '../test/_util/pepper.ts';
import { median, quantile, say, show } from './_util/figures.ts';
import { openBench } from './_util/harness.ts';
import { readOptions, whole } from './_util/options.ts';

const options = readOptions({
  rounds: { about: 'rounds that count', read: whole(), usual: '5', smoke: '1' },
  events: { about: 'bookings that are made in a round', read: whole(), usual: '2000', smoke: '20' },
  single: { about: 'bookings that are made one after another', read: whole(), usual: '20', smoke: '1' },
});
const { rounds, events, single } = options;

let received = 0;
const receiver = http.createServer((request, response) => {
  if (request.url === '/never') return;
  request.resume().once('end', () => {
    received += 1;
    response.writeHead(204).end();
  });
});
await new Promise<void>((done) => void receiver.listen(0, '127.0.0.1', done));
const origin = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
const bench = await openBench(1, options, {
  Webhooks__TrustedOrigins: origin,
  Limits__RequestsPerMinute: '1000000',
});

const { db, tenant, client, url, token } = bench;
const { mandatorId } = tenant;
const api = async (path: string) => {
  const answer = await fetch(`${url}/school/api/v1.0${path}`, { headers: { Authorization: `Bearer ${token}` } });
  if (!answer.ok) throw new Error(`${path} answers ${answer.status}`);
  return (await answer.json()) as { Items: { Id: number }[]; NextCursor: string; HasMore: boolean };
};
const forget = () => client.query('truncate booking cascade; delete from webhook');

async function addWebhook(name: string, path: string): Promise<void> {
  const act = { viewer: await getFirstAdmin(db, 'school'), requestId: 'bench' };
  const config = { Pepper: pepper, Webhooks: { TrustedOrigins: [origin] } } as unknown as Config;
  await createWebhook({ db, config }, act, { name, url: `${origin}${path}`, kinds: ['BookingCreated'] });
}

/** `first`: seconds until the receiver knew the first booking; `seconds`: from then until it knew all. */
type Measured = { first: number; seconds: number; cpu: number };

/** @param known how many the receiver knows */
async function measure(known: () => number, work: () => Promise<unknown>): Promise<Measured> {
  await insertBookings(db, mandatorId, tenant.resources[0]!.id, { count: events });
  const [before, begin] = [await bench.cpu(), performance.now()];
  const working = work();
  while (known() === 0) await sleep(1);
  const first = performance.now();
  while (known() < events) await sleep(1);
  const seconds = (performance.now() - first) / 1_000;
  await working;
  return { first: (first - begin) / 1_000, seconds, cpu: (await bench.cpu()) - before };
}

/** By webhooks, only one of which answers. */
async function tell(paths: readonly string[]): Promise<Measured> {
  await forget();
  received = 0;
  for (const path of paths) await addWebhook(path, path);
  return await measure(
    () => received,
    async () => {},
  );
}

/** Milliseconds until the receiver knew each of the bookings, which were made one after another. */
async function tellOneByOne(): Promise<number[]> {
  await forget();
  received = 0;
  await addWebhook('single', '/');
  const found: number[] = [];
  for (let number = 0; number < single; number++) {
    // The worker is idle, at an arbitrary point of its intervals.
    await sleep(options.smoke ? 0 : 1_000 + Math.random() * 3_000);
    const begin = performance.now();
    await insertBookings(db, mandatorId, tenant.resources[0]!.id, { first: number });
    while (received === number) await sleep(1);
    found.push(performance.now() - begin);
  }
  return found.toSorted((a, b) => a - b);
}

/** By a client that reads the feed, and then each booking. */
async function follow(): Promise<Measured> {
  await forget();
  let { NextCursor: cursor } = await api('/changes?Cursor=now');
  let read = 0;
  const work = async () => {
    while (read < events) {
      const { Items, NextCursor } = await api(`/changes?Limit=100&Cursor=${cursor}`);
      cursor = NextCursor;
      // As many concurrent requests as a webhook makes.
      for (let from = 0; from < Items.length; from += 5) {
        const some = Items.slice(from, from + 5);
        await Promise.all(some.map(({ Id }) => api(`/bookings/${Id}`)));
        read += some.length;
      }
    }
  };
  return await measure(() => read, work);
}

try {
  const alone = await tellOneByOne();
  show('until a receiver knows one booking', { 'p50 ms': 0, 'p90 ms': 0, 'most ms': 0 }, [
    [`${single} bookings`, median(alone), quantile(alone, 0.9), alone.at(-1) as number],
  ]);
  say(`${events} bookings that are made at once, until a receiver knows all of them`);
  const sides = {
    'a client of the feed': follow,
    'a webhook': () => tell(['/']),
    'beside one that hangs': () => tell(['/', '/never']),
  };
  const measured = Object.entries(sides).map(([name, run]) => ({ name, run, found: [] as Measured[] }));
  // The first round is a warm-up.
  for (let round = 0; round <= rounds; round++)
    for (const { run, found } of measured) {
      const one = await run();
      if (round > 0 || options.smoke) found.push(one);
    }
  const [feed] = measured;
  const rate = ({ seconds }: Measured) => events / Math.max(seconds, 0.001);
  const rateOfFeed = median(feed!.found.map(rate));
  show(
    'median',
    { 'first after s': 2, 'events/s': 0, 'us CPU/event': 0, 'ratio to the feed': 2 },
    measured.map(({ name, found }) => [
      name,
      median(found.map(({ first }) => first)),
      median(found.map(rate)),
      median(found.map(({ cpu }) => cpu / events)),
      median(found.map(rate)) / rateOfFeed,
    ]),
  );
} finally {
  await bench.close();
  receiver.closeAllConnections();
  receiver.close();
}
