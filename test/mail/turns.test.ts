import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { openTurns, type Turn, type Turns } from '../../src/flow/turns.ts';

const places = 8;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const pass = (seconds: number) => jest.advanceTimersByTimeAsync(seconds * 1_000);
const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Of a server that accepts and never answers, or sends a byte from time to time: until its turn is over. */
const hang = (turn: Turn) => {
  turn.begin();
  return new Promise<void>((resolve) => turn.signal.addEventListener('abort', () => resolve()));
};
const one = { tenant: 1, name: 'x' };
const answer = async (turn: Turn) => turn.answered();
/** Of one whose answer takes so long. */
const answerAfter = (seconds: number) => async (turn: Turn) => {
  await Promise.race([pause(seconds * 1_000), hang(turn)]);
  if (!turn.signal.aborted) turn.answered();
};

/** Works on a calendar again and again, as the queue does if there is always something to read. */
async function readOnAndOn(turns: Turns, tenant: number, work: (turn: Turn) => Promise<void>) {
  for (;;) {
    const refusal = await turns.take({ tenant, name: 'x' }, work);
    await pause(refusal?.againMs ?? 300);
  }
}

/** A tenant without any turn yet, for the next time that one is looked for. @returns whether it got one */
const tryOnce = async (turns: Turns, tenant: number) => (await turns.take({ tenant, name: 'x' }, answer)) === undefined;

test.each([2, 8, 50])(
  '%i tenants whose servers hang cost the others five seconds each once; from then on every turn is to be had at once',
  async (tenants) => {
    const turns = openTurns(places);
    for (let tenant = 1; tenant <= tenants; tenant++)
      for (let calendar = 0; calendar < 5; calendar++) void readOnAndOn(turns, tenant, hang);
    await pass(tenants * 5 + 5);
    const got: boolean[] = [];
    for (let second = 0; second < 200; second++) {
      got.push(await tryOnce(turns, 0));
      await pass(1);
    }
    expect(got).toEqual(Array(200).fill(true));
  },
);

test('hanging servers have half of the places after five seconds, and each one of them after its first turn', async () => {
  const turns = openTurns(places);
  const under = new Map<number, number>();
  const count = () => [...under.values()].reduce((sum, one) => sum + one, 0);
  const counted = (tenant: number) => async (turn: Turn) => {
    under.set(tenant, (under.get(tenant) ?? 0) + 1);
    await hang(turn);
    under.set(tenant, under.get(tenant)! - 1);
  };
  for (let tenant = 1; tenant <= 4; tenant++)
    for (let calendar = 0; calendar < 5; calendar++) void readOnAndOn(turns, tenant, counted(tenant));
  await pass(0);
  expect(count()).toBe(places);
  await pass(5);
  expect(count()).toBe(places / 2);
  await pass(60);
  for (let second = 0; second < 200; second++) {
    await pass(1);
    expect(count()).toBeLessThanOrEqual(places / 2);
    expect(Math.max(...under.values())).toBeLessThanOrEqual(1);
  }
});

test('spare work has three turns of a tenant beside its others, and half of all places; of a slow tenant one', async () => {
  const turns = openTurns(places);
  const take = async (tenant: number, more: object) =>
    (await Promise.race([turns.take({ tenant, name: `${Math.random()}`, ...more }, hang), pause(1)])) === undefined;
  const takeMany = async (tenant: number, more: object) => {
    const got = Array.from({ length: 4 }, () => take(tenant, more));
    await pass(0.001);
    return (await Promise.all(got)).filter(Boolean).length;
  };
  const spare = { isBulk: true, isSpare: true };
  expect(await takeMany(1, spare)).toBe(3);
  expect(await takeMany(1, { isBulk: true })).toBe(2);
  expect(await takeMany(2, spare)).toBe(1);
  await pass(200);
  expect(await takeMany(1, spare)).toBe(1);
});

test('one calendar that hangs leaves the others of its tenant their turns, all the time', async () => {
  const turns = openTurns(places);
  void readOnAndOn(turns, 1, hang);
  for (let second = 0; second < 600; second += 5) {
    await pass(5);
    expect(await tryOnce(turns, 1)).toBe(true);
  }
});

test('readings of a slow server end if there is a slow place; none keeps one for more than a minute', async () => {
  const turns = openTurns(places);
  const ends: [boolean, number][] = [];
  const timed = (work: (turn: Turn) => Promise<void>) => async (turn: Turn) => {
    const begin = performance.now();
    await work(turn);
    ends.push([turn.signal.aborted, (performance.now() - begin) / 1_000]);
  };
  void turns.take(one, timed(answerAfter(40)));
  await pass(40);
  expect(ends).toEqual([[false, 40]]);
  void turns.take(one, timed(hang));
  await pass(60);
  expect(ends.slice(1)).toEqual([[true, 60]]);
});

