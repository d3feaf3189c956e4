/**
 * `npm run bench:standby`: reads over REST and GraphQL by a Web process with the primary alone, and by one with a hot standby
 * (`ReadDatabaseUrl`), in turns within one run. On one machine with few cores a second server does not increase the rate; the CPU of each
 * shows the load that it takes off the primary.
 */
import type { ChildProcess } from 'node:child_process';
import pg from 'pg';
import { openDatabase } from '../src/db/database.ts';
import { migrate } from '../src/db/migrate.ts';
import { openLog } from '../src/log.ts';
import { migrateQueue } from '../src/worker/queue.ts';
import { startStreamingPair } from '../test/_util/streaming.ts';
import { cpuOf, cpuOfPostgres, median, say, show } from './_util/figures.ts';
import { load, openBench } from './_util/harness.ts';
import { readOptions, seconds, whole } from './_util/options.ts';
import { requestsOf } from './_util/requests.ts';
import { daysOf, storeBookings } from './_util/stored-bookings.ts';

const options = readOptions({
  rounds: { about: 'rounds that count', read: whole(), usual: '5', smoke: '1' },
  seconds: { about: 'how long a side is asked', read: seconds, usual: '1', smoke: '0.05' },
  connections: { about: 'how many ask', read: whole(), usual: '32', smoke: '4' },
  rooms: { about: 'rooms of the tenant', read: whole(), usual: '100', smoke: '10' },
  stored: { about: 'bookings that are stored', read: whole(), usual: '100000', smoke: '1000' },
  requests: { about: 'different requests of a case', read: whole(), usual: '2000', smoke: '20' },
});

const pair = await startStreamingPair();
const db = openDatabase(pair.primary.url, { max: 2, log: openLog('silent'), statementTimeout: 0 });
await migrate(db, openLog('silent'));
await migrateQueue(db);
await db.destroy();
const bench = await openBench(
  options.rooms,
  { ...options, onServer: pair.primary.url },
  {
    Limits__RequestsPerMinute: '1000000',
  },
);
const { get, post } = requestsOf(bench.token);
const { code, resources, locationId } = bench.tenant;

const day = 86_400_000;
const { first, days } = daysOf(options.stored, resources.length);
const random = (below: number) => Math.floor(Math.random() * below);
const times = (make: () => string) => Array.from({ length: options.requests }, make);

function week() {
  const from = first + random(Math.max(1, days - 7)) * day;
  return { from: new Date(from).toISOString(), to: new Date(from + 7 * day).toISOString() };
}
const roomId = () => resources[random(resources.length)]?.id ?? 0;
const bookingId = () => random(options.stored) + 1;
const graphql = (query: string, variables: object) => post(`/${code}/graphql`, { query, variables });
const record = 'id resourceName subject start end status organizer { displayName } lessonSummary { subject classes }';

const cases: Record<string, string[]> = {
  'booking by id, REST': times(() => get(`/${code}/api/v1.0/bookings/${bookingId()}`)),
  'booking by id, GraphQL': times(() =>
    graphql(`query ($id: ID!) { booking(id: $id) { ${record} } }`, { id: bookingId() }),
  ),
  'week of a room, REST': times(() => {
    const { from, to } = week();
    return get(`/${code}/api/v1.0/bookings?ResourceId=${roomId()}&From=${from}&To=${to}`);
  }),
  'week of a room, GraphQL': times(() =>
    graphql(`query ($filter: BookingFilter!) { bookings(filter: $filter) { nodes { ${record} } } }`, {
      filter: { resourceId: roomId(), ...week() },
    }),
  ),
  'next bookings of 20 rooms, GraphQL': times(() =>
    graphql(
      `query ($id: ID!, $window: EdgeBookingFilter!) { location(id: $id) { resources(first: 20) { nodes { id name
        bookings(first: 3, filter: $window) { nodes { ${record} } } } } } }`,
      { id: locationId, window: week() },
    ),
  ),
};
cases['all of them, mixed'] = Array.from({ length: options.requests }, (_, at) =>
  Object.values(cases).flatMap((requests) => requests[at] ?? []),
).flat();

type Side = { name: string; port: number; process: ChildProcess };
/** Reads per second, and the microseconds of CPU of each server per read. */
type Figures = { rate: number; primary: number; standby: number; web: number };

/** Reads of a Web process, by the server that answered them. */
async function readsOf({ port }: Side): Promise<Record<string, number>> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const counted = text.matchAll(/^roomgate_reads_total\{answered="(\w+)"\} (\d+)/gm);
  return Object.fromEntries([...counted].map(([, answered, count]) => [answered, Number(count)]));
}

const follower = new pg.Client(pair.standby.url);
await follower.connect();

async function measure(generator: ChildProcess, requests: string[], sides: readonly Side[]) {
  const figures = new Map<Side, Figures[]>(sides.map((side) => [side, []]));
  const { connections } = options;
  // The first round is a warm-up.
  for (let round = 0; round <= options.rounds; round++)
    for (const side of sides.toSorted(() => Math.random() - 0.5)) {
      const spent = async () => ({
        primary: await cpuOfPostgres(bench.client),
        standby: await cpuOfPostgres(follower),
        web: cpuOf(side.process.pid as number),
      });
      const before = await spent();
      const milliseconds = options.seconds * 1_000;
      const { answers, seconds } = await load(generator, { port: side.port, requests, connections, milliseconds });
      const after = await spent();
      const of = (who: keyof typeof after) => (after[who] - before[who]) / answers;
      if (round > 0)
        figures
          .get(side)
          ?.push({ rate: answers / seconds, primary: of('primary'), standby: of('standby'), web: of('web') });
    }
  return figures;
}

try {
  await storeBookings(bench, options.stored);
  const generator = bench.start('load.ts');
  const alone = { name: 'primary alone', port: Number(new URL(bench.url).port), process: bench.web };
  const beside = await bench.startBeside({ ReadDatabaseUrl: pair.standby.url, ReadWaitMilliseconds: '1000' });
  const sides = [alone, { name: 'with a standby', ...beside }];
  for (const [name, requests] of Object.entries(cases)) {
    const figures = await measure(generator, requests, sides);
    const middle = (side: Side, of: keyof Figures) => median((figures.get(side) ?? []).map((one) => one[of]));
    say('');
    show(
      name,
      { 'req/s': 0, 'us CPU of primary': 0, 'of standby': 0, 'of Web': 0, 'ratio to primary alone': 2 },
      sides.map((side) => [
        side.name,
        middle(side, 'rate'),
        middle(side, 'primary'),
        middle(side, 'standby'),
        middle(side, 'web'),
        // Less than a tick of the clock counts as none.
        Math.max(1, middle(alone, 'primary')) / Math.max(1, middle(side, 'primary')),
      ]),
    );
  }
  say(
    `\nreads of the Web process with a standby, by where they were answered: ${JSON.stringify(await readsOf(sides[1] as Side))}`,
  );
} finally {
  await follower.end();
  await bench.close();
  await pair.remove();
}
