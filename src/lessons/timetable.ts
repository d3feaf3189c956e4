/** The timetable as it has been imported: jobs and their lessons, read by contract 4. */
import { type RawBuilder, sql } from 'kysely';
import { z } from 'zod';
import { checkBatchUser, maySeePrivate } from '../access.ts';
import type { LessonOrigin } from '../bookings/service.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { type List, longIdKey, type Page, type PageRequest, toPage } from '../db/paging.ts';
import { storableText } from '../storable.ts';

// What lessons have, for GraphQL.
export { type Booking, getBooking } from '../bookings/service.ts';

export type Job = {
  id: number;
  jobId: string;
  bezeichnung: string | null;
  quelle: string | null;
  standort: string | null;
  bemerkung: string | null;
  lessonCount: number;
  /** The batch that created it. */
  batchId: string;
  createdAt: Date;
  changedAt: Date;
  createdBy: { personId: number; displayName: string };
};

export const jobList: List<Job> = { name: 'jobs', key: longIdKey, keyOf: ({ id }) => id };

/**
 * Beginn in microseconds, the job's id, LektionId: beginnings coincide, and a LektionId is unique in its job only. The
 * microseconds are a text, for from 2255 on they are more than a number holds.
 */
export type LessonKey = [beginn: string, job: number, lektionId: string];

export type Lesson = {
  key: LessonKey;
  lektionId: string;
  jobId: string;
  beginn: Date;
  ende: Date;
  resourceName: string;
  resourceId: number;
  titel: string | null;
  fach: string | null;
  bemerkung: string | null;
  klassen: string[] | null;
  lehrpersonen: string[] | null;
  status: string;
  kopplungId: string | null;
  privat: boolean;
  bookingId: number;
  origin: LessonOrigin | null;
};

export const lessonList: List<Lesson, LessonKey> = {
  name: 'lessons',
  key: z.tuple([
    // As far as the instants of PostgreSQL go.
    z.string().regex(/^(-\d{1,17}|\d{1,18})$/),
    longIdKey,
    storableText,
  ]),
  keyOf: ({ key }) => key,
};

export type LessonFilter = {
  jobId?: string | undefined;
  /** Compared as everywhere; may name rooms of several locations. */
  resourceName?: string | undefined;
  /** Lessons that overlap [from, to). */
  from?: Date | undefined;
  to?: Date | undefined;
};

/** What others see in the place of a private lesson's content, as of a private booking (contract 5.2). */
const occupiedOnly = {
  titel: 'Belegt',
  fach: null,
  bemerkung: null,
  klassen: null,
  lehrpersonen: null,
  kopplungId: null,
  origin: null,
};

/** The jobs of the tenant, newest first; an unknown JobID gives an empty page. @throws Forbidden for a display */
export async function listJobs(
  db: Database,
  viewer: Viewer,
  filter: { jobId?: string | undefined },
  page: PageRequest,
): Promise<Page<Job>> {
  checkBatchUser(viewer);
  const rows = await selectJobs(db, viewer, filter, page).execute();
  const jobs = rows.map((row) => ({
    id: row.id,
    jobId: row.job_id,
    bezeichnung: row.bezeichnung,
    quelle: row.quelle,
    standort: row.standort,
    bemerkung: row.bemerkung,
    lessonCount: row.lesson_count ?? 0,
    batchId: row.batch_id,
    createdAt: row.created_at,
    changedAt: row.changed_at,
    createdBy: { personId: row.created_by, displayName: row.created_by_name },
  }));
  return toPage(jobList, jobs, page.limit);
}

/** The query of `listJobs`. */
export function selectJobs(
  db: Database,
  { mandatorId }: Viewer,
  { jobId }: { jobId?: string | undefined },
  { limit, after }: PageRequest,
) {
  return db
    .selectFrom('lesson_job as job')
    .innerJoin('person', (join) =>
      join.onRef('person.mandator_id', '=', 'job.mandator_id').onRef('person.id', '=', 'job.created_by'),
    )
    .selectAll('job')
    .select('person.name as created_by_name')
    .select((eb) =>
      eb
        .selectFrom('lesson')
        .whereRef('lesson.mandator_id', '=', 'job.mandator_id')
        .whereRef('lesson.job', '=', 'job.id')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .as('lesson_count'),
    )
    .where('job.mandator_id', '=', mandatorId)
    .$if(jobId !== undefined, (query) => query.where('job.job_id', '=', jobId as string))
    .$if(after !== undefined, (query) => query.where('job.id', '<', sql<number>`${after}::bigint`))
    .orderBy('job.id', 'desc')
    .limit(limit + 1);
}

