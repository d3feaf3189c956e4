/** Holiday calendars, for Admins, and their holidays, for all. */
import { checkAdmin, checkReader } from '../access.ts';
import { recordAct } from '../acts.ts';
import type { Act, Versions, Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { transactOrGiveUp } from '../db/lock-timeout.ts';
import { pageById, readCounted } from '../db/page-query.ts';
import { idKey, type List, type Page, type PageRequest, toPage } from '../db/paging.ts';
import { readById } from '../db/read-by-id.ts';
import { checkRecordLimit } from '../db/record-limit.ts';
import { keepRow } from '../db/row-lock.ts';
import { InvalidInput, memberFault } from '../errors.ts';
import { changeHeld, deleteHeld, finderOf, getterOf, type HeldKind, lockOne, unknownReference } from '../records.ts';
import { Unreadable } from '../time/ical-lines.ts';
import { checkDates } from '../time/period.ts';
import { type Holiday, type ReadHolidays, readHolidays } from './reading.ts';
import {
  auditedMembers,
  columns,
  type HolidayCalendar,
  insertCalendar,
  mostCalendars,
  subjectOf,
  updateCalendar,
} from './stored.ts';

/** Either the text of an .ics file or its address. */
type IcsSource = { ics?: string | undefined; url?: string | undefined };
export type NewCalendar = Pick<HolidayCalendar, 'name' | 'closes' | 'locationId'> & IcsSource;
export type HolidayCalendarChanges = Partial<Pick<HolidayCalendar, 'name' | 'closes' | 'locationId'>> & IcsSource;

export const calendarList: List<HolidayCalendar> = { name: 'holiday calendars', key: idKey, keyOf: ({ id }) => id };

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
  const list = calendarsOf(db, viewer).$if(locationId !== undefined, (query) =>
    query.where('location_id', '=', locationId as number),
  );
  return await readCounted(db, calendarList, page, (part) => list.$call(pageById('id', part)));
}

const calendars: HeldKind<HolidayCalendar, 'holiday calendar'> = {
  noun: 'holiday calendar',
  lock: (trx, viewer, id) => lockOne(calendarsOf(trx, viewer).where('id', '=', id)),
  subjectOf,
  auditedMembers,
};

const calendarById = readById<HolidayCalendar>('holiday calendar by id', (from) =>
  from('holiday_calendar').select(columns),
);

/** @throws Forbidden */
export const findCalendar = finderOf(calendarById, checkAdmin);

/** @throws Forbidden, NotFound */
export const getCalendar = getterOf(calendars.noun, findCalendar);

const invalid = (...about: Parameters<typeof memberFault>) => InvalidInput.of(memberFault(...about));

/** @throws InvalidInput for a text that is not iCalendar */
async function readSent(ics: string): Promise<ReadHolidays> {
  try {
    return await readHolidays(ics, new Date());
  } catch (error) {
    if (error instanceof Unreadable) throw invalid('Ics', 'InvalidValue', `cannot be read: ${error.message}`);
    throw error;
  }
}

/** @throws InvalidInput for a text that is no calendar, for both sources and, if one is required, for none */
async function readSource({ ics, url }: IcsSource, { needed }: { needed: boolean }): Promise<ReadHolidays | undefined> {
  if (ics !== undefined && url !== undefined)
    throw invalid('Url', 'InvalidValue', 'cannot be combined with Ics; send either the file or its address');
  if (needed && ics === undefined && url === undefined)
    throw invalid('Ics', 'MissingField', 'is missing; send the text of an .ics file, or its address as Url');
  return ics === undefined ? undefined : await readSent(ics);
}

/** Locks the location against deletion. @throws InvalidInput for a location that is not of this tenant */
async function checkLocation(trx: Transaction, mandatorId: number, id: number | null | undefined): Promise<void> {
  if (id == null || (await keepRow(trx, 'location', mandatorId, id))) return;
  throw unknownReference('Location');
}

/** @throws Forbidden, InvalidInput, Conflict */
export async function createCalendar(db: Database, act: Act, fields: NewCalendar): Promise<HolidayCalendar> {
  const { viewer } = act;
  checkAdmin(viewer);
  const read = await readSource(fields, { needed: true });
  return await transactOrGiveUp(db, 'The tenant', async (trx) => {
    await checkLocation(trx, viewer.mandatorId, fields.locationId);
    await checkRecordLimit(trx, viewer.mandatorId, {
      table: 'holiday_calendar',
      noun: 'holiday calendars',
      most: mostCalendars,
    });
    const made = await insertCalendar(trx, viewer.mandatorId, { ...fields, read });
    await recordAct(trx, act, 'create holiday calendar', subjectOf(made), {
      before: null,
      after: auditedMembers(made),
    });
    return made;
  });
}

/**
 * Changes the given members. A new file replaces the holidays at once, a new address when it was read. Sending what is already
 * stored changes nothing. @throws Forbidden, NotFound, PreconditionFailed, InvalidInput, Conflict
 */
export async function changeCalendar(
  db: Database,
  act: Act,
  id: number,
  expected: Versions,
  changes: HolidayCalendarChanges,
): Promise<HolidayCalendar> {
  const { viewer } = act;
  checkAdmin(viewer);
  const read = await readSource(changes, { needed: false });
  return await db.transaction().execute(async (trx) => {
    await checkLocation(trx, viewer.mandatorId, changes.locationId);
    return await changeHeld(trx, act, calendars, { id, expected }, (found) =>
      updateCalendar(trx, viewer.mandatorId, found, { ...changes, read }),
    );
  });
}

/** Deletes a calendar; its holidays no longer close anything. @throws Forbidden, NotFound, PreconditionFailed */
export function deleteCalendar(db: Database, act: Act, id: number, expected: Versions): Promise<HolidayCalendar> {
  const { viewer } = act;
  checkAdmin(viewer);
  return db
    .transaction()
    .execute((trx) =>
      deleteHeld(trx, act, calendars, { id, expected }, () =>
        trx.deleteFrom('holiday_calendar').where('mandator_id', '=', viewer.mandatorId).where('id', '=', id).execute(),
      ),
    );
}

export type ListedHoliday = Holiday & { id: number; calendarId: number; locationId: number | null; closes: boolean };
export const holidayList: List<ListedHoliday> = { name: 'holidays', key: idKey, keyOf: ({ id }) => id };
type HolidayFilter = {
  /** Includes the holidays that are for all locations. */
  locationId?: number | undefined;
  calendarId?: number | undefined;
  /** Local dates, inclusive. */
  from?: string | undefined;
  to?: string | undefined;
};

/** The holidays that touch the dates, by id. @throws Forbidden for a display; Malformed for dates that end before they begin */
export async function listHolidays(
  db: Database,
  viewer: Viewer,
  { locationId, calendarId, from, to }: HolidayFilter,
  page: PageRequest,
): Promise<Page<ListedHoliday>> {
  checkReader(viewer);
  checkDates({ from, to });
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
