/** The retention of problems, and the number of open ones. */
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { daysAgo } from '../db/days-ago.ts';
import { deletePortions, isForgotten } from '../db/portions.ts';

/** Deletes problems that were settled more than `days` ago. */
export async function forgetProblems(db: Database, days: number, signal?: AbortSignal): Promise<void> {
  const portion = sql`delete from room_problem where ${isForgotten('room_problem', sql`done_at < ${daysAgo(days)}`)}`;
  await deletePortions(db, portion, signal);
}

export const problemFigures = {
  roomgate_room_problems_open: {
    help: 'Open problems of rooms',
    read: async (db: Database) => {
      const { count } = await db
        .selectFrom('room_problem')
        .where('done_at', 'is', null)
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      return count;
    },
  },
};
