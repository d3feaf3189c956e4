import { afterAll, afterEach, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { openLog } from '../../src/log.ts';
import { makeTenant } from '../_util/factories.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { killPrograms, startProgram, until } from '../_util/process.ts';
import { startScriptedMailServer } from '../mail/_util/scripted-mail-server.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(killPrograms);
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

async function statesOf(db: Database): Promise<Record<string, number>> {
  const { rows } = await sql<{ states: Record<string, number> }>`
    select coalesce(json_object_agg(state, n), '{}') as states
    from (select state, count(*) as n from mail_subscription group by state) as counted`.execute(db);
  return rows[0]!.states;
}
/** What waits for its time has waited long enough. */
const hurry = (db: Database) =>
  sql`
    update mail_subscription set due_at = now() where state in ('Provisioning', 'Failed') and due_at > now()
      and created_at < now() - interval '1 second'`.execute(db);
const forever = () => new Promise<never>(() => {});

test('workers that are killed while they ask, before and after the mail server has granted it, leave one for each calendar', async () => {
  const server = await startScriptedMailServer();
  closing.push(server.close);
  const database = await cloneDatabase();
  closing.push(database.drop);
  const db = openDatabase(database.url, { max: 2, log: openLog('silent'), statementTimeout: 0 });
  closing.push(() => db.destroy());
  const rooms = Array.from({ length: 6 }, (_, index) => `R${index}`);
  await makeTenant(db, { rooms });
  await sql`update resource set mailbox = lower(name) || '@rooms.test'`.execute(db);
  // Answers the handshakes from the first to the last.
  const web = startProgram(database.url, { Role: 'Web', ...server.settings('Graph') });
  const settings = { Role: 'Worker', IdpUrl: await web.ready, ...server.settings('Graph') };

  server.script.before = (operation) => (operation === 'subscribe' ? forever() : undefined);
  const first = startProgram(database.url, settings);
  await until('it asks', async () => server.count('subscribe') > 0 && (await statesOf(db))['Provisioning']);
  await first.end('SIGKILL');
  expect([server.promises.size, await statesOf(db)]).toEqual([0, { Provisioning: expect.any(Number) }]);

  delete server.script.before;
  server.script.after = (operation) => (operation === 'subscribe' ? forever() : Promise.resolve());
  const second = startProgram(database.url, settings);
  await until('some are granted', async () => {
    await hurry(db);
    return server.promises.size >= 2;
  });
  await second.end('SIGKILL');
  const granted = [...server.promises.keys()];
  expect((await statesOf(db))['Active']).toBeUndefined();

  delete server.script.after;
  const both = [startProgram(database.url, settings), startProgram(database.url, settings)];
  await until('all are Active', async () => {
    await hurry(db);
    return (await statesOf(db))['Active'] === rooms.length;
  });
  // What was granted to the dead is listed and ended; what the mail server holds is what we have.
  await until('no orphans', async () => {
    await sql`update mail_server set tried_at = tried_at - interval '1 hour'`.execute(db);
    return server.promises.size === rooms.length;
  });
  expect(granted.filter((id) => server.promises.has(id))).toEqual([]);
  const { rows } = await sql<{ id: string }>`
    select external_id as id from mail_subscription where state = 'Active' order by 1`.execute(db);
  expect(rows.map(({ id }) => id)).toEqual([...server.promises.keys()].sort());
  const faults = both.flatMap(({ lines }) => lines).filter(({ level }) => level === 'error');
  expect(faults).toEqual([]);
});
