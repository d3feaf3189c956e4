/**
 * Moves a tenant to another installation while it is used. Replication keeps a copy up to date (replication.ts). Once the copy is
 * complete, the tenant is frozen, the last changes arrive, both sides are compared, and the tenant is served there. Every step can
 * be repeated, so an interrupted move continues when it is started again. The tenant is never written in two places: before it is
 * served there, one statement, which takes effect only while it is frozen, ends its service here for good.
 */
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { passIdsOf } from '../db/id-ranges.ts';
import { Conflict } from '../errors.ts';
import { pause } from '../flow/retry.ts';
import {
  checkKeys,
  checkSchemas,
  checkWriting,
  compare,
  findTenant,
  insistOnDestination,
  insistOnFreeCode,
  insistOnTwo,
  isBeingRemoved,
  isServed,
} from './checks.ts';
import { liftGuards, unguarded } from './guards.ts';
import { dropCopy, removeAway, removeRows } from './removal.ts';
import {
  catchUp,
  checkPublisher,
  hasSlot,
  isSubscribed,
  publish,
  readProgress,
  subscribe,
  unpublish,
  unsubscribe,
} from './replication.ts';
import {
  alone,
  endForGood,
  findRest,
  freeze,
  getTenant,
  insistOnRest,
  receive,
  refuse,
  sendAway,
  serve,
  takeBack,
  thaw,
} from './resting.ts';
import { identify, insertRows, listTenantTables, type TenantRow, type TenantTable } from './tables.ts';

export type TenantMove = {
  /** The database that the tenant leaves, and the one that it moves to. */
  from: Database;
  to: Database;
  code: string;
  /** Where the PostgreSQL of `to` finds that of `from`. */
  fromUrl: string;
  /** For how many seconds at most writes of the tenant are refused. */
  freezeSeconds: number;
  /** Sends the requests for the tenant to the other installation. */
  route(): Promise<void>;
  /** Prints a line about the progress. */
  say(line: string): void;
};

export type Moved = { stoppedMs: number; rows: number };

const progressEvery = 100;
const mostTries = 5;
/**
 * @returns undefined if the tenant had left in an earlier command, which this one completes
 * @throws Conflict when the tenant cannot be moved, with the reason and the remedy; it is then served where it was
 */
export async function moveTenant(move: TenantMove): Promise<Moved | undefined> {
  const { from, to, code } = move;
  await insistOnTwo(from, to);
  const tenant = await findTenant(from, to, code);
  return await alone(from, tenant, () => moveAlone(move, tenant));
}

async function moveAlone(move: TenantMove, tenant: TenantRow): Promise<Moved | undefined> {
  const { from, to, code, say } = move;
  const { id } = tenant;
  const tables = await checkSchemas(from, to);
  const place = await insistOnDestination(from, to, code);
  await insistOnFreeCode(to, tenant);
  let moved: Moved | undefined;
  if (await isServed(to, tenant)) {
    if (place === 'Here')
      throw new Conflict(
        `The other installation already has the tenant ${code}, with the same Id, though it has not left here: perhaps a copy from a backup or a file. Remove the one that is not used ("roomgate tenant delete"), then move the other.`,
      );
    if (place === 'Left') await move.route();
  } else if (place === 'Gone') {
    throw isBeingRemoved(code);
  } else if (place === 'Left') {
    say('The tenant has already left; the move continues.');
    await compare(from, to, tables, tenant);
    await arrive(from, to, tenant);
    await move.route();
  } else {
    // While it is still subscribed, the original may be removed at its source only because the tenant is served here.
    if (await isSubscribed(from, id))
      throw new Conflict(
        `The tenant ${code} was moved here, but is not removed yet where it was: run that move again there. If that installation is lost for good, run "roomgate tenant thaw --lost" here.`,
      );
    await follow(move, tenant, tables);
    moved = await leave(move, tenant, tables);
  }
  say('Removing the original.');
  await endForGood(from, tenant);
  await unsubscribe(to, id);
  await unpublish(from, id);
  await removeAway(from, id);
  await liftGuards(from);
  await liftGuards(to);
  return moved;
}

