import fs from 'node:fs';
import path from 'node:path';
import { expect } from '@jest/globals';
import { sql } from 'kysely';
import { type TimetableOptions, writeTimetable } from '../../../src/lessons/timetable-request.ts';
import { makeTenant } from '../../_util/factories.ts';
import { lessonClient } from '../../_util/lessons.ts';
import type { Service } from '../../_util/service.ts';

const fixtures = path.join(import.meta.dirname, '..', 'fixtures');
export const fixture = (name: string): Buffer => fs.readFileSync(path.join(fixtures, name));
export const fixtureJson = (name: string) => JSON.parse(fixture(name).toString());

/** How the small files of the fixtures are read. */
export const small: TimetableOptions = {
  term: fixtureJson('term.json'),
  timeGrid: fixtureJson('timegrid.json'),
  rooms: fixtureJson('rooms.json'),
};
const smallRooms = ['R101', 'R102', 'Küche', 'Aula – Nord', 'Physiksaal', 'Turnhalle 1', 'Werkraum, UG'];

type Files = Record<string, Buffer | string>;
type Fault = { Line: number; Column: number | null; Code: string; Message: string; Field: string | null };
type Accepted = {
  BatchId: string;
  Files: { Name: string; Format: string; Encoding: string; Separator: string | null; Lines: number }[];
  JobCount: number;
  LessonCount: number;
  NoticeCount: number;
  Notices: { File: string; Line: number; Code: string; Message: string }[];
};
type Difference = Record<'Added' | 'Changed' | 'Moved' | 'Removed' | 'Unchanged', number> & {
  Lessons: { Kind: string; JobID: string; LektionId: string; Fields: string[] }[];
};

let tenants = 0;

export type School = Awaited<ReturnType<typeof enterSchool>>;

/** A tenant of its own that gets its timetable from files. */
export async function enterSchool(service: Service, rooms = smallRooms) {
  const { db } = service.context;
  const tenant = await makeTenant(db, { code: `files-${++tenants}`, rooms });
  const token = await service.signIn(tenant, 'Importer');
  const client = lessonClient({ url: service.url, tenant }, token);

  async function post(files: Files, options: TimetableOptions = small, query = ''): Promise<Response> {
    const sent = Object.entries(files).map(([name, content]) => ({ name, content: new Blob([content as BlobPart]) }));
    return await fetch(`${service.url}/${tenant.code}/api/v2.0/timetables${query}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: writeTimetable(options, sent) as unknown as BodyInit,
      ...({ duplex: 'half' } as object),
    });
  }
  async function accept(files: Files, options?: TimetableOptions, query?: string): Promise<Accepted> {
    const answer = await post(files, options, query);
    const body = await answer.json();
    expect([answer.status, body.detail]).toEqual([202, undefined]);
    return body as Accepted;
  }
  /** Imports the files, which must succeed. */
  async function imports(files: Files, options?: TimetableOptions, query?: string) {
    const accepted = await accept(files, options, query);
    const batch = await client.end(accepted.BatchId);
    expect([batch.ImportStatus, batch.ErrorMessages]).toEqual(['LessonsCreated', null]);
    return { accepted, batch };
  }
  /** What the files would change. */
  async function compare(files: Files, options?: TimetableOptions): Promise<Difference> {
    return (await imports(files, options, '?ValidateOnly=true')).batch['Difference'] as Difference;
  }
  /** What is wrong with the files, which must be refused. */
  async function faults(files: Files, options?: TimetableOptions, query?: string): Promise<Fault[]> {
    const answer = await post(files, options, query);
    const body = await answer.json();
    expect([answer.status, body.Code]).toEqual([422, 'InvalidInput']);
    return (body.Errors ?? []) as Fault[];
  }
  /** The stored lessons as the expected files of the fixtures have them. */
  async function jobs() {
    const { rows } = await sql<{ JobID: string; LektionList: object[] }>`
      select job_id as "JobID", jsonb_agg(jsonb_strip_nulls(jsonb_build_object('LektionId', lektion_id,
          'Beginn', to_char(beginn at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
          'Ende', to_char(ende at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'RessourceName', resource.name,
          'Fach', fach, 'Klassen', klassen, 'Lehrpersonen', lehrpersonen, 'Status', status, 'KopplungId', kopplung_id,
          'Bemerkung', lesson.bemerkung)) order by lektion_id collate "C") as "LektionList"
      from lesson_job join lesson on lesson.mandator_id = lesson_job.mandator_id and lesson.job = lesson_job.id
      join resource on resource.mandator_id = lesson.mandator_id and resource.id = resource_id
      where lesson_job.mandator_id = ${tenant.mandatorId} group by 1 order by job_id collate "C"`.execute(db);
    return rows;
  }
  /** Every stored lesson and booking with what changes when it is written. */
  async function stored(): Promise<Map<string, string>> {
    const { rows } = await sql<{ key: string; row: string }>`
      select 'lesson ' || job_id || ' ' || lektion_id as key, lesson.xmin || ' ' || booking.xmin || ' ' || booking.version as row
      from lesson join lesson_job as job on job.mandator_id = lesson.mandator_id and job.id = lesson.job
      join booking on booking.mandator_id = lesson.mandator_id and booking.id = booking_id
      where lesson.mandator_id = ${tenant.mandatorId}`.execute(db);
    return new Map(rows.map(({ key, row }) => [key, row]));
  }
  return { tenant, client, token, post, accept, imports, compare, faults, jobs, stored };
}
