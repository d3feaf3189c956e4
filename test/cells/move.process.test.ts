import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { alone, endForGood, freeze, refuse, sendAway } from '../../src/cells/resting.ts';
import { deleteTenant, examineRests, freezeTenant, thawTenant } from '../../src/cells/service.ts';
import { identify } from '../../src/cells/tables.ts';
import { type Database, openDatabase, type Transaction } from '../../src/db/database.ts';
import { isResting } from '../../src/db/resting.ts';
import { guardsLock, lockClasses } from '../../src/flow/locks.ts';
import { hasDueCalendars } from '../../src/holidays/service.ts';
import { openLog } from '../../src/log.ts';
import { applyTenantFile, previewTenantFile, readTenantFile } from '../../src/tenants/service.ts';
import { hasDue } from '../../src/webhooks/service.ts';
import { insertBookings } from '../_util/bookings-table.ts';
import { until } from '../_util/process.ts';
import { keepBooking, nothing, startPair } from './_util/pair.ts';

let pair: Awaited<ReturnType<typeof startPair>>;

beforeAll(async () => {
  pair = await startPair();
});
afterAll(() => pair?.stop());

const subjectsIn = async (at: number, mandatorId: number) => {
  const { rows } = await sql<{ id: number; subject: string }>`
    select id, subject from booking where mandator_id = ${mandatorId} and subject like 'n%'`.execute(
    pair.cells[at]!.db,
  );
  return rows;
};

const insertNoShow = (trx: Transaction, mandatorId: number, resourceId: number) =>
  sql`
    insert into booking (mandator_id, resource_id, kind, status, origin, occupied, check_in_from, check_in_until)
    values (${mandatorId}, ${resourceId}, 'Booking', 'Confirmed', 'Api',
      tstzrange(now() - interval '1 hour', now() + interval '1 hour'), now() - interval '1 hour', now() - interval '1 minute')`.execute(
    trx,
  );

async function statusIn(db: Database, mandatorId: number) {
  const { rows } = await sql<{ status: string }>`
    select status from booking where mandator_id = ${mandatorId}`.execute(db);
  return rows[0]?.status;
}

