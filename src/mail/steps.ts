/**
 * A long reading is done in steps, so that other readings get their turn in between. Each step stores its pages and where the
 * reading continues. The last one processes all of them in one transaction, as if they had come at once.
 */
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import type { Turn } from '../flow/turns.ts';
import {
  type CalendarPage,
  type Connector,
  checkItemCount,
  type KnownItems,
  type ReadingWindow,
  ServerFault,
  withoutVoid,
} from '../mail-servers/service.ts';
import { markCalendars } from '../mail-subscriptions/service.ts';
import { dayLength } from '../time/days.ts';
import { countItems } from './items.ts';
import { type Calendar, type Continuation, forgetSteps, isUnchanged, noFault, Overtaken } from './reading.ts';

/** After this many items, or this long, a step ends with the current page: soon enough for a quick turn (`flow/turns.ts`). */
const itemsOfStep = 2_000;
const stepWithinMs = 3_000;

export type Step = {
  window: ReadingWindow;
  pages: CalendarPage[];
  items: number;
  /** Whether the reading starts over, without the cursor and the earlier steps. */
  isAnew: boolean;
  /** What ended the step before the last page. */
  fault?: unknown;
};

export const isComplete = ({ pages }: Step): boolean => pages.at(-1)?.isLast === true;

/** Whether there are no earlier steps, or they are void. */
export const isFirst = ({ continuation }: Calendar, { isAnew, pages }: Step): boolean =>
  isAnew || continuation === null || pages[0]?.restarts === true;

/** The number of items of a reading up to and including a step. */
export function itemsSoFar(calendar: Calendar, step: Step): number {
  return step.items + (isFirst(calendar, step) ? 0 : calendar.continuationItems);
}

/**
 * Asks for the changes since the cursor, or for the whole window when the mail server no longer knows the cursor. Never throws.
 * @param turn.answered called with each page
 */
export async function readStep(
  { pages }: Connector,
  calendar: Calendar,
  known: KnownItems,
  days: { PastDays: number; FutureDays: number },
  { signal, answered }: Pick<Turn, 'signal' | 'answered'>,
): Promise<Step> {
  const { cursor, continuation, windowStart, windowEnd } = calendar;
  const until = performance.now() + stepWithinMs;
  const isOver = ({ items }: Step) => items >= itemsOfStep || performance.now() >= until;

  async function read(step: Step): Promise<Step> {
    const from = step.isAnew
      ? { cursor: null, continuation: null, known }
      : { cursor, continuation: continuation?.place ?? null, known };
    try {
      for await (const page of pages(calendar, from, step.window, signal)) {
        answered();
        step.pages = withoutVoid([...step.pages, page]);
        step.items = step.pages.reduce((sum, { groups }) => sum + countItems(groups), 0);
        checkItemCount(itemsSoFar(calendar, step));
        if (page.isLast || isOver(step)) break;
      }
      return step;
    } catch (fault) {
      return { ...step, fault };
    }
  }

  const now = Date.now();
  const whole = {
    start: new Date(now - days.PastDays * dayLength),
    end: new Date(now + days.FutureDays * dayLength),
  };
  const anew = (): Step => ({ window: whole, pages: [], items: 0, isAnew: true });
  if ((cursor === null && continuation === null) || !windowStart || !windowEnd) return await read(anew());
  const step = await read({ ...anew(), window: { start: windowStart, end: windowEnd }, isAnew: false });
  const isLost = step.fault instanceof ServerFault && step.fault.fault === 'StateLost';
  return isLost ? await read(anew()) : step;
}

type Kept = Pick<CalendarPage, 'groups' | 'removed' | 'unchanged' | 'isSlice' | 'restarts'>;

/**
 * Keeps a step that is not the last. The reading continues soon; after a fault, the caller records that with its pause.
 * @throws Overtaken
 */
export async function keepStep(db: Database, calendar: Calendar, step: Step): Promise<Continuation> {
  const { mandatorId, id, marks, dirtyBy, continuation } = calendar;
  const { window, pages, isAnew, fault } = step;
  const { cursor: place, address } = pages.at(-1) as CalendarPage;
  // Plus one for the mark below.
  const own = fault === undefined ? 1 : 0;
  const next: Continuation = { place, marks: (isAnew ? marks : (continuation?.marks ?? marks)) + own };
  const kept = pages.map(
    ({ groups, removed, unchanged = [], isSlice }): Kept => ({
      groups,
      removed,
      unchanged,
      ...(isSlice && { isSlice }),
    }),
  );
  await db.transaction().execute(async (trx) => {
    const { numAffectedRows } = await sql`
      update mail_calendar set continuation = ${JSON.stringify(next)},
        continuation_since = coalesce(continuation_since, now()),
        continuation_items = ${itemsSoFar(calendar, step)},
        cursor = case when not ${isAnew} then cursor end, window_start = ${window.start}, window_end = ${window.end},
        address = ${address}, readings = readings + 1
      where ${isUnchanged(calendar)}`.execute(trx);
    if (!numAffectedRows) throw new Overtaken();
    if (isFirst(calendar, step)) await forgetSteps(trx, mandatorId, [id]);
    if (kept.some(({ groups, removed, unchanged = [] }) => groups.length + removed.length + unchanged.length > 0))
      await sql`
        insert into mail_reading_page (mandator_id, calendar_id, page, content)
        select ${mandatorId}, ${id}, coalesce(max(page), 0) + 1, ${Buffer.from(JSON.stringify(kept))}
        from mail_reading_page where mandator_id = ${mandatorId} and calendar_id = ${id}`.execute(trx);
    if (fault !== undefined) return;
    await sql`
      update mail_calendar set ${noFault}, failures = 0, not_before = null
      where mandator_id = ${mandatorId} and id = ${id}`.execute(trx);
    await markCalendars(trx, [id], dirtyBy ?? 'Poll');
  });
  return next;
}

/** Reads the stored pages of the earlier steps, in their order. */
export async function readKept(db: Database, { mandatorId, id }: Calendar): Promise<Kept[]> {
  const { rows } = await sql<{ content: Buffer }>`
    select content from mail_reading_page where mandator_id = ${mandatorId} and calendar_id = ${id}
    order by page`.execute(db);
  return rows.flatMap(({ content }) => JSON.parse(content.toString('utf8'), revive) as Kept[]);
}

/** The members of items that are dates; no other member has these names. */
const instants = new Set(['start', 'end', 'changedAt']);
const revive = (name: string, value: unknown) =>
  instants.has(name) && typeof value === 'string' ? new Date(value) : value;
