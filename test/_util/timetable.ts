import { expect } from '@jest/globals';
import { sql } from 'kysely';
import { makeTenant } from './factories.ts';
import { type BatchRecord, type Lesson, lessonClient } from './lessons.ts';
import type { Service } from './service.ts';

/** A lesson as the API answers it. */
export type LessonRecord = Lesson & {
  JobID: string;
  RessourceId: number;
  Titel: string | null;
  Fach: string | null;
  Bemerkung: string | null;
  Klassen: string[] | null;
  Lehrpersonen: string[] | null;
  Status: string;
  KopplungId: string | null;
  Privat: boolean;
  BookingId: number;
  Ursprung: Record<string, unknown> | null;
};

export type Booking = { status: string; version: number; kind: string; subject: string | null; at: string };

const hour = 3_600_000;
const monday = Date.UTC(2031, 0, 6);
const instant = (hours: number) => `${new Date(monday + hours * hour).toISOString().slice(0, 19)}Z`;

const hourOf = (time: string | Date) => (new Date(time).getTime() - monday) / hour;

/** Beginn and Ende by the hours of one Monday. */
export const at = (from: number, to = from + 1) => ({ Beginn: instant(from), Ende: instant(to) });

/** A lesson of one hour, unless `more` says otherwise. */
export function lesson(
  LektionId: string,
  RessourceName: string,
  from: number,
  more: Record<string, unknown> = {},
): Lesson {
  return { LektionId, RessourceName, ...at(from), ...more };
}

let tenants = 0;

/** A tenant of its own, with what a test does to its timetable and sees of it. */
export async function enterTenant(service: Service, rooms = ['A', 'B', 'C', 'D', 'E']) {
  const { db } = service.context;
  const tenant = await makeTenant(db, { code: `tenant-${++tenants}`, rooms });
  const client = lessonClient({ url: service.url, tenant }, await service.signIn(tenant, 'Importer'));
  const roomId = (name: string) => tenant.resources.find((room) => room.name === name)?.id as number;

  /** Sends jobs and waits for the end; `operation` with its options: `update?OnConflict=Skip`. */
  const run = (operation: string, jobs: unknown) => client.importJobs(jobs, operation);

  /** As `run`, for what must succeed. */
  async function done(operation: string, jobs: unknown): Promise<BatchRecord> {
    const batch = await run(operation, jobs);
    expect([batch.ImportStatus, batch.ErrorMessages]).toEqual(['LessonsCreated', null]);
    return batch;
  }

  /** As `run`, for what must fail and leave everything as it is. @returns what was wrong */
  async function fails(operation: string, jobs: unknown): Promise<BatchRecord> {
    const before = await rows();
    const batch = await run(operation, jobs);
    expect(batch).toMatchObject({
      ImportStatus: 'LessonsImportFailed',
      FailureKind: 'Data',
      CreatedCount: 0,
    });
    expect(await rows()).toEqual(before);
    return batch;
  }

  /** Every lesson by its LektionId, of one job or of all. */
  async function lessons(jobId?: string): Promise<Record<string, LessonRecord>> {
    const found: LessonRecord[] = [];
    const filter = jobId === undefined ? '' : `&JobID=${jobId}`;
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await client.lessons(`Limit=200${filter}${cursor && `&Cursor=${cursor}`}`);
      found.push(...(page.Items as LessonRecord[]));
      cursor = page.NextCursor;
    }
    return Object.fromEntries(found.map((record) => [record.LektionId, record]));
  }

  /** Where each lesson is: `A 8` is room A at eight; in brackets when it is cancelled. */
  async function places(): Promise<Record<string, string>> {
    return Object.fromEntries(
      Object.entries(await lessons()).map(([id, { RessourceName, Beginn, Status }]) => {
        const place = `${RessourceName} ${hourOf(Beginn)}`;
        return [id, Status === 'Entfaellt' ? `(${place})` : place];
      }),
    );
  }

  /** Every booking by its id; `at` is room and time: `A 8-9`. */
  async function bookings(): Promise<Record<number, Booking>> {
    const { rows } = await sql<Booking & { id: number; room: string; start: Date; end: Date }>`
      select booking.id, booking.kind, status, booking.version, subject, name as room, lower(occupied) as start, upper(occupied) as end
      from booking join resource on resource.mandator_id = booking.mandator_id and resource.id = resource_id
      where booking.mandator_id = ${tenant.mandatorId} order by booking.id`.execute(db);
    return Object.fromEntries(
      rows.map(({ id, room, start, end, ...booking }) => [
        id,
        { ...booking, at: `${room} ${hourOf(start)}-${hourOf(end)}` },
      ]),
    );
  }

  /** The booking of a lesson. */
  async function bookingOf(lektionId: string): Promise<Booking & { id: number }> {
    const { BookingId } = (await lessons())[lektionId] as LessonRecord;
    return { id: BookingId, ...((await bookings())[BookingId] as Booking) };
  }

  /** A booking that no import has made. @returns its id */
  async function book(room: string, from: number, to: number, kind = 'Booking', status = 'Confirmed') {
    const { rows } = await sql<{ id: number }>`
      insert into booking (mandator_id, resource_id, kind, status, origin, occupied)
      values (${tenant.mandatorId}, ${roomId(room)}, ${kind}, ${status}, 'Api', tstzrange(${instant(from)}, ${instant(to)}))
      returning id`.execute(db);
    return rows[0]?.id as number;
  }

  /** Every row of the timetable, as it is stored. */
  async function rows(): Promise<unknown[]> {
    const ofTenant = (table: string) => sql`
      select to_jsonb(${sql.table(table)}) as row from ${sql.table(table)} where mandator_id = ${tenant.mandatorId}`;
    const found = await sql<{ row: unknown }>`
      select row from (${ofTenant('lesson_job')} union all ${ofTenant('lesson')} union all ${ofTenant('booking')}) as stored
      order by row::text`.execute(db);
    return found.rows.map(({ row }) => row);
  }

  return { tenant, client, roomId, run, done, fails, lessons, places, bookings, bookingOf, book, rows };
}

export type Timetable = Awaited<ReturnType<typeof enterTenant>>;

/** What a batch reports: place and code of each error or warning. */
export const told = ({ Errors }: BatchRecord) => Errors.map(({ Pointer, Code }) => `${Pointer} ${Code}`);
