/** Starts of a batch that fail: outages do not count as attempts, pauses grow and outlive processes, and hours pass. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { examineBatches } from '../../src/lessons/service.ts';
import { makeTenant } from '../_util/factories.ts';
import { hold, releaseAll } from '../_util/hold.ts';
import { type LessonClient, lessonClient, makeJobs } from '../_util/lessons.ts';
import { killPrograms, startProgram, until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';

const rooms = ['R1', 'R2'];
let service: Service;

beforeAll(async () => {
  service = await startService({ Role: 'Web' }, rooms);
  const { db } = service.context;
  // What happens to the lessons of a tenant while they are written: an SQLSTATE, or the end of the connection.
  await sql`create table trouble (mandator_id integer primary key, code text not null)`.execute(db);
  await sql`create function meet_trouble() returns trigger language plpgsql as $$
    declare met text := (select code from trouble where mandator_id = new.mandator_id);
    begin
      if met = 'cut' then perform pg_terminate_backend(pg_backend_pid()); end if;
      if met is not null then raise 'trouble' using errcode = met; end if;
      return new;
    end $$`.execute(db);
  await sql`create trigger troubled before insert on lesson_job for each row execute function meet_trouble()`.execute(
    db,
  );
  // How long each change of a batch has it wait, in seconds, by the clock of its own transaction.
  await sql`create table pause (batch_id uuid, attempts integer, setbacks integer, seconds float8)`.execute(db);
  await sql`create function note_pause() returns trigger language plpgsql as $$
    begin
      insert into pause values (new.id, new.attempts, new.setbacks, extract(epoch from new.not_before - now()));
      return null;
    end $$`.execute(db);
  await sql`create trigger noted after update on batch for each row execute function note_pause()`.execute(db);
});
afterEach(async () => {
  await releaseAll();
  await killPrograms();
});
afterAll(() => service.stop());

const startWorker = () => startProgram(service.databaseUrl, { Role: 'Worker' });

let tenants = 0;

async function enter(code?: string) {
  const { db } = service.context;
  const tenant = await makeTenant(db, { code: `t${++tenants}`, rooms });
  const client = lessonClient({ url: service.url, tenant }, await service.signIn(tenant));
  const { mandatorId } = tenant;
  if (code) await sql`insert into trouble values (${mandatorId}, ${code})`.execute(db);
  return { mandatorId, client };
}

let made = 0;
/** Lessons at a time of their own. */
const freshJobs = () =>
  makeJobs(2, { rooms, prefix: `${++made}-`, from: Date.UTC(2030, 0, 7) + made * 20 * 7 * 86_400_000 });

async function send(client: LessonClient): Promise<string> {
  const answer = await client.post(freshJobs());
  return ((await answer.json()) as { BatchId: string }).BatchId;
}

type Row = { attempts: number; setbacks: number; trouble: string | null; status: string };

async function row(id: string): Promise<Row> {
  const { rows } = await sql<Row>`
    select attempts, setbacks, trouble, import_status as status from batch where id = ${id}::uuid`.execute(
    service.context.db,
  );
  return rows[0] as Row;
}

/** The pause that a batch was given when it had had so many attempts and setbacks, in seconds. */
async function pauseAt(id: string, attempts: number, setbacks: number): Promise<number> {
  const { rows } = await sql<{ seconds: number }>`
    select seconds from pause
    where batch_id = ${id}::uuid and attempts = ${attempts} and setbacks = ${setbacks} and seconds > 0`.execute(
    service.context.db,
  );
  return rows[0]?.seconds ?? 0;
}

/** Changes columns of a batch, as SQL. */
const set = (id: string, columns: string) =>
  sql`update batch set ${sql.raw(columns)} where id = ${id}::uuid`.execute(service.context.db);

const endTrouble = ({ mandatorId }: { mandatorId: number }) =>
  sql`delete from trouble where mandator_id = ${mandatorId}`.execute(service.context.db);

