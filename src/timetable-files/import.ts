/** Turns the files of a timetable into a batch of lesson jobs. */

import { checkImporter } from '../access.ts';
import type { Context, Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { InvalidInput, TooLarge } from '../errors.ts';
import { openSlices } from '../flow/slices.ts';
import { type Batch, type ConflictRule, createBatch, getBatch } from '../lessons/service.ts';
import { lessonLimits } from '../names.ts';
import { isStorable } from '../storable.ts';
import { mostSearched } from '../time/rule.ts';
import { type Bins, openBins } from './bins.ts';
import { roomsOf, type TimetableEntry } from './entries.ts';
import { type FaultReport, type Notice, openReport } from './faults.ts';
import { type Intake, withIntake } from './intake.ts';
import { planJob } from './lessons.ts';
import { keyOf, type PlannedLesson, type Rules } from './planned.ts';
import { type CompleteRequest, completeRequest } from './profiles.ts';
import { type FileRead, readFile } from './reading.ts';
import { comparedName, findZoneName, openRooms } from './rooms.ts';
import { openTerm } from './term.ts';
import type { Format, TimetableRequest } from './wire.ts';

export type TimetableImport = {
  /** The bytes of a request as `wire.timetableFiles` describes it. */
  body: AsyncIterable<Uint8Array>;
  /** Checks the request. */
  check: (sent: unknown) => TimetableRequest;
  format?: Format | undefined;
  validateOnly?: boolean | undefined;
  onConflict?: ConflictRule | undefined;
  idempotencyKey?: string | undefined;
  requestId: string;
};

export type AcceptedTimetable = {
  batchId: string;
  importStatus: 'AwaitingLessonCreation';
  files: FileRead[];
  jobCount: number;
  lessonCount: number;
  noticeCount: number;
  notices: Notice[];
};

const defaultSources: Record<string, string> = { CSV: 'csv', iCalendar: 'ics' };

/** By how much the entries of a request may exceed the largest body: a line has an entry for each of its rooms. */
const growth = 4;
/** The most characters of an id in a file, which leaves room in a key for what is added to it. */
const longestId = 100;
/** The least characters of a piece of a job. */
const leastPiece = 65_536;

/**
 * Reads the files completely before anything is stored, then sends one batch: jobs to create, jobs that differ, and the removal of
 * jobs that the same source has written for this term and no longer lists.
 * @throws InvalidInput with every fault of the files; what `createBatch` throws
 */
export async function importTimetable(
  context: Context,
  viewer: Viewer,
  wanted: TimetableImport,
): Promise<AcceptedTimetable> {
  checkImporter(viewer, wanted.onConflict ?? 'Fail');
  return await withIntake(context, viewer, wanted.body, (intake) => readFiles(context, viewer, wanted, intake));
}

async function readFiles(
  context: Context,
  viewer: Viewer,
  wanted: TimetableImport,
  intake: Intake,
): Promise<AcceptedTimetable> {
  const { JobBodyBytes: mostBytes, LessonsPerBatch: mostLessons } = context.config.Limits;
  const bins = openBins(context.log, growth * mostBytes);
  try {
    const asked = await completeRequest(context.db, viewer, wanted.check(intake.sent));
    const report = openReport(asked.Files.map(({ Name }) => Name));
    const rooms = openRooms(asked);
    const term = openTerm(asked, await findZoneName(context.db, viewer, asked));
    const reading = { term, mapping: asked.Mapping, report, take: takerOf(bins, rooms, report) };
    const format = wanted.format ?? asked.Format ?? undefined;
    const files: FileRead[] = [];
    for (const [at, { Name, Content }] of asked.Files.entries()) {
      const found = await readFile({ at, name: Name, read: intake.read(Number(Content)) }, format, reading);
      if (found) files.push(found);
    }
    await rooms.check(context.db, viewer, asked.Standort ?? null, report);
    report.check();
    checkFiles(files);
    const { source, quelle } = sourceOf(asked, files);
    // A room may be named as the file calls it, too.
    const shared = new Set(asked.SharedRooms.map((name) => comparedName(rooms.roomOf(name) ?? name)));
    const isShared = (room: string) => shared.has(comparedName(room));
    const rules: Rules = {
      term,
      source,
      report,
      roomOf: rooms.roomOf,
      isShared,
      mostLessons,
      search: { left: mostSearched },
      nextSlice: openSlices(),
    };
    const counts = { jobs: 0, lessons: 0 };
    const accepted = await createBatch(context, viewer, {
      operation: 'Update',
      body: writeJobs(bins, { source, quelle, standort: asked.Standort ?? null, counts, mostBytes }, rules),
      createMissing: true,
      replaces: {
        quelle,
        since: term.since,
        allowRemoval: asked.AllowRemoval,
      },
      validateOnly: wanted.validateOnly,
      onConflict: wanted.onConflict,
      idempotencyKey: wanted.idempotencyKey,
      requestId: wanted.requestId,
    });
    const notices = report.notices();
    return {
      ...accepted,
      files,
      jobCount: counts.jobs,
      lessonCount: counts.lessons,
      noticeCount: notices.count,
      notices: notices.listed,
    };
  } finally {
    await bins.close();
  }
}

export const getImportedBatch = (db: Database, viewer: Viewer, { batchId }: AcceptedTimetable): Promise<Batch> =>
  getBatch(db, viewer, batchId);

/** Why PostgreSQL or the contract of lessons would refuse an entry; undefined if they would not. */
function faultOf(entry: TimetableEntry): string | undefined {
  const { subject, title, classes, remark } = {
    subject: '',
    title: '',
    classes: [] as readonly string[],
    remark: '',
    ...entry,
  };
  const teachers = 'teachers' in entry ? entry.teachers : [];
  const id = entry.kind === 'dated' ? entry.id : '';
  const texts = [
    subject,
    title ?? '',
    remark ?? '',
    id,
    ...roomsOf(entry),
    ...classes,
    ...teachers,
    ...('text' in entry ? [entry.text] : []),
  ];
  if (!texts.every(isStorable)) return 'a text contains a NUL or half of a surrogate pair; export the file as UTF-8';
  if (roomsOf(entry).some((room) => room.length > lessonLimits.name))
    return `the room has more than ${lessonLimits.name} characters`;
  if (id.length > longestId) return `the id has more than ${longestId} characters`;
  if (texts.some((text) => text.length > lessonLimits.text))
    return `a text has more than ${lessonLimits.text} characters`;
  if (Math.max(classes.length, teachers.length) > lessonLimits.names)
    return `more than ${lessonLimits.names} names in one field`;
  if ([...classes, ...teachers].some((name) => name.length > lessonLimits.name))
    return `a name has more than ${lessonLimits.name} characters`;
  return undefined;
}

const takerOf =
  (bins: Bins, rooms: ReturnType<typeof openRooms>, report: FaultReport) =>
  async (key: string, entry: TimetableEntry): Promise<void> => {
    const fault = faultOf(entry);
    if (fault) {
      report.fault(entry, 'TooLong', `${fault}; is this the right file?`);
      return;
    }
    for (const room of roomsOf(entry)) rooms.note(entry, room);
    await bins.put(key, entry);
  };

/** @throws InvalidInput for files that do not make one timetable */
function checkFiles(files: readonly FileRead[]): void {
  const untis = files.filter(({ format }) => format.startsWith('GPU'));
  if (untis.length > 0 && untis.length < files.length)
    throw new InvalidInput('Files: Untis files and other files make two timetables; send them one after another.');
  if (untis.length > 0 && !untis.some(({ format }) => format === 'GPU001'))
    throw new InvalidInput('Files: the timetable GPU001 is missing, to which GPU002 and GPU014 apply.');
}

function sourceOf({ Source, Term }: CompleteRequest, [first]: readonly FileRead[]): { source: string; quelle: string } {
  const source = Source ?? defaultSources[first?.format ?? ''] ?? 'untis';
  return { source, quelle: Term ? `${source} ${Term.Name}` : source };
}

type Writing = {
  source: string;
  quelle: string;
  standort: string | null;
  counts: { jobs: number; lessons: number };
  mostBytes: number;
};

function lessonRecord({
  id,
  start,
  end,
  room,
  subject,
  title,
  classes,
  teachers,
  status,
  remark,
  coupling,
  file,
  line,
}: PlannedLesson) {
  return {
    LektionId: keyOf(id),
    Beginn: new Date(start).toISOString(),
    Ende: new Date(end).toISOString(),
    RessourceName: room,
    Titel: title || null,
    Fach: subject || null,
    Bemerkung: remark || null,
    Klassen: classes.length > 0 ? classes : null,
    Lehrpersonen: teachers.length > 0 ? teachers : null,
    Status: status,
    KopplungId: coupling ?? null,
    Zeile: [file, line],
  };
}

type JobHead = { JobID: string; Quelle: string; Standort: string | null; ReplaceLektionList: true };

/** A job as JSON, in pieces: a CSV may have all of its lessons in one. */
function* writeJob(head: JobHead, lessons: readonly PlannedLesson[]): Generator<Buffer> {
  let text = `${JSON.stringify(head).slice(0, -1)},"LektionList":[`;
  for (const [at, lesson] of lessons.entries()) {
    text += `${at === 0 ? '' : ','}${JSON.stringify(lessonRecord(lesson))}`;
    if (text.length < leastPiece) continue;
    yield Buffer.from(text);
    text = '';
  }
  yield Buffer.from(`${text}]}`);
}

/** The jobs as JSON. @throws InvalidInput with every fault, after the last job; TooLarge */
async function* writeJobs(bins: Bins, writing: Writing, rules: Rules): AsyncGenerator<Uint8Array> {
  const { source, quelle, standort, counts, mostBytes } = writing;
  const { term, report, mostLessons, nextSlice } = rules;
  /** The size of the jobs, without the brackets and commas around them. */
  let size = 0;
  const suffix = term.id === undefined ? '' : `-${term.id}`;
  for await (const [key, entries] of bins.jobs()) {
    const JobID = keyOf(`${source}-${key}${suffix}`);
    // A bin in memory yields thousands of jobs without waiting for anything.
    await nextSlice();
    const lessons = await planJob(JobID, entries, rules);
    if (lessons.length === 0) continue;
    counts.lessons += lessons.length;
    if (counts.lessons > mostLessons)
      throw new InvalidInput(
        `The files have more than ${mostLessons} lessons, the maximum of a batch; send a shorter term.`,
      );
    const isFirst = counts.jobs === 0;
    counts.jobs++;
    if (report.isFaulty) continue;
    yield Buffer.from(isFirst ? '[' : ',');
    for (const piece of writeJob({ JobID, Quelle: quelle, Standort: standort, ReplaceLektionList: true }, lessons)) {
      size += piece.length;
      if (size + counts.jobs + 1 > mostBytes)
        throw new TooLarge(`As jobs, the lessons of the files have more than ${mostBytes} bytes; send a shorter term.`);
      await nextSlice();
      yield piece;
    }
  }
  report.check();
  if (counts.jobs === 0) report.refuseEmpty();
  yield Buffer.from(']');
}