/**
 * The lessons of the tenant in order of Beginn; an unknown JobID or room gives an empty page. Of a private lesson only
 * Admins and who sent its job see the content. @throws Forbidden for a display
 */
export async function listLessons(
  db: Database,
  viewer: Viewer,
  filter: LessonFilter,
  page: PageRequest<LessonKey>,
): Promise<Page<Lesson>> {
  checkBatchUser(viewer);
  const { rows } = await selectLessons(viewer, filter, page).execute(db);
  const lessons = rows.map(({ micros, job, sender, ...lesson }): Lesson => {
    const key: LessonKey = [micros, job, lesson.lektionId];
    const hidden = lesson.privat && !maySeePrivate(viewer, [sender]);
    return { key, ...lesson, ...(hidden && occupiedOnly) };
  });
  return toPage(lessonList, lessons, page.limit);
}

type LessonRow = Omit<Lesson, 'key'> & { micros: string; job: number; sender: number };

/** The query of `listLessons`. A room's lessons are found by room and time, a job's by the job. */
export function selectLessons(
  { mandatorId }: Viewer,
  { jobId, resourceName, from, to }: LessonFilter,
  { limit, after }: PageRequest<LessonKey>,
): RawBuilder<LessonRow> {
  const most = sql`${limit + 1}::int`;
  const order = sql`lesson.beginn, lesson.job, lesson.lektion_id`;
  const room = sql`room.mandator_id = ${mandatorId}
    ${resourceName === undefined ? sql`` : sql`and room.name_key = name_key(${resourceName})`}`;
  // No lesson lasts longer than 24 hours: that bounds where to look for those that have begun before.
  const wanted = sql`
    ${from ? sql`and lesson.ende > ${from} and lesson.beginn > ${from}::timestamptz - interval '24 hours'` : sql``}
    ${to ? sql`and lesson.beginn < ${to}` : sql``}
    ${after ? sql`and (${order}) > (timestamptz 'epoch' + (${after[0]} || ' microseconds')::interval, ${after[1]}::bigint, ${after[2]})` : sql``}`;
  const ofRoom = sql`from lesson where lesson.mandator_id = room.mandator_id and lesson.resource_id = room.id ${wanted}`;
  // Of many rooms the page ends long before most of their lessons: as many as it holds begin up to this instant.
  const horizon = sql`and lesson.beginn <= coalesce((
    select early.beginn from resource as room
    cross join lateral (
      select lesson.beginn ${ofRoom} order by lesson.beginn limit ${Math.ceil(limit / 50)}) as early
    where ${room} order by early.beginn offset ${limit} limit 1), 'infinity')`;
  const found =
    jobId === undefined
      ? sql`
        select lesson.*, room.name from resource as room
        cross join lateral (
          select * ${ofRoom} ${resourceName === undefined ? horizon : sql``}
          order by lesson.beginn fetch first (${most}) rows with ties) as lesson
        where ${room} order by ${order} limit ${most}`
      : sql`
        select lesson.*, room.name from lesson
        join resource as room on room.mandator_id = lesson.mandator_id and room.id = lesson.resource_id
        where lesson.mandator_id = ${mandatorId} and ${room} ${wanted}
          and lesson.job = (select id from lesson_job where mandator_id = ${mandatorId} and job_id = ${jobId})
        order by ${order} limit ${most}`;
  return sql<LessonRow>`
    select lektion_id as "lektionId", job.job_id as "jobId", beginn, ende, lesson.name as "resourceName",
      resource_id as "resourceId", titel, fach, lesson.bemerkung, klassen, lehrpersonen, status,
      kopplung_id as "kopplungId", privat, booking_id as "bookingId", ursprung as origin, lesson.job,
      (extract(epoch from beginn) * 1000000)::bigint::text as micros, job.created_by as sender
    from (${found}) as lesson
    join lesson_job as job on job.mandator_id = lesson.mandator_id and job.id = lesson.job
    order by ${order}`;
}
