/** The only writer of holiday_calendar and holiday, except that fetching.ts records how each reading went. */
import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import { refuseDuplicate } from '../flow/database-errors.ts';
import { nameTaken } from '../records.ts';
import type { Holiday, HolidayReading, ReadHolidays } from './reading.ts';

export type HolidayCalendar = {
  id: number;
  /** Null: for all locations. */
  locationId: number | null;
  name: string;
  /** Whether its holidays close the location; otherwise they are only shown. */
  closes: boolean;
  /** Null: its file was sent. */
  url: string | null;
  /** When it was last read successfully. */
  readAt: Date | null;
  /** Why the latest reading failed. */
  fault: string | null;
  faultAt: Date | null;
  /** The outcome of the last successful reading; null if there was none yet. */
  reading: HolidayReading | null;
  version: number;
};

/** The most holiday calendars of a tenant. */
export const mostCalendars = 50;

export const columns = [
  'id',
  'location_id as locationId',
  'name',
  'closes',
  'url',
  'read_at as readAt',
  'fault',
  'fault_at as faultAt',
  sql<HolidayReading | null>`reading`.as('reading'),
  'version',
] as const;

/** Either the holidays themselves or the address at which they are read. */
type HolidaySource = { read?: ReadHolidays | undefined; url?: string | undefined };
type CalendarMembers = Pick<HolidayCalendar, 'name' | 'closes' | 'locationId'>;

/** What a reading sets besides the holidays. */
export const readingColumns = ({ reading }: ReadHolidays) => ({
  read_at: sql<Date>`now()`,
  reading: JSON.stringify(reading),
});

/** The columns that change with a new address or with new holidays. */
const sourceColumns = ({ read, url }: HolidaySource) => {
  const none = { etag: null, fault: null, fault_at: null, reading: null };
  if (read) return { ...none, ...readingColumns(read), url: null, due_at: null };
  return url === undefined ? {} : { ...none, url, due_at: sql<Date>`now()` };
};

const refuseTaken = refuseDuplicate(nameTaken('holiday calendar'));

export const subjectOf = ({ id, name }: HolidayCalendar) => ({ noun: 'HolidayCalendar' as const, id, name });

/** The server of an address: the rest may be a secret. */
export const originOf = (url: string): string => new URL(url).origin;

/** The members of a calendar that the audit records: nothing about readings. */
export const auditedMembers = ({ name, locationId, closes, url }: HolidayCalendar) => ({
  name,
  locationId,
  closes,
  url: url && new URL(url),
});

/** @param fields the tenant and the location are locked by the caller @throws Conflict */
export async function insertCalendar(
  trx: Transaction,
  mandatorId: number,
  fields: CalendarMembers & HolidaySource,
): Promise<HolidayCalendar> {
  const { locationId: location_id, name, closes, read } = fields;
  const made = await trx
    .insertInto('holiday_calendar')
    .values({ mandator_id: mandatorId, location_id, name, closes, ...sourceColumns(fields) })
    .returning(columns)
    .executeTakeFirstOrThrow()
    .catch(refuseTaken);
  if (read) await writeHolidays(trx, mandatorId, made.id, read.holidays);
  return made;
}

/** @param found the calendar, locked by the caller @throws Conflict */
export async function updateCalendar(
  trx: Transaction,
  mandatorId: number,
  found: HolidayCalendar,
  changes: Partial<CalendarMembers> & HolidaySource,
): Promise<HolidayCalendar> {
  const { locationId = found.locationId, name = found.name, closes = found.closes, read } = changes;
  const isSameSource =
    changes.url === undefined
      ? read !== undefined && found.url === null && (await hasHolidays(trx, mandatorId, found.id, read.holidays))
      : changes.url === found.url;
  const changed = await trx
    .updateTable('holiday_calendar')
    .set({
      location_id: locationId,
      name,
      closes,
      ...(isSameSource ? {} : sourceColumns(changes)),
      // Replaced holidays are a change too, even if no column differs.
      ...(read && !isSameSource && found.url === null && { version: sql<number>`holiday_calendar.version + 1` }),
    })
    .where('mandator_id', '=', mandatorId)
    .where('id', '=', found.id)
    .returning(columns)
    .executeTakeFirstOrThrow()
    .catch(refuseTaken);
  if (read && !isSameSource) await writeHolidays(trx, mandatorId, found.id, read.holidays);
  return changed;
}

/** Whether a calendar has exactly these holidays. */
async function hasHolidays(
  trx: Transaction,
  mandatorId: number,
  calendarId: number,
  holidays: readonly Holiday[],
): Promise<boolean> {
  const found = await trx
    .selectFrom('holiday')
    .where('mandator_id', '=', mandatorId)
    .where('calendar_id', '=', calendarId)
    .select(['from_date as fromDate', 'to_date as toDate', 'name'])
    .orderBy('id')
    .execute();
  const members = holidays.map(({ fromDate, toDate, name }) => ({ fromDate, toDate, name }));
  return isDeepStrictEqual(found, members);
}

/** Replaces all holidays of a calendar, which the caller has locked. */
export async function writeHolidays(
  trx: Transaction,
  mandatorId: number,
  calendarId: number,
  holidays: readonly Holiday[],
): Promise<void> {
  await trx.deleteFrom('holiday').where('mandator_id', '=', mandatorId).where('calendar_id', '=', calendarId).execute();
  await sql`
    insert into holiday (mandator_id, calendar_id, from_date, to_date, name)
    select ${mandatorId}, ${calendarId}, "fromDate", "toDate", name
    from jsonb_to_recordset(${JSON.stringify(holidays)}) as sent("fromDate" date, "toDate" date, name text)`.execute(
    trx,
  );
}
