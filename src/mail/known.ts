/** The stored items of a calendar, for mail servers that report changes by ids alone. */
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import type { KnownItem, KnownItems } from '../mail-servers/service.ts';
import type { Calendar } from './reading.ts';

export function knownItems(db: Database, { mandatorId, id: calendarId }: Calendar): KnownItems {
  const ofCalendar = sql`mandator_id = ${mandatorId} and calendar_id = ${calendarId}`;
  return {
    async written(ids) {
      const { rows } = await sql<{ id: string; key: string | null }>`
        select native_id as id, change_key as key from mail_writing
        where ${ofCalendar} and native_id = any (${ids}::text[])`.execute(db);
      return new Map(rows.map(({ id, key }) => [id, key]));
    },
    async stored(ids, groups) {
      const { rows } = await sql<KnownItem>`
        select item_id as id, group_id as "group", occurrence, state = 'Gone' as "isGone" from mail_item
        where ${ofCalendar} and (item_id = any (${ids}::text[]) or group_id = any (${groups}::text[]))`.execute(db);
      return rows;
    },
    async hasSeries() {
      const { rows } = await sql`
        select from mail_item
        where ${ofCalendar} and occurrence <> '' and state <> 'Gone' and (upper(occupied) <= now()) is not true
        limit 1`.execute(db);
      return rows.length > 0;
    },
  };
}
