import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { sql } from 'kysely';
import { cursorAt, type FeedChange, type FeedPlace, findEnd, readStretch } from '../../src/changes/service.ts';
import { forgetOldChanges, placeChanges } from '../../src/changes/upkeep.ts';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { toCursor } from '../../src/db/paging.ts';
import { Conflict } from '../../src/errors.ts';
import { openLog } from '../../src/log.ts';
import { insertBookings } from '../_util/bookings-table.ts';
import { makeTenant } from '../_util/factories.ts';
import { countWaiting, hold, releaseAll } from '../_util/hold.ts';
import { lessonClient, makeJobs } from '../_util/lessons.ts';
import { masterData } from '../_util/master-data.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';

type Tenant = Awaited<ReturnType<typeof makeTenant>>;

describe('positions', () => {
  let database: Awaited<ReturnType<typeof cloneDatabase>>;
  let db: Database;
  let tenants = 0;
  let tenant: Tenant;
  let room: number;

  beforeAll(async () => {
    database = await cloneDatabase();
    db = openDatabase(database.url, { max: 12, log: openLog('silent'), statementTimeout: 15_000 });
  });
  beforeEach(async () => {
    tenant = await makeTenant(db, { code: `school-${++tenants}` });
    room = tenant.resources[0]!.id;
    await read(undefined);
  });
  afterEach(releaseAll);
  afterAll(async () => {
    await db.destroy();
    await database.drop();
  });

  const read = (after: FeedPlace | undefined, limit = 10_000, from = db) =>
    readStretch(from, tenant.mandatorId, { limit, after });
  const insert = (options?: Parameters<typeof insertBookings>[3], on = db) =>
    insertBookings(on, tenant.mandatorId, room, options);
  const idsBehind = async (after: FeedPlace) => (await read(after)).changes.map(({ id }) => Number(id));
  const countUnplaced = async () => {
    const { rows } = await sql<{ n: number }>`
      select count(*)::int as n from change where position is null`.execute(db);
    return rows[0]!.n;
  };

  test('a transaction that begins first and commits last comes behind what was read before', async () => {
    const start = await findEnd(db, tenant.mandatorId);
    let late: number[] = [];
    const commit = await hold(db, async (trx) => {
      late = await insert({ first: 0 }, trx);
    });
    const early = await insert({ first: 1 });
    expect(await idsBehind(start)).toEqual(early);
    const meanwhile = await findEnd(db, tenant.mandatorId);
    await commit();
    expect(await idsBehind(meanwhile)).toEqual(late);
    expect(await idsBehind(start)).toEqual([...early, ...late]);
  });

  test('are given by one reader after another: what is seen next comes behind what is being placed', async () => {
    const start = await findEnd(db, tenant.mandatorId);
    let late: number[] = [];
    const commit = await hold(db, async (trx) => {
      late = await insert({ first: 0 }, trx);
    });
    const early = await insert({ first: 1 });
    const place = await hold(db, (trx) => sql`select place_changes(${tenant.mandatorId}, 10)`.execute(trx));
    await commit();
    const reading = idsBehind(start);
    await until(async () => (await countWaiting(db)) > 0);
    await place();
    expect(await reading).toEqual([...early, ...late]);
  });

  test('readers that poll while four writers write all get everything once, and of each booking in order', async () => {
    const start = await findEnd(db, tenant.mandatorId);
    const written: number[] = [];
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      for (let round = 0; round < 15; round++) {
        const [first] = await db.transaction().execute(async (trx) => {
          const ids = await insert({ first: writer * 1_000 + round * 3, count: 3 }, trx);
          written.push(...ids);
          // Some transactions commit long after others that began later.
          if (round % 4 === writer) await sql`select pg_sleep(0.02)`.execute(trx);
          return ids;
        });
        await sql`update booking set subject = 'B' where mandator_id = ${tenant.mandatorId} and id = ${first}`.execute(
          db,
        );
      }
    });
    let writing = true;
    const done = Promise.all(writers).finally(() => {
      writing = false;
    });
    async function poll(limit: number): Promise<FeedChange[]> {
      const seen: FeedChange[] = [];
      for (let [after, isLast] = [start, false]; ; ) {
        const { changes, end } = await read(after, limit);
        seen.push(...changes);
        after = end;
        if (changes.length > 0) continue;
        if (isLast) return seen;
        isLast = !writing;
      }
    }
    const [seen = [], ...others] = await Promise.all([poll(7), poll(3), poll(200), poll(1)]);
    await done;
    for (const other of others) expect(other).toEqual(seen);
    expect(seen.map(({ position }) => position)).toEqual(seen.map((_, index) => start.position + index + 1));
    const ofAction = (action: string) => seen.filter((change) => change.action === action);
    const byNumber = (one: number, other: number) => one - other;
    expect(
      ofAction('Created')
        .map(({ id }) => Number(id))
        .sort(byNumber),
    ).toEqual(written.sort(byNumber));
    expect(ofAction('Changed')).toHaveLength(60);
    for (const { id, position } of ofAction('Changed'))
      expect(position).toBeGreaterThan(seen.find((change) => change.id === id)?.position ?? Infinity);
  });

  test('of a large import are given in portions, in its order', async () => {
    const start = await findEnd(db, tenant.mandatorId);
    const ids = await insert({ count: 5_000 });
    const { changes, hasMore, end } = await read(start, 10);
    expect(changes.map(({ id }) => Number(id))).toEqual(ids.slice(0, 10));
    expect(hasMore).toBe(true);
    expect(await countUnplaced()).toBe(3_000);
    // Enough changes have positions, so the read gives no new ones.
    await read(end, 200);
    expect(await countUnplaced()).toBe(3_000);
    expect(await idsBehind(start)).toEqual(ids);
    expect(await countUnplaced()).toBe(0);
  });

  test('are assigned by the worker to changes that nobody reads', async () => {
    await insert({ count: 3 });
    await placeChanges(db, AbortSignal.abort());
    expect(await countUnplaced()).toBe(3);
    await placeChanges(db, new AbortController().signal);
    expect(await countUnplaced()).toBe(0);
  });

  test('are given to a transaction that commits late, however often the worker has looked meanwhile', async () => {
    const commit = await hold(db, async (trx) => {
      await insert({ first: 0 }, trx);
    });
    await insert({ first: 1 });
    for (let round = 0; round < 5; round++) await placeChanges(db, new AbortController().signal);
    await commit();
    expect(await countUnplaced()).toBe(1);
    await placeChanges(db, new AbortController().signal);
    expect(await countUnplaced()).toBe(0);
  });

  test('are looked for by the worker only behind those that it has found to have one', async () => {
    await insert({ count: 3 });
    const isPassed = async () => {
      await placeChanges(db, new AbortController().signal);
      // As none would: so a look there shows.
      await sql`update change set position = null where ctid = (
        select ctid from change where mandator_id = ${tenant.mandatorId} order by position desc limit 1)`.execute(db);
      await placeChanges(db, new AbortController().signal);
      return (await countUnplaced()) === 1;
    };
    // Not before all transactions of the server have ended that ran meanwhile, those of other tests, too.
    await until(isPassed);
    await insert({ first: 3 });
    await placeChanges(db, new AbortController().signal);
    expect(await countUnplaced()).toBe(0);
  });

  test('count the changes of the tenant alone', async () => {
    const other = await makeTenant(db, { code: `other-${tenants}` });
    const start = await findEnd(db, tenant.mandatorId);
    await insertBookings(db, other.mandatorId, other.resources[0]!.id);
    const ids = await insert();
    await insertBookings(db, other.mandatorId, other.resources[0]!.id, { first: 1 });
    const { changes, end } = await read(start);
    expect(changes.map(({ id }) => Number(id))).toEqual(ids);
    expect(end.position).toBe(start.position + 1);
  });

  test('of a booking that moves to another room tell both rooms', async () => {
    const [id] = await insert();
    const start = await findEnd(db, tenant.mandatorId);
    const other = tenant.resources[1]!.id;
    await sql`update booking set resource_id = ${other} where mandator_id = ${tenant.mandatorId} and id = ${id}`.execute(
      db,
    );
    const { changes } = await read(start);
    expect(changes.map((change) => [change.id, change.action, change.resourceId])).toEqual(
      expect.arrayContaining([
        [String(id), 'Changed', room],
        [String(id), 'Changed', other],
      ]),
    );
    expect(changes).toHaveLength(2);
  });

  describe('that are older than 30 days', () => {
    const age = (from: number, to: number) =>
      sql`update change set at = now() - interval '31 days'
          where mandator_id = ${tenant.mandatorId} and position between ${from} and ${to}`.execute(db);
    /** The place of a position as of now; `age` gives its change a new instant. */
    async function placeAt(position: number): Promise<FeedPlace> {
      const { rows } = await sql<FeedPlace>`
        select position, (extract(epoch from at) * 1000000)::bigint as micros from change
        where mandator_id = ${tenant.mandatorId} and position = ${position}`.execute(db);
      return rows[0]!;
    }

    test('are forgotten, and a cursor from before them says to begin anew', async () => {
      const { position: start } = await findEnd(db, tenant.mandatorId);
      const ids = await insert({ count: 6 });
      await findEnd(db, tenant.mandatorId);
      await age(0, start + 3);
      // An old change after younger ones, as of a long transaction, is deleted with them.
      await age(start + 5, start + 5);
      const [kept, gone] = [await placeAt(start + 3), await placeAt(start + 2)];
      await forgetOldChanges(db, 60);
      expect(await idsBehind(gone)).toEqual(ids.slice(2));
      await forgetOldChanges(db, 30);
      expect(await idsBehind(kept)).toEqual(ids.slice(3));
      await expect(read(gone)).rejects.toThrow(Conflict);
      await expect(read(gone)).rejects.toThrow(/no longer kept.*Cursor=now/);
      const { changes, end } = await read(undefined);
      expect(changes.map(({ id }) => Number(id))).toEqual(ids.slice(3));
      expect(end.position).toBe(start + 6);
    });

    test('and of which none is left, leave the end where it was', async () => {
      const ids = await insert({ count: 2 });
      const { position } = await findEnd(db, tenant.mandatorId);
      await age(0, position);
      const end = await placeAt(position);
      await forgetOldChanges(db, 30);
      expect(await read(undefined)).toEqual({ changes: [], end, hasMore: false });
      expect(await read(end)).toEqual({ changes: [], end, hasMore: false });
      const [next] = await insert({ first: ids.length });
      expect((await read(end)).changes).toMatchObject([{ id: String(next), position: position + 1 }]);
    });
  });

  /** Simulates the restore of a backup: deletes later changes, so that their positions and ids are used again. */
  async function loseBehind({ position }: FeedPlace): Promise<void> {
    await sql`delete from change where mandator_id = ${tenant.mandatorId} and position > ${position}`.execute(db);
    await sql`select setval(pg_get_serial_sequence('change', 'id'), (select max(id) from change))`.execute(db);
  }

  describe('of a database that was restored from a backup', () => {
    test('are no cursor of what it has lost, also once positions have passed it', async () => {
      await insert({ count: 2 });
      const backup = await findEnd(db, tenant.mandatorId);
      await insert({ first: 2, count: 2 });
      const lost = await findEnd(db, tenant.mandatorId);
      await loseBehind(backup);
      await expect(read(lost)).rejects.toThrow(/earlier release, or .* restored from a backup.*Cursor=now/);
      const ids = await insert({ first: 10, count: 4 });
      expect((await findEnd(db, tenant.mandatorId)).position).toBeGreaterThan(lost.position);
      await expect(read(lost)).rejects.toThrow(Conflict);
      // A cursor of the backup is valid in both histories.
      expect(await idsBehind(backup)).toEqual(ids);
    });
  });

  describe('while nothing can be written', () => {
    async function expectPlacedOnes(from: Database): Promise<void> {
      const start = await findEnd(db, tenant.mandatorId);
      const ids = await insert({ count: 2 });
      const placed = await findEnd(db, tenant.mandatorId);
      const late = await insert({ first: 2 });
      const told = await read(start, 10, from);
      expect(told.changes.map(({ id }) => Number(id))).toEqual(ids);
      expect(told).toMatchObject({ end: placed, hasMore: false });
      expect(await findEnd(from, tenant.mandatorId)).toEqual(placed);
      // After the outage the reader gets the late changes.
      expect(await idsBehind(placed)).toEqual(late);
    }

    test('a read-only standby returns those that have positions', async () => {
      const url = new URL(database.url);
      url.searchParams.set('options', '-c default_transaction_read_only=on');
      const standby = openDatabase(url.href, { max: 1, log: openLog('silent'), statementTimeout: 5_000 });
      try {
        await expectPlacedOnes(standby);
      } finally {
        await standby.destroy();
      }
    });

    test('and so does a database whose disk is full', async () => {
      await sql`create function refuse_writes() returns trigger language plpgsql as $$
        begin
          if current_setting('roomgate.full', true) = 'yes' then
            raise exception 'could not extend file' using errcode = 'disk_full';
          end if;
          return new;
        end $$`.execute(db);
      await sql`create trigger full_disk before update on change for each row execute function refuse_writes()`.execute(
        db,
      );
      const url = new URL(database.url);
      url.searchParams.set('options', '-c roomgate.full=yes');
      const fullDisk = openDatabase(url.href, { max: 1, log: openLog('silent'), statementTimeout: 5_000 });
      try {
        await expectPlacedOnes(fullDisk);
      } finally {
        await fullDisk.destroy();
        await sql`drop function refuse_writes() cascade`.execute(db);
      }
    });
  });
});

