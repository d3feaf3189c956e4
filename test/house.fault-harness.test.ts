/** The harness of test/faults, for a moment: `npm run test:faults` runs it at length. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { cloneDatabase } from './_util/postgres.ts';
import { killPrograms } from './_util/process.ts';
import { runFaults, smoke } from './faults/harness.ts';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
beforeAll(async () => {
  database = await cloneDatabase();
});
afterAll(async () => {
  await killPrograms();
  await database.drop();
});

test('kill -9 and connections that are cut after COMMIT: nothing is lost, doubled, half-applied or stuck', async () => {
  const said: string[] = [];
  const { text, isGood } = await runFaults({
    ...{ ...smoke, seed: 1, databaseUrl: database.url, say: (line) => void said.push(line) },
  });
  expect(isGood ? '' : `${said.join('\n')}\n${text}`).toBe('');
  expect(text).toMatch(/\| kill -9 \| 1 \|/);
}, 300_000);
