/** From rows to the jobs of the API. The same file gives the same keys again, so that it becomes an update. */
import { instantOf } from '../clock.ts';
import type { FieldName } from './columns.ts';
import type { Draft } from './draft.ts';
import { openSlices } from './slices.ts';

type Lesson = Record<string, unknown>;
type Job = { JobID: string; ReplaceLektionList: true; LektionList: Lesson[] } & Record<string, unknown>;

export type Built = {
  body: string;
  /** The row of each lesson, by job. */
  rowOf: (index: number, lessonIndex: number) => number | undefined;
};

const two = (text: string) => text.padStart(2, '0');

/** 2027-02-01 of 1.2.2027, 01/02/27 or 2027-02-01; undefined for no date. */
export function dayOf(text: string): string | undefined {
  const iso = /^(\d{4})-(\d{1,2})-(\d{1,2})$/.exec(text);
  const local = /^(\d{1,2})[./](\d{1,2})[./](\d{4}|\d{2})$/.exec(text);
  const [year, month, day] = iso ? iso.slice(1) : local ? [local[3], local[2], local[1]] : [];
  if (!year || !month || !day) return undefined;
  const written = `${year.length === 2 ? `20${year}` : year}-${two(month)}-${two(day)}`;
  const at = new Date(`${written}T00:00:00Z`);
  return Number.isNaN(at.getTime()) || at.toISOString().slice(0, 10) !== written ? undefined : written;
}

/** Minutes since midnight of 8:00, 08.00, 0800 or 8:00:00. */
function minutesOf(text: string): number | undefined {
  const found = /^(\d{1,2})[:.]?(\d{2})(?::00)?(?: ?(?:uhr|h))?$/i.exec(text);
  if (!found) return undefined;
  const [hours, minutes] = [Number(found[1]), Number(found[2])];
  return hours <= 24 && minutes < 60 && hours * 60 + minutes <= 1440 ? hours * 60 + minutes : undefined;
}

/** The instant of a local time. What is none is sent as it stands: the server names the fault. */
function momentOf(date: string, time: string, timeZone: string): string {
  const whole = date ? `${date} ${time}` : time;
  if (time.includes('T') && /([zZ]|[+-]\d\d:?\d\d)$/.test(time)) return time;
  const [dayText = '', timeText = ''] = date ? [date, time] : time.split(/[T ]+/);
  const [day, minutes] = [dayOf(dayText), minutesOf(timeText.replace(/(:\d\d):00(\.0+)?$/, '$1'))];
  if (day === undefined || minutes === undefined) return whole;
  return new Date(instantOf(timeZone, day, minutes)).toISOString().replace('.000Z', 'Z');
}

const listOf = (text: string) =>
  text
    .split(text.includes('|') ? '|' : /[,;]/)
    .map((part) => part.trim())
    .filter(Boolean);

const yes = new Set(['true', '1', 'ja', 'yes', 'x', 'wahr']);
const no = new Set(['false', '0', 'nein', 'no', 'falsch']);
const statuses: Record<string, string> = {
  planned: 'Geplant',
  geplant: 'Geplant',
  vertretung: 'Vertretung',
  substituted: 'Vertretung',
  substitution: 'Vertretung',
  entfaellt: 'Entfaellt',
  entfällt: 'Entfaellt',
  cancelled: 'Entfaellt',
};

/** A text of at most 128 characters that a longer one has alone, as far as a hash can tell. */
function bounded(text: string): string {
  if (text.length <= 120) return text;
  let hash = 0;
  for (let at = 0; at < text.length; at++) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) >>> 0;
  return `${text.slice(0, 110)}~${hash.toString(36)}`;
}

export const cellAt = ({ file, work }: Draft, row: number, column: number): string =>
  work.corrected[`${row} ${column}`] ?? file.rows[row]?.[column] ?? '';

/** @param location whose clocks the times of the file show, and in which its rooms are */
export async function buildJobs(draft: Draft, location: { name: string; timeZone: string }): Promise<Built> {
  const { file, work } = draft;
  const giveWay = openSlices();
  const jobs = new Map<string, { job: Job; rows: number[]; keys: Map<string, number> }>();
  const { timeZone } = location;

  for (let row = 0; row < file.rows.length; row++) {
    const text = (field: FieldName) => (work.mapping[field] < 0 ? '' : cellAt(draft, row, work.mapping[field]).trim());
    const [date, start, end] = [text('date'), text('start'), text('end')];
    const [subject, title, classes] = [text('subject'), text('title'), text('classes')];
    const jobKey =
      work.mapping.jobKey >= 0 ? text('jobKey') : work.jobBy === 'class' && classes ? bounded(classes) : work.jobKey;
    let entry = jobs.get(jobKey);
    if (!entry) {
      const own = file.jobs ? file.jobs[jobKey] : { Standort: location.name };
      entry = { job: { JobID: jobKey, ...own, ReplaceLektionList: true, LektionList: [] }, rows: [], keys: new Map() };
      jobs.set(jobKey, entry);
    }
    let key = text('lessonKey');
    if (!key) {
      const derived = bounded([momentOf(date, start, timeZone), subject || title, classes].filter(Boolean).join(' '));
      const count = (entry.keys.get(derived) ?? 0) + 1;
      entry.keys.set(derived, count);
      key = count === 1 ? derived : `${derived} #${count}`;
    }
    const secret = text('isPrivate').toLowerCase();
    const status = text('status');
    const roomId = text('resourceId');
    entry.job.LektionList.push({
      LektionId: key,
      ...(start && { Beginn: momentOf(date, start, timeZone) }),
      ...(end && { Ende: momentOf(/[T ]/.test(end) ? '' : date, end, timeZone) }),
      ...(text('resourceName') && { RessourceName: text('resourceName') }),
      ...(roomId && { RessourceId: /^\d+$/.test(roomId) ? Number(roomId) : roomId }),
      // A cell that is empty clears what the lesson had.
      Titel: title || null,
      Fach: subject || null,
      Bemerkung: text('remark') || null,
      Klassen: classes ? listOf(classes) : null,
      Lehrpersonen: text('teachers') ? listOf(text('teachers')) : null,
      KopplungId: text('couplingKey') || null,
      ...(status && { Status: statuses[status.toLowerCase()] ?? status }),
      ...(secret && { Privat: yes.has(secret) ? true : no.has(secret) ? false : secret }),
    });
    entry.rows.push(row);
    await giveWay();
  }
  const parts: string[] = [];
  const rowsOf: number[][] = [];
  for (const { job, rows } of jobs.values()) {
    parts.push(`${parts.length === 0 ? '[' : ','}${JSON.stringify(job)}`);
    rowsOf.push(rows);
    await giveWay();
  }
  return {
    body: `${parts.join('')}]`,
    rowOf: (index, lessonIndex) => rowsOf[index]?.[lessonIndex],
  };
}
