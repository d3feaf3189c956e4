import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { openShares, type SharedTurn, type Shares } from '../../src/flow/shares.ts';

const places = 8;
/** Places that servers which hold them for long leave to the others. */
const left = 2;

let shares: Shares;
beforeEach(() => {
  jest.useFakeTimers();
  shares = openShares(places);
});
afterEach(() => void jest.useRealTimers());

const pass = (seconds: number) => jest.advanceTimersByTimeAsync(seconds * 1_000);
const take = (tenant: number, server: number, work: (turn: SharedTurn) => Promise<void>) =>
  shares.take(tenant, { tenant: server, name: 'events' }, work);

/** One request of a server that answers. */
const ask = async (turn: SharedTurn, answer: Promise<unknown> = Promise.resolve()) => {
  turn.begin();
  await answer;
  turn.answered();
  turn.ended();
};
const hang = async (turn: SharedTurn, end?: Promise<unknown>) => {
  turn.begin();
  const aborted = new Promise<void>((resolve) => turn.signal.addEventListener('abort', () => resolve()));
  await Promise.race([aborted, end ?? aborted]);
  turn.ended();
};
/** A turn that lasts until `end` is called. @returns undefined if it was refused */
async function begin(tenant: number, server: number): Promise<{ end(): Promise<void> } | undefined> {
  const answer = Promise.withResolvers<void>();
  const turn = take(tenant, server, (own) => ask(own, answer.promise));
  const refused = await Promise.race([turn, Promise.resolve('under way').then((it) => it)]);
  const end = async () => {
    answer.resolve();
    await turn;
  };
  return refused === 'under way' ? { end } : undefined;
}
const may = async (tenant: number, server: number) => (await begin(tenant, server)) !== undefined;
/** Each has a turn in which it answers so late, all at a time. */
async function answerAfter(seconds: number, servers: readonly [tenant: number, server: number][]): Promise<void> {
  const turns = await Promise.all(servers.map(([tenant, server]) => begin(tenant, server)));
  await pass(seconds);
  for (const turn of turns) await turn!.end();
}
const ofTenant = (tenant: number, count: number) =>
  Array.from({ length: count }, (_, index): [number, number] => [tenant, 10 * tenant + index]);

test('of the long servers of a tenant three have a turn at a time, and of those of all tenants so many that two places are left', async () => {
  const all = [...ofTenant(1, 4), ...ofTenant(2, 2), ...ofTenant(3, 2)];
  await answerAfter(2, all);
  const got: number[] = [];
  for (const [tenant, server] of all) if (await may(tenant, server)) got.push(server);
  expect(got).toEqual([10, 11, 12, 20, 21, 30]);
  expect(got).toHaveLength(places - left);
  expect([await may(1, 18), await may(4, 40)]).toEqual([true, true]);
});

test('tenants take turns: a long server waits for one turn of each other tenant, however many servers of theirs wait', async () => {
  await answerAfter(2, [...ofTenant(1, 6), [3, 30]]);
  await answerAfter(2, ofTenant(2, 6));
  const turns = new Map<number, { end(): Promise<void> }>();
  /** @returns those of these servers that got a turn */
  const askFor = async (servers: readonly [tenant: number, server: number][]) => {
    const got: number[] = [];
    for (const [tenant, server] of servers) {
      const turn = await begin(tenant, server);
      if (!turn) continue;
      turns.set(server, turn);
      got.push(server);
    }
    return got;
  };
  expect(await askFor([...ofTenant(1, 3), ...ofTenant(2, 3)])).toHaveLength(places - left);
  const waiting = [...ofTenant(1, 6).slice(3), ...ofTenant(2, 6).slice(3), ...ofTenant(3, 1)];
  expect(await askFor(waiting)).toEqual([]);
  const next: number[][] = [];
  for (const server of [10, 30, 20, 11]) {
    await turns.get(server)!.end();
    next.push(await askFor(server === 30 ? [...ofTenant(3, 1), ...waiting.slice(0, -1)] : waiting));
  }
  expect(next).toEqual([[30], [13], [23], [30]]);
});