const outages = [
  ['53100', 'the disk of the database was full'],
  ['53300', 'the database was short of memory or connections'],
  ['58030', 'the database could not read or write its files'],
  ['25006', 'the database took no changes'],
  ['55P03', 'others held what it needed for too long'],
  ['40P01', 'other changes were in its way'],
  ['28P01', 'the database refused the user, the password or its name'],
  ['57P01', 'the database was out of reach or restarted'],
  ['cut', 'the database was out of reach or restarted'],
] as const;

test('an outage is no attempt: the batch waits, says why, and is imported when it is over', async () => {
  const batches = await Promise.all(
    outages.map(async ([code, words]) => {
      const entered = await enter(code);
      return { ...entered, words, id: await send(entered.client) };
    }),
  );
  const worker = startWorker();
  for (const { id, words } of batches) {
    // Between two starts: an attempt is taken back when it fails.
    const waiting = await until(`it has met ${words}`, async () => {
      const seen = await row(id);
      return seen.setbacks > 0 && seen.attempts === 0 && seen;
    });
    expect(waiting).toMatchObject({ trouble: words, status: 'AwaitingLessonProcessing' });
  }
  for (const batch of batches) await endTrouble(batch);
  for (const { client, id } of batches) {
    expect((await client.end(id)).ImportStatus).toBe('LessonsCreated');
    expect((await row(id)).attempts).toBe(1);
  }
  expect(worker.lines.filter(({ level }) => level === 'error')).toEqual([]);
});

describe('doctor', () => {
  const told = async (id: string) => (await examineBatches(service.context.db)).filter(({ text }) => text.includes(id));

  test('names the batch that waits, what keeps failing since when, when it is tried again, and what to do', async () => {
    const entered = await enter('53100');
    const id = await send(entered.client);
    await send(entered.client);
    const worker = startWorker();
    await until('it has met trouble', async () => (await row(id)).setbacks > 0);
    await worker.end('SIGTERM');
    await set(
      id,
      `setbacks = 7, troubled_since = '2026-03-01 10:00+00', not_before = '2100-01-01 12:30+00', created_at = '2026-03-01 09:00+00'`,
    );
    const { rows } = await sql<{ code: string }>`
      select code from mandator where id = ${entered.mandatorId}`.execute(service.context.db);
    expect(await told(id)).toEqual([
      {
        check: 'Batches',
        level: 'warning',
        text: `${rows[0]?.code}/${id} was tried without success 7 times since 2026-03-01T10:00:00Z, the last time because the disk of the database was full; it is tried again at 2100-01-01T12:30:00Z; 1 more of this tenant wait behind it`,
        remedy: 'Make room on the disk of PostgreSQL. It is retried automatically; cancel it to let the others run.',
      },
    ]);
    await endTrouble(entered);
    await set(id, 'not_before = null');
    expect((await told(id))[0]?.text).toContain('it is tried again as soon as a worker is free');
  });

  test('says of one that a worker is on that it is tried, and nothing of one at its first start', async () => {
    const [first, later] = [await enter(), await enter()];
    const ids = [await send(first.client), await send(later.client)] as const;
    await set(ids[1], `setbacks = 1, troubled_since = now(), trouble = 'the disk of the database was full'`);
    const release = await hold(service.context.db, (trx) =>
      sql`select from resource where mandator_id in (${first.mandatorId}, ${later.mandatorId}) for update`.execute(trx),
    );
    startWorker();
    for (const id of ids) await until('it is worked on', async () => (await row(id)).attempts === 1);
    expect(await told(ids[0])).toEqual([]);
    const [finding] = await told(ids[1]);
    expect(finding?.text).toMatch(/ was tried without success 1 time since [^,]+; it is being tried again now$/);
    await release();
    for (const [{ client }, id] of [
      [first, ids[0]],
      [later, ids[1]],
    ] as const)
      expect((await client.end(id)).ImportStatus).toBe('LessonsCreated');
    expect(await told(ids[1])).toEqual([]);
  });

  test('an outage that affects many tenants is logged for some, and counted for the others', async () => {
    for (let n = 0; n < 7; n++) {
      const { client } = await enter();
      await set(await send(client), `setbacks = 1, troubled_since = now(), not_before = '2100-01-01'`);
    }
    const findings = await examineBatches(service.context.db);
    expect(findings.filter(({ text }) => text.includes('was tried without success')).length).toBe(5);
    expect(findings.at(-1)?.text).toMatch(/^\d+ more tenants have such a batch$/);
  });
});