test('a server that was silent rests with all of its work, longer each time, until it answers soon', async () => {
  const turns = openTurns(places);
  for (const rest of [5, 10, 20, 40, 60, 60]) {
    void turns.take(one, hang);
    await pass(60);
    expect(await turns.take(one, answer)).toEqual({ againMs: rest * 1_000, isForAll: true });
    await pass(rest);
  }
  expect(await tryOnce(turns, 1)).toBe(true);
  // All of the places of a tenant.
  for (let times = 0; times < 3; times++) void turns.take(one, hang);
  expect(await turns.take(one, answer)).toEqual({ againMs: 1_000, isForAll: false });
});

test('an answer ends the rest that another calendar of the tenant has brought about', async () => {
  const turns = openTurns(places);
  void turns.take(one, hang);
  await pass(55);
  void turns.take(one, answerAfter(7));
  await pass(6);
  expect(await turns.take(one, answer)).toMatchObject({ isForAll: true });
  await pass(2);
  expect(await turns.take(one, answer)).toBeUndefined();
});

test('the time of a turn begins with its first request: waiting for our own database makes no turn slow', async () => {
  const turns = openTurns(places);
  const seen: boolean[] = [];
  const late = async (turn: Turn) => {
    await pause(70_000);
    turn.begin();
    await pause(4_000);
    seen.push(turn.signal.aborted);
  };
  for (let tenant = 1; tenant <= places; tenant++) void turns.take({ tenant, name: 'x' }, late);
  await pass(74);
  expect(seen).toEqual(Array(places).fill(false));
  for (let tenant = 1; tenant <= places; tenant++) expect(await tryOnce(turns, tenant)).toBe(true);
});

test('work that was cut short only because no slow place was free is marked as such, and starts in one the next time', async () => {
  const turns = openTurns(places);
  for (let tenant = 2; tenant <= 5; tenant++) void turns.take({ tenant, name: 'x' }, hang);
  await pass(1);
  const cuts: boolean[] = [];
  const answerThenHang = async (turn: Turn) => {
    const hung = hang(turn);
    turn.answered();
    await hung;
    cuts.push(turn.isCutShort());
  };
  void turns.take(one, answerThenHang);
  await pass(5);
  expect(cuts).toEqual([true]);
  expect(await turns.take(one, answer)).toEqual({ againMs: 10_000, isForAll: false });
  expect(await turns.take({ tenant: 1, name: 'other' }, answer)).toBeUndefined();
  await pass(60);
  void turns.take(one, answerThenHang);
  await pass(60);
  // Silent for all of its time: that is no cut.
  expect(cuts).toEqual([true, false]);
});

test('work of which there may be much leaves one of its tenant turns to other work', async () => {
  const turns = openTurns(places);
  const reading = (name: string) => ({ tenant: 1, name, isBulk: true });
  for (const name of ['a', 'b']) void turns.take(reading(name), hang);
  expect(await turns.take(reading('c'), answer)).toEqual({ againMs: 1_000, isForAll: false });
  expect(await turns.take({ tenant: 1, name: 'subscriptions' }, answer)).toBeUndefined();
});

test('other work leaves one of its tenant turns to work of which there may be much, however soon it asks again', async () => {
  const turns = openTurns(places);
  async function subscribeOnAndOn(name: string) {
    for (;;) {
      const refusal = await turns.take({ tenant: 1, name }, answerAfter(1));
      if (refusal) await pause(refusal.againMs);
    }
  }
  for (const name of ['a', 'b', 'c', 'd']) void subscribeOnAndOn(name);
  for (let second = 0; second < 20; second += 1) {
    await pass(1);
    expect(await turns.take({ tenant: 1, name: 'reading', isBulk: true }, answer)).toBeUndefined();
  }
});

test('of much work what is urgent gets the next turn, and the other one too after half a minute', async () => {
  const turns = openTurns(places);
  const reading = (name: string, isUrgent = false) => ({ tenant: 1, name, isBulk: true, isUrgent });
  const ends = new Map<string, () => void>();
  const run = (name: string, isUrgent = false) =>
    turns.take(reading(name, isUrgent), () => new Promise<void>((resolve) => ends.set(name, resolve)));
  const end = async (name: string) => {
    ends.get(name)!();
    await pass(0);
  };
  for (const name of ['a', 'b']) void run(name);
  expect(await run('poll')).toEqual({ againMs: 1_000, isForAll: false });
  expect(await run('push', true)).toEqual({ againMs: 150, isForAll: false });
  await end('a');
  expect(await run('poll')).toEqual({ againMs: 1_000, isForAll: false });
  void run('push', true);
  expect(ends.has('push')).toBe(true);
  await end('b');
  void run('poll');
  expect(ends.has('poll')).toBe(true);
  // Something urgent waits all the time.
  expect(await run('later')).toBeDefined();
  for (let second = 0; second < 31; second += 1) {
    expect(await run('other push', true)).toBeDefined();
    await pass(1);
  }
  await end('poll');
  void run('later');
  expect(ends.has('later')).toBe(true);
  // One at a time.
  await end('push');
  expect(await run('later still')).toBeDefined();
  void run('other push', true);
  expect(ends.has('other push')).toBe(true);
});

