/** The only writer of holiday_calendar and holiday. */
import { sql } from 'kysely';
import { checkAdmin, checkReader, checkVersion } from '../access.ts';
import { recordAct } from '../acts.ts';
import type { Act, Versions, Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { pageById } from '../db/page-query.ts';
import { idKey, type List, type Page, type PageRequest, toPage } from '../db/paging.ts';
import { Conflict, InvalidInput, NotFound } from '../errors.ts';
import { isDuplicate } from '../flow/database-errors.ts';
import { Unreadable } from '../time/ical-lines.ts';
import { type Holiday, readHolidays } from './reading.ts';

export type HolidayCalendar = {
  id: number;
  /** Null: of all locations. */
  locationId: number | null;
  name: string;
  /** Whether its holidays close, or are only shown. */
  closes: boolean;
  /** Null: its file was sent. */
  url: string | null;
  /** When it was read successfully last. */
  readAt: Date | null;
  /** Why the latest reading failed. */
  fault: string | null;
  faultAt: Date | null;
  version: number;
};

/** Either the text of an .ics file or its address. */
type IcsSource = { ics?: string | undefined; url?: string | undefined };
export type NewCalendar = Pick<HolidayCalendar, 'name' | 'closes' | 'locationId'> & IcsSource;
export type HolidayCalendarChanges = Partial<Pick<HolidayCalendar, 'name' | 'closes' | 'locationId'>> & IcsSource;

export const calendarList: List<HolidayCalendar> = { name: 'holiday calendars', key: idKey, keyOf: ({ id }) => id };

const columns = [
  ...(['id', 'location_id as locationId', 'name', 'closes', 'url', 'read_at as readAt', 'fault'] as const),
  ...(['fault_at as faultAt', 'version'] as const),
] as const;

const calendarsOf = (db: Database, { mandatorId }: Viewer) =>
  db.selectFrom('holiday_calendar').where('mandator_id', '=', mandatorId).select(columns);

/** The holiday calendars of the tenant by id. @throws Forbidden */
export async function listCalendars(
  db: Database,
  viewer: Viewer,
  { locationId }: { locationId?: number | undefined },
  page: PageRequest,
): Promise<Page<HolidayCalendar>> {
  checkAdmin(viewer);
  const rows = await calendarsOf(db, viewer)
    .$if(locationId !== undefined, (query) => query.where('location_id', '=', locationId as number))
    .$call(pageById('id', page))
    .execute();
  return toPage(calendarList, rows, page);
}

const unknown = () => new NotFound('There is no holiday calendar of this id.');

/** @throws Forbidden; NotFound, also for one of another tenant */
export async function getCalendar(db: Database, viewer: Viewer, id: number): Promise<HolidayCalendar> {
  checkAdmin(viewer);
  const found = await calendarsOf(db, viewer).where('id', '=', id).executeTakeFirst();
  if (!found) throw unknown();
  return found;
}

const invalid = (field: string, code: string, text: string) => {
  const message = `${field}: ${text}.`;
  return new InvalidInput(message, [{ field, pointer: `/${field}`, code, message }]);
};

/** @throws InvalidInput for a text that is no calendar */
function readSent(ics: string): Holiday[] {
  try {
    return readHolidays(ics, new Date());
  } catch (error) {
    if (error instanceof Unreadable) throw invalid('Ics', 'InvalidValue', `cannot be read: ${error.message}`);
    throw error;
  }
}

/** @throws InvalidInput for both or, where one is needed, none */
function checkSource({ ics, url }: IcsSource, { needed }: { needed: boolean }): void {
  if (ics !== undefined && url !== undefined)
    throw invalid('Url', 'InvalidValue', 'must not stand beside Ics; send the file or its address');
  if (needed && ics === undefined && url === undefined)
    throw invalid('Ics', 'MissingField', 'is missing; send the text of an .ics file, or its address as Url');
}

/** Keeps the location from going away. @throws InvalidInput for one that is not of this tenant */
async function checkLocation(trx: Transaction, mandatorId: number, id: number | null | undefined): Promise<void> {
  if (id == null) return;
  const found = await trx
    .selectFrom('location')
    .where('mandator_id', '=', mandatorId)
    .where('id', '=', sql<number>`${id}::bigint`)
    .select('id')
    .forKeyShare()
    .executeTakeFirst();
  if (!found) throw invalid('LocationId', 'UnknownLocation', 'there is no location of this id');
}

/** What an address or a text that was sent sets besides the holidays. */
const sourceColumns = ({ ics, url }: IcsSource) => {
  const none = { etag: null, fault: null, fault_at: null };
  if (ics !== undefined) return { ...none, url: null, due_at: null, read_at: sql<Date>`now()` };
  return url === undefined ? {} : { ...none, url, due_at: sql<Date>`now()` };
};

const refuseDuplicate = (error: unknown): never => {
  throw isDuplicate(error) ? new Conflict('Another holiday calendar has this name already; choose another.') : error;
};

const subjectOf = ({ id, name }: HolidayCalendar) => ({ noun: 'HolidayCalendar' as const, id, name });

/** @throws Forbidden, InvalidInput, Conflict */
export function createCalendar(db: Database, act: Act, fields: NewCalendar): Promise<HolidayCalendar> {
  const { viewer } = act;
  checkAdmin(viewer);
  checkSource(fields, { needed: true });
  const holidays = fields.ics === undefined ? undefined : readSent(fields.ics);
  return db.transaction().execute(async (trx) => {
    await checkLocation(trx, viewer.mandatorId, fields.locationId);
    await checkCount(trx, viewer.mandatorId);
    const { locationId: location_id, name, closes } = fields;
    const made = await trx
      .insertInto('holiday_calendar')
      .values({ mandator_id: viewer.mandatorId, location_id, name, closes, ...sourceColumns(fields) })
      .returning(columns)
      .executeTakeFirstOrThrow()
      .catch(refuseDuplicate);
    if (holidays) await writeHolidays(trx, viewer.mandatorId, made.id, holidays);
    await recordAct(trx, act, 'create holiday calendar', subjectOf(made), { before: null, after: toldOf(made) });
    return made;
  });
}

const mostCalendars = 50;

/** Those of a tenant are counted one creation after another. @throws Conflict */
async function checkCount(trx: Transaction, mandatorId: number): Promise<void> {
  await trx.selectFrom('mandator').where('id', '=', mandatorId).select('id').forNoKeyUpdate().execute();
  const { count } = await trx
    .selectFrom('holiday_calendar')
    .where('mandator_id', '=', mandatorId)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  if (count >= mostCalendars)
    throw new Conflict(
      `A tenant has at most ${mostCalendars} holiday calendars; delete one that is not needed any more.`,
    );
}

/** Readings are no members of the record. Of an address only the server: the rest may be a secret. */
const toldOf = ({ name, locationId, closes, url }: HolidayCalendar) => ({
  name,
  locationId,
  closes,
  url: url && new URL(url).origin,
});

/** @throws NotFound, PreconditionFailed */
async function holdCalendar(trx: Transaction, viewer: Viewer, id: number, expected: Versions) {
  const found = await calendarsOf(trx, viewer).where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
  if (!found) throw unknown();
  checkVersion(found, expected);
  return found;
}

/**
 * Changes the given members; a new file or address replaces the holidays, those of an address once it has been read.
 * @throws Forbidden, NotFound, PreconditionFailed, InvalidInput, Conflict
 */
export function changeCalendar(
  db: Database,
  act: Act,
  id: number,
  expected: Versions,
  changes: HolidayCalendarChanges,
): Promise<HolidayCalendar> {
  const { viewer } = act;
  checkAdmin(viewer);
  checkSource(changes, { needed: false });
  const holidays = changes.ics === undefined ? undefined : readSent(changes.ics);
  return db.transaction().execute(async (trx) => {
    await checkLocation(trx, viewer.mandatorId, changes.locationId);
    const found = await holdCalendar(trx, viewer, id, expected);
    const { locationId = found.locationId, name = found.name, closes = found.closes } = changes;
    const isSameUrl = changes.url !== undefined && changes.url === found.url;
    const changed = await trx
      .updateTable('holiday_calendar')
      .set({
        location_id: locationId,
        name,
        closes,
        ...(isSameUrl ? {} : sourceColumns(changes)),
        // A new file is a change although no column tells.
        ...(holidays && found.url === null && { version: sql<number>`holiday_calendar.version + 1` }),
      })
      .where('mandator_id', '=', viewer.mandatorId)
      .where('id', '=', id)
      .returning(columns)
      .executeTakeFirstOrThrow()
      .catch(refuseDuplicate);
    if (holidays) await writeHolidays(trx, viewer.mandatorId, id, holidays);
    await recordAct(trx, act, 'change holiday calendar', subjectOf(changed), {
      before: toldOf(found),
      after: toldOf(changed),
    });
    return changed;
  });
}

/** Its holidays no longer close anything. @throws Forbidden, NotFound, PreconditionFailed */
export function deleteCalendar(db: Database, act: Act, id: number, expected: Versions): Promise<HolidayCalendar> {
  const { viewer } = act;
  checkAdmin(viewer);
  return db.transaction().execute(async (trx) => {
    const found = await holdCalendar(trx, viewer, id, expected);
    await trx
      .deleteFrom('holiday_calendar')
      .where('mandator_id', '=', viewer.mandatorId)
      .where('id', '=', id)
      .execute();
    await recordAct(trx, act, 'delete holiday calendar', subjectOf(found));
    return found;
  });
}

/** Replaces all holidays of a calendar, which the caller holds. */
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

export type ListedHoliday = Holiday & { id: number; calendarId: number; locationId: number | null; closes: boolean };
export const holidayList: List<ListedHoliday> = { name: 'holidays', key: idKey, keyOf: ({ id }) => id };
type HolidayFilter = {
  /** Also those of all locations. */
  locationId?: number | undefined;
  calendarId?: number | undefined;
  /** Local dates, inclusive. */
  from?: string | undefined;
  to?: string | undefined;
};

/** The holidays that touch the dates, by id. @throws Forbidden for a display */
export async function listHolidays(
  db: Database,
  viewer: Viewer,
  { locationId, calendarId, from, to }: HolidayFilter,
  page: PageRequest,
): Promise<Page<ListedHoliday>> {
  checkReader(viewer);
  const rows = await db
    .selectFrom('holiday')
    .innerJoin('holiday_calendar as calendar', (join) =>
      join.onRef('calendar.mandator_id', '=', 'holiday.mandator_id').onRef('calendar.id', '=', 'holiday.calendar_id'),
    )
    .where('holiday.mandator_id', '=', viewer.mandatorId)
    .select(['holiday.id', 'holiday.calendar_id as calendarId', 'calendar.location_id as locationId', 'holiday.name'])
    .select(['holiday.from_date as fromDate', 'holiday.to_date as toDate', 'calendar.closes'])
    .$if(locationId !== undefined, (query) =>
      query.where(({ eb, or }) =>
        or([eb('calendar.location_id', 'is', null), eb('calendar.location_id', '=', locationId as number)]),
      ),
    )
    .$if(calendarId !== undefined, (query) => query.where('calendar.id', '=', calendarId as number))
    .$if(from !== undefined, (query) => query.where('holiday.to_date', '>=', from as string))
    .$if(to !== undefined, (query) => query.where('holiday.from_date', '<=', to as string))
    .$call(pageById('holiday.id', page))
    .execute();
  return toPage(holidayList, rows, page);
}
