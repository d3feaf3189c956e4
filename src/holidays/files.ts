/** Holiday calendars of tenant files. */
import type { AuditedAct } from '../acts.ts';
import type { Database, Transaction } from '../db/database.ts';
import { type HolidayReading, type ReadHolidays, readListed } from './reading.ts';
import { toHoliday, toWrittenHolidays, type WrittenSource } from './schema.ts';
import { columns, type HolidayCalendar, insertCalendar, subjectOf, toldOf, updateCalendar } from './stored.ts';

/** Reads where the holidays of each calendar of a tenant come from; of an address they are not told, as they follow it. */
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

/** What is read of the holidays that a tenant file lists; undefined where they come from an address, or stay. */
export const tellSource = (source: Partial<WrittenSource>): HolidayReading | undefined => readSource(source)?.reading;

/** A calendar as it will be; its source is left out where it stays. */
export type AppliedCalendar = Pick<HolidayCalendar, 'name' | 'closes' | 'locationId'> & {
  /** Undefined for a new one. */
  id: number | undefined;
  source: Partial<WrittenSource>;
};

/**
 * Writes the calendars of a tenant file. The caller holds the tenant, and those that there are.
 * @returns what the audit keeps of it
 * @throws Conflict when somebody has just made one of these names
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
      const record = { before: null, after: toldOf(made) };
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
    const record = { before: toldOf(found), after: toldOf(changed) };
    acts.push({ action: 'change holiday calendar', subject: subjectOf(changed), record });
  }
  return acts;
}
