/** Reads lists of many parents: one statement for all that ask alike in one turn of the event loop. */
import { type Expression, type RawBuilder, sql } from 'kysely';
import { openGathering } from '../flow/gather.ts';
import { type Database, stateIn } from './database.ts';
import type { PageRequest, SortKey } from './paging.ts';

type Question<Viewer, Filter, Key extends SortKey> = {
  viewer: Viewer;
  parent: number;
  filter: Filter;
  page: PageRequest<Key>;
};

/** The rows of one parent's page, and one more if another page follows. */
export type ReadPerParent<Viewer, Filter, Key extends SortKey, Row> = (
  db: Database,
  question: Question<Viewer, Filter, Key>,
) => Promise<Row[]>;

/** @param select makes the query of one parent, whose id is the SQL expression `parent` */
export function readPerParent<Viewer extends object, Filter, Key extends SortKey, Row extends object>(
  select: (
    db: Database,
    parent: RawBuilder<number>,
    asked: Omit<Question<Viewer, Filter, Key>, 'parent'>,
  ) => Expression<Row>,
): ReadPerParent<Viewer, Filter, Key, Row> {
  type Asked = Question<Viewer, Filter, Key>;
  type Placed = Row & { parentId: number; place: number };

  async function answerAlike(db: Database, alike: readonly Asked[], [first] = alike): Promise<Map<number, Row[]>> {
    const parents = [...new Set(alike.map(({ parent }) => parent))];
    const list = select(db, sql<number>`parent.id`, first as Asked);
    const { rows } = await sql<Placed>`
      select parent.id as "parentId", page.* from unnest(${parents}::bigint[]) as parent(id)
      cross join lateral (select list.*, row_number() over () as place from (${list}) as list) as page
      order by parent.id, place`.execute(db);
    return Map.groupBy<number, Row>(rows, (row) => (row as Placed).parentId);
  }

  const gather = (db: Database) => {
    let count = 0;
    const ask = openGathering<Asked, Row[]>(async (questions) => {
      const viewers = [...new Set(questions.map(({ viewer }) => viewer))];
      const formOf = ({ viewer, filter, page }: Asked) => JSON.stringify([viewers.indexOf(viewer), filter, page]);
      const forms = Map.groupBy(questions, formOf);
      // Each form fails alone: a question that is refused takes none of another caller with it.
      const found = new Map([...forms].map(([form, alike]) => [form, answerAlike(db, alike)] as const));
      return questions.map(async (question) => (await found.get(formOf(question)))?.get(question.parent) ?? []);
    });
    return (question: Asked) => ask(String(count++), question);
  };

  return (db, question) => stateIn(db, gather)(question);
}
