/** The persons for whom a viewer may book, as callers see them who book for others. */
import { sql } from 'kysely';
import { checkOnBehalf, checkReader } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { pageById } from '../db/page-query.ts';
import { idKey, type List, type Page, type PageRequest, toPage } from '../db/paging.ts';

export type PersonName = { personId: number; displayName: string };

export const organizerList: List<PersonName> = { name: 'organizers', key: idKey, keyOf: ({ personId }) => personId };

/**
 * The active persons of the tenant by id, without displays.
 * @param filter.search beginnings of words of the name
 * @throws Forbidden for a caller who may not book for others
 */
export async function listOrganizers(
  db: Database,
  viewer: Viewer,
  { search }: { search?: string | undefined },
  page: PageRequest,
): Promise<Page<PersonName>> {
  const { mandatorId } = viewer;
  checkReader(viewer);
  const policy = await db
    .selectFrom('policy')
    .where('mandator_id', '=', mandatorId)
    .where(sql<boolean>`may_book_for_others && ${viewer.groupIds}::integer[]`)
    .select('may_book_for_others as mayBookForOthers')
    .limit(1)
    .executeTakeFirst();
  checkOnBehalf(viewer, policy ?? null, null);
  const isFound = sql<boolean>`search_key(array[name]) like all (search_patterns(${search}))`;
  const rows = await db
    .selectFrom('person')
    .where('mandator_id', '=', mandatorId)
    .where('active', '=', true)
    .where('role', '<>', 'Display')
    .$if(search !== undefined, (query) => query.where(isFound))
    .select(['id as personId', 'name as displayName'])
    .$call(pageById('id', page))
    .execute();
  return toPage(organizerList, rows, page);
}
