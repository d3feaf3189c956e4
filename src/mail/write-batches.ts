/** Writes items in batches, looks up those whose outcome is unknown, and tells a failing item from a failing server. */
import { sql } from 'kysely';
import { contain } from '../containment.ts';
import type { Turn } from '../flow/turns.ts';
import {
  type Connector,
  mayConcernLookup,
  mayConcernOneItem,
  ServerFault,
  type Write,
  type WriteOutcome,
} from '../mail-servers/service.ts';
import type { MailWork } from '../mail-subscriptions/service.ts';
import { fewFailing, logFailing, mostFailures, reasonOf } from './failing.ts';
import { readOthers } from './stored-items.ts';
import { editOf, takeOver } from './take-over.ts';
import type { WantedBooking, WrittenCalendar } from './wanted.ts';
import {
  adopt,
  after,
  failed,
  isDone,
  mostCancelled,
  originOf,
  type PlannedWrite,
  settle,
  type WrittenRow,
} from './written.ts';
import { save } from './written-rows.ts';

/** Items that one request looks up; fewer if the server takes fewer writes at once. */
const mostFoundAtOnce = 20;

/** Items of a batch that are logged one by one. */
const mostLogged = 10;

export type Session = {
  context: MailWork;
  calendar: WrittenCalendar;
  writes: NonNullable<Connector['writes']>;
  wanted: ReadonlyMap<number, WantedBooking>;
  /** How many of the items that were looked up somebody has deleted. */
  deleted: number;
  /** How many items were looked up; how many could not be, and why. */
  known: number;
  unknown: number;
  fault: unknown;
  /** How many writes succeeded. */
  written: number;
  signal: AbortSignal;
};

/** An item whose write has failed, and its row since. */
type Failing = { row: WrittenRow; error: unknown };

export const lookUpSize = ({ writes }: Session) => Math.min(mostFoundAtOnce, writes.atOnce);

/** Stores rows and the counts of what was done. */
async function conclude(
  session: Session,
  rows: readonly { before: WrittenRow; now: WrittenRow }[],
  { written = 0, taken = 0 }: { written?: number; taken?: number },
): Promise<void> {
  const { context, calendar } = session;
  const { mandatorId, calendarId, mandator, mailbox } = calendar;
  session.written += written;
  const disputed = rows.filter(({ before, now }) => now.putBacksSince !== null && now.putBacks !== before.putBacks);
  await context.work.transaction().execute(async (trx) => {
    await save(
      trx,
      calendar,
      rows.map(({ now }) => now),
    );
    await sql`
      update mail_calendar set items_written = items_written + ${written}, put_backs = put_backs + ${disputed.length},
        taken_over = taken_over + ${taken},
        writing_failures = case when ${written} > 0 then 0 else writing_failures end
      where mandator_id = ${mandatorId} and id = ${calendarId}`.execute(trx);
  });
  // Earlier refusals do not slow down a calendar that can be written again.
  if (written > 0) calendar.failures = 0;
  for (const { now } of disputed.slice(0, mostLogged))
    context.log.warn({ mandator, mailbox, bookingId: now.bookingId, state: now.state }, 'item was changed there');
}

/** Each write that has failed once is sent alone, to tell which one is the cause. */
function nextBatch(steps: readonly PlannedWrite[], at: number, atOnce: number): readonly PlannedWrite[] {
  const some = steps.slice(at, at + atOnce);
  const again = some.findIndex(({ row }) => row.failures > 0);
  return again === -1 ? some : some.slice(0, Math.max(1, again));
}

/**
 * Writes until the time is over.
 * @returns whether each item was written, was refused or rests, so that nothing is left to do
 * @throws what failed, if all of the first few writes have: then the calendar rests
 */
