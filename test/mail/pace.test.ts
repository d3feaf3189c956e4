import { expect, test } from '@jest/globals';
import { openPace } from '../../src/mail-servers/pace.ts';

test('calls that come together begin one after another; whoever gives up does not wait', async () => {
  const pace = openPace(10);
  const patient = new AbortController();
  const giveUp = new AbortController();
  const since = performance.now();
  const begun: string[] = [];
  const call = (name: string, { signal }: AbortController) => pace(signal).then(() => void begun.push(name));
  const calls = ['first', 'second', 'third'].map((name) => call(name, patient));
  calls.push(call('gave up', giveUp));
  giveUp.abort();
  await Promise.all(calls);
  expect(begun).toEqual(['first', 'gave up', 'second', 'third']);
  expect(performance.now() - since).toBeGreaterThan(190);
});
