import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { ConfigError } from '../../src/config.ts';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { migrateNext, migrate as migrateWith, pendingMigrations } from '../../src/db/migrate.ts';
import { rehearse } from '../../src/db/rehearsal.ts';
import { openLog } from '../../src/log.ts';
import { makeTenant } from '../_util/factories.ts';
import { findUnsafe } from '../_util/migrations.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { until } from '../_util/process.ts';

const every = fs
  .readdirSync(path.join(import.meta.dirname, '..', '..', 'sql'))
  .map((file) => path.basename(file, '.sql'));

const textOf = (name: string) =>
  fs.readFileSync(path.join(import.meta.dirname, '..', '..', 'sql', `${name}.sql`), 'utf8');

const silent = openLog('silent');
const migrate = (pool: Database) => migrateWith(pool, silent);
const open = (url: string) => openDatabase(url, { max: 2, log: silent, statementTimeout: 0 });

let clone: Awaited<ReturnType<typeof cloneDatabase>>;
let db: Database;
beforeAll(async () => {
  clone = await cloneDatabase();
  db = open(clone.url);
});
afterAll(async () => {
  await db.destroy();
  await clone.drop();
});

/** As a program has left it whose last migration was `name`. */
async function migrateUpTo(pool: Database, name: string): Promise<void> {
  const migrations = every.map((file) => {
    return [file, { up: async (trx: Database) => void (await sql.raw(textOf(file)).execute(trx)) }];
  });
  const provider = { getMigrations: async () => Object.fromEntries(migrations) };
  const { error } = await new Migrator({ db: pool, provider }).migrateTo(name);
  if (error) throw error;
}

/** Runs `work` on a database that has nothing in it. @param options as in CREATE DATABASE */
async function withEmptyDatabase(work: (url: string) => Promise<void>, options = ''): Promise<void> {
  const name = `empty_${process.pid}`;
  const url = new URL(clone.url);
  url.pathname = `/${name}`;
  await sql`create database ${sql.id(name)} template template0 ${sql.raw(options)}`.execute(db);
  try {
    await work(url.href);
  } finally {
    await sql`drop database ${sql.id(name)} with (force)`.execute(db);
  }
}

async function withMigratedDatabase(work: (pool: Database) => Promise<void>): Promise<void> {
  const { url, drop } = await cloneDatabase();
  const pool = open(url);
  try {
    await work(pool);
  } finally {
    await pool.destroy();
    await drop();
  }
}

