/** The vocabulary of scenarios of lessons and bookings. Names such as `batch 1` are those of `lanes.ts`. */
import type { Call, Calls } from '../../_util/fronts.ts';
import { bookingDay, type Caller, day } from './lanes.ts';

/** What a result must have; `wrong` where the call may break the description of the API. */
export type Result = { has: object; wrong?: boolean };
/** Where the fronts differ by their nature: what each answers. */
export type Expected = Result | { rest: Result; graphql: Result };
/** A call; `toEnd` waits for the end of the batch that it has sent, whose record is the result then. */
export type Step = { call: Call; toEnd?: boolean } | 'the worker stops' | 'the worker goes on';
/** Who calls is the user when left out. */
export type Row = [step: Step, expected?: Expected, caller?: Caller];

export const on = <Name extends keyof Calls>(name: Name, args: Calls[Name]) => ({ call: { name, args } as Call });
type Options = Omit<Calls['create'], 'jobs'>;
const toEnd = (name: 'create' | 'update' | 'delete') => (sent: unknown[], options?: Options) => ({
  ...submit(name, sent, options),
  toEnd: true,
});

/** Sends a batch, and nothing more. */
export const submit = (name: 'create' | 'update' | 'delete', sent: unknown[], options: Options = {}) =>
  on(name, { jobs: sent, ...options });
export const create = toEnd('create');
export const update = toEnd('update');
export const remove = toEnd('delete');
export const end = (id: string) => on('end', { id });
export const batch = (id: string) => on('batch', { id });
export const cancel = (id: string) => on('cancel', { id });
export const errors = (id: string, paging = {}) => on('errors', { id, ...paging });
export const batches = (filter: Calls['batches'] = {}) => on('batches', filter);
export const jobs = (filter: Calls['jobs'] = {}) => on('jobs', filter);
export const lessons = (filter: Calls['lessons'] = {}) => on('lessons', filter);

export const jobOf = (jobID: string, by: { byId?: true } = {}) => on('job', { jobID, ...by });
export const lessonOf = (jobID: string, lektionId: string, by: { byId?: true } = {}) =>
  on('lesson', { jobID, lektionId, ...by });
export const timetable = (filter: Calls['timetable'] = {}) => on('timetable', filter);

export const book = (input: object, idempotencyKey?: string) =>
  on('book', { input, ...(idempotencyKey !== undefined && { idempotencyKey }) });
export const booking = (id: string) => on('booking', { id });
export const bookings = (filter: Calls['bookings'] = {}) => on('bookings', filter);
export const change = (id: string, input: object, options: Omit<Calls['changeBooking'], 'id' | 'input'> = {}) =>
  on('changeBooking', { id, input, ...options });
export const cancelBooking = (id: string, options: Omit<Calls['cancelBooking'], 'id'> = {}) =>
  on('cancelBooking', { id, ...options });
export const decide = (
  id: string,
  verdict: string,
  more: Omit<Calls['decideBooking'], 'id' | 'input'> & { reason?: string } = {},
) => {
  const { reason, ...options } = more;
  return on('decideBooking', { id, input: { verdict, ...(reason !== undefined && { reason }) }, ...options });
};
export const checkIn = (id: string) => on('checkIn', { id });
export const release = (id: string) => on('releaseBooking', { id });
export const extend = (id: string, minutes: number, more: { version?: number } = {}) =>
  on('extendBooking', { id, minutes, ...more });
export const undo = (id: string, version: number) => on('undoBooking', { id, version });

export const audit = (filter: Calls['audit'] = {}) => on('audit', filter);
export const freeResources = (query: Calls['freeResources'] = {}) => on('freeResources', query);
export const usage = (list: Calls['usage']['list'], query: Calls['usage']['query']) => on('usage', { list, query });
export const organizers = (filter: Calls['organizers'] = {}) => on('organizers', filter);

export const has = (members: object): Result => ({ has: members });
export const items = (...members: object[]) => has({ items: members });
/** A page that another one follows. */
export const page = (nextCursor: string | null, ...members: object[]) => has({ items: members, nextCursor });
export const queued = (batchId: string) => has({ batchId, importStatus: 'AwaitingLessonCreation' });
export const refused = (failed: string, more: object = {}): Result => ({
  has: { failed, ...more },
  wrong: true,
});

/** `ResourceConflict 0.1.beginn` is about Beginn of lesson 1 of job 0. */
function findings(severity: 'Error' | 'Warning', told: string[]) {
  return told.map((finding) => {
    const [code, place = ''] = finding.split(' ');
    const [job, ...members] = place.split('.');
    const pointer = ['', job, ...(members.length > 1 ? ['lektionList'] : []), ...members].join('/');
    return { severity, code, pointer: place ? pointer : null };
  });
}
export const done = (...warnings: string[]): Result => ({
  has: {
    importStatus: 'LessonsCreated',
    failureKind: null,
    errorMessages: null,
    errors: findings('Warning', warnings),
  },
  wrong: warnings.length > 0,
});
export const failed = (...faults: string[]): Result => ({
  has: {
    importStatus: 'LessonsImportFailed',
    failureKind: 'Data',
    createdCount: 0,
    errors: findings('Error', faults),
  },
  wrong: true,
});

/** An hour of the day on which everything happens; `answered` as it comes back. */
export const at = (hour: number) => `${day}T${String(hour).padStart(2, '0')}:00:00Z`;
export const answered = (hour: number) => at(hour).replace('Z', '.000Z');
/** A lesson of one hour. */
export const lesson = (lektionId: string, ressourceName: string, hour: number, more: object = {}) => ({
  lektionId,
  ressourceName,
  beginn: at(hour),
  ende: at(hour + 1),
  ...more,
});
/** An hour on a day after tomorrow, when every clock of the tests shows a time of the working day. */
export const slot = (hour: number, days = 0) => new Date(bookingDay + (days * 24 + hour) * 3_600_000).toISOString();
/** What books an hour. */
export const hourOf = (resourceId: string, hour: number, more: object = {}) => ({
  resourceId,
  subject: 'Sitzung',
  start: slot(hour),
  end: slot(hour + 1),
  ...more,
});
export const job = (jobID: string, ...lektionList: object[]) => ({ jobID, lektionList });
