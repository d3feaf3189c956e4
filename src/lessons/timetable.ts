/** The lessons of the imported timetable (contract 4). */
import { type RawBuilder, sql } from 'kysely';
import { z } from 'zod';
import { checkBatchUser, inReach, maySeeAll, maySeePrivate } from '../access.ts';
import {
  busySubject,
  filtersByContent,
  getBooking,
  type LessonOrigin,
  lessonMatches,
  longestLesson,
  type Questions,
  windowOf,
} from '../bookings/service.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { boundsOf } from '../db/page-query.ts';
import { instantKey, type List, longIdKey, type Page, type PageRequest, toPage } from '../db/paging.ts';
import type { IdOfParent } from '../db/per-parent.ts';
import { storableText } from '../storable.ts';
import { dayLength } from '../time/days.ts';
import { checkPeriod } from '../time/period.ts';

/**
 * Beginn in microseconds, the job's id and the LektionId, which is unique in its job only. The microseconds are a text,
 * because from the year 2255 on they exceed a number.
 */
export type LessonKey = [beginn: string, job: number, lektionId: string];

export type Lesson = {
  key: LessonKey;
  lektionId: string;
  jobID: string;
  beginn: Date;
  ende: Date;
  ressourceName: string;
  ressourceId: number;
  titel: string | null;
  fach: string | null;
  bemerkung: string | null;
  klassen: string[] | null;
  lehrpersonen: string[] | null;
  status: string;
  kopplungId: string | null;
  privat: boolean;
  bookingId: number;
  ursprung: LessonOrigin | null;
};

export const lessonList: List<Lesson, LessonKey> = {
  name: 'lessons',
  key: z.tuple([instantKey, longIdKey, storableText]),
  keyOf: ({ key }) => key,
};

export type LessonFilter = Questions & {
  jobID?: string | undefined;
  lektionId?: string | undefined;
  /** In any case; may name rooms of several locations. */
  ressourceName?: string | undefined;
  /** Lessons that overlap [from, to). */
  from?: Date | undefined;
  to?: Date | undefined;
  /** Any of these. */
  status?: readonly string[] | undefined;
  /** Only changed lessons: found by their present place and, without a filter by content, by their former one. */
  changed?: boolean | undefined;
  /** By `beginn`. */
  order?: 'Ascending' | 'Descending' | undefined;
};

/** What others see of a private lesson, as of a private booking (contract 5.2). */
const occupiedOnly = {
  titel: busySubject,
  fach: null,
  bemerkung: null,
  klassen: null,
  lehrpersonen: null,
  kopplungId: null,
  ursprung: null,
};

/**
 * The lessons of the tenant in order of Beginn; an unknown JobID or room gives an empty page. Only Admins and the sender of
 * its job see the content of a private lesson. Filters by content or for changes need a window.
 * @throws Forbidden for a display; Malformed for a window that ends before it begins, and as `windowOf`
 */
export async function listLessons(
  db: Database,
  viewer: Viewer,
  filter: LessonFilter,
  page: PageRequest<LessonKey>,
): Promise<Page<Lesson>> {
  checkBatchUser(viewer);
  checkPeriod(filter);
  const { rows } = await selectLessons(
    viewer,
    filtersByContent(filter) || filter.changed ? { ...filter, ...windowOf(filter) } : filter,
    page,
  ).execute(db);
  return toPage(lessonList, toLessons(viewer, rows), page);
}

/** Lessons as the viewer may see them. */
export const toLessons = (viewer: Viewer, rows: readonly LessonRow[]): Lesson[] =>
  rows.map((row): Lesson => {
    const { micros, job, sender, ...lesson } = row;
    const key: LessonKey = [micros, job, lesson.lektionId];
    const hidden = lesson.privat && !maySeePrivate(viewer, [sender]);
    return { key, ...lesson, ...(hidden && occupiedOnly) };
  });

type OfParent = { jobOf?: IdOfParent; bookingOf?: IdOfParent; batchOf?: IdOfParent<string> };

/** @throws Forbidden for a display */
export const findLesson = async (
  db: Database,
  viewer: Viewer,
  which: { jobID: string; lektionId: string },
): Promise<Lesson | undefined> => (await listLessons(db, viewer, which, { limit: 1, after: undefined })).items[0];