test('pauses double up to ten minutes, and a new process keeps to them; another tenant’s batches continue, its own wait', async () => {
  const entered = await enter('53100');
  const id = await send(entered.client);
  const next = await send(entered.client);
  await set(id, 'setbacks = 5');
  const first = startWorker();
  for (const setbacks of [6, 9, 40]) {
    await until('it has met trouble', async () => (await row(id)).setbacks === setbacks);
    await set(id, `setbacks = ${setbacks === 6 ? 8 : 39}, not_before = null`);
  }
  await until('/metrics tells it', async () => {
    const figures = await (await fetch(`${service.url}/metrics`)).text();
    return /^roomgate_batches_held_back [1-9]/m.test(figures);
  });
  for (const [setbacks, least] of [
    [6, 12],
    [9, 96],
    [40, 450],
  ] as const) {
    const pause = await pauseAt(id, 0, setbacks);
    expect(pause).toBeGreaterThanOrEqual(least);
    expect(pause).toBeLessThanOrEqual((least / 3) * 5);
  }
  await set(id, `not_before = now() + interval '10 minutes'`);
  await first.end('SIGKILL');
  const before = await row(id);

  startWorker();
  const other = await enter();
  const others = [await send(other.client), await send(other.client)];
  for (const one of others) expect((await other.client.end(one)).ImportStatus).toBe('LessonsCreated');
  expect(await row(id)).toMatchObject({ attempts: before.attempts, setbacks: before.setbacks });
  expect((await row(next)).attempts).toBe(0);

  // Whoever does not want to wait cancels it, and the next one has its turn.
  expect((await entered.client.call(`/batches/${id}/cancel`, { method: 'POST' })).status).toBe(200);
  expect(await entered.client.end(id)).toMatchObject({ FailureKind: 'Cancelled' });
  await endTrouble(entered);
  expect((await entered.client.end(next)).ImportStatus).toBe('LessonsCreated');
});

test('an outage ends a batch after half a day and many starts, and neither of them alone, with its reason', async () => {
  const long = `started_at = now() - interval '12 hours 30 minutes', troubled_since = now() - interval '12 hours 30 minutes'`;
  const [lasting, few, young] = [await enter('53100'), await enter('53100'), await enter('53100')];
  const ids = [await send(lasting.client), await send(few.client), await send(young.client)] as const;
  await set(ids[0], `setbacks = 60, ${long}`);
  await set(ids[1], long);
  await set(ids[2], 'setbacks = 60');
  startWorker();
  expect(await lasting.client.end(ids[0])).toMatchObject({
    ImportStatus: 'LessonsImportFailed',
    FailureKind: 'Technical',
    ErrorMessages: `The import was started 61 times within 13 hours and came to nothing, the last time because the disk of the database was full. It was given up; nothing of it was stored. Send it again later, and quote BatchId ${ids[0]} when you report it.`,
  });
  for (const [id, setbacks] of [
    [ids[1], 1],
    [ids[2], 61],
  ] as const) {
    await until('it has met trouble', async () => (await row(id)).setbacks >= setbacks);
    expect((await row(id)).status).toBe('AwaitingLessonProcessing');
  }
});

