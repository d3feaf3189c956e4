/** A few seconds of `npm run fuzz`, which finds faults that are not the caller's; with a fixed seed in `npm run test:random`. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isLong, seed, times } from '../_util/long.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { openFuzz } from '../fuzz/open.ts';
import { fuzz, unsuccessful } from '../fuzz/run.ts';

const requests = times(400, 20_000);
const most = 60_000;

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

test('valid and faulty requests of all routes and fields are answered without an error of ours; in the end each has succeeded once', async () => {
  const outcome = await fuzz(
    opened.world,
    isLong ? seed : 2,
    (sent, sofar) => sent >= most || (sent >= requests && (!isLong || unsuccessful(sofar).length === 0)),
  );
  // A 503 as it is documented is no fault while the machine is busy with other tests.
  const findings = [...outcome.findings, ...(await opened.findings())].filter(({ fault }) => !fault.isPromised);
  expect(findings).toEqual([]);
  // Until then the dice have made a right call of everything, which takes longer than others may wait.
  if (isLong) expect(unsuccessful(outcome)).toEqual([]);
}, 600_000);