test('of the long servers of a tenant the one that has waited longest goes first, and keeps its place until a sweep has found it again', async () => {
  await answerAfter(2, ofTenant(1, 6));
  const turns = [await begin(1, 10), await begin(1, 11), await begin(1, 12)];
  expect([await may(1, 13), await may(1, 14), await may(1, 15)]).toEqual([false, false, false]);
  await turns[0]!.end();
  await pass(3);
  expect([await may(1, 14), await may(1, 13)]).toEqual([false, true]);
  await turns[1]!.end();
  expect(await may(1, 15)).toBe(false);
  await pass(0.5);
  expect(await may(1, 15)).toBe(false);
  await pass(3);
  expect([await may(1, 15), await may(1, 14)]).toEqual([true, false]);
});

test('a long server that asks too late to keep its place keeps its rank: another process may have served it meanwhile', async () => {
  await answerAfter(2, ofTenant(1, 5));
  const turns = [await begin(1, 10), await begin(1, 11), await begin(1, 12)];
  expect([await may(1, 13), await may(1, 14)]).toEqual([false, false]);
  await pass(3.5);
  expect([await may(1, 14), await may(1, 13)]).toEqual([false, false]);
  await turns[0]!.end();
  expect([await may(1, 14), await may(1, 13)]).toEqual([false, true]);
});

test('a long server that finds no slow place keeps its rank, and keeps no other from its turn meanwhile', async () => {
  const slow = take(1, 19, hang);
  await answerAfter(2, ofTenant(1, 5));
  await pass(70);
  await slow;
  const end = Promise.withResolvers<void>();
  const inSlowPlaces = [5, 6, 7, 8].map((tenant) => take(tenant, 10 * tenant, (turn) => hang(turn, end.promise)));
  await pass(6);
  const turns = [await begin(1, 10), await begin(1, 11), await begin(1, 12)];
  expect([await may(1, 19), await may(1, 13), await may(1, 14)]).toEqual([false, false, false]);
  await turns[0]!.end();
  expect([await may(1, 19), await may(1, 13), await may(1, 14)]).toEqual([false, true, false]);
  end.resolve();
  await Promise.all(inSlowPlaces);
  await turns[1]!.end();
  expect([await may(1, 19), await may(1, 14)]).toEqual([true, false]);
});

test.each<[string, boolean, (turn: SharedTurn) => Promise<void>]>([
  [
    'whose requests are under way for more than a second together is long',
    true,
    async (turn) => {
      for (let request = 0; request < 4; request++) await ask(turn, pass(0.4));
    },
  ],
  [
    'that answers soon is quick, however long the database takes for the turn',
    false,
    async (turn) => {
      for (let request = 0; request < 4; request++) {
        await ask(turn, pass(0.1));
        await pass(2);
      }
    },
  ],
])('a server %s', async (_name, isLong, work) => {
  for (const [tenant, server] of ofTenant(1, 4)) await take(tenant, server, work);
  const got: boolean[] = [];
  for (const [tenant, server] of ofTenant(1, 4)) got.push(await may(tenant, server));
  expect(got).toEqual([true, true, true, !isLong]);
});

test('a turn without a request leaves a server long', async () => {
  await answerAfter(2, ofTenant(1, 4));
  for (const [tenant, server] of ofTenant(1, 4)) await take(tenant, server, async () => {});
  const got: boolean[] = [];
  for (const [tenant, server] of ofTenant(1, 4)) got.push(await may(tenant, server));
  expect(got).toEqual([true, true, true, false]);
});

test('a long server stays long until a turn is quick a minute after its last long one, however long it has none', async () => {
  const servers = ofTenant(1, 4);
  const atOnce = async () => {
    const turns = await Promise.all(servers.map(([tenant, server]) => begin(tenant, server)));
    for (const turn of turns) await turn?.end();
    return turns.filter((turn) => turn).length;
  };
  await answerAfter(2, servers);
  await pass(59);
  for (const [tenant, server] of servers) await take(tenant, server, ask);
  expect(await atOnce()).toBe(3);
  await pass(600);
  expect(await atOnce()).toBe(3);
  for (const [tenant, server] of servers) await take(tenant, server, ask);
  expect(await atOnce()).toBe(4);
});
