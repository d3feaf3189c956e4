/**
 * Lessons and bookings through each of their fronts. A call and its result are neutral: REST's records with names in
 * camel case, a list as `{items, nextCursor}`, a failure as `{failed}` with the code that GraphQL has for it.
 */
import { createClient } from 'graphql-sse';
import { lowerFirst, upperFirst } from '../../src/fields.ts';
import { graphqlCodeOf } from '../../src/graphql/failures.ts';
import type { Contract } from './contract.ts';
import { german, inEnglish, inGerman } from './english.ts';
import { fetchWhole } from './fetch-whole.ts';
import {
  type Asking,
  askBooking,
  type BookingCall,
  type BookingCalls,
  bookingRequest,
  type Paging,
  type Request,
} from './fronts-bookings.ts';
import { askMasterData, isMasterData, type MasterDataCalls, masterDataRequest } from './fronts-master-data.ts';
import { askRecord, isRecordCall, type RecordCalls, recordRequest } from './fronts-records.ts';
import { askReport, type ReportCall, type ReportCalls, reportRequest } from './fronts-reports.ts';
import type { BatchFilter, BatchOptions } from './operations/generated/graphql.ts';
import * as operations from './operations/generated/graphql.ts';
import { readPlain } from './plain-ids.ts';

type SubmitOptions = Pick<
  BatchOptions,
  'createMissing' | 'idempotencyKey' | 'onConflict' | 'takeOverBookings' | 'validateOnly'
>;
export type BatchQuery = Omit<BatchFilter, 'importStatus' | 'jobKey'> &
  Paging & { importStatus?: string; jobID?: string };
export type LessonQuery = Paging & {
  jobID?: string;
  ressourceName?: string;
  from?: string;
  to?: string;
  status?: string | string[];
  changed?: boolean;
  klasse?: string;
  lehrperson?: string;
  fach?: string;
  search?: string;
  order?: string;
};

/** What can be asked of a front. */
export type Calls = BookingCalls &
  MasterDataCalls &
  RecordCalls &
  ReportCalls & {
    create: SubmitOptions & { jobs: unknown };
    update: SubmitOptions & { jobs: unknown };
    delete: SubmitOptions & { jobs: unknown };
    importTimetable: { input: object; validateOnly?: boolean };
    /** A batch as it is now. */
    batch: { id: string };
    /** A batch as soon as it has ended. */
    end: { id: string };
    batches: BatchQuery;
    errors: Paging & { id: string };
    cancel: { id: string };
    jobs: Paging & { jobID?: string };
    lessons: LessonQuery;
    /** `byId`: over GraphQL by the id that its keys have found; REST has the keys alone. */
    lesson: { jobID: string; lektionId: string; byId?: true };
    job: { jobID: string; byId?: true };
  };
export type Call = { [Name in keyof Calls]: { name: Name; args: Calls[Name] } }[keyof Calls];

/** @param wrong the call is meant to break the description of the API */
export type Front = (call: Call, credential: Credential, wrong: boolean) => Promise<unknown>;
export type Credential = Record<string, string>;

type Tree = Record<string, unknown>;
type Casing = 'pascal' | 'camel';

/** A JSON value with every name changed. */
function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, rename));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [rename(name), renamed(item, rename)]));
}

/** Both fronts tell the same text, members in their own spelling, but for what was wrong with the words of a call. */
const sameText = new Set(['CONFLICT', 'FORBIDDEN', 'LIMIT']);

type OfBookings = { conflicts?: unknown[]; alternatives?: unknown[] };

function failure(
  code: string,
  message: string,
  retryAfter: number | null | undefined,
  { conflicts = [], alternatives = [] }: OfBookings = {},
) {
  return {
    failed: code,
    ...(sameText.has(code) && { message: message.replaceAll(/\b[A-Z]\w*[a-z][A-Z]\w*/g, lowerFirst) }),
    ...(retryAfter != null && { retryAfter }),
    ...(conflicts.length > 0 && { conflicts, alternatives }),
  };
}

const standardMembers = new Set(['type', 'title', 'status', 'detail', 'instance']);

/** RFC 9457, in whichever front: at the door of a tenant GraphQL answers it too. */
async function readProblem(answer: Response, casing: Casing) {
  const problem = (await answer.json()) as Tree;
  const members = Object.fromEntries(Object.entries(problem).filter(([name]) => !standardMembers.has(name)));
  const { code, ...others } = neutralNames(members, casing) as { code: keyof typeof graphqlCodeOf };
  const retryAfter = answer.headers.get('retry-after');
  return failure(
    graphqlCodeOf[code] ?? code,
    String(problem['detail']),
    retryAfter === null ? null : Number(retryAfter),
    others,
  );
}