/** Starts the replication of the tenant, and returns once all existing rows have been copied. */
async function follow(
  { from, to, code, fromUrl, say }: TenantMove,
  { id }: TenantRow,
  tables: TenantTable[],
): Promise<void> {
  if ((await isSubscribed(to, id)) && !(await hasSlot(from, id))) {
    say('PostgreSQL no longer keeps the changes that the copy has not read; the copy starts again.');
    await unsubscribe(to, id);
  }
  if (!(await isSubscribed(to, id))) {
    await checkPublisher(from);
    await checkKeys(from, to, { id, code });
    await checkWriting(from, to);
    await receive(to, { id, code });
    // Removes what an earlier attempt has left.
    await removeRows(to, id, 'Coming');
    await sql`delete from move_mark where mandator_id = ${id}`.execute(to);
    await passIdsOf(to, id, { rowsIn: from });
    await unpublish(from, id);
    await publish(from, id, tables);
    await subscribe(to, id, fromUrl);
  }
  say('Copying; the tenant can still be used.');
  for (let told = -1; ; await pause(progressEvery)) {
    const { ready, all } = await readProgress(to, id);
    if (ready === all) return;
    if (!(await hasSlot(from, id)))
      throw new Conflict(
        'PostgreSQL no longer keeps the changes that the copy has not read: max_slot_wal_keep_size is too small, or another server was promoted. Run the same command again, which starts a new copy.',
      );
    if (ready !== told) say(`${ready} of ${all} tables`);
    told = ready;
  }
}

/** Stops the writes, waits for the last ones to arrive, compares both sides, and has the tenant served there. */
async function leave(move: TenantMove, tenant: TenantRow, tables: TenantTable[]): Promise<Moved> {
  const { from, to, freezeSeconds, say } = move;
  const mostMs = freezeSeconds * 1_000;
  // The copy catches up before the freeze, so that writes stop only briefly.
  for (let tries = 1; !(await catchUp(from, to, tenant.id, mostMs)); tries++)
    if (tries >= mostTries)
      throw new Conflict(
        'The copy is too far behind to move the tenant now; try again later. If the copy fails, the log of the receiving PostgreSQL says why.',
      );
  say('Stopping the writes.');
  const since = Date.now();
  try {
    const until = await freeze(from, tenant, freezeSeconds);
    const left = () => mostMs - (Date.now() - since);
    if (!(await catchUp(from, to, tenant.id, left())))
      throw new Conflict(`The last changes did not arrive within ${freezeSeconds} seconds; try again later.`);
    await placeAlike(from, to, tenant.id);
    const rows = await compare(from, to, tables, tenant);
    await insistOnRest(to, tenant.id, 'Coming');
    await insistOnFreeCode(to, tenant);
    if (!(await sendAway(from, tenant, { until, destination: (await identify(to)).database })))
      throw new Conflict(`It took longer than the ${freezeSeconds} seconds of --freeze-seconds; allow more.`);
    await arrive(from, to, tenant);
    await move.route();
    return { stoppedMs: Date.now() - since, rows };
  } catch (error) {
    if ((await findRest(from, tenant.code))?.state === 'Frozen') await thaw(from, tenant.code);
    throw error;
  }
}

/** Gives the copied changes the positions that the originals got after they were copied: replication sends only inserts of this table. */
async function placeAlike(from: Database, to: Database, mandatorId: number): Promise<void> {
  const { rows: open } = await sql<{ id: number }>`
    select id from change where mandator_id = ${mandatorId} and position is null`.execute(to);
  if (open.length > 0) {
    const { rows } = await sql<{ id: number; position: number }>`
      select id, position from change
      where mandator_id = ${mandatorId} and position is not null and id = any (${open.map(({ id }) => id)})`.execute(
      from,
    );
    await to.transaction().execute(async (trx) => {
      await insistOnRest(trx, mandatorId, 'Coming');
      await sql`
        update change set position = placed.position
        from unnest(${rows.map(({ id }) => id)}::bigint[], ${rows.map(({ position }) => position)}::bigint[])
          as placed (id, position)
        where mandator_id = ${mandatorId} and change.id = placed.id`.execute(await unguarded(trx));
    });
  }
  await forgetAlike(from, to, mandatorId);
}