export async function writeSteps(
  session: Session,
  steps: readonly PlannedWrite[],
  turn: Turn,
  until: number,
): Promise<boolean> {
  const failing: Failing[] = [];
  let [at, written, isWhole] = [0, 0, true];
  while (at < steps.length && performance.now() <= until) {
    const batch = nextBatch(steps, at, session.writes.atOnce);
    const outcomes = await writeBatch(session, batch);
    at += batch.length;
    written += outcomes.filter(({ is }) => is === 'Done').length;
    for (const [index, outcome] of outcomes.entries())
      if (outcome.is === 'Failed')
        failing.push({ row: after(batch[index]!, outcome, Date.now()), error: outcome.error });
    if (outcomes.some(({ is }) => is !== 'Failed')) turn.answered();
    const isKnown = outcomes.every(({ is }) => is !== 'Changed' && is !== 'Gone');
    isWhole &&= outcomes.length === batch.length && isKnown;
    if (written === 0 && failing.length >= fewFailing) break;
  }
  if (failing.length > 0) await lookUpFailing(session, failing, turn, written > 0);
  return isWhole && at === steps.length;
}

async function writeBatch(session: Session, steps: readonly PlannedWrite[]): Promise<WriteOutcome[]> {
  const { context, calendar, writes, signal } = session;
  const rows = steps.map(({ row }) => row);
  await context.work.transaction().execute((trx) => save(trx, calendar, rows));
  const asked = steps.map(({ write }) => write);
  const outcomes = await contain(() => writes.write(calendar, asked, signal)).catch((error: unknown) => {
    if (signal.aborted || !mayConcernOneItem(error)) throw error;
    return asked.map((): WriteOutcome => ({ is: 'Failed', error }));
  });
  const done = steps.slice(0, outcomes.length).map((step, at) => ({
    before: step.row,
    now: after(step, outcomes[at]!, Date.now()),
  }));
  await conclude(session, done, { written: outcomes.filter(({ is }) => is === 'Done').length });
  return outcomes;
}

/** Looks up items whose writes have failed. What is not as it should be is recorded there, and tried again later. */
async function lookUpFailing(
  session: Session,
  failing: readonly Failing[],
  turn: Turn,
  hasWritten: boolean,
): Promise<void> {
  const { context, calendar } = session;
  const found = new Map<number, WrittenRow>();
  for (let at = 0, size: number; at < failing.length; at += size) {
    size = lookUpSize(session);
    const rows = failing.slice(at, at + size).map(({ row }) => row);
    for (const row of await lookUp(session, rows)) found.set(row.bookingId, row);
    turn.answered();
  }
  const left = failing.flatMap(({ row, error }) => {
    const now = found.get(row.bookingId);
    if (!now || now.state === 'Conflict' || isDone(row, now)) return [];
    const isOfAccount = error instanceof ServerFault && error.fault === 'AccessLost';
    return { now, row, error, rests: hasWritten || (row.failures >= mostFailures && !isOfAccount) };
  });
  const { mandator, mailbox } = calendar;
  for (const { row, error } of left.slice(0, mostLogged))
    logFailing(context, { mandator, mailbox, bookingId: row.bookingId }, error, 'item not written');
  const rows = left.map(({ now, row, error, rests }) => failed(row, now, reasonOf(error), rests, Date.now()));
  await context.work.transaction().execute((trx) => save(trx, calendar, rows));
  const [first] = left;
  if (first && !hasWritten && (left.length >= fewFailing || left.some(({ rests }) => !rests))) throw first.error;
}

type LookedUpItem = Awaited<ReturnType<Session['writes']['find']>>[number];

const generationsOf = ({ generation, lostGenerations }: WrittenRow) => [generation, ...lostGenerations];

/**
 * Asks for the items of rows. If the request fails, each row is asked for alone, so that one item holds up no other.
 * @returns the rows that were asked for, and their items
 * @throws what failed, if all of the first few requests have
 */