test('however much other work has waited for half a minute, it has one turn at a time, and urgent work the other', async () => {
  const turns = openTurns(places);
  const waited: Record<string, number[]> = { poll: [], push: [] };
  async function read(kind: 'poll' | 'push', nth: number) {
    const begin = performance.now();
    const work = async () => {
      waited[kind]!.push((performance.now() - begin) / 1_000);
      await pause(300);
    };
    for (;;) {
      const of = { tenant: 1, name: `${kind} ${nth}`, isBulk: true, isUrgent: kind === 'push' };
      const refusal = await turns.take(of, work);
      if (!refusal) return;
      await pause(refusal.againMs);
    }
  }
  for (let nth = 0; nth < 400; nth += 1) void read('poll', nth);
  for (let nth = 0; nth < 200; nth += 1) {
    void read('push', nth);
    await pass(0.5);
  }
  expect(Math.max(...waited.push!)).toBeLessThan(2);
  expect(waited.poll!.filter((seconds) => seconds > 30).length).toBeGreaterThan(100);
});

test('work that waits among so many others that it asks less than once a minute has waited since its first request', async () => {
  const turns = openTurns(places);
  const reading = (name: string, isUrgent = false) => ({ tenant: 1, name, isBulk: true, isUrgent });
  const first = Promise.withResolvers<void>();
  void turns.take(reading('a', true), () => first.promise);
  void turns.take(reading('b', true), () => new Promise(() => {}));
  for (let nth = 0; nth < 1_000; nth += 1) await turns.take(reading(`poll ${nth}`), answer);
  const refusal = await turns.take(reading('poll'), answer);
  expect(refusal!.againMs).toBeGreaterThan(60_000);
  await pass(2 * (refusal!.againMs / 1_000));
  expect(await turns.take(reading('push', true), answer)).toBeDefined();
  first.resolve();
  await pass(0);
  expect(await turns.take(reading('poll'), answer)).toBeUndefined();
});

test('of what is urgent, what has waited longest gets the next turn', async () => {
  const turns = openTurns(places);
  const ends: (() => void)[] = [];
  const run = (name: string) =>
    turns.take(
      { tenant: 1, name, isBulk: true, isUrgent: true },
      () => new Promise<void>((resolve) => ends.push(resolve)),
    );
  for (const name of ['a', 'b']) void run(name);
  expect(await run('first')).toBeDefined();
  await pass(1);
  expect(await run('second')).toBeDefined();
  expect(await run('first')).toBeDefined();
  ends[0]!();
  await pass(0);
  expect(await run('second')).toBeDefined();
  // Both find a place where there are two.
  ends[1]!();
  await pass(0);
  void run('second');
  void run('first');
  expect(ends).toHaveLength(4);
});

test('of what is urgent, what has waited for a process before this one goes first', async () => {
  const turns = openTurns(places);
  const ends: (() => void)[] = [];
  const run = (name: string, waitedMs?: number) =>
    turns.take({ tenant: 1, name, isBulk: true, isUrgent: true, ...(waitedMs && { waitedMs }) }, () => {
      return new Promise<void>((resolve) => ends.push(resolve));
    });
  for (const name of ['a', 'b']) void run(name);
  expect(await run('new')).toBeDefined();
  expect(await run('old', 5_000)).toBeDefined();
  ends[0]!();
  await pass(0);
  expect(await run('new')).toBeDefined();
  void run('old', 5_000);
  expect(ends).toHaveLength(3);
});

test('spare work leaves what the server allows to other work that the server has refused', async () => {
  const turns = openTurns(places);
  const spare = { tenant: 1, name: 'writing', isSpare: true };
  await turns.take(one, async (turn) => turn.throttled());
  expect(await turns.take(spare, answer)).toEqual({ againMs: 1_000, isForAll: false });
  expect(await turns.take({ ...spare, tenant: 2 }, answer)).toBeUndefined();
  expect(await turns.take(one, answer)).toBeUndefined();
  await pass(3);
  expect(await turns.take(spare, answer)).toBeUndefined();
});

