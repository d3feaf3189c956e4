/** Reports of problems by displays. */
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { getOwnDisplay, mayShow } from '../access.ts';
import type { Context, Viewer } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import { lockRow } from '../db/row-lock.ts';
import { InvalidInput, LimitExceeded, memberFault } from '../errors.ts';
import { unknownReference } from '../records.ts';
import { type NewProblem, type RoomProblem, selectProblems } from './stored.ts';

/** The most open problems of one display. */
export const mostOpen = 20;
const mostPerMinute = 5;
const retryWhenFull = 3_600;

/**
 * Stores a problem of a room that the calling display shows. A report with a known key gets the stored problem as its answer.
 * @throws Forbidden for callers that are not devices; InvalidInput for a room that the display does not show, and for a key that
 * was used for another report; LimitExceeded
 */
export async function reportProblem(context: Context, viewer: Viewer, problem: NewProblem): Promise<RoomProblem> {
  const displayId = getOwnDisplay(viewer);
  const key = problem.key ?? randomUUID();
  if (!mayShow(viewer, problem.resourceId)) throw unknownReference('Resource');
  checkRate(context, viewer, displayId);
  return await context.db.transaction().execute(async (trx) => {
    // Reports of one display take turns, so that the count of its open problems is exact.
    await lockRow(trx, 'display', viewer.mandatorId, displayId);
    const find = () => selectProblems(trx, viewer).where('display.id', '=', displayId).where('problem.key', '=', key);
    const earlier = await find().executeTakeFirst();
    if (earlier) {
      if (earlier.resourceId !== problem.resourceId || earlier.kind !== problem.kind || earlier.text !== problem.text)
        throw usedKey();
      return earlier;
    }
    await checkOpen(trx, viewer, displayId);
    await trx
      .insertInto('room_problem')
      .values({
        mandator_id: viewer.mandatorId,
        resource_id: problem.resourceId,
        display_id: displayId,
        key,
        kind: problem.kind,
        text: problem.text,
        // An instant in the future is an error of the display's clock.
        reported_at: sql<Date>`least(coalesce(${problem.reportedAt}::timestamptz, now()), now())`,
      })
      .execute();
    return await find().executeTakeFirstOrThrow();
  });
}

const usedKey = () =>
  InvalidInput.of(memberFault('Key', 'InvalidValue', 'was used for another report before; use a new key for each'));

/** @throws LimitExceeded */
function checkRate({ rates }: Context, { mandatorId }: Viewer, displayId: number): void {
  const { used, resetsAt } = rates.count(`room-problems ${mandatorId} ${displayId}`);
  if (used > mostPerMinute) throw LimitExceeded.until(resetsAt, mostPerMinute, 'problems of one display in a minute');
}

/** @throws LimitExceeded */
async function checkOpen(trx: Transaction, { mandatorId }: Viewer, displayId: number): Promise<void> {
  const { count } = await trx
    .selectFrom('room_problem')
    .where('mandator_id', '=', mandatorId)
    .where('display_id', '=', displayId)
    .where('done_at', 'is', null)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  if (count >= mostOpen)
    throw new LimitExceeded(
      `This display already has ${mostOpen} open problems; an Admin must settle some before it can report more.`,
      retryWhenFull,
    );
}