/** @param id the job's id and the LektionId, with _ between them @throws Forbidden for a display */
export async function findLessonById(db: Database, viewer: Viewer, id: string): Promise<Lesson | undefined> {
  checkBatchUser(viewer);
  const [, job = '', text = ''] = /^([1-9]\d{0,15})_(.+)$/.exec(id) ?? [];
  const jobOf = longIdKey.safeParse(Number(job));
  const lektionId = storableText.safeParse(text);
  if (text === '' || !jobOf.success || !lektionId.success) return undefined;
  const wanted = { jobOf: jobOf.data, lektionId: lektionId.data };
  const { rows } = await selectLessons(viewer, wanted, { limit: 1, after: undefined }).execute(db);
  return toLessons(viewer, rows)[0];
}

/** The booking of a lesson; coupled lessons share one. */
export const getBookingOf = (db: Database, viewer: Viewer, { bookingId }: Lesson) => getBooking(db, viewer, bookingId);

export type LessonRow = Omit<Lesson, 'key'> & { micros: string; job: number; sender: number };

/** Keeps a filter by content from finding what `listLessons` hides, as `amongVisible` of bookings does for bookings. */
const amongVisible = (viewer: Viewer): RawBuilder<boolean> =>
  maySeeAll(viewer)
    ? sql`true`
    : sql`(not lesson.privat or ${viewer.personId} = (
        select created_by from lesson_job where mandator_id = lesson.mandator_id and id = lesson.job))`;

/** Whether a lesson differs from its first plan. One that has been changed back keeps its Ursprung. */
const isChanged = sql`(lesson.status <> 'Geplant' or lesson.ursprung is not null and (
    lesson.resource_id, lesson.beginn, lesson.ende, lesson.fach, coalesce(to_jsonb(lesson.lehrpersonen), 'null')
  ) is distinct from (
    lesson.origin_resource_id, (lesson.ursprung ->> 'Beginn')::timestamptz, (lesson.ursprung ->> 'Ende')::timestamptz,
    lesson.ursprung ->> 'Fach', lesson.ursprung -> 'Lehrpersonen'))`;

/** The keys of the changed lessons that are, or were before their change, in the window; found room by room. */
const changesIn = (viewer: Viewer, from: Date, to: Date) => sql`
  select changed.job, changed.lektion_id from resource as place
  cross join lateral (
    select job, lektion_id from lesson
    where lesson.mandator_id = place.mandator_id and lesson.resource_id = place.id and ${isChanged}
      and lesson.ende > ${from} and lesson.beginn > ${from}::timestamptz - ${longestLesson} and lesson.beginn < ${to}
    union all
    select job, lektion_id from lesson
    where lesson.mandator_id = place.mandator_id and lesson.origin_resource_id = place.id
      and lesson.ursprung ->> 'Beginn' > ${new Date(from.getTime() - dayLength).toISOString()}
      and lesson.ursprung ->> 'Beginn' < ${to.toISOString()} and lesson.ursprung ->> 'Ende' > ${from.toISOString()}
  ) as changed
  where place.mandator_id = ${viewer.mandatorId} ${inReach(viewer, 'place.id')}`;