test('what the batch itself may be the cause of is an attempt, and ends it', async () => {
  startWorker();
  for (const [code, words, before] of [
    ['57014', 'a statement took longer than it may', 2],
    ['57P02', 'the database was out of reach or restarted', 24],
  ] as const) {
    const entered = await enter(code);
    const id = await send(entered.client);
    await until('it has met trouble', async () => (await row(id)).trouble === words);
    expect(await row(id)).toMatchObject({ setbacks: 0, status: 'AwaitingLessonProcessing' });
    await set(id, `attempts = ${before}, not_before = null`);
    expect(await entered.client.end(id)).toMatchObject({
      FailureKind: 'Technical',
      ErrorMessages: expect.stringContaining(
        `started ${before + 1} times within 1 hour and came to nothing, the last time because ${words}.`,
      ),
    });
  }
});

describe('a batch whose process dies each time', () => {
  test('is followed by a pause that grows, however long an outage before was, and given up in the end; its tenant’s next one has its turn, others never wait', async () => {
    const { db } = service.context;
    const [sick, late, well] = [await enter(), await enter(), await enter()];
    const id = await send(sick.client);
    const next = await send(sick.client);
    await set(id, 'attempts = 11');
    const afterOutage = await send(late.client);
    await set(afterOutage, 'setbacks = 20');
    const release = await hold(db, (trx) =>
      sql`select from resource where mandator_id in (${sick.mandatorId}, ${late.mandatorId}) for update`.execute(trx),
    );
    const victim = startWorker();
    await until('it is worked on', async () => (await row(id)).attempts === 12);
    await until('it is worked on', async () => (await row(afterOutage)).attempts === 1);
    await victim.end('SIGKILL');
    await release();
    const soon = await pauseAt(afterOutage, 1, 20);
    expect(soon).toBeGreaterThan(0);
    expect(soon).toBeLessThan(2);

    startWorker();
    expect((await well.client.importJobs(freshJobs())).ImportStatus).toBe('LessonsCreated');
    const left = await row(id);
    expect(left.attempts).toBe(12);
    expect(await pauseAt(id, 12, 0)).toBeGreaterThanOrEqual(450);

    // Two hours later.
    await set(id, `attempts = 25, not_before = null, started_at = now() - interval '2 hours 40 minutes'`);
    expect(await sick.client.end(id)).toMatchObject({
      FailureKind: 'Technical',
      ErrorMessages: expect.stringMatching(
        /within 3 hours .* because the process that worked on it ended\..* nothing of it was stored/,
      ),
    });
    expect((await sick.client.end(next)).ImportStatus).toBe('LessonsCreated');
  });

  test('no job of the queue runs again at once after its worker has died, nor is one given up', async () => {
    const { db } = service.context;
    async function add(key: string, columns: string): Promise<void> {
      await sql`select graphile_worker.add_job('MailSubscriptionManagement', '{"mandatorId": 999}', job_key => ${key})`.execute(
        db,
      );
      await sql`update graphile_worker._private_jobs set ${sql.raw(columns)} where key = ${key}`.execute(db);
    }
    // Before a worker is there, which would take them.
    await add('fatal', `locked_by = 'dead', locked_at = now() - interval '1 minute', attempts = 5`);
    await add('tried', `attempts = 25, run_at = now() + interval '5 minutes'`);
    startWorker();
    type Job = { key: string; attempts: number; isFree: boolean; waits: boolean };
    const jobs = async () =>
      (
        await sql<Job>`
          select key, attempts, locked_by is null as "isFree", run_at > now() as waits
          from graphile_worker._private_jobs where key in ('fatal', 'tried') order by key`.execute(db)
      ).rows;
    const [fatal, tried] = await until('the dead one’s job is released', async () => {
      const found = await jobs();
      return found.every(({ isFree, attempts }) => isFree && attempts <= 5) && found;
    });
    expect(fatal).toMatchObject({ attempts: 5, waits: true });
    expect(tried).toMatchObject({ attempts: 5, waits: true });
  });
});