/** Deletes from the copy the rows that were deleted here after they were copied: replication sends no deletes of these tables. */
async function forgetAlike(from: Database, to: Database, mandatorId: number): Promise<void> {
  for (const { name, sendsChanges } of await listTenantTables(from)) {
    if (sendsChanges) continue;
    const table = sql.table(name);
    const listIds = async (db: Database) => {
      const { rows } = await sql<{ id: string }>`
        select id::text as id from ${table} where mandator_id = ${mandatorId}`.execute(db);
      return rows.map(({ id }) => id);
    };
    const count = async (db: Database) => {
      const { rows } = await sql`select count(*) as rows from ${table} where mandator_id = ${mandatorId}`.execute(db);
      return (rows[0] as { rows: number }).rows;
    };
    if ((await count(from)) === (await count(to))) continue;
    const kept = new Set(await listIds(from));
    const gone = (await listIds(to)).filter((id) => !kept.has(id));
    if (gone.length > 0)
      await to.transaction().execute(async (trx) => {
        await insistOnRest(trx, mandatorId, 'Coming');
        await sql`delete from ${table} where mandator_id = ${mandatorId} and id::text = any (${gone})`.execute(
          await unguarded(trx),
        );
      });
  }
}

/** Serves the tenant there. Its own row, through which everything else is found, is copied last, with the keys of its tokens. */
async function arrive(from: Database, to: Database, { id, code }: TenantRow): Promise<void> {
  const rowsOf = async (table: 'mandator' | 'signing_key' | 'pepper') => {
    const { rows } = await sql<{ row: string }>`
      select to_jsonb(found)::text as row from ${sql.table(table)} as found
      where ${table === 'mandator' ? sql`found.id = ${id}` : sql`true`}`.execute(from);
    return rows.map(({ row }) => row);
  };
  const [mandator, keys, pepper] = [await rowsOf('mandator'), await rowsOf('signing_key'), await rowsOf('pepper')];
  await to.transaction().execute(async (trx) => {
    await insistOnRest(trx, id, 'Coming');
    await unguarded(trx);
    const onConflict = sql`on conflict do nothing`;
    await insertRows(trx, 'signing_key', keys, { onConflict });
    await insertRows(trx, 'pepper', pepper, { onConflict });
    await insertRows(trx, 'mandator', mandator, { onConflict });
    // Numbers the changes now: the sweep there skips all ids up to the last one that it has numbered.
    await sql`select place_changes(${id}, 2147483647)`.execute(trx);
    await sql`delete from move_mark where mandator_id = ${id}`.execute(trx);
    await serve(trx, { id, code });
  });
}

/** Gives up a move: the tenant is served where it was, and its copy is removed. @throws Conflict once it is served there */
export async function undoMove({ from, to, code }: Pick<TenantMove, 'from' | 'to' | 'code'>): Promise<void> {
  await insistOnTwo(from, to);
  const tenant = await getTenant(from, code);
  await alone(from, tenant, async () => {
    const place = await insistOnDestination(from, to, code);
    if (place === 'Gone') throw isBeingRemoved(code);
    if (await isServed(to, tenant))
      throw new Conflict(`The tenant ${code} is already served at the other installation; move it back from there.`);
    // From here on it can never be served there; only then may it be served here.
    if (!(await refuse(to, tenant)) && place === 'Left')
      throw new Conflict(
        `The tenant ${code} has left, but is no longer expected there: it was removed there after the move, or the move was abandoned there. If it is served nowhere, run "roomgate tenant thaw --lost" here.`,
      );
    await (place === 'Left' ? takeBack(from, tenant) : thaw(from, code));
    await dropCopy(to, tenant);
    await unpublish(from, tenant.id);
  });
}
