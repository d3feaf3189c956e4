import { ahead } from './ahead.ts';
import { fetchWhole } from './fetch-whole.ts';

export type Lesson = Record<string, unknown> & {
  LektionId: string;
  Beginn: string;
  Ende: string;
  RessourceName: string;
};
export type Job = { JobID: string; LektionList: Lesson[] } & Record<string, unknown>;

export type BatchRecord = Record<string, unknown> & {
  BatchId: string;
  ImportStatus: string;
  LessonCount: number | null;
  ProcessedCount: number;
  CreatedCount: number;
  ErrorCount: number;
  WarningCount: number;
  FailureKind: string | null;
  ErrorMessages: string | null;
  Errors: {
    Code: string;
    Severity: string;
    Index: number;
    LektionIndex: number | null;
    Pointer: string;
    Field: string;
    Message: string;
    JobID: string;
    LektionId: string;
  }[];
};

const hour = 3_600_000;
export const firstMonday = Date.parse(ahead('2027-02-01T07:00Z'));

const instant = (milliseconds: number) => `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;

/**
 * A timetable without overlaps: each job has `perJob` weekly lessons of 45 minutes at an hour and in a room of its own.
 * @param options.from milliseconds; where its first week begins
 */
export function makeJobs(
  lessons: number,
  options: { rooms?: string[]; prefix?: string; perJob?: number; from?: number } = {},
): Job[] {
  const { rooms = ['R001', 'R002'], prefix = 'J', perJob = 15, from = firstMonday } = options;
  const jobs: Job[] = [];
  for (let made = 0; made < lessons; ) {
    const number = jobs.length;
    const slot = Math.floor(number / rooms.length);
    const term = Math.floor(slot / 60);
    const start = from + (slot % 5) * 24 * hour + (Math.floor(slot / 5) % 12) * hour;
    const count = Math.min(perJob, lessons - made);
    jobs.push({
      JobID: `${prefix}${number}`,
      LektionList: Array.from({ length: count }, (_, week) => {
        const beginn = start + (term * perJob + week) * 7 * 24 * hour;
        return {
          LektionId: `${number}-${week}`,
          Beginn: instant(beginn),
          Ende: instant(beginn + 0.75 * hour),
          RessourceName: rooms[number % rooms.length] as string,
        };
      }),
    });
    made += count;
  }
  return jobs;
}

/** Calls of the lesson API with one token. */
export function lessonClient({ url, tenant }: { url: string; tenant: { code: string } }, token: string) {
  const api = `${url}/${tenant.code}/api/v2.0`;
  const call = (path: string, init: RequestInit = {}) =>
    fetch(`${api}/jobs${path}`, { ...init, headers: { Authorization: `Bearer ${token}`, ...init.headers } });
  /** `operation` with its query: `update?OnConflict=Skip`. */
  const send = (operation: string, body: unknown, headers: Record<string, string> = {}) =>
    fetchWhole(`${api}/jobs/${operation}`, {
      method: 'POST',
      body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...headers },
    });
  const read = (path: string) => fetchWhole(`${api}${path}`, { headers: { Authorization: `Bearer ${token}` } });
  const post = (body: unknown, headers?: Record<string, string>) => send('create', body, headers);
  const get = async <T = BatchRecord>(path: string): Promise<T> => (await (await read(`/jobs${path}`)).json()) as T;
  /** Long-polls until the batch has ended. */
  async function end(batchId: string): Promise<BatchRecord> {
    for (;;) {
      const batch = await get(`/batches/${batchId}?WaitSeconds=5`);
      if (['LessonsCreated', 'LessonsImportFailed'].includes(batch.ImportStatus)) return batch;
    }
  }
  async function importJobs(jobs: unknown, operation = 'create'): Promise<BatchRecord> {
    const answer = await send(operation, jobs);
    if (answer.status !== 202) throw new Error(`${answer.status}: ${await answer.text()}`);
    return await end(((await answer.json()) as { BatchId: string }).BatchId);
  }
  /** A page of lessons; `query` as it stands behind the question mark. */
  const lessons = async (query = '') =>
    (await (await read(`/lessons?${query}`)).json()) as {
      Items: Record<string, unknown>[];
      NextCursor: string | null;
    };
  return { call, send, post, get, end, importJobs, lessons };
}

export type LessonClient = ReturnType<typeof lessonClient>;