/** @throws Error for a name in another casing */
function neutralNames(value: unknown, casing: Casing): unknown {
  const spell = casing === 'pascal' ? upperFirst : lowerFirst;
  return renamed(value, (name) => {
    if (name !== spell(name)) throw new Error(`${name} is not in ${casing} case`);
    return lowerFirst(name);
  });
}

function restRequest(call: Call): Request {
  const { name, args } = call;
  switch (name) {
    case 'create':
    case 'update':
    case 'delete': {
      const { jobs, idempotencyKey, ...query } = args;
      return { route: `POST /v2.0/jobs/${name}`, query, body: jobs, key: idempotencyKey };
    }
    case 'importTimetable': {
      const { input, ...query } = args;
      return { route: 'POST /v2.0/timetables', query, body: input };
    }
    case 'batch':
      return { route: 'GET /v2.0/jobs/batches/:batchId' };
    case 'end':
      return { route: 'GET /v2.0/jobs/batches/:batchId', query: { waitSeconds: 10 } };
    case 'errors': {
      const { id, ...query } = args;
      return { route: 'GET /v2.0/jobs/batches/:batchId/errors', query };
    }
    case 'cancel':
      return { route: 'POST /v2.0/jobs/batches/:batchId/cancel' };
    case 'batches':
      return { route: 'GET /v2.0/jobs/batches', query: args };
    case 'job':
      return { route: 'GET /v2.0/jobs', query: { jobID: args.jobID } };
    case 'jobs':
      return { route: 'GET /v2.0/jobs', query: args };
    case 'lessons':
      return { route: 'GET /v2.0/lessons', query: args };
    case 'audit':
    case 'freeResources':
    case 'usage':
    case 'organizers':
      return reportRequest(call as ReportCall);
    case 'lesson':
      return { route: 'GET /v2.0/lessons/:JobID/:LektionId' };
    default:
      if (isRecordCall(call)) return recordRequest(call);
      return isMasterData(call) ? masterDataRequest(call) : bookingRequest(call as BookingCall);
  }
}

/** A list to its end. @param isBackward each page precedes the one before */
async function readWhole(readPage: (paging: Paging) => Promise<unknown>, limit: number, isBackward = false) {
  const readOn = async (cursor: string | null): Promise<unknown[]> => {
    const page = (await readPage({ limit, ...(cursor !== null && { cursor }) })) as ReturnType<typeof listOf>;
    const others = page.nextCursor === null ? [] : await readOn(page.nextCursor);
    return isBackward ? [...others, ...page.items] : [...page.items, ...others];
  };
  return { items: await readOn(null), nextCursor: null };
}

/** The call with another part of its list. */
function onPage({ name, args }: Call, paging: Paging): Call {
  const { inPagesOf: _, ...others } = args as Paging;
  return { name, args: { ...others, ...paging } } as Call;
}

const reports = new Set(['audit', 'freeResources', 'usage', 'organizers']);

const hasEnded = (batch: unknown) => !/^Awaiting/.test(String((batch as Tree)['importStatus']));

/** @param used gets each route that has answered, and each of its parameters: `GET /v2.0/jobs ?Limit` */
export function restFront(options: { contract: Contract; mandator: string; casing: Casing; used: Set<string> }): Front {
  const { contract, mandator, casing, used } = options;
  const spelled = (value: unknown) => (casing === 'pascal' ? renamed(value, upperFirst) : value);
  return async function ask(call, credential, wrong): Promise<unknown> {
    if ('inPagesOf' in call.args && call.args.inPagesOf)
      return await readWhole((paging) => ask(onPage(call, paging), credential, wrong), call.args.inPagesOf);
    const { route, query = {}, body, key, version } = restRequest(call);
    const [method = '', template = ''] = route.split(' ');
    const named = Object.entries(call.args) as [string, unknown][];
    const textOf = (parameter: string) => {
      const own = named.find(([name]) => parameter === `:${upperFirst(name)}`) ?? named.find(([name]) => name === 'id');
      return encodeURIComponent(String(own?.[1] ?? ''));
    };
    const parameters = new URLSearchParams(
      Object.entries(spelled(query) as Tree).flatMap(([name, value]) =>
        [value].flat().map((one) => [name, String(one)]),
      ),
    );
    const answer = await contract.fetch(
      `/${mandator}/api${template.replaceAll(/:\w+/g, textOf)}?${parameters}`,
      {
        method,
        headers: {
          ...credential,
          ...(casing === 'camel' && { 'X-JsonPropertyFormat': 'camel' }),
          ...(key != null && { 'Idempotency-Key': key }),
          ...(version !== undefined && { 'If-Match': `"${version}"` }),
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
        },
        body: body === undefined ? null : JSON.stringify(spelled(body)),
      },
      { wrong },
    );
    if (!answer.ok) return await readProblem(answer, casing);
    used.add(route);
    for (const name of Object.keys(query)) used.add(`${route} ?${upperFirst(name)}`);
    const result = answer.status === 204 ? {} : neutralNames(await answer.json(), casing);
    if (call.name === 'job') return orNotFound((result as { items: unknown[] }).items[0], (found) => found);
    return call.name === 'end' && !hasEnded(result) ? await ask(call, credential, wrong) : result;
  };
}

