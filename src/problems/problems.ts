/** Reported problems of rooms, for Admins: listed, followed and settled. */
import { sql } from 'kysely';
import { checkCaretaker } from '../access.ts';
import type { Act, Versions, Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { followList } from '../db/followed-list.ts';
import type { TopicChange } from '../db/notifications.ts';
import { pageById } from '../db/page-query.ts';
import { idKey, type List, type Page, type PageRequest, toPage } from '../db/paging.ts';
import { answerPerParent } from '../db/per-parent.ts';
import { lockRow } from '../db/row-lock.ts';
import { changeHeld, getterOf, type HeldKind } from '../records.ts';
import { type RoomProblem, selectProblems } from './stored.ts';

export type ProblemFilter = {
  state?: RoomProblem['state'] | undefined;
  kind?: RoomProblem['kind'] | undefined;
  resourceId?: number | undefined;
  displayId?: number | undefined;
};

export const problemList: List<RoomProblem> = { name: 'room problems', key: idKey, keyOf: ({ id }) => id };

/** Lists problems, the latest first. @throws Forbidden */
export async function listProblems(
  db: Database,
  viewer: Viewer,
  { state, kind, resourceId, displayId }: ProblemFilter,
  page: PageRequest,
): Promise<Page<RoomProblem>> {
  checkCaretaker(viewer);
  const rows = await selectProblems(db, viewer)
    .$if(state !== undefined, (query) => query.where('problem.done_at', state === 'Open' ? 'is' : 'is not', null))
    .$if(kind !== undefined, (query) => query.where('problem.kind', '=', kind as string))
    .$if(resourceId !== undefined, (query) => query.where('problem.resource_id', '=', resourceId as number))
    .$if(displayId !== undefined, (query) => query.where('problem.display_id', '=', displayId as number))
    .$call(pageById('problem.id', page, 'desc'))
    .execute();
  return toPage(problemList, rows, page);
}

const readByIds = (db: Database, viewer: Viewer, ids: readonly number[]) =>
  selectProblems(db, viewer)
    .where('problem.id', '=', sql<number>`any (${ids}::integer[])`)
    .orderBy('problem.id')
    .execute();

const problemsById = answerPerParent<Viewer, null, number, RoomProblem>(
  async (db, ids, { viewer }) => new Map((await readByIds(db, viewer, ids)).map((row) => [row.id, row])),
);

/** Finds a problem; calls of the same turn share one query. @throws Forbidden */
export async function findProblem(db: Database, viewer: Viewer, id: number): Promise<RoomProblem | undefined> {
  checkCaretaker(viewer);
  return await problemsById(db, { viewer, parent: id, asked: null });
}

const problems: HeldKind<RoomProblem> = {
  noun: 'room problem',
  lock: async (trx, viewer, id) => {
    // The lock needs a statement of its own, since the other reads rows of other tables too.
    await lockRow(trx, 'room_problem', viewer.mandatorId, id);
    const [found] = await readByIds(trx, viewer, [id]);
    return found;
  },
  subjectOf: ({ id, resourceName: name }) => ({ noun: 'RoomProblem', id, name }),
  auditedMembers: ({ kind, state }) => ({ kind, state }),
};

/** @throws Forbidden; NotFound, also for a problem of another tenant */
export const getProblem = getterOf(problems.noun, findProblem);

/** Settles a problem, or reopens it. @throws Forbidden, NotFound, PreconditionFailed */
export function changeProblem(
  db: Database,
  act: Act,
  id: number,
  expected: Versions,
  { state }: { state?: RoomProblem['state'] | undefined },
): Promise<RoomProblem> {
  const { viewer } = act;
  checkCaretaker(viewer);
  return db.transaction().execute((trx) =>
    changeHeld(trx, act, problems, { id, expected }, async (found) => {
      if (state === undefined || state === found.state) return found;
      const isDone = state === 'Done';
      await trx
        .updateTable('room_problem')
        .set({ done_at: isDone ? sql<Date>`now()` : null, done_by: isDone ? viewer.personId : null })
        .where('mandator_id', '=', viewer.mandatorId)
        .where('id', '=', id)
        .execute();
      const [changed] = await readByIds(trx, viewer, [id]);
      return changed as RoomProblem;
    }),
  );
}

/** The topic of the problems of a tenant, with their ids as keys. */
export const problemTopic = (viewer: Viewer) => `room_problem:${viewer.mandatorId}`;

/** Follows the open problems of the tenant (`followList`); a settled one is sent when it changes. @throws Forbidden */
export async function* watchProblems(
  db: Database,
  viewer: Viewer,
  changes: AsyncIterable<TopicChange>,
  signal: AbortSignal,
): AsyncGenerator<RoomProblem[]> {
  checkCaretaker(viewer);
  yield* followList(changes, signal, {
    listPage: (page) => listProblems(db, viewer, { state: 'Open' }, page),
    listByIds: (ids) => readByIds(db, viewer, ids),
  });
}