test('spare work of a server that refuses other work all the time gets turns after half a minute', async () => {
  const turns = openTurns(places);
  const got: number[] = [];
  const begin = performance.now();
  for (let second = 0; second < 100; second += 1) {
    await turns.take(one, async (turn) => turn.throttled());
    const work = { tenant: 1, name: `writing ${second % 50}`, isSpare: true };
    if ((await turns.take(work, answer)) === undefined) got.push((performance.now() - begin) / 1_000);
    await pass(1);
  }
  // For three seconds each time.
  expect(got).toEqual([30, 31, 32, 63, 64, 65, 96, 97, 98]);
});

test('spare work that waits long for its answers leaves the other work of its tenant its turns', async () => {
  const turns = openTurns(places);
  const ends: boolean[] = [];
  const write = async (turn: Turn) => {
    await answerAfter(8)(turn);
    ends.push(turn.signal.aborted);
  };
  for (let nth = 0; nth < 3; nth += 1) void turns.take({ tenant: 1, name: `writing ${nth}`, isSpare: true }, write);
  await pass(6);
  for (const name of ['push', 'other push']) {
    const reading = { tenant: 1, name, isBulk: true, isUrgent: true };
    expect(await Promise.race([turns.take(reading, answer), pause(1)])).toBeUndefined();
  }
  const slow = turns.take(one, answerAfter(7));
  await pass(7);
  expect(await slow).toBeUndefined();
  // It has one of the slow places.
  expect(ends).toEqual([true, true, false]);
});

test('spare work beside hanging servers leaves the others places, however soon it asks again', async () => {
  const turns = openTurns(places);
  for (let tenant = 1; tenant <= 8; tenant++)
    for (let calendar = 0; calendar < 2; calendar++) void readOnAndOn(turns, tenant, hang);
  await pass(60);
  let written = 0;
  async function writeOnAndOn(tenant: number, name: string) {
    for (;;) {
      const refusal = await turns.take({ tenant, name, isBulk: true, isSpare: true }, answerAfter(1));
      if (!refusal) written += 1;
      await pause(refusal?.againMs ?? 0);
    }
  }
  for (const tenant of [11, 12]) for (const name of ['a', 'b', 'c', 'd']) void writeOnAndOn(tenant, name);
  let refusedSince = 0;
  for (let second = 0; second < 200; second++) {
    await pass(1);
    refusedSince = (await tryOnce(turns, 0)) ? 0 : refusedSince + 1;
    // Spare work that began while no server was hanging takes a second.
    expect(refusedSince).toBeLessThanOrEqual(1);
  }
  expect(written).toBeGreaterThan(200);
});

test('spare work of hanging servers leaves that of others its turns', async () => {
  const turns = openTurns(places);
  const writing = { name: 'writing', isBulk: true, isSpare: true };
  async function hangOnAndOn(tenant: number) {
    for (;;) {
      const refusal = await turns.take({ tenant, ...writing }, hang);
      await pause(refusal?.againMs ?? 300);
    }
  }
  for (let tenant = 1; tenant <= 8; tenant++) void hangOnAndOn(tenant);
  await pass(60);
  const got: boolean[] = [];
  for (let second = 0; second < 200; second++) {
    got.push((await turns.take({ tenant: 0, ...writing }, answer)) === undefined);
    await pass(1);
  }
  expect(got).toEqual(Array(200).fill(true));
});

test('urgent work that no longer asks delays nothing', async () => {
  const turns = openTurns(places);
  const reading = (name: string, isUrgent = false) => ({ tenant: 1, name, isBulk: true, isUrgent });
  const first = Promise.withResolvers<void>();
  void turns.take(reading('a'), () => first.promise);
  void turns.take(reading('b'), () => new Promise(() => {}));
  expect(await turns.take(reading('push', true), answer)).toBeDefined();
  first.resolve();
  await pass(1);
  expect(await turns.take(reading('poll'), answer)).toBeDefined();
  await pass(4);
  expect(await turns.take(reading('poll'), answer)).toBeUndefined();
});

test('the more spare work waits, the later it asks again', async () => {
  const turns = openTurns(places);
  const take = (nth: number) => turns.take({ tenant: 1, name: `${nth}`, isSpare: true }, hang);
  for (let nth = 0; nth < 3; nth += 1) void take(nth);
  expect(await take(3)).toEqual({ againMs: 1_000, isForAll: false });
  for (let nth = 4; nth < 67; nth += 1) await take(nth);
  expect(await take(3)).toEqual({ againMs: 4_000, isForAll: false });
  // Whoever has given up counts no more.
  await pass(100);
  expect(await turns.take({ tenant: 1, name: '3', isSpare: true }, answer)).toBeUndefined();
});
