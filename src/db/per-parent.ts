/** Answers queries about many parents together: equal queries of one turn of the event loop share one answer. */
import { type Expression, type RawBuilder, sql } from 'kysely';
import { openGathering } from '../flow/gather.ts';
import { tenantNow, workFor } from '../flow/working.ts';
import { type Database, stateIn } from './database.ts';
import { type List, type Page, type PageRequest, type SortKey, toPage, wholeList } from './paging.ts';
import { executePrepared } from './prepared.ts';

/** An id in a filter: a value, or an SQL expression for the id of each parent whose lists are read together. */
export type IdOfParent<Id = number> = Id | RawBuilder<Id>;

type Question<Viewer, Asked, Id> = { viewer: Viewer; parent: Id; asked: Asked };
type AskOfParent<Viewer, Asked, Id, Answer> = (db: Database, question: Question<Viewer, Asked, Id>) => Promise<Answer>;

/** @param answerAlike returns the answers by parent; undefined where there is none */
export function answerPerParent<Viewer extends object, Asked, Id, Answer>(
  answerAlike: (
    db: Database,
    parents: Id[],
    question: Omit<Question<Viewer, Asked, Id>, 'parent'>,
  ) => Promise<ReadonlyMap<Id, Answer>>,
): AskOfParent<Viewer, Asked, Id, Answer | undefined> {
  type Whole = Question<Viewer, Asked, Id> & { tenant: number | undefined };
  const gather = (db: Database) => {
    let count = 0;
    const ask = openGathering<Whole, Answer | undefined>(async (questions) => {
      const viewers = [...new Set(questions.map(({ viewer }) => viewer))];
      const formOf = ({ viewer, asked }: Whole) => JSON.stringify([viewers.indexOf(viewer), asked]);
      const answers = new Array<Promise<Answer | undefined>>(questions.length);
      // Each form fails alone: a refused query does not fail those of other callers.
      for (const alike of Map.groupBy(questions.keys(), (at) => formOf(questions[at] as Whole)).values()) {
        const first = questions[alike[0] as number] as Whole;
        const parents = [...new Set(alike.map((at) => (questions[at] as Whole).parent))];
        const found = workFor(first.tenant, () => answerAlike(db, parents, first));
        for (const at of alike) answers[at] = found.then((answer) => answer.get((questions[at] as Whole).parent));
      }
      return answers;
    });
    return (question: Whole) => ask(String(count++), question);
  };
  return (db, question) => stateIn(db, gather)({ ...question, tenant: tenantNow() });
}

/** The filter and the page of a list of each parent. */
type AskedList<Filter, Key extends SortKey> = { filter: Filter; page: PageRequest<Key> };

/** Makes the query of one parent, whose id is the SQL expression `parent`. */
export type SelectOfParent<Viewer, Filter, Key extends SortKey, Row, Id = number> = (
  db: Database,
  parent: RawBuilder<Id>,
  asked: AskedList<Filter, Key> & { viewer: Viewer },
) => Expression<Row>;

/** The rows of one parent's page, and one more if another page follows. */
export type ReadPerParent<Viewer, Filter, Key extends SortKey, Row, Id = number> = AskOfParent<
  Viewer,
  AskedList<Filter, Key>,
  Id,
  Row[]
>;

/**
 * Reads lists of many parents by one statement.
 * @param dependsOnValues whether the best plan depends on the values in the filter; then the statement is not prepared, as
 * PostgreSQL might keep a plan for any values
 */
export function readPerParent<
  Viewer extends object,
  Filter,
  Key extends SortKey,
  Row extends object,
  Id extends number | string = number,
>(
  select: SelectOfParent<Viewer, Filter, Key, Row, Id>,
  idType: 'bigint' | 'uuid' = 'bigint',
  dependsOnValues: (filter: Filter) => boolean = () => false,
): ReadPerParent<Viewer, Filter, Key, Row, Id> {
  type Placed = Row & { parentId: Id; place: number };
  const read = answerPerParent<Viewer, AskedList<Filter, Key>, Id, Row[]>(async (db, parents, { viewer, asked }) => {
    const list = select(db, sql<Id>`parent.id`, { viewer, ...asked });
    // The sub-select hides the number of parents from PostgreSQL, as in `readById`.
    const query = sql<Placed>`
      select parent.id as "parentId", page.*
      from unnest((select ${parents}::${sql.raw(idType)}[])) as parent(id)
      cross join lateral (select list.*, row_number() over () as place from (${list}) as list) as page
      order by parent.id, place`.compile(db);
    const rows = dependsOnValues(asked.filter)
      ? (await db.executeQuery(query)).rows
      : await executePrepared(db, 'lists of parents', query);
    return Map.groupBy<Id, Row>(rows, (row) => (row as Placed).parentId);
  });
  return async (db, question) => (await read(db, question)) ?? [];
}

/** Counts lists of many parents by one statement. */
export function countPerParent<Viewer extends object, Filter, Key extends SortKey, Row extends object>(
  select: SelectOfParent<Viewer, Filter, Key, Row>,
): AskOfParent<Viewer, Filter, number, number> {
  const count = answerPerParent<Viewer, Filter, number, number>(async (db, parents, { viewer, asked }) => {
    const list = select(db, sql<number>`parent.id`, { viewer, filter: asked, page: wholeList });
    const { rows } = await sql<{ parentId: number; count: number }>`
      select parent.id as "parentId", counted.count
      from unnest(${parents}::bigint[]) as parent(id)
      cross join lateral (select count(*)::int as count from (${list}) as list) as counted`.execute(db);
    return new Map(rows.map(({ parentId, count }) => [parentId, count]));
  });
  return async (db, question) => (await count(db, question)) ?? 0;
}

/** Pages of lists of many parents, and their lengths: one statement for all pages, one for all requested lengths. */
export function pagePerParent<Viewer extends object, Filter, Row extends object>(
  list: List<Row>,
  select: SelectOfParent<Viewer, Filter, number, Row>,
) {
  const [read, count] = [readPerParent(select), countPerParent(select)];
  return async (
    db: Database,
    viewer: Viewer,
    parent: number,
    { filter, page }: AskedList<Filter, number>,
  ): Promise<Page<Row>> => {
    const rows = await read(db, { viewer, parent, asked: { filter, page } });
    return { ...toPage(list, rows, page), count: () => count(db, { viewer, parent, asked: filter }) };
  };
}