describe('tenant move', () => {
  test('while it is written loses and doubles nothing, and gives ids of the new cell afterwards', async () => {
    const tenant = await pair.makeTenantIn(0, 'steady');
    const token = await pair.signIn(tenant);
    const writer = keepBooking(pair, { ...tenant, token });
    await until('it is written', () => writer.refused[0] ?? writer.acknowledged.length > 3);
    const stream = new AbortController();
    const ended = fetch(`${pair.baseOf('steady')}/graphql`, {
      method: 'POST',
      signal: stream.signal,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', Accept: 'text/event-stream' },
      body: JSON.stringify({ query: 'subscription { batches { id } }' }),
    }).then((answer) => answer.text());
    await pair.move('steady');
    const moved = writer.acknowledged.length;
    await until('it is written there', () => writer.refused[0] ?? writer.acknowledged.length > moved + 3);
    expect(await writer.stop()).toEqual({ statuses: expect.arrayContaining([201]), refused: [] });
    const there = await subjectsIn(1, tenant.mandatorId);
    expect(new Set(there.map(({ subject }) => subject)).size).toBe(there.length);
    const ids = new Set(there.map(({ id }) => id));
    expect(writer.acknowledged.filter((id) => !ids.has(id))).toEqual([]);
    expect(Math.max(...ids)).toBeGreaterThan(1e12);
    expect(await pair.remainsOf(0, tenant.mandatorId)).toEqual(nothing);
    expect(await pair.remainsOf(1, tenant.mandatorId)).toEqual({
      ...nothing,
      bookings: expect.any(Number),
      mandators: 1,
    });
    // Its streams end, so that their clients come to the new cell.
    expect(await ended).toContain('The tenant is being moved');
    await expect(pair.move('steady')).rejects.toThrow('it is served at the other installation');
  });

  test('that was cut off anywhere continues when it is started again', async () => {
    for (const [n, place] of ['Copying', 'Stopping', 'route', 'Removing'].entries()) {
      const code = `cut-${n}`;
      const tenant = await pair.makeTenantIn(0, code);
      await insertBookings(pair.cells[0].db, tenant.mandatorId, tenant.resources[0]!.id, { count: 3 });
      const cutOff = new Error('cut off');
      const throwing = (line: string) => {
        if (line.startsWith(place)) throw cutOff;
      };
      await expect(pair.move(code, { say: throwing, route: async () => throwing('route') })).rejects.toBe(cutOff);
      let routed = 0;
      const moved = await pair.move(code, { route: async () => void routed++ });
      // Only who compares both sides knows how much has moved.
      const hadLeft = place === 'route' || place === 'Removing';
      expect(moved).toEqual(hadLeft ? undefined : { rows: expect.any(Number), stoppedMs: expect.any(Number) });
      // It may have died before its requests were sent there, or before that was known.
      expect(routed).toBe(1);
      expect(await pair.remainsOf(0, tenant.mandatorId)).toEqual(nothing);
      expect(await pair.remainsOf(1, tenant.mandatorId)).toEqual({ ...nothing, bookings: 3, mandators: 1 });
    }
  });

  test('that was cut off begins its copy anew where the original keeps no longer what it has not read', async () => {
    const [here, there] = pair.cells;
    const { mandatorId, resources } = await pair.makeTenantIn(0, 'unkept');
    await insertBookings(here.db, mandatorId, resources[0]!.id, { count: 3 });
    const cutOff = new Error('cut off');
    const say = (line: string) => {
      if (line.startsWith('Stopping')) throw cutOff;
    };
    // Of a pair of which the other one has gone.
    const { host } = new URL(here.url);
    const fromUrl = here.url.replace(host, `127.0.0.1:1,${host}`);
    await expect(pair.move('unkept', { say, fromUrl })).rejects.toBe(cutOff);
    const { rows } = await sql`
      select subsynccommit as "isWritten", substring(subconninfo from 'target_.*') as condition from pg_subscription
      where subname = ${`roomgate_move_${mandatorId}`}`.execute(there.db);
    expect(rows).toEqual([{ isWritten: 'on', condition: 'target_session_attrs=primary' }]);
    // As after a failover.
    await until('the slot is gone', async () => {
      const { rows: slots } = await sql<{ active: boolean }>`
        select active, case when active then pg_terminate_backend(active_pid)::text else pg_drop_replication_slot(slot_name)::text end
        from pg_replication_slots`.execute(here.db);
      return slots.length === 0;
    });
    const lines: string[] = [];
    await pair.move('unkept', { say: (line) => void lines.push(line), fromUrl });
    expect(lines[0]).toContain('the copy starts again');
    expect(await pair.remainsOf(0, mandatorId)).toEqual(nothing);
    expect(await pair.remainsOf(1, mandatorId)).toEqual({ ...nothing, bookings: 3, mandators: 1 });
  });

  test('and comes back to a database that has given fewer ids than it brings: none is given again', async () => {
    const { db } = pair.cells[1];
    const { mandatorId, resources } = await pair.makeTenantIn(1, 'returning');
    await insertBookings(db, mandatorId, resources[0]!.id, { count: 3 });
    await pair.move('returning', { from: 1, to: 0 });
    for (const table of ['mandator', 'location', 'resource', 'person'])
      await sql`select setval(pg_get_serial_sequence(${table}, 'id'), 10000000)`.execute(db);
    for (const table of ['booking', 'change'])
      await sql`select setval(pg_get_serial_sequence(${table}, 'id'), 1000000000000)`.execute(db);
    await pair.move('returning');
    const next = await pair.makeTenantIn(1, 'after-it');
    expect(next.mandatorId).toBeGreaterThan(mandatorId);
    await insertBookings(db, next.mandatorId, next.resources[0]!.id, { count: 3 });
  });

  test('brings its changes in their order, also those that have no place in the feed yet', async () => {
    const [{ db }, there] = pair.cells;
    const { mandatorId, resources } = await pair.makeTenantIn(0, 'unplaced');
    const numbering = await db.startTransaction().execute();
    await sql`select pg_advisory_xact_lock(${lockClasses.placedChanges}::integer, ${mandatorId}::integer)`.execute(
      numbering,
    );
    await insertBookings(db, mandatorId, resources[0]!.id, { count: 3 });
    await pair.move('unplaced');
    const { rows } = await sql`
      select from change where mandator_id = ${mandatorId} and position is null`.execute(there.db);
    expect(rows).toEqual([]);
    await numbering.rollback().execute();
  });

  test('is undone: the tenant is written where it was, and nothing of it is left there', async () => {
    const tenant = await pair.makeTenantIn(0, 'undone');
    const token = await pair.signIn(tenant);
    const cutOff = new Error('cut off');
    await expect(
      pair.move('undone', {
        say(line) {
          if (line.startsWith('Stopping')) throw cutOff;
        },
      }),
    ).rejects.toBe(cutOff);
    await pair.undo('undone');
    expect(await pair.remainsOf(1, tenant.mandatorId)).toEqual(nothing);
    expect(await pair.remainsOf(0, tenant.mandatorId)).toEqual({ ...nothing, mandators: 1 });
    const writer = keepBooking(pair, { ...tenant, token });
    await until('it is written', () => writer.refused[0] ?? writer.acknowledged.length > 0);
    expect(await writer.stop()).toEqual({ statuses: [201], refused: [] });
    await pair.move('undone');
    await expect(pair.undo('undone')).rejects.toThrow('There is no tenant undone here');
  });

  test('that no command continues is reported by the doctor on both sides, and so is a freeze', async () => {
    const [here, there] = pair.cells;
    const report = async ({ db }: { db: Database }) =>
      (await examineRests(db)).map(({ level, text, remedy = '' }) => `${level} ${text} -> ${remedy}`);
    const none = ['ok no tenant is being moved, frozen or removed -> '];
    expect([await report(here), await report(there)]).toEqual([none, none]);
    await pair.makeTenantIn(0, 'halfway');
    const cut = (place: string) => ({
      say(line: string) {
        if (line.startsWith(place)) throw new Error('cut off');
      },
    });
    await expect(pair.move('halfway', cut('Stopping'))).rejects.toThrow('cut off');
    expect(await report(here)).toEqual([
      expect.stringMatching(
        /^warning halfway is served here, .* keeps \d+ MB of WAL .* -> Run the same .* --undo.* --lost/,
      ),
    ]);
    expect(await report(there)).toEqual([expect.stringMatching(/^warning a copy of halfway arrives .* -> .* --undo/)]);
    await expect(pair.move('halfway', cut('Removing'))).rejects.toThrow('cut off');
    expect(await report(here)).toEqual([
      expect.stringMatching(/^fault halfway has left, .* nowhere -> Run the same .* --undo/),
    ]);
    const meanwhile: string[] = [];
    await pair.move('halfway', { route: async () => void meanwhile.push(...(await report(here))) });
    expect(meanwhile).toEqual(['ok halfway is being moved, frozen or removed by a command -> ']);
    expect([await report(here), await report(there)]).toEqual([none, none]);
    await freezeTenant(there.db, 'halfway', 60);
    expect(await report(there)).toEqual([expect.stringMatching(/^warning halfway is frozen for .* -> .* thaw /)]);
    await thawTenant(there.db, 'halfway');
  });

  test('is refused where a code, an id or a PIN is taken there, and leaves the tenant as it was', async () => {
    const tenant = await pair.makeTenantIn(0, 'taken');
    const other = await pair.makeTenantIn(1, 'taken');
    pair.routes.set('taken', 0);
    await expect(pair.move('taken')).rejects.toThrow('has a different tenant with the code taken');
    await sql`update mandator set code = 'other' where id = ${other.mandatorId}`.execute(pair.cells[1].db);
    await sql`
      insert into resource (mandator_id, id, location_id, name) overriding system value
      values (${other.mandatorId}, ${tenant.resources[0]!.id}, ${other.locationId}, 'of the same Id')`.execute(
      pair.cells[1].db,
    );
    await expect(pair.move('taken')).rejects.toThrow(`has a resource with the Id ${tenant.resources[0]!.id}`);
    expect(await pair.remainsOf(0, tenant.mandatorId)).toEqual({ ...nothing, mandators: 1 });
    await deleteTenant(pair.cells[1].db, 'other');
    await sql`update pepper set hash = '\\x00'`.execute(pair.cells[1].db);
    await expect(pair.move('taken')).rejects.toThrow('has another Pepper');
    await sql`update pepper set hash = ${(await sql<{ hash: Buffer }>`select hash from pepper`.execute(pair.cells[0].db)).rows[0]!.hash}`.execute(
      pair.cells[1].db,
    );
    await pair.move('taken');
  });

  test('keeps its code: no other tenant is made of it where it comes to, nor where it has left', async () => {
    const { mandatorId } = await pair.makeTenantIn(0, 'kept');
    const file = readTenantFile({ Mandator: 'kept', Name: 'Another' });
    const insistOnNone = async (at: number) => {
      for (const run of [previewTenantFile, applyTenantFile])
        await expect(run(pair.cells[at]!.db, file)).rejects.toThrow('The tenant kept is being moved or removed here');
    };
    const cutOff = new Error('cut off');
    const say = (line: string) => {
      if (line.startsWith('Stopping')) throw cutOff;
    };
    await expect(pair.move('kept', { say })).rejects.toBe(cutOff);
    await insistOnNone(1);
    await pair.move('kept', { route: () => insistOnNone(0) });
    expect(await pair.remainsOf(1, mandatorId)).toEqual({ ...nothing, mandators: 1 });
  });

  test('does not leave while another tenant has its code there, and can be abandoned', async () => {
    const [here, there] = pair.cells;
    const tenant = await pair.makeTenantIn(0, 'doubled');
    const id = tenant.mandatorId;
    // The freeze waits until the other tenant is there.
    const holding = await here.db.startTransaction().execute();
    await sql`select pg_advisory_xact_lock(hashtextextended(${guardsLock}, 0))`.execute(holding);
    let other: Promise<number> | undefined;
    const makeOther = async () => {
      const { mandatorId } = await pair.makeTenantIn(1, 'doubled');
      await holding.rollback().execute();
      return mandatorId;
    };
    const say = (line: string) => {
      if (line.startsWith('Stopping')) other = makeOther();
    };
    const refusal = 'has a different tenant with the code doubled';
    await expect(pair.move('doubled', { say })).rejects.toThrow(refusal);
    const { rows } = await sql`select code from mandator where id = ${id}`.execute(here.db);
    expect(rows).toEqual([{ code: 'doubled' }]);

    // If it was made at the very moment at which the tenant left.
    const until = await freeze(here.db, { id, code: 'doubled' }, 600);
    const { database: destination } = await identify(there.db);
    expect(await sendAway(here.db, { id }, { until, destination })).toBe(true);
    await expect(pair.move('doubled')).rejects.toThrow(refusal);
    await pair.undo('doubled');
    expect(await pair.remainsOf(0, id)).toEqual({ ...nothing, mandators: 1 });
    expect(await pair.remainsOf(1, id)).toEqual(nothing);
    expect(await pair.remainsOf(1, (await other)!)).toEqual({ ...nothing, mandators: 1 });
    await deleteTenant(there.db, 'doubled');
    await pair.move('doubled');
  });
});

