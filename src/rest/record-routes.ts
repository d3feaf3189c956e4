/** The routes of one kind of record: list and read, and create, change and delete if it has them. */
import { z } from 'zod';
import type { Act, Context, Versions, Viewer } from '../context.ts';
import type { List, Page, PageRequest } from '../db/paging.ts';
import { type Fields, toFields } from '../fields.ts';
import { listOf, listRoute, pageAnswer } from './lists.ts';
import { type Route, route } from './route.ts';
import { readIfMatch, recordAnswer, versionProblems } from './versions.ts';

type Body = z.core.$ZodType<object>;
type Db = Context['db'];
/** An act with the body as it is on the wire. */
type Call<Sent extends Body> = Act & { body: z.output<Sent> };

type RecordRoutes<Row, Filter extends object, New extends Body, Changes extends Body> = {
  path: string;
  noun: string;
  /** The noun and an `s` by default. */
  plural?: string;
  /** Precedes the noun in summaries. */
  qualifier?: string;
  params: z.core.$ZodType<{ id: number }>;
  /** Why readers and writers are refused. */
  refusals: { read: string; write: string };
  filter?: z.ZodObject;
  list: {
    description: string;
    of: List<Row>;
    run(db: Db, viewer: Viewer, filter: Filter, page: PageRequest): Promise<Page<Row>>;
  };
  read: { description?: string; run(db: Db, viewer: Viewer, id: number): Promise<Row> };
  record: { schema: z.core.$ZodType; example: object; of(row: Row): { Id: number; Version: number } };
  /** Absent where the answer is more than the record. */
  create?: {
    description: string;
    conflict: string;
    schema: New;
    example: object;
    run(db: Db, call: Call<New>, fields: Fields<z.output<New>>): Promise<Row>;
  };
  change: {
    /** Replaces the sentence about the members that are sent. */
    rule?: string;
    description?: string;
    conflict: string;
    schema: Changes;
    example: object;
    run(
      db: Db,
      call: Call<Changes>,
      id: number,
      versions: Versions,
      changes: Fields<z.output<Changes>>,
      context: Context,
    ): Promise<Row>;
  };
  /** Absent for what is retired and never deleted. */
  remove?: {
    description: string;
    conflict?: string;
    run(db: Db, act: Act, id: number, versions: Versions): Promise<Row>;
  };
};

const sentOnly = 'Changes the members that are sent, only in the version of `If-Match`.';

/** The answer to a creation: the record, with its address. */
export function createdAnswer(
  { config }: Context,
  { viewer }: Act,
  path: string,
  record: { Id: number; Version: number },
) {
  return recordAnswer(record, {
    status: 201,
    location: `${config.BaseUrl}/${viewer.mandator}/api${path}/${record.Id}`,
  });
}

export function recordRoutes<Row, Filter extends object, New extends Body, Changes extends Body>({
  path,
  noun,
  plural = `${noun}s`,
  qualifier,
  params,
  refusals,
  filter,
  list,
  read,
  record,
  create,
  change,
  remove,
}: RecordRoutes<Row, Filter, New, Changes>): Route[] {
  const named = (word: string) => (qualifier ? `${qualifier} ${word}` : word);
  const answered = (description: string, example: object) => ({
    200: { description, body: record.schema, example, headers: ['ETag' as const] },
  });
  /** The example of the record with what was sent; a request may have members that no record has. */
  const exampleAfter = (sent: object) =>
    Object.fromEntries(Object.entries({ ...record.example, ...sent }).filter(([name]) => name in record.example));
  const page = listOf(record.schema, `${z.globalRegistry.get(record.schema)?.id}List`);
  return [
    listRoute({
      path,
      summary: `List ${named(plural)}`,
      description: list.description,
      filter,
      page: pageAnswer(`One page of ${plural}.`, page, record.example),
      problems: { 403: refusals.read },
      of: list.of,
      run: (db, viewer, wanted, asked) => list.run(db, viewer, wanted as Filter, asked),
      toRecord: record.of,
    }),
    route({
      method: 'GET',
      path: `${path}/:id`,
      summary: `Read a ${named(noun)}`,
      ...(read.description && { description: read.description }),
      params,
      answers: answered(`The ${noun}.`, record.example),
      problems: { 403: refusals.read },
      handle: async ({ db }, call) => recordAnswer(record.of(await read.run(db, call.viewer, call.params.id))),
    }),
    ...(create
      ? [
          route({
            method: 'POST',
            path,
            summary: `Make a ${named(noun)}`,
            description: create.description,
            body: create,
            answers: {
              201: {
                description: `The ${noun}; \`Location\` is its address.`,
                body: record.schema,
                example: exampleAfter(create.example),
                headers: ['Location', 'ETag'],
              },
            },
            problems: { 403: refusals.write, 409: create.conflict },
            handle: async (context, call) => {
              const made = await create.run(context.db, call, toFields(call.body));
              return createdAnswer(context, call, path, record.of(made));
            },
          }),
        ]
      : []),
    route({
      method: 'PATCH',
      path: `${path}/:id`,
      summary: `Change a ${named(noun)}`,
      description: [change.rule ?? sentOnly, change.description].filter(Boolean).join(' '),
      headers: ['If-Match'],
      params,
      body: change,
      answers: answered(`The ${noun} as it is now.`, { ...exampleAfter(change.example), Version: 2 }),
      problems: { 403: refusals.write, 409: change.conflict },
      handle: async (context, call) => {
        const versions = readIfMatch(call.headers);
        const changes = toFields(call.body);
        return recordAnswer(record.of(await change.run(context.db, call, call.params.id, versions, changes, context)));
      },
    }),
    ...(remove
      ? [
          route({
            method: 'DELETE',
            path: `${path}/:id`,
            summary: `Delete a ${named(noun)}`,
            description: `Only in the version of \`If-Match\`. ${remove.description}`,
            headers: ['If-Match'],
            params,
            answers: { 204: { description: 'It was deleted.' } },
            problems: {
              403: refusals.write,
              ...versionProblems,
              ...(remove.conflict !== undefined && { 409: remove.conflict }),
            },
            handle: async ({ db }, call) => {
              await remove.run(db, call, call.params.id, readIfMatch(call.headers));
              return { status: 204 };
            },
          }),
        ]
      : []),
  ];
}