describe('GET …/changes', () => {
  let service: Service;
  let user: ReturnType<typeof masterData>;
  let admin: ReturnType<typeof masterData>;
  let room: number;

  beforeAll(async () => {
    service = await startService();
    user = masterData(service, await service.signIn());
    admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
    room = service.tenant.resources[0]!.id;
  });
  afterAll(() => service.stop());

  type Page = { Items: Record<string, unknown>[]; NextCursor: string; HasMore: boolean };
  const get = async (query = '') => (await user.get(`/changes${query}`)).body as Page;
  const now = async () => (await get('?Cursor=now')).NextCursor;
  const insert = (first: number) => insertBookings(service.context.db, service.tenant.mandatorId, room, { first });

  /** The changes after a cursor, without their times. */
  async function since(cursor: string) {
    const { Items } = await get(`?Cursor=${cursor}`);
    return Items.map(({ At, ...change }) => {
      expect(At).toMatch(/Z$/);
      return change;
    });
  }

  test('without a cursor begins with the oldest, page by page', async () => {
    const all = await get();
    expect(all.Items.map(({ Kind, Action }) => `${Kind} ${Action}`).slice(0, 3)).toEqual([
      'Location Created',
      'Resource Created',
      'Resource Created',
    ]);
    const first = await get('?Limit=2');
    expect([first.Items, first.HasMore]).toEqual([all.Items.slice(0, 2), true]);
    const rest = await get(`?Limit=200&Cursor=${first.NextCursor}`);
    expect([rest.Items, rest.HasMore]).toEqual([all.Items.slice(2), false]);
    expect(await get(`?Cursor=${rest.NextCursor}`)).toEqual({
      Items: [],
      NextCursor: rest.NextCursor,
      HasMore: false,
    });
  });

  test('with Cursor=now reports nothing earlier, and everything from then on', async () => {
    await insert(0);
    const cursor = await now();
    expect(await get(`?Cursor=now`)).toMatchObject({ Items: [], HasMore: false });
    const [id] = await insert(1);
    expect(await since(cursor)).toEqual([{ Kind: 'Booking', Id: id, Action: 'Created', ResourceId: room }]);
  });

  test('reports resources and locations that are made and changed, and not those that stay the same', async () => {
    const cursor = await now();
    const { body } = await admin.post('/locations', { Name: 'Annex', TimeZone: 'Europe/Berlin' });
    const location = { Kind: 'Location', Id: body['Id'], ResourceId: null };
    await admin.patch(`/locations/${body['Id']}`, { Name: 'Annexe' });
    await admin.patch(`/locations/${body['Id']}`, { Name: 'Annexe' });
    const made = await admin.post('/resources', { LocationId: body['Id'], Name: 'A1', Kind: 'Room' });
    const resource = { Kind: 'Resource', Id: made.body['Id'], ResourceId: null };
    await admin.patch(`/resources/${made.body['Id']}`, { Capacity: 7 });
    expect(await since(cursor)).toEqual([
      { ...location, Action: 'Created' },
      { ...location, Action: 'Changed' },
      { ...resource, Action: 'Created' },
      { ...resource, Action: 'Changed' },
    ]);
  });

  test('reports a batch with its states and, when it is done, its bookings', async () => {
    const cursor = await now();
    const client = lessonClient(service, user.token);
    const { BatchId, ImportStatus } = await client.importJobs(makeJobs(3, { prefix: 'feed' }));
    expect(ImportStatus).toBe('LessonsCreated');
    const changes = await since(cursor);
    expect(changes.filter(({ Kind }) => Kind === 'Batch')).toEqual([
      { Kind: 'Batch', Id: BatchId, Action: 'Created', ResourceId: null },
      { Kind: 'Batch', Id: BatchId, Action: 'Changed', ResourceId: null },
      { Kind: 'Batch', Id: BatchId, Action: 'Changed', ResourceId: null },
    ]);
    expect(changes.filter(({ Kind }) => Kind === 'Booking')).toHaveLength(3);
  });

  test('with WaitSeconds answers as soon as there is something', async () => {
    const cursor = await now();
    let answered = false;
    const waits = jest.spyOn(service.context.notifications, 'subscribe');
    const waiting = get(`?Cursor=${cursor}&WaitSeconds=20`).finally(() => {
      answered = true;
    });
    await until(() => waits.mock.calls.some(([topic]) => topic === `booking:${service.tenant.mandatorId}`));
    waits.mockRestore();
    expect(answered).toBe(false);
    const [id] = await insert(2);
    expect((await waiting).Items).toMatchObject([{ Kind: 'Booking', Id: id }]);
  });

  test('with WaitSeconds answers with nothing when they are over', async () => {
    const cursor = await now();
    const begun = performance.now();
    expect(await get(`?Cursor=${cursor}&WaitSeconds=1`)).toEqual({
      Items: [],
      NextCursor: cursor,
      HasMore: false,
    });
    expect(performance.now() - begun).toBeGreaterThan(900);
  });

  describe('and changes in GraphQL', () => {
    const ask = async (of: typeof user, query: string) => {
      const { data, errors } = await of.ask(`{ changes${query} }`);
      expect(errors).toBeUndefined();
      return data?.['changes'] as { items: Record<string, unknown>[]; nextCursor: string; hasMore: boolean };
    };

    test('tell the same', async () => {
      const rest = await get('?Limit=5');
      const page = await ask(
        user,
        '(first: 5) { items { kind id: subjectId action resourceId at } nextCursor hasMore }',
      );
      const textOf = (id: unknown) => id && String(id);
      expect(page).toEqual({
        items: rest.Items.map(({ Kind, Id, Action, ResourceId, At }) => ({
          kind: Kind,
          id: String(Id),
          action: Action,
          resourceId: textOf(ResourceId),
          at: At,
        })),
        nextCursor: rest.NextCursor,
        hasMore: rest.HasMore,
      });
      const next = await ask(user, `(first: 5, after: "${page.nextCursor}") { items { id: subjectId } }`);
      const { Items } = await get(`?Limit=5&Cursor=${page.nextCursor}`);
      expect(next.items).toEqual(Items.map(({ Id }) => ({ id: String(Id) })));
      expect(await ask(user, '(after: "now") { items { id } hasMore }')).toEqual({
        items: [],
        hasMore: false,
      });
    });

    test('lead to what has changed, as the viewer may see it', async () => {
      const cursor = await now();
      const [id] = await insert(3);
      const { db } = service.context;
      await sql`update booking set is_private = true where id = ${id}`.execute(db);
      const { BatchId } = await lessonClient(service, user.token).importJobs([{ JobID: 'none' }]);
      await sql`update resource set capacity = 5 where id = ${room}`.execute(db);
      await sql`update location set name = 'Ort' where id = ${service.tenant.locationId}`.execute(db);
      const fields = `items { action booking { subject } resource { name } location { name } batch { id importStatus } }`;
      const { items } = await ask(user, `(after: "${cursor}") { ${fields} }`);
      const none = { booking: null, resource: null, location: null, batch: null };
      const resource = { name: 'R001' };
      const batch = { id: BatchId, importStatus: 'LessonsImportFailed' };
      expect(items).toEqual([
        { ...none, action: 'Created', booking: { subject: 'Belegt' }, resource },
        { ...none, action: 'Changed', booking: { subject: 'Belegt' }, resource },
        { ...none, action: 'Created', batch },
        { ...none, action: 'Changed', batch },
        { ...none, action: 'Changed', resource },
        { ...none, action: 'Changed', location: { name: 'Ort' } },
      ]);
      const ofAdmin = await ask(admin, `(after: "${cursor}", first: 1) { items { booking { subject } } }`);
      expect(ofAdmin.items).toEqual([{ booking: { subject: 'Sitzung' } }]);
    });
  });

  test('is 409 with the remedy for a cursor whose changes are forgotten', async () => {
    const cursor = (await get('?Limit=1')).NextCursor;
    const { db } = service.context;
    await sql`update change set at = now() - interval '31 days' where mandator_id = ${service.tenant.mandatorId}`.execute(
      db,
    );
    await forgetOldChanges(db, 30);
    const { status, body } = await user.get(`/changes?Cursor=${cursor}`);
    expect([status, body['Code']]).toEqual([409, 'Conflict']);
    expect(body['detail']).toMatch(/Cursor=now/);
  });

  test.each([
    ['names another history', cursorAt({ position: 1, micros: 1 })],
    ['is of a release whose cursors named none', toCursor({ name: 'changes', keyOf: () => 1 }, undefined)],
  ])('is 409 over REST and CONFLICT over GraphQL for a cursor that %s', async (_what, cursor) => {
    const { status, body } = await user.get(`/changes?Cursor=${cursor}`);
    expect([status, body['detail']]).toEqual([409, expect.stringContaining('Cursor=now')]);
    const { errors } = await user.ask(`{ changes(after: "${cursor}") { nextCursor } }`);
    expect(errors).toMatchObject([{ extensions: { code: 'CONFLICT' } }]);
  });

  test('is 400 for what is no cursor of this list', async () => {
    const { status } = await user.get('/changes?Cursor=bm93');
    expect(status).toBe(400);
  });

  test('is 403 for a display', async () => {
    const display = masterData(service, await service.signIn(service.tenant, 'Display'));
    for (const query of ['', '?WaitSeconds=1', '?Cursor=now'])
      expect((await display.get(`/changes${query}`)).status).toBe(403);
  });
});
