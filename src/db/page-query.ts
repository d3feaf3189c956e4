/** The bounds, order and limit of a query for one page. */
import { type Expression, type SelectQueryBuilder, sql } from 'kysely';
import type { Database } from './database.ts';
import { type List, type Page, type PageRequest, type SortKey, toPage, wholeList } from './paging.ts';

type PageQuery<Row> = Expression<Row> & { execute(): Promise<Row[]> };

/** Reads a page; its `count` is that of the whole list. @param select the query of a page */
export async function readCounted<Row>(
  db: Database,
  list: List<NoInfer<Row>>,
  page: PageRequest,
  select: (page: PageRequest) => PageQuery<Row>,
): Promise<Page<Row>> {
  async function count(): Promise<number> {
    const whole = select(wholeList);
    const { rows } = await sql<{ count: number }>`select count(*)::int as count from (${whole}) as list`.execute(db);
    return rows[0]?.count ?? 0;
  }
  return { ...toPage(list, await select(page).execute(), page), count };
}

/** The keys between which a page lies, in ascending order, and whether it is read in that order. */
export function boundsOf<Key extends SortKey>(
  { after, before, isBackward = false }: PageRequest<Key>,
  isFalling: boolean,
) {
  return {
    above: isFalling ? before : after,
    below: isFalling ? after : before,
    isRising: isFalling === isBackward,
  };
}

/** Bounds, order and limit of a page of a list sorted by id; one more row shows whether another page follows. */
export function pageById(column: string, page: PageRequest, order: 'asc' | 'desc' = 'asc') {
  const { above, below, isRising } = boundsOf(page, order === 'desc');
  const id = sql.ref<number>(column);
  return <Db, Tables extends keyof Db, Row>(
    query: SelectQueryBuilder<Db, Tables, Row>,
  ): SelectQueryBuilder<Db, Tables, Row> =>
    query
      .$if(above !== undefined, (some) => some.where(sql<boolean>`${id} > ${above}::bigint`))
      .$if(below !== undefined, (some) => some.where(sql<boolean>`${id} < ${below}::bigint`))
      .orderBy(id, isRising ? 'asc' : 'desc')
      .limit(page.limit + 1);
}
