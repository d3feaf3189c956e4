/** What no caller can be guilty of: a few seconds of `npm run fuzz`, always with the same dice. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { cloneDatabase } from './_util/postgres.ts';
import { openFuzz } from './fuzz/open.ts';
import { fuzz } from './fuzz/run.ts';

const seed = 2;
const requests = 1_000;

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let opened: Awaited<ReturnType<typeof openFuzz>>;

beforeAll(async () => {
  database = await cloneDatabase();
  opened = await openFuzz(database.url);
});
afterAll(async () => {
  await opened.close();
  await database.drop();
});

test(`${requests} right and wrong requests of all routes and fields are answered, none with an error of ours`, async () => {
  const { sent, findings } = await fuzz(opened.world, seed, (number) => number >= requests);
  expect([...findings, ...(await opened.findings())]).toEqual([]);
  expect([...sent.values()].reduce((sum, one) => sum + one, 0)).toBe(requests);
  expect([...sent].filter(([, times]) => times === 0)).toEqual([]);
}, 120_000);