/** The query of `listLessons`. Lessons are found by content, those of a job by the job, others by room and time. */
export function selectLessons(
  viewer: Viewer,
  filter: LessonFilter & OfParent,
  page: PageRequest<LessonKey>,
): RawBuilder<LessonRow> {
  const { mandatorId } = viewer;
  const { jobID, lektionId, ressourceName, from, to, status, jobOf, bookingOf, batchOf } = filter;
  const { limit } = page;
  const { above, below, isRising } = boundsOf(page, filter.order === 'Descending');
  const isDescending = !isRising;
  const key = sql`(lesson.beginn, lesson.job, lesson.lektion_id)`;
  const at = ([micros, job, lektion]: LessonKey) =>
    sql`(timestamptz 'epoch' + (${micros} || ' microseconds')::interval, ${job}::bigint, ${lektion})`;
  const isFound = filtersByContent(filter) && from !== undefined && to !== undefined;
  const changes = filter.changed && !isFound && from && to ? changesIn(viewer, from, to) : undefined;
  const most = sql`${limit + 1}::int`;
  const direction = isDescending ? sql`desc` : sql``;
  const order = sql`lesson.beginn ${direction}, lesson.job ${direction}, lesson.lektion_id ${direction}`;
  const room = sql`room.mandator_id = ${mandatorId}
    ${ressourceName === undefined ? sql`` : sql`and room.name_key = name_key(${ressourceName})`} ${inReach(viewer, 'room.id')}`;
  // The longest lesson bounds the search for lessons that reach into the window.
  const wanted = sql`
    ${from && !changes ? sql`and lesson.ende > ${from} and lesson.beginn > ${from}::timestamptz - ${longestLesson}` : sql``}
    ${to && !changes ? sql`and lesson.beginn < ${to}` : sql``}
    ${lektionId === undefined ? sql`` : sql`and lesson.lektion_id = ${lektionId}`}
    ${status ? sql`and lesson.status = any(${[...status]})` : sql``}
    ${isFound ? sql`and ${lessonMatches(viewer, { from, to }, filter)}` : sql``}
    ${changes ? sql`and (lesson.job, lesson.lektion_id) in (${changes})` : sql``}
    ${filter.changed ? sql`and ${isChanged}` : sql``}
    ${isFound || filter.changed ? sql`and ${amongVisible(viewer)}` : sql``}
    ${above ? sql`and ${key} > ${at(above)}` : sql``}
    ${below ? sql`and ${key} < ${at(below)}` : sql``}`;
  const ofRoom = sql`from lesson where lesson.mandator_id = room.mandator_id and lesson.resource_id = room.id ${wanted}`;
  // In many rooms, a page holds only the earliest lessons: at least a full page of them begins up to this instant.
  const horizon = sql`and lesson.beginn ${isDescending ? sql`>=` : sql`<=`} coalesce((
    select early.beginn from resource as room
    cross join lateral (
      select lesson.beginn ${ofRoom} order by lesson.beginn ${direction} limit ${Math.ceil(limit / 50)}) as early
    where ${room} order by early.beginn ${direction} offset ${limit} limit 1), ${isDescending ? sql`'-infinity'` : sql`'infinity'`})`;
  // Changed lessons are read before their rooms: the planner expects few, and would try each with each room.
  const found =
    (jobID ?? jobOf ?? bookingOf ?? batchOf) === undefined && !isFound && !changes
      ? sql`
        select lesson.*, room.name from resource as room
        cross join lateral (
          select * ${ofRoom} ${ressourceName === undefined ? horizon : sql``}
          order by lesson.beginn ${direction} fetch first (${most}) rows with ties) as lesson
        where ${room} order by ${order} limit ${most}`
      : sql`
        select lesson.*, room.name from (
          select * from lesson where lesson.mandator_id = ${mandatorId} ${wanted}
            ${jobOf === undefined ? sql`` : sql`and lesson.job = ${jobOf}`}
            ${bookingOf === undefined ? sql`` : sql`and lesson.booking_id = ${bookingOf}`}
            ${batchOf === undefined ? sql`` : sql`and lesson.job in (select id from lesson_job where mandator_id = ${mandatorId} and batch_id = ${batchOf})`}
            ${jobID === undefined ? sql`` : sql`and lesson.job = (select id from lesson_job where mandator_id = ${mandatorId} and job_id = ${jobID})`}
            ${changes ? sql`offset 0` : sql``}
        ) as lesson
        join resource as room on room.mandator_id = lesson.mandator_id and room.id = lesson.resource_id
        where ${room}
        order by ${order} limit ${most}`;
  return sql<LessonRow>`
    select lektion_id as "lektionId", job.job_id as "jobID", beginn, ende, lesson.name as "ressourceName",
      resource_id as "ressourceId", titel, fach, lesson.bemerkung, klassen, lehrpersonen, status,
      kopplung_id as "kopplungId", privat, booking_id as "bookingId", lesson.job,
      case when lesson.origin_resource_id is null or true ${inReach(viewer, 'lesson.origin_resource_id')} then ursprung end as ursprung,
      (extract(epoch from beginn) * 1000000)::bigint::text as micros, job.created_by as sender
    from (${found}) as lesson
    join lesson_job as job on job.mandator_id = lesson.mandator_id and job.id = lesson.job
    order by ${order}`;
}