async function findItems(
  session: Session,
  rows: readonly WrittenRow[],
): Promise<{ asked: readonly WrittenRow[]; found: LookedUpItem[] }> {
  const { context, calendar, writes, signal } = session;
  async function find(some: readonly WrittenRow[]): Promise<LookedUpItem[] | undefined> {
    const origins = some.flatMap((row) =>
      generationsOf(row).map((generation) => originOf({ ...row, generation }, calendar.mandatorUid)),
    );
    try {
      return await contain(() => writes.find(calendar, origins, signal));
    } catch (error) {
      if (signal.aborted || !mayConcernLookup(error)) throw error;
      session.fault = error;
      return undefined;
    }
  }
  const all = await find(rows);
  if (all) {
    session.known += rows.length;
    return { asked: rows, found: all };
  }
  const isServer = () => session.known === 0 && session.unknown >= fewFailing;
  const asked: WrittenRow[] = [];
  const found: LookedUpItem[] = [];
  const failing: WrittenRow[] = [];
  for (const row of rows) {
    const own = rows.length > 1 ? await find([row]) : undefined;
    if (own) {
      session.known += 1;
      asked.push(row);
      found.push(...own);
    } else {
      session.unknown += 1;
      failing.push({ ...row, failures: row.failures + 1 });
    }
    if (isServer()) break;
  }
  // Rows that have failed are asked for last.
  await context.work.transaction().execute((trx) => save(trx, calendar, failing));
  if (isServer()) throw session.fault;
  return { asked, found };
}

/** Looks up the items of rows whose outcome is unknown, or that somebody may have changed. @returns the rows that are known now */
export async function lookUp(session: Session, inDoubt: readonly WrittenRow[]): Promise<WrittenRow[]> {
  const { context, calendar, writes, wanted } = session;
  const { asked: rows, found } = await findItems(session, inDoubt);
  if (rows.length === 0) return [];
  const own = new Set(rows.map(({ nativeId }) => nativeId));
  const unknown = found.filter(({ id }) => !own.has(id)).map(({ id }) => id);
  const others = await readOthers(context.work, calendar, unknown);
  const named = Map.groupBy(
    found.filter(({ id }) => !others.has(id)),
    ({ item }) => item.origin,
  );
  const strays: Write[] = [];
  const looked = rows.map((asked) => {
    const there = generationsOf(asked).flatMap((generation) => {
      const items = named.get(originOf({ ...asked, generation }, calendar.mandatorUid));
      return items ? [{ generation, items }] : [];
    });
    const [first, ...strange] = there;
    for (const { id, changeKey, item } of strange.flatMap(({ items }) => items))
      strays.push({ do: 'Remove', origin: item.origin, at: { id, changeKey } });
    const row = !first || first.generation === asked.generation ? asked : adopt(asked, first.generation);
    // Further items with the same mark are copies.
    const one = first?.items.find(({ id }) => id === row.nativeId) ?? first?.items[0];
    return { row, one, edit: editOf(row, one, wanted.get(row.bookingId)) };
  });
  // The rows are still in doubt, so if this process is killed here, the next job looks them up again.
  if (strays.length > 0) await removeStrays(session, strays);
  session.deleted += looked.filter(({ edit }) => edit === null).length;
  const isEmptied = session.deleted > mostCancelled;
  const settled: { before: WrittenRow; now: WrittenRow }[] = [];
  let taken = 0;
  for (const { row, one, edit } of looked) {
    let booking = wanted.get(row.bookingId);
    if (booking && edit !== undefined && !(edit === null && isEmptied)) {
      const outcome = await takeOver(context.work, calendar.mandatorId, booking, edit);
      if (outcome === 'Later') continue;
      if (outcome === 'Taken') {
        taken += 1;
        const { mandator, mailbox } = calendar;
        context.log.info({ mandator, mailbox, bookingId: row.bookingId }, 'booking follows its item');
        const { start, end, subject = booking.subject } = edit ?? booking;
        booking = edit === null ? undefined : { ...booking, start, end, subject };
      }
    }
    settled.push({ before: row, now: settle(row, one, booking, Date.now(), writes.mayDouble) });
  }
  await conclude(session, settled, { taken });
  return settled.map(({ now }) => now);
}

/** Removes items of generations that were given up. A later reading finds what stays, so it holds nothing up. */
async function removeStrays({ context, calendar, writes, signal }: Session, strays: readonly Write[]): Promise<void> {
  try {
    await contain(() => writes.write(calendar, strays, signal));
  } catch (error) {
    if (signal.aborted || !mayConcernOneItem(error)) throw error;
    const { mandator, mailbox } = calendar;
    context.log.warn({ mandator, mailbox, err: (error as Error).message }, 'items that were given up are not removed');
  }
}
