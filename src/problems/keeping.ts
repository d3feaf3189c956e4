/** The retention of problems, and the number of open ones. */
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { daysAgo } from '../db/days-ago.ts';
import { rests } from '../db/resting.ts';

/** The most problems that one statement deletes. */
const forgottenAtOnce = 5_000;

/** Deletes problems that were settled more than `days` ago, some thousands at most. */
export async function forgetProblems(db: Database, days: number): Promise<void> {
  await sql`
    delete from room_problem where ctid = any (array(
      select ctid from room_problem where done_at < ${daysAgo(days)} and not ${rests(sql`room_problem.mandator_id`)}
      limit ${forgottenAtOnce} for update skip locked))`.execute(db);
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
