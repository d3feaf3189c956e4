/** An exception outside of every promise ends the piece of work that it belongs to, or the process if it belongs to none. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { cloneDatabase } from '../_util/postgres.ts';

const source = path.join(import.meta.dirname, '..', '..', 'src');
let database: Awaited<ReturnType<typeof cloneDatabase>>;
beforeAll(async () => {
  database = await cloneDatabase();
});
afterAll(() => database.drop());

/** Runs a script with what it needs at hand. */
function run(script: string): Promise<{ code: number; out: string }> {
  const whole = `
    import { contain, watchForUncaught } from '${source}/containment.ts';
    import { openDatabase, poolOf } from '${source}/db/database.ts';
    import { setTimeout as sleep } from 'node:timers/promises';
    const tell = (level) => ({ err }, text) => console.log(level, text, err.split('\\n')[0]);
    watchForUncaught({ error: tell('error'), fatal: tell('fatal') });
    const boom = () => { throw new Error('boom'); };
    const open = () => openDatabase('${database.url}', { max: 1, log: { warn() {} }, statementTimeout: 5_000 });
    ${script}`;
  return new Promise((resolve) => {
    execFile(process.execPath, ['--input-type=module', '-e', whole], (error, out) =>
      resolve({ code: error ? Number(error.code) : 0, out }),
    );
  });
}

test('an exception fails the work while that runs', async () => {
  const { code, out } = await run(`
    const failed = contain(() => { setTimeout(boom); return new Promise(() => {}); });
    await failed.catch((error) => console.log('failed', error.message));
    process.exit(0);`);
  expect({ code, out }).toEqual({
    code: 0,
    out: 'error uncaught error in a task or request, which ends Error: boom\nfailed boom\n',
  });
});

const fatal = { code: 1, out: 'fatal uncaught error; the process ends Error: boom\n' };

test.each([
  ['well', 'async () => { setTimeout(boom, 20); }'],
  ['badly', 'async () => { setTimeout(boom, 20); throw new Error("bad"); }'],
  ['at once', '() => { setTimeout(boom, 20); throw new Error("bad"); }'],
])('of work that has ended %s nothing is left to fail: the process ends', async (_how, work) => {
  expect(await run(`await contain(${work}).catch(() => {}); await sleep(5_000);`)).toEqual(fatal);
});

test('a pooled connection belongs to no work, not even to that which opened it and still runs', async () => {
  expect(
    await run(`
      const db = open();
      const opened = Promise.withResolvers();
      contain(async () => {
        (await poolOf(db).connect()).release();
        opened.resolve();
        await sleep(5_000);
      }).catch(() => {});
      await opened.promise;
      await contain(async () => {
        const client = await poolOf(db).connect();
        client.connection.stream.once('data', boom);
        await client.query('select pg_sleep(0.01)');
        await sleep(5_000);
      }).catch(() => {});`),
  ).toEqual(fatal);
});