type PageInfo = {
  hasNextPage: boolean;
  endCursor: string | null;
  hasPreviousPage?: boolean;
  startCursor?: string | null;
};
type Page = { nodes: unknown[]; pageInfo: PageInfo };
type Problem = OfBookings & {
  code: keyof typeof graphqlCodeOf;
  message: string;
  retryAfterSeconds?: number | null;
};
type Batch = { id: string; errors?: Page; difference?: { lessons: { fields: string[] }[] } | null };

const listOf = ({ nodes, pageInfo }: Page, isBackward = false) => {
  const { hasNextPage, endCursor, hasPreviousPage, startCursor = null } = pageInfo;
  const nextCursor = isBackward ? (hasPreviousPage ? startCursor : null) : hasNextPage ? endCursor : null;
  return { items: nodes, nextCursor };
};
const problemOf = ({ code, message, retryAfterSeconds, ...others }: Problem) =>
  failure(graphqlCodeOf[code], message, retryAfterSeconds, others);
const differenceOf = (difference: NonNullable<Batch['difference']>) => ({
  ...difference,
  lessons: difference.lessons.map((lesson) => ({
    ...lesson,
    fields: lesson.fields.map((name) => german.get(name) ?? upperFirst(name)),
  })),
});
const recordOf = ({ id, errors, difference, ...members }: Batch) => ({
  batchId: id,
  ...members,
  ...(difference !== undefined && { difference: difference && differenceOf(difference) }),
  ...(errors && { errors: errors.nodes.map((found) => inGerman(found as object)) }),
});
/** What REST answers 404 for, a query answers with null. */
const orNotFound = <Found>(found: Found | null | undefined, read: (found: Found) => unknown) =>
  found ? read(found) : failure(graphqlCodeOf.NotFound, '', null);

const everyStatus = ['AwaitingLessonCreation', 'AwaitingLessonProcessing', 'LessonsCreated', 'LessonsImportFailed'];

const submitDocuments = {
  create: operations.SubmitCreateDocument,
  update: operations.SubmitUpdateDocument,
  delete: operations.SubmitDeleteDocument,
};

/** Of an argument with members, a name for each. */
const argumentNames = ([name, value]: [string, unknown]) =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.keys(value).map((member) => `${name}.${member}`)
    : [name];

type GraphqlError = { message: string; extensions?: { code?: string; retryAfterSeconds?: number } };