describe('migrations', () => {
  test('a newer release whose migrations only added something does not keep this one from running', () =>
    withMigratedDatabase(async (pool) => {
      await sql`insert into kysely_migration values ('999999_later', now()::text)`.execute(pool);
      const lines: string[] = [];
      const log = openLog('warn', { write: (line) => void lines.push(line) });
      expect(await migrateWith(pool, log)).toEqual([]);
      expect(await pendingMigrations(pool)).toEqual([]);
      expect(lines.map((line) => JSON.parse(line))).toMatchObject([
        { level: 'warn', applied: '999999_later', msg: expect.stringContaining('this one can use it') },
      ]);
    }));

  const newer = 'the database was migrated by a newer release, up to 999999_later; start that release';
  test.each([
    ['changed what this one needs', sql`update schema_floor set migration = '999999_later'`],
    ['does not have all that this one has', sql`delete from kysely_migration where name = ${every.at(-1)}`],
  ])('a newer release that %s is told as one', (_what, change) =>
    withMigratedDatabase(async (pool) => {
      await sql`insert into kysely_migration values ('999999_later', now()::text)`.execute(pool);
      await change.execute(pool);
      await expect(migrate(pool)).rejects.toThrow(newer);
    }),
  );

  test.each([
    ['lacks one in between', sql`delete from kysely_migration where name = '000003_lessons'`],
    [
      'has applied one late',
      sql`update kysely_migration set timestamp = '2126-01-01T00:00:00Z' where name = '000003_lessons'`,
    ],
  ])('a database that %s is told of in one line, and is none to start on', (_what, change) =>
    withMigratedDatabase(async (pool) => {
      await change.execute(pool);
      const refusal = await migrate(pool).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(ConfigError);
      expect((refusal as Error).message).toMatch(
        /^DatabaseUrl: the database was migrated in another order: it has applied 000004_\S+ before 000003_lessons\. Restore/,
      );
    }),
  );

  test('of five that migrate at once one applies each migration, and all succeed', () =>
    withEmptyDatabase(async (url) => {
      const pools = Array.from({ length: 5 }, () => open(url));
      expect(await pendingMigrations(pools[0]!)).toEqual(every);
      const applied = await Promise.all(pools.map(migrate));
      expect(applied.flat().sort()).toEqual(every);
      expect(await pendingMigrations(pools[0]!)).toEqual([]);
      await Promise.all(pools.map((pool) => pool.destroy()));
    }));

  test('an empty database gets all in one transaction', () =>
    withEmptyDatabase(async (url) => {
      const pool = open(url);
      expect(await migrate(pool)).toEqual(every);
      const { rows } = await sql`select from kysely_migration group by xmin`.execute(pool);
      expect(rows).toHaveLength(1);
      await pool.destroy();
    }));

  test.each([
    "encoding 'UTF8' locale 'C' locale_provider libc",
    "encoding 'LATIN1' locale 'C' locale_provider icu icu_locale 'de'",
    "encoding 'WIN1251' locale 'C' locale_provider icu icu_locale 'de'",
  ])('an empty database that cannot hold every name is refused: %s', (options) =>
    withEmptyDatabase(async (url) => {
      const pool = open(url);
      await expect(migrate(pool)).rejects.toThrow(ConfigError);
      await expect(migrate(pool)).rejects.toThrow(/^DatabaseUrl: the encoding is not UTF8, or .* C\.UTF-8/);
      expect(await pendingMigrations(pool)).toEqual(every);
      await pool.destroy();
    }, options),
  );

  test('one that fails is named, and leaves nothing of itself', () =>
    withEmptyDatabase(async (url) => {
      const pool = open(url);
      await sql`create table lesson ()`.execute(pool);
      const before = every.indexOf('000003_lessons');
      await expect(migrate(pool)).rejects.toThrow('migration 000003_lessons: relation "lesson" already exists');
      expect(await pendingMigrations(pool)).toEqual(every.slice(before));
      await pool.destroy();
    }));
});

test('a rehearsal tells what each pending migration locks, and changes nothing', () =>
  withEmptyDatabase(async (url) => {
    const pool = open(url);
    await migrateUpTo(pool, '000031_audit');
    await sql`insert into mandator (code, name) values ('one', 'One')`.execute(pool);
    await sql`analyze mandator`.execute(pool);
    const pending = await pendingMigrations(pool);
    const rehearsed = await rehearse(url, silent);
    expect(rehearsed.map(({ migration }) => migration)).toEqual(pending);
    const of = (name: string) => rehearsed.find(({ migration }) => migration === name)?.locks;
    // Not the shared locks of a select, nor those of tables that the migration makes.
    expect(of('000033_search')).toEqual([
      ...['location', 'person', 'resource'].map((table) =>
        expect.objectContaining({ table, mode: 'AccessExclusiveLock', holdsUp: 'all' }),
      ),
    ]);
    expect(of('000037_lesson_terms')).toMatchObject([{ table: 'lesson', bytes: expect.any(Number) }]);
    expect(of('000042_session')).toContainEqual(expect.objectContaining({ table: 'person', holdsUp: 'writers' }));
    expect(await pendingMigrations(pool)).toEqual(pending);
    await pool.destroy();
    expect(await sql`select from pg_database where datname like 'roomgate_rehearsal_%'`.execute(db)).toMatchObject({
      rows: [],
    });
    const later = open(url);
    await migrate(later);
    await later.destroy();
    expect(await rehearse(url, silent)).toEqual([]);
  }));

