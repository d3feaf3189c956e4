/** What no caller can be guilty of: a few seconds of `npm run fuzz`, always with the same dice. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { cloneDatabase } from '../_util/postgres.ts';
import { openFuzz } from '../fuzz/open.ts';
import { fuzz, unsuccessful } from '../fuzz/run.ts';

const seed = 2;
const requests = 1_000;
/** By then the dice have made a right call of everything. */
const most = 30_000;

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

test(`${requests} right and wrong requests and more, until each route and field has done what it is for, are answered, none with an error of ours`, async () => {
  const outcome = await fuzz(
    opened.world,
    seed,
    (sent, sofar) => sent >= most || (sent >= requests && unsuccessful(sofar).length === 0),
  );
  // A 503 as it is documented is no fault while the machine is busy with other tests.
  const findings = [...outcome.findings, ...(await opened.findings())].filter(({ fault }) => !fault.isPromised);
  expect(findings).toEqual([]);
  expect(unsuccessful(outcome)).toEqual([]);
}, 600_000);