/** @param used gets each field that has answered, and each of its arguments: `Query.batches(filter.mine)` */
export function graphqlFront(options: { url: string; mandator: string; used: Set<string> }): Front {
  const { mandator, used } = options;
  const url = `${options.url}/${mandator}/graphql`;

  return async function answer(call, credential, wrong, isBackward = false): Promise<unknown> {
    if ('inPagesOf' in call.args && call.args.inPagesOf)
      return await readWhole(
        (paging) => answer(onPage(call, paging), credential, wrong, true),
        call.args.inPagesOf,
        true,
      );

    /** What `read` makes of the data, or the failure. */
    async function ask<Data, Variables extends object>(
      field: string,
      document: operations.TypedDocumentString<Data, Variables>,
      variables: Variables,
      read: (data: Data) => unknown,
    ): Promise<unknown> {
      const answer = await fetchWhole(url, {
        method: 'POST',
        headers: { ...credential, 'Content-Type': 'application/json' },
        body: JSON.stringify({ query: document.toString(), variables }),
      });
      if (answer.headers.get('content-type')?.startsWith('application/problem+json'))
        return await readProblem(answer, 'pascal');
      const { data, errors } = readPlain<{ data?: Data; errors?: GraphqlError[] }>(await answer.text());
      if (errors) {
        const [{ message, extensions = {} }] = errors as [GraphqlError];
        return failure(String(extensions.code), message, extensions.retryAfterSeconds);
      }
      used.add(field);
      for (const argument of Object.entries(variables).flatMap(argumentNames)) used.add(`${field}(${argument})`);
      return read(data as Data);
    }

    const submitted = (result: object) =>
      'batch' in result ? recordOf(result.batch as Batch) : problemOf(result as Problem);
    const pageOf = ({ limit, cursor }: Paging) => ({
      ...(limit !== undefined && { [isBackward ? 'last' : 'first']: limit }),
      ...(cursor !== undefined && { [isBackward ? 'before' : 'after']: cursor }),
    });

    async function followToEnd(batchId: string): Promise<void> {
      const client = createClient({ url, headers: credential, retryAttempts: 0 });
      const query = operations.FollowBatchDocument.toString();
      for await (const { errors } of client.iterate({ query, variables: { batchId } }))
        if (errors) throw new Error(JSON.stringify(errors));
      client.dispose();
    }

    const { name, args } = call;
    switch (name) {
      case 'create':
      case 'update':
      case 'delete': {
        const { jobs, ...options } = args;
        return await ask(
          `Mutation.${name}LessonJobs`,
          submitDocuments[name],
          { jobs: inEnglish(jobs), options },
          ({ result }) => submitted(result),
        );
      }
      case 'importTimetable': {
        const { input, ...options } = args;
        const sent = { input: inEnglish(input) as operations.TimetableFilesInput, options };
        return await ask('Mutation.importTimetable', operations.SendTimetableDocument, sent, ({ result }) => {
          if (!('batch' in result)) return problemOf(result as Problem);
          const { batch, ...read } = result;
          return { batchId: batch.id, importStatus: batch.importStatus, ...read };
        });
      }
      case 'cancel':
        return await ask('Mutation.cancelBatch', operations.CancelWholeDocument, args, ({ result }) =>
          submitted(result),
        );
      case 'end':
      case 'batch':
        if (name === 'end') await followToEnd(args.id);
        return await ask('Query.batch', operations.ReadBatchDocument, args, ({ batch }) => orNotFound(batch, recordOf));
      case 'errors': {
        const { id, ...page } = args;
        return await ask('Query.batch', operations.ReadErrorsDocument, { id, ...pageOf(page) }, ({ batch }) =>
          orNotFound(batch, ({ errors, omittedErrors }) => {
            const { items, nextCursor } = listOf(errors);
            return { items: items.map((found) => inGerman(found as object)), nextCursor, omittedErrors };
          }),
        );
      }
      case 'batches': {
        const { limit, cursor, importStatus, ...others } = args;
        const filter = {
          ...others,
          ...(importStatus !== undefined && {
            importStatus: (importStatus === 'All' ? everyStatus : [importStatus]) as [],
          }),
        };
        return await ask(
          'Query.batches',
          operations.ReadBatchesDocument,
          { filter: inEnglish(filter), ...pageOf({ limit, cursor } as Paging) },
          ({ batches }) => {
            const { items, nextCursor } = listOf(batches as Page, isBackward);
            return { items: items.map((item) => recordOf(item as Batch)), nextCursor };
          },
        );
      }
      case 'jobs': {
        const { jobID, ...page } = args;
        return await ask(
          'Query.lessonJobs',
          operations.ListLessonJobsDocument,
          { ...(jobID !== undefined && { jobKey: jobID }), ...pageOf(page) },
          ({ lessonJobs }) => listOf(lessonJobs as Page, isBackward),
        );
      }
      case 'lessons': {
        const { limit, cursor, order, ...filter } = args;
        return await ask(
          'Query.lessons',
          operations.ListLessonsDocument,
          {
            filter: inEnglish(filter),
            ...(order && { order: order as operations.SortOrder }),
            ...pageOf({ limit, cursor } as Paging),
          },
          ({ lessons }) => listOf(lessons as Page, isBackward),
        );
      }
      case 'job': {
        const whole = ({ lessonJob }: operations.ReadLessonJobQuery) => orNotFound(lessonJob, (found) => found);
        const { jobID, byId } = args;
        return byId
          ? await ask('Query.lessonJob', operations.ReadLessonJobByIdDocument, { id: jobID }, whole)
          : await ask('Query.lessonJob', operations.ReadLessonJobDocument, { jobKey: jobID }, whole);
      }
      case 'lesson': {
        const { byId, ...keys } = args;
        const whole = ({ lesson }: operations.ReadLessonQuery) => orNotFound(lesson, (found) => found);
        if (!byId) return await ask('Query.lesson', operations.ReadLessonDocument, inEnglish(keys), whole);
        const readById = ({ id }: { id: string }) =>
          ask('Query.lesson', operations.ReadLessonByIdDocument, { id }, whole);
        return await ask('Query.lesson', operations.FindLessonDocument, inEnglish(keys), ({ lesson }) =>
          orNotFound(lesson, readById),
        );
      }
      default: {
        const asking: Asking = {
          ask,
          pageOf,
          orNotFound,
          problemOf: (problem) => problemOf(problem as Problem),
          listOf: (connection) => listOf(connection as Page, isBackward),
        };
        if (isRecordCall(call)) return await askRecord(call, asking);
        if (isMasterData(call)) return await askMasterData(call, asking);
        return reports.has(name)
          ? await askReport(call as ReportCall, asking)
          : await askBooking(call as BookingCall, asking);
      }
    }
  };
}