describe('a migration beside the release before it', () => {
  const tablesOf = async (pool: Database) => {
    const { rows } = await sql<{ name: string }>`
      select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind = 'r' and relname not like 'kysely%' order by relname`.execute(
      pool,
    );
    return rows.map(({ name }) => name);
  };
  /** As whoever writes to these tables one after another, until its transaction ends. */
  async function write(trx: Database, tables: readonly string[]): Promise<void> {
    if (tables.length > 0)
      await sql`lock table ${sql.join(tables.map((table) => sql.table(table)))} in row exclusive mode`.execute(trx);
  }

  test('gives way to a transaction that goes on to write, holds up no other, and gets through after it', () =>
    withEmptyDatabase(async (url) => {
      const [pool, service] = [open(url), open(url)];
      const applied: string[] = [];
      let waited = 0;
      for (let isOver = false; !isOver; ) {
        const tables = await tablesOf(service);
        const half = Math.ceil(tables.length / 2);
        let next: Promise<string | undefined> = Promise.resolve(undefined);
        await service.transaction().execute(async (trx) => {
          await write(trx, tables.slice(0, half));
          let isDone = false;
          let gaveWay = false;
          const log = openLog('warn', {
            write: (line) => {
              gaveWay ||= line.includes('requests go first');
            },
          });
          next = migrateNext(pool, log).finally(() => {
            isDone = true;
          });
          await until(() => isDone || gaveWay);
          if (gaveWay) waited++;
          // Of a migration that has ended all is free again.
          await service.transaction().execute((other) => write(other, tables));
          await write(trx, tables.slice(half));
        });
        const name = await next;
        isOver = name === undefined;
        if (name) applied.push(name);
      }
      expect(applied).toEqual(every);
      expect(waited).toBeGreaterThan(5);
      await Promise.all([pool.destroy(), service.destroy()]);
    }));

  test('locks one busy table at the most, and builds an index on one in a file of its own', () => {
    const rules = fs.readFileSync(path.join(import.meta.dirname, '..', '..', 'docs', 'upgrading.md'), 'utf8');
    const listed = /write all the time are ([^.]+)\./.exec(rules)?.[1] ?? '';
    const busy = new Set([...listed.matchAll(/`(\w+)`/g)].map(([, name]) => name!));
    expect(busy.size).toBeGreaterThan(8);
    const named = (pattern: RegExp, text: string) => [...text.matchAll(pattern)].map(([, name]) => name!);
    for (const name of every.slice(every.indexOf('000014_fair_batches'))) {
      const statements = textOf(name).replaceAll(/--.*/g, '');
      const made = new Set(named(/create table (\w+)/gi, statements));
      const isBusy = (table: string) => busy.has(table) && !made.has(table);
      const altered = named(/alter table (?:only )?(\w+)/gi, statements).filter(isBusy);
      const indexed = named(/create (?:unique )?index \w+ on (\w+)/gi, statements).filter(isBusy);
      expect([name, [...new Set([...altered, ...indexed])].slice(1)]).toEqual([name, []]);
      if (indexed.length > 0) expect([name, altered]).toEqual([name, []]);
    }
  });

  const addition = 'alter table lesson add';
  test.each([
    ['takes something away', 'drop table lesson', ['takes']],
    ['mentions the floor, and does not raise it', 'drop table lesson; select * from schema_floor', ['takes']],
    ['raises it to another', `drop table lesson; update schema_floor set migration = '000098_other'`, ['takes']],
    ['raises it in a comment', `drop table lesson; -- update schema_floor set migration = '000099_this'`, ['takes']],
    ['raises it', `drop table lesson; update schema_floor set migration = '000099_this'`, []],
    ['takes something away in a block', 'do $$ begin drop table lesson; end $$', ['takes']],
    ['renames', 'alter table lesson rename a to b', ['takes']],
    ['narrows', 'alter table lesson alter column a set data type smallint', ['takes']],
    ['demands', 'alter table lesson alter a set not null', ['takes']],
    ['allows more', 'alter table lesson alter column a drop not null', []],
    ['has a check', `${addition} constraint c check (a in (1, 2))`, ['lesson: reads all rows: check']],
    ['has a check without a name', `${addition} column a text, add check (a > '')`, ['lesson: reads all rows: check']],
    ['has one of new rows', `${addition} constraint c check (a > 0) not valid`, []],
    ['has a foreign key', `${addition} foreign key (a) references room (a)`, ['lesson: reads all rows: foreign key']],
    ['has one of new rows', `${addition} foreign key (a) references room (a) not valid`, []],
    ['has a unique key', `${addition} constraint c unique (a, b)`, ['lesson: reads all rows: unique']],
    ['has a primary key', `${addition} primary key (a)`, ['lesson: reads all rows: primary key']],
    ['has a key of an index', `${addition} constraint c unique using index i`, []],
    ['excludes', `${addition} exclude using gist (a with &&)`, ['lesson: reads all rows: exclude']],
    [
      'checks a new column',
      `${addition} column a text check (a > '')`,
      ['lesson: reads all rows: constraint of a column'],
    ],
    ['refers', `${addition} a integer references room`, ['lesson: reads all rows: constraint of a column']],
    ['has a column for all', `${addition} column a integer not null`, ['lesson: fails where there are rows: not null']],
    ['has a column with a constant', `${addition} column a text not null default 'not (null'`, []],
    ['has a column with the time', `${addition} column a timestamptz not null default now()`, []],
    [
      'computes',
      `${addition} column a uuid default gen_random_uuid()`,
      ['lesson: writes all rows anew: computed column'],
    ],
    [
      'generates',
      `${addition} a text generated always as (b) stored`,
      ['lesson: writes all rows anew: computed column'],
    ],
    [
      'validates beside another change',
      `${addition} column a text; alter table lesson validate constraint c`,
      ['lesson: validates under the lock of another change'],
    ],
    ['validates', 'alter table lesson validate constraint c', []],
    [
      'makes a table',
      `create table made (a integer); alter table made add column b integer not null, add check (b > 0)`,
      [],
    ],
    ['writes a function', 'create function f() returns void language sql as $x$ drop table lesson $x$', []],
  ])('that %s is judged by what it says: %s', (_what, text, expected) => {
    const found = findUnsafe('000099_this', text).map((fault) => (fault.startsWith('takes') ? 'takes' : fault));
    expect(found).toEqual(expected);
  });

  /** Older than the rule, and than the first release, so that no database of a release has to go through them. */
  const landed = {
    '000024_importers': ['person: reads all rows: check'],
    '000026_rights': ['resource: reads all rows: foreign key'],
    '000027_approval': [
      'booking: reads all rows: constraint of a column',
      ...['check', 'check', 'foreign key'].map((constraint) => `booking: reads all rows: ${constraint}`),
    ],
    '000028_master_data': ['person: reads all rows: check'],
    '000029_hours': ['audit: reads all rows: foreign key'],
    '000030_timetables': ['calendar_token: reads all rows: check'],
    '000031_audit': ['audit: reads all rows: foreign key'],
    '000033_search': ['location', 'resource', 'person'].map(
      (table) => `${table}: writes all rows anew: computed column`,
    ),
    '000046_create_missing_jobs': ['batch: reads all rows: constraint of a column'],
    '000054_looks': Array(2).fill('mandator: reads all rows: constraint of a column'),
    '000057_timetable_files': ['batch: reads all rows: constraint of a column'],
    '000058_error_lines': ['batch_error: reads all rows: constraint of a column'],
    '000065_calendar_kinds': ['mail_calendar: reads all rows: check'],
    '000065_google_channels': ['mail_subscription: reads all rows: check'],
    '000065_google_notifications': ['mail_notification: reads all rows: check'],
    '000066_calendar_writing': Array(2).fill('resource: reads all rows: constraint of a column'),
  };

  test('lets the release before it continue, and delays it by no read or write of all rows', () => {
    // Releases from before that one stop in any case.
    const judged = every.slice(every.indexOf('000021_schema_floor')).map((name) => {
      return [name, findUnsafe(name, textOf(name))] as const;
    });
    expect(Object.fromEntries(judged.filter(([, faults]) => faults.length > 0))).toEqual(landed);
  });

  test('is named by the page on upgrades when an older release does not start after it', () => {
    const page = fs.readFileSync(path.join(import.meta.dirname, '..', '..', 'docs', 'upgrading.md'), 'utf8');
    const raising = every.filter((name) => textOf(name).includes(`update schema_floor set migration = '${name}'`));
    expect(raising.length).toBeGreaterThan(5);
    expect(raising.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });
});

describe('what was stored before', () => {
  test('a changed lesson learns its first room by the name that it remembers, where one room alone has it', () =>
    withEmptyDatabase(async (url) => {
      const pool = open(url);
      await migrateUpTo(pool, '000011_booking_lists');
      await sql
        .raw(`
        insert into mandator (code, name) values ('one', 'One'), ('two', 'Two');
        insert into location (mandator_id, name, time_zone)
          select mandator, site, 'UTC' from generate_series(1, 2) as mandator, unnest('{Campus,Annex}'::text[]) as site;
        insert into resource (mandator_id, location_id, name) values
          (1, 1, 'A'), (1, 1, 'B'), (1, 1, 'C'), (1, 2, 'C'), (2, 3, 'A');
        insert into person (mandator_id, name, email, time_zone, role)
          select id, 'P', code || '@school.example', 'UTC', 'User' from mandator;
        insert into lesson_job (mandator_id, job_id, batch_id, created_by) values (1, 'J', gen_random_uuid(), 1);
        insert into booking (mandator_id, resource_id, kind, status, origin, occupied)
          select 1, 2, 'Lesson', 'Cancelled', 'Import', '[2031-01-06 08:00,2031-01-06 09:00)' from generate_series(1, 5);
        insert into lesson (mandator_id, job, lektion_id, booking_id, resource_id, beginn, ende, status, ursprung)
          select 1, 1, room, row_number() over (), 2, timestamptz '2031-01-06 08:00', timestamptz '2031-01-06 09:00', 'Entfaellt',
            jsonb_build_object('RessourceName', room) from unnest('{A,B,C,gone}'::text[]) as room
          union all select 1, 1, 'unchanged', 5, 2, '2031-01-06 08:00', '2031-01-06 09:00', 'Entfaellt', null;
      `)
        .execute(pool);
      expect(await migrate(pool)).toContain('000012_displays');
      const { rows } = await sql<{ id: string; origin: number | null }>`
        select lektion_id as id, origin_resource_id as origin from lesson`.execute(pool);
      expect(Object.fromEntries(rows.map(({ id, origin }) => [id, origin]))).toEqual({
        A: 1,
        B: 2,
        C: null,
        gone: null,
        unchanged: null,
      });
      await pool.destroy();
    }));
});

describe('a batch', () => {
  const states = ['AwaitingLessonCreation', 'AwaitingLessonProcessing', 'LessonsCreated', 'LessonsImportFailed'];
  const terminal = new Set(states.slice(2));
  const possible = new Set([
    'AwaitingLessonCreation AwaitingLessonProcessing',
    'AwaitingLessonCreation LessonsImportFailed',
    'AwaitingLessonProcessing LessonsCreated',
    'AwaitingLessonProcessing LessonsImportFailed',
  ]);
  let tenant: Awaited<ReturnType<typeof makeTenant>>;
  beforeAll(async () => {
    tenant = await makeTenant(db, { code: 'batches' });
  });

  const columnsOf = (state: string) => ({
    import_status: state,
    finished_at: terminal.has(state) ? new Date() : null,
    failure_kind: state === 'LessonsImportFailed' ? 'Data' : null,
    error_messages: state === 'LessonsImportFailed' ? 'Duplicate JobId: J-17' : null,
  });

  async function insertBatch(state: string): Promise<string> {
    const { id } = await db
      .insertInto('batch')
      .values({
        id: crypto.randomUUID(),
        mandator_id: tenant.mandatorId,
        operation: 'Create',
        job_count: 1,
        processed_count: 5,
        request_id: 'r',
        created_by: tenant.person('User').id,
        ...columnsOf(state),
      })
      .returning('id')
      .executeTakeFirstOrThrow();
    return id;
  }

  const change = (id: string, values: object) => db.updateTable('batch').set(values).where('id', '=', id).execute();

  const pairs = states.flatMap((from) => states.map((to) => [from, to] as const));
  test.each(pairs.filter((pair) => possible.has(pair.join(' '))))('goes from %s to %s', async (from, to) => {
    const id = await insertBatch(from);
    await change(id, columnsOf(to));
    expect(await db.selectFrom('batch').select('import_status').where('id', '=', id).executeTakeFirst()).toEqual({
      import_status: to,
    });
  });

  test.each(pairs.filter(([from, to]) => from !== to && !possible.has(`${from} ${to}`)))(
    'is refused the way from %s to %s',
    async (from, to) => {
      await expect(change(await insertBatch(from), columnsOf(to))).rejects.toMatchObject({ code: 'RG001' });
    },
  );

  test.each([...terminal])('never changes again after %s', async (state) => {
    const id = await insertBatch(state);
    await expect(change(id, { warning_count: 1 })).rejects.toMatchObject({
      code: 'RG001',
      message: `batch ${id} has ended in ${state} and never changes again`,
    });
  });

  test('has a processed count that never falls', async () => {
    const id = await insertBatch('AwaitingLessonProcessing');
    await change(id, { processed_count: 6 });
    await expect(change(id, { processed_count: 5 })).rejects.toMatchObject({ code: 'RG001' });
  });

  test('has messages and a kind of failure exactly when it failed, and an end exactly when it ended', async () => {
    const id = await insertBatch('AwaitingLessonProcessing');
    for (const values of [
      { ...columnsOf('LessonsImportFailed'), error_messages: null },
      { ...columnsOf('LessonsImportFailed'), failure_kind: null },
      { ...columnsOf('LessonsCreated'), finished_at: null },
      { finished_at: new Date() },
    ])
      await expect(change(id, values)).rejects.toMatchObject({ code: '23514' });
  });
});

describe('bookings of one resource', () => {
  let tenant: Awaited<ReturnType<typeof makeTenant>>;
  const [first, second] = [0, 1];
  beforeAll(async () => {
    tenant = await makeTenant(db, { code: 'bookings' });
  });

  /** Books a room on a day of its own for the test, `from` and `to` in hours. */
  const book = (day: number, room: number, from: number, to: number, status = 'Confirmed') =>
    db
      .insertInto('booking')
      .values({
        mandator_id: tenant.mandatorId,
        resource_id: tenant.resources[room]!.id,
        kind: 'Booking',
        status,
        origin: 'Api',
        occupied: `[2026-01-${day}T${from}:00Z,2026-01-${day}T${to}:00Z)`,
      })
      .returning('id')
      .executeTakeFirstOrThrow();

  const overlap = { code: '23P01', constraint: 'booking_no_overlap' };

  test.each(['Confirmed', 'Tentative'])('%s ones never overlap', async (status) => {
    const day = status === 'Confirmed' ? 10 : 11;
    await book(day, first, 10, 12, status);
    await expect(book(day, first, 11, 13)).rejects.toMatchObject(overlap);
  });

  test('one may begin at the instant at which another ends, and another room is free', async () => {
    await book(12, first, 10, 11);
    await book(12, first, 11, 12);
    await book(12, second, 10, 12);
  });

  test.each([
    ['Cancelled', 13],
    ['Released', 14],
  ])('%s ones occupy nothing', async (status, day) => {
    await book(day, first, 10, 12, status);
    await book(day, first, 10, 12);
  });

  test('two swap their rooms in one statement', async () => {
    const [left, right] = [await book(15, first, 10, 12), await book(15, second, 10, 12)];
    const roomOf = async ({ id }: { id: number }) =>
      (await db.selectFrom('booking').select('resource_id').where('id', '=', id).executeTakeFirstOrThrow()).resource_id;
    const before = [await roomOf(left), await roomOf(right)];
    await sql`
      update booking set resource_id = ${before[0]}::int + ${before[1]}::int - resource_id
      where id in (${left.id}, ${right.id})`.execute(db);
    expect([await roomOf(left), await roomOf(right)]).toEqual(before.reverse());
  });

  test('one that moves onto another at the end of a statement is refused', async () => {
    const { id } = await book(16, first, 10, 12);
    await book(16, second, 10, 12);
    await expect(
      db.updateTable('booking').set({ resource_id: tenant.resources[second]!.id }).where('id', '=', id).execute(),
    ).rejects.toMatchObject(overlap);
  });
});

test('the catalogue of the migrated database', async () => {
  const { rows } = await sql<{ name: string; parts: string[] }>`
    select c.relname as name, array(
      select part from (
        select 1 as kind, attnum::int as place, concat_ws(' ', attname, format_type(atttypid, atttypmod),
          case when attnotnull then 'not null' end,
          case attidentity when 'a' then 'identity' end,
          case when attgenerated = '' then 'default ' else 'generated ' end || pg_get_expr(adbin, adrelid)) as part
        from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
        where attrelid = c.oid and attnum > 0 and not attisdropped
        union all
        select 2, 0, conname || ' ' || pg_get_constraintdef(oid) from pg_constraint
        where conrelid = c.oid and contype <> 'n'
        union all
        select 3, 0, pg_get_indexdef(indexrelid) from pg_index
        where indrelid = c.oid and not exists (select from pg_constraint where conindid = indexrelid)
        union all
        select 4, 0, pg_get_triggerdef(oid) from pg_trigger where tgrelid = c.oid and not tgisinternal
      ) as listed order by kind, place, part collate "C"
    ) as parts
    from pg_class c
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm') and relname not like 'kysely%'
    order by name`.execute(db);
  expect(Object.fromEntries(rows.map(({ name, parts }) => [name, parts]))).toMatchSnapshot();
});
