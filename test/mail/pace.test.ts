import { expect, test } from '@jest/globals';
import { openPace } from '../../src/mail-servers/pace.ts';

const noEnd = new AbortController().signal;
async function timed(work: () => Promise<unknown>): Promise<number> {
  const since = performance.now();
  await work();
  return performance.now() - since;
}

// They wait: together they take as long as the longest.
test.concurrent('waiting requests begin one after another; one that gives up does not wait', async () => {
  const pace = openPace(10);
  const giveUp = new AbortController();
  const begun: string[] = [];
  const wait = (name: string, signal = noEnd) => pace.wait(signal).then(() => void begun.push(name));
  const took = await timed(() => {
    const calls = ['first', 'second', 'third'].map((name) => wait(name));
    calls.push(wait('gave up', giveUp.signal));
    giveUp.abort();
    return Promise.all(calls);
  });
  expect(begun).toEqual(['first', 'gave up', 'second', 'third']);
  expect(took).toBeGreaterThan(190);
});

test.concurrent('requests that begin at once delay those that wait', async () => {
  const pace = openPace(10);
  for (let nth = 0; nth < 3; nth += 1) pace.count();
  expect(await timed(() => pace.wait(noEnd))).toBeGreaterThan(290);
});

test.concurrent('however many begin at once, the next that waits is delayed by two seconds', async () => {
  const pace = openPace(1);
  for (let nth = 0; nth < 1_000; nth += 1) pace.count();
  const took = await timed(() => pace.wait(noEnd));
  expect(took).toBeGreaterThan(1_990);
  expect(took).toBeLessThan(100_000);
});

test.concurrent('after a refusal those that wait pause for two seconds, also those that wait already', async () => {
  const pace = openPace(10);
  pace.count();
  const early = timed(() => pace.wait(noEnd));
  pace.refused();
  for (const took of await Promise.all([early, timed(() => pace.wait(noEnd))])) expect(took).toBeGreaterThan(1_990);
  const giveUp = new AbortController();
  const waits = pace.wait(giveUp.signal);
  pace.refused();
  giveUp.abort();
  await waits;
});
