/** Holiday calendars of tenant files. */
import type { AuditedAct } from '../acts.ts';
import type { Database, Transaction } from '../db/database.ts';
import { type HolidayReading, type ReadHolidays, readListed } from './reading.ts';
import { toHoliday, toWrittenHolidays, type WrittenSource } from './schema.ts';
import { auditedMembers, columns, type HolidayCalendar, insertCalendar, subjectOf, updateCalendar } from './stored.ts';

/** Reads the source of each holiday calendar of a tenant: its address, or its holidays if it has none. */
export async function readSources(db: Database, mandatorId: number): Promise<(calendarId: number) => WrittenSource> {
  const holidays = await db
    .selectFrom('holiday')
    .innerJoin('holiday_calendar as calendar', (join) =>
      join.onRef('calendar.mandator_id', '=', 'holiday.mandator_id').onRef('calendar.id', '=', 'holiday.calendar_id'),
    )
    .where('holiday.mandator_id', '=', mandatorId)
    .where('calendar.url', 'is', null)
    .select(['calendar_id as calendarId', 'from_date as fromDate', 'to_date as toDate', 'holiday.name'])
    .execute();
  const calendars = await db
    .selectFrom('holiday_calendar')
    .where('mandator_id', '=', mandatorId)
    .select(['id', 'url'])
    .execute();
  const ofCalendar = Map.groupBy(holidays, ({ calendarId }) => calendarId);
  const urls = new Map(calendars.map(({ id, url }) => [id, url]));
  return (id) => {
    const Url = urls.get(id) ?? null;
    return Url === null ? { Holidays: toWrittenHolidays(ofCalendar.get(id) ?? []) } : { Url };
  };
}

const readSource = (source: Partial<WrittenSource>): ReadHolidays | undefined =>
  'Holidays' in source ? readListed((source.Holidays ?? []).map(toHoliday), new Date()) : undefined;

/** The result of reading the holidays that a tenant file lists; undefined if they come from an address, or do not change. */
export const readingOf = (source: Partial<WrittenSource>): HolidayReading | undefined => readSource(source)?.reading;

/** A calendar of a tenant file. Without a `source`, it keeps its holidays. */
export type AppliedCalendar = Pick<HolidayCalendar, 'name' | 'closes' | 'locationId'> & {
  /** Undefined for a new one. */
  id: number | undefined;
  source: Partial<WrittenSource>;
};

/**
 * Writes the calendars of a tenant file. The caller has locked the tenant and its existing calendars.
 * @returns the acts for the audit
 * @throws Conflict if another caller has just taken one of the names
 */
export async function applyCalendars(
  trx: Transaction,
  mandatorId: number,
  calendars: readonly AppliedCalendar[],
): Promise<AuditedAct[]> {
  const acts: AuditedAct[] = [];
  for (const { id, source, ...members } of calendars) {
    const fields = {
      ...members,
      ...('Url' in source && { url: source.Url }),
      read: readSource(source),
    };
    if (id === undefined) {
      const made = await insertCalendar(trx, mandatorId, fields);
      const record = { before: null, after: auditedMembers(made) };
      acts.push({ action: 'create holiday calendar', subject: subjectOf(made), record });
      continue;
    }
    const found = await trx
      .selectFrom('holiday_calendar')
      .where('mandator_id', '=', mandatorId)
      .where('id', '=', id)
      .select(columns)
      .executeTakeFirstOrThrow();
    const changed = await updateCalendar(trx, mandatorId, found, fields);
    const record = { before: auditedMembers(found), after: auditedMembers(changed) };
    acts.push({ action: 'change holiday calendar', subject: subjectOf(changed), record });
  }
  return acts;
}