describe('a tenant is never removed where it has not left', () => {
  const served = { ...nothing, bookings: 2, mandators: 1 };
  async function enter(at: number, code: string) {
    const tenant = await pair.makeTenantIn(at, code);
    await insertBookings(pair.cells[at]!.db, tenant.mandatorId, tenant.resources[0]!.id, { count: 2 });
    return tenant;
  }
  /** The Id of the next tenant. */
  const giveNext = (at: number, id: number) =>
    sql`select setval(pg_get_serial_sequence('mandator', 'id'), ${id}, false)`.execute(pair.cells[at]!.db);

  test('when it is moved to its own database, or to another one of the same server', async () => {
    const { mandatorId } = await enter(0, 'itself');
    const here = new URL(pair.cells[0].url);
    here.hostname = 'localhost';
    const own = { toDatabase: here.href };
    await expect(pair.move('itself', own)).rejects.toThrow('is the database that the tenant is already in');
    await expect(pair.undo('itself', own)).rejects.toThrow('is the database that the tenant is already in');
    here.pathname = '/postgres';
    await expect(pair.move('itself', { toDatabase: here.href })).rejects.toThrow('are on one PostgreSQL server');
    expect(await pair.remainsOf(0, mandatorId)).toEqual(served);
  });

  test('when the other installation is none, does not answer, or cannot follow', async () => {
    const { mandatorId } = await enter(0, 'nowhere');
    const to = new URL(pair.cells[1].url);
    to.pathname = '/postgres';
    await expect(pair.move('nowhere', { toDatabase: to.href })).rejects.toThrow(
      '--to cannot be used: it has no schema',
    );
    to.password = 'wrong';
    await expect(pair.move('nowhere', { toDatabase: to.href })).rejects.toThrow(
      '--to cannot be used: password authentication failed',
    );
    const from = new URL(pair.cells[0].url);
    from.password = 'wrong';
    await expect(pair.move('nowhere', { fromUrl: from.href })).rejects.toThrow('cannot replicate from that of --from');
    await pair.undo('nowhere');
    expect(await pair.remainsOf(0, mandatorId)).toEqual(served);
  });

  test('when another tenant has its Id there, or a copy of it is there that has not come by a move', async () => {
    const { mandatorId } = await enter(0, 'ours');
    await giveNext(1, mandatorId);
    await enter(1, 'theirs');
    await giveNext(1, 10_000_100);
    await expect(pair.move('ours')).rejects.toThrow(`has a tenant theirs with the Id ${mandatorId}`);
    await expect(pair.undo('ours')).rejects.toThrow(`has a tenant theirs with the Id ${mandatorId}`);
    await sql`update mandator set code = 'ours' where code = 'theirs'`.execute(pair.cells[1].db);
    await expect(pair.move('ours')).rejects.toThrow('though it has not left here');
    for (const at of [0, 1]) expect(await pair.remainsOf(at, mandatorId)).toEqual(served);
    await deleteTenant(pair.cells[1].db, 'ours');
  });

  test('nor served again there by a thaw, nor given up or removed, before its move has ended', async () => {
    const { db } = pair.cells[0];
    const { mandatorId } = await enter(0, 'leaving');
    const cutOff = new Error('cut off');
    const route = () => Promise.reject(cutOff);
    await expect(pair.move('leaving', { route })).rejects.toBe(cutOff);
    await expect(thawTenant(db, 'leaving')).rejects.toThrow('The tenant leaving has left');
    await expect(freezeTenant(db, 'leaving', 5)).rejects.toThrow('is being moved or removed');
    await expect(deleteTenant(db, 'leaving')).rejects.toThrow('has left for another installation');
    await expect(pair.undo('leaving')).rejects.toThrow('is already served at the other installation');
    await sql`update resting_tenant set destination = 'elsewhere'`.execute(db);
    await expect(pair.move('leaving')).rejects.toThrow('has left for a different installation');
    await expect(pair.undo('leaving')).rejects.toThrow('has left for a different installation');
    const { database } = await identify(pair.cells[1].db);
    await sql`update resting_tenant set destination = ${database}`.execute(db);
    // Nor does it come back before the original is removed.
    await expect(pair.move('leaving', { from: 1, to: 0 })).rejects.toThrow('is not removed there yet');
    await pair.move('leaving');
    expect(await pair.remainsOf(0, mandatorId)).toEqual(nothing);
    expect(await pair.remainsOf(1, mandatorId)).toEqual(served);
  });

  test('and is served where it was once the installation is lost that it has left for', async () => {
    const { mandatorId } = await enter(0, 'stranded');
    const cutOff = new Error('cut off');
    await expect(pair.move('stranded', { route: () => Promise.reject(cutOff) })).rejects.toBe(cutOff);
    const [here, lost] = pair.cells;
    await thawTenant(here.db, 'stranded', { isLost: true });
    expect(await pair.remainsOf(0, mandatorId)).toEqual(served);
    const { rows } = await sql`select code from mandator where id = ${mandatorId}`.execute(here.db);
    expect(rows).toEqual([{ code: 'stranded' }]);
    await sql.raw(`alter subscription roomgate_move_${mandatorId} disable`).execute(lost.db);
    await sql.raw(`alter subscription roomgate_move_${mandatorId} set (slot_name = none)`).execute(lost.db);
    await sql.raw(`drop subscription roomgate_move_${mandatorId}`).execute(lost.db);
  });

  test('and nothing is kept for its copy once the installation is lost that it was to leave for', async () => {
    const { mandatorId } = await enter(0, 'unread');
    const cutOff = new Error('cut off');
    const say = (line: string) => {
      if (line.startsWith('Stopping')) throw cutOff;
    };
    await expect(pair.move('unread', { say })).rejects.toBe(cutOff);
    const [here, lost] = pair.cells;
    expect(await pair.remainsOf(0, mandatorId)).toMatchObject({ slots: 1 });
    await thawTenant(here.db, 'unread', { isLost: true });
    expect(await pair.remainsOf(0, mandatorId)).toEqual(served);
    await deleteTenant(lost.db, 'unread');
    expect(await pair.remainsOf(1, mandatorId)).toEqual(nothing);
  });

  test('nor comes back once it was removed where it went, or while it is removed where it was', async () => {
    const [here, there] = pair.cells;
    const cutOff = { route: () => Promise.reject(new Error('cut off')) };
    const { mandatorId } = await enter(0, 'ended');
    await expect(pair.move('ended', cutOff)).rejects.toThrow('cut off');
    await deleteTenant(there.db, 'ended');
    await expect(pair.undo('ended')).rejects.toThrow('is no longer expected there');
    await expect(pair.move('ended')).rejects.toThrow('The copy differs from the original');
    await thawTenant(here.db, 'ended', { isLost: true });
    expect(await pair.remainsOf(0, mandatorId)).toEqual(served);
    expect(await pair.remainsOf(1, mandatorId)).toEqual(nothing);

    const half = await enter(0, 'half');
    await expect(pair.move('half', cutOff)).rejects.toThrow('cut off');
    await endForGood(here.db, { id: half.mandatorId, code: 'half' });
    await expect(pair.undo('half')).rejects.toThrow('is being removed');
    await expect(thawTenant(here.db, 'half', { isLost: true })).rejects.toThrow('has left');
    await pair.move('half');
    expect(await pair.remainsOf(0, half.mandatorId)).toEqual(nothing);
    expect(await pair.remainsOf(1, half.mandatorId)).toEqual(served);
  });

  test('nor moves on before it is removed where it came from', async () => {
    const [here, there] = pair.cells;
    const { mandatorId } = await enter(0, 'passing');
    const route = () => Promise.reject(new Error('cut off'));
    await expect(pair.move('passing', { route })).rejects.toThrow('cut off');
    // As if where it was had been lost, and was set up anew.
    await thawTenant(here.db, 'passing', { isLost: true });
    await deleteTenant(here.db, 'passing');
    const back = { from: 1, to: 0 };
    await expect(pair.move('passing', back)).rejects.toThrow('is not removed yet where it was');
    await thawTenant(there.db, 'passing', { isLost: true });
    await pair.move('passing', back);
    expect(await pair.remainsOf(0, mandatorId)).toEqual(served);
    expect(await pair.remainsOf(1, mandatorId)).toEqual(nothing);
  });

  test('nor leaves for a copy that is being removed', async () => {
    const tenant = await enter(0, 'refused');
    const { mandatorId } = tenant;
    const cutOff = new Error('cut off');
    const say = (line: string) => {
      if (line.startsWith('Stopping')) throw cutOff;
    };
    await expect(pair.move('refused', { say })).rejects.toBe(cutOff);
    expect(await refuse(pair.cells[1].db, { id: mandatorId, code: 'refused' })).toBe(true);
    await expect(pair.move('refused')).rejects.toThrow('is not one that is coming');
    await pair.undo('refused');

    // As an undo leaves it that was cut off.
    const row = { mandator_id: mandatorId, code: 'refused', state: 'Away' } as const;
    await pair.cells[1].db.insertInto('resting_tenant').values(row).execute();
    await expect(pair.move('refused')).rejects.toThrow('run this command with --undo, then without it');
    await pair.undo('refused');
    expect(await pair.remainsOf(0, mandatorId)).toEqual(served);
    expect(await pair.remainsOf(1, mandatorId)).toEqual(nothing);
  });

  test('nor leaves in another freeze than the one in which it was compared', async () => {
    const { db } = pair.cells[0];
    const { mandatorId: id } = await enter(0, 'refrozen');
    const until = await freeze(db, { id, code: 'refrozen' }, 600);
    await thawTenant(db, 'refrozen');
    await freeze(db, { id, code: 'refrozen' }, 600);
    expect(await sendAway(db, { id }, { until, destination: null })).toBe(false);
    await thawTenant(db, 'refrozen');
    expect(await pair.remainsOf(0, id)).toEqual(served);
  });

  test('whose move was cut off is removed with all that its copy followed', async () => {
    const { mandatorId } = await enter(0, 'abandoned');
    const cutOff = new Error('cut off');
    const say = (line: string) => {
      if (line.startsWith('Stopping')) throw cutOff;
    };
    await expect(pair.move('abandoned', { say })).rejects.toBe(cutOff);
    await deleteTenant(pair.cells[0].db, 'abandoned');
    expect(await pair.remainsOf(0, mandatorId)).toEqual(nothing);
    await deleteTenant(pair.cells[1].db, 'abandoned');
    expect(await pair.remainsOf(1, mandatorId)).toEqual(nothing);
  });

  test('nor by two commands at once', async () => {
    const { mandatorId } = await enter(0, 'twice');
    let second: Promise<unknown[]> | undefined;
    await pair.move('twice', {
      say() {
        second ??= Promise.all(
          [pair.move('twice'), pair.undo('twice'), deleteTenant(pair.cells[0].db, 'twice')].map((other) =>
            other.then(
              () => 'done',
              (error: Error) => error.message,
            ),
          ),
        );
      },
      async route() {
        await second;
      },
    });
    const busy = expect.stringContaining('by another command; wait until it ends');
    expect(await second).toEqual([busy, busy, busy]);
    expect(await pair.remainsOf(1, mandatorId)).toEqual(served);
  });

  test('nor by a second one because the first has waited for longer than PostgreSQL lets a session idle', async () => {
    const tenant = { id: 1_234, code: 'idle' };
    const { url, db } = pair.cells[0];
    const settings = { idle_session_timeout: 300 };
    const impatient = openDatabase(url, { max: 1, log: openLog('silent'), statementTimeout: 0, settings });
    await alone(impatient, tenant, async () => {
      // A session that has idled for a shorter time has been ended.
      const other = new pg.Client(url);
      const ended = new Promise<void>((resolve) => other.on('end', () => resolve()));
      other.on('error', () => {});
      await other.connect();
      await other.query('set idle_session_timeout = 300');
      await ended;
      await expect(alone(db, tenant, async () => {})).rejects.toThrow('by another command');
    });
    await impatient.destroy();
  });
});

