/**
 * Pages of one room's bookings in a window, the most frequent list. One statement reads all that are requested in a
 * turn.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Viewer } from '../context.ts';
import { type Database, stateIn } from '../db/database.ts';
import { runPrepared, type Statement } from '../db/prepared.ts';
import { openGathering } from '../flow/gather.ts';
import { selectRows } from './selection.ts';
import { describeBookings, type StoredRow } from './stored.ts';

/** The first page of a room's bookings between two instants: `limit` bookings and one more. */
export type RoomPage = { mandatorId: number; resourceId: number; from: Date; to: Date; limit: number };

/** Pages that one statement reads: parsing the rows of more would block the event loop. */
const mostTogether = 16;

type Row = StoredRow & { position: number };

/** The bookings of pages with the same limit, each with the `position` of its page from 1. */
export function selectPages(pages: readonly RoomPage[], limit: number): RawBuilder<Row> {
  const column = <Value>(name: string) => sql.ref(`asked.${name}`) as unknown as Value;
  const viewer = {
    mandatorId: column<number>('mandator'),
    role: 'User',
    hiddenRooms: [] as readonly number[],
  } as Viewer;
  const window = { from: column<Date>('since'), to: column<Date>('until') };
  const { rows } = selectRows(viewer, { resourceId: [column<number>('room')], ...window }, { limit, after: undefined });
  // The sub-selects hide the number of pages from PostgreSQL, as in `readById`.
  const asked = sql`rows from (
    unnest((select ${pages.map(({ mandatorId }) => mandatorId)}::integer[])),
    unnest((select ${pages.map(({ resourceId }) => resourceId)}::integer[])),
    unnest((select ${pages.map(({ from }) => from)}::timestamptz[])),
    unnest((select ${pages.map(({ to }) => to)}::timestamptz[]))) with ordinality
    as asked (mandator, room, since, until, position)`;
  const found = sql`select page.*, asked.position from ${asked} cross join lateral (${rows}) as page`;
  return sql<Row>`${describeBookings(found, sql`, booking.position`)}
    order by booking.position, lower(booking.occupied), booking.id`;
}

async function readPages(db: Database, pages: readonly RoomPage[]): Promise<Row[][]> {
  const found = pages.map((): Row[] => []);
  const byLimit = Map.groupBy(pages.keys(), (at) => (pages[at] as RoomPage).limit);
  for (const [limit, places] of byLimit) {
    const asked = [...places];
    const query = selectPages(
      asked.map((place) => pages[place] as RoomPage),
      limit,
    ).compile(db);
    const statement: Statement = { name: 'pages of rooms', sql: query.sql };
    for (const row of await runPrepared<Row>(db, statement, query.parameters))
      found[asked[row.position - 1] as number]?.push(row);
  }
  return found;
}

/** Statements that run at a time in one process. */
const mostAtOnce = 2;

const gather = (db: Database) =>
  openGathering<RoomPage, Row[]>((pages) => readPages(db, pages), { mostAtOnce, mostTogether });

/** @param db not in a transaction */
export const readRoomPage = (db: Database, page: RoomPage): Promise<StoredRow[]> =>
  stateIn(db, gather)(JSON.stringify(page), page);