describe('a resting tenant', () => {
  test('is frozen only once the transactions are over that were writing before', async () => {
    const { db } = pair.cells[0];
    const { mandatorId } = await pair.makeTenantIn(0, 'written');
    // Another rest has set the guards, so that the tables need not be waited for.
    await pair.makeTenantIn(0, 'before');
    await freezeTenant(db, 'before', 600);
    const writer = await db.startTransaction().execute();
    await sql`update resource set name = name || '!' where mandator_id = ${mandatorId}`.execute(writer);
    let isFrozen = false;
    const frozen = freezeTenant(db, 'written', 600).then(() => {
      isFrozen = true;
    });
    for (let looks = 0; looks < 20; looks++) await until('nobody may begin to write', () => isResting(db, mandatorId));
    expect(isFrozen).toBe(false);
    await writer.commit().execute();
    await frozen;
    for (const code of ['written', 'before']) await thawTenant(db, code);
  });

  test('is read and not written while it is frozen, and written again when that is over', async () => {
    const tenant = await pair.makeTenantIn(0, 'frozen');
    const token = await pair.signIn(tenant);
    await freezeTenant(pair.cells[0].db, 'frozen', 600);
    const ask = (method: string, body?: object) =>
      fetch(`${pair.baseOf('frozen')}/api/v1.0/bookings`, {
        method,
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      });
    const day = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    const wanted = {
      ResourceId: tenant.resources[0]!.id,
      Subject: 'Talk',
      Start: `${day}T10:00:00Z`,
      End: `${day}T11:00:00Z`,
    };
    expect((await ask('GET')).status).toBe(200);
    const refused = await ask('POST', wanted);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await refused.json()).toMatchObject({ detail: 'The tenant is being moved; send the same request again.' });
    expect(await isResting(pair.cells[0].db, tenant.mandatorId)).toBe(true);
    // As a mover that has died would leave it, some time later.
    await sql`update resting_tenant set until = clock_timestamp() where code = 'frozen'`.execute(pair.cells[0].db);
    expect((await ask('POST', wanted)).status).toBe(201);
    expect(await isResting(pair.cells[0].db, tenant.mandatorId)).toBe(false);
    await thawTenant(pair.cells[0].db, 'frozen');
    expect(await pair.remainsOf(0, tenant.mandatorId)).toEqual({ ...nothing, bookings: 1, mandators: 1 });
  });

  test('holds up no sweep while it is frozen, and has no job started for it', async () => {
    const { db } = pair.cells[1];
    const [frozen, other] = [await pair.makeTenantIn(1, 'still'), await pair.makeTenantIn(1, 'lively')];
    await freezeTenant(db, 'still', 600);
    await db.transaction().execute(async (trx) => {
      await sql`set local session_replication_role = replica`.execute(trx);
      for (const { mandatorId, resources } of [frozen, other]) await insertNoShow(trx, mandatorId, resources[0]!.id);
      await sql`
        insert into webhook (mandator_id, name, url, kinds, secret)
        values (${frozen.mandatorId}, 'Receiver', 'http://127.0.0.1:9', '{booking.created}', '')`.execute(trx);
      await sql`
        insert into holiday_calendar (mandator_id, name, closes, url, due_at)
        values (${frozen.mandatorId}, 'Holidays', true, 'http://127.0.0.1:9/', '-infinity')`.execute(trx);
    });
    await until('the other is released', async () => (await statusIn(db, other.mandatorId)) === 'Released');
    expect(await statusIn(db, frozen.mandatorId)).toBe('Confirmed');
    const isDue = async (session: typeof db) =>
      (await sql<{ due: boolean[] }>`select array[${hasDue(db)}, ${hasDueCalendars}] as due`.execute(session)).rows[0]
        ?.due;
    expect(await isDue(db)).toEqual([false, false]);
    // It would be, if the tenant did not rest.
    const trx = await db.startTransaction().execute();
    await sql`delete from resting_tenant`.execute(trx);
    expect(await isDue(trx)).toEqual([true, true]);
    await trx.rollback().execute();
    await thawTenant(db, 'still');
    await until('it is released then', async () => (await statusIn(db, frozen.mandatorId)) === 'Released');
    await deleteTenant(db, 'still');
  });

  test('is passed over by the sweeps of its new cell, which do what there is to do for the others', async () => {
    const { db, context } = pair.cells[1];
    const [resting, other] = [await pair.makeTenantIn(1, 'coming'), await pair.makeTenantIn(1, 'served')];
    await freezeTenant(db, 'coming', 600);
    await sql`update resting_tenant set state = 'Coming', until = null`.execute(db);
    await db.transaction().execute(async (trx) => {
      await sql`set local session_replication_role = replica`.execute(trx);
      for (const { mandatorId, resources } of [resting, other]) await insertNoShow(trx, mandatorId, resources[0]!.id);
    });
    const statusOf = (mandatorId: number) => statusIn(db, mandatorId);
    await until('the other is released', async () => (await statusOf(other.mandatorId)) === 'Released');
    expect(await statusOf(resting.mandatorId)).toBe('Confirmed');
    const token = await pair.signIn(other);
    const answer = await fetch(`${pair.baseOf('coming')}/api/v1.0/bookings`, {
      headers: { Authorization: `Bearer ${token}` },
    });
    expect(answer.status).toBe(503);
    await sql`delete from resting_tenant`.execute(db);
    await until('it is released once it is served', async () => (await statusOf(resting.mandatorId)) === 'Released');
    expect(context.config.Cell).toBe(1);
  });
});
