/** The routes of one kind of master data: listed, read, made, changed, and some deleted. */
import { z } from 'zod';
import type { Act, Context, Versions, Viewer } from '../context.ts';
import { type List, type Page, type PageRequest, readPage } from '../db/paging.ts';
import { type Fields, toFields, upperFirst } from '../fields.ts';
import { id, paging } from '../query-parameters.ts';
import { listAnswer, listOf } from '../rest/lists.ts';
import { type Route, route } from '../rest/route.ts';
import { readIfMatch, recordAnswer, versionProblems } from '../rest/versions.ts';
import * as examples from './examples.ts';

type Body = z.ZodType<object>;

const plurals = {
  resource: 'resources',
  location: 'locations',
  person: 'persons',
  group: 'groups',
  policy: 'policies',
};

type RecordRoutes<Row, Filter extends object, New extends Body, Changes extends Body> = {
  noun: keyof typeof plurals;
  /** Why readers are refused. */
  refusal: string;
  filter: z.ZodObject;
  list: {
    description: string;
    of: List<Row>;
    run(db: Db, viewer: Viewer, filter: Filter, page: PageRequest): Promise<Page<Row>>;
  };
  read: { description?: string; run(db: Db, viewer: Viewer, id: number): Promise<Row> };
  record: { schema: z.ZodType; example: object; of(row: Row): { Version: number } };
  create: {
    description: string;
    conflict: string;
    schema: New;
    example: object;
    run(db: Db, act: Act, fields: Fields<z.output<New>>): Promise<Row>;
  };
  change: {
    description: string;
    conflict: string;
    schema: Changes;
    example: object;
    run(db: Db, act: Act, id: number, versions: Versions, changes: Fields<z.output<Changes>>): Promise<Row>;
  };
  /** Absent for what is retired and never deleted. */
  remove?: {
    description: string;
    conflict: string;
    run(db: Db, act: Act, id: number, versions: Versions): Promise<Row>;
  };
};
type Db = Context['db'];

export function recordRoutes<
  Row extends { id: number },
  Filter extends object,
  New extends Body,
  Changes extends Body,
>({
  noun,
  refusal,
  filter,
  list,
  read,
  record,
  create,
  change,
  remove,
}: RecordRoutes<Row, Filter, New, Changes>): Route[] {
  const nouns = plurals[noun];
  const path = `/v1.0/${nouns}`;
  const params = z.object({ id: id(noun, `The Id of the ${noun}.`) });
  const tagged = (description: string, body: z.ZodType, example: unknown) => ({
    200: { description, body, example, headers: ['ETag' as const] },
  });
  const listId = `${upperFirst(noun)}List`;
  const problems = { 403: refusal };
  const forAdmins = { 403: 'Only an Admin manages master data.' };
  return [
    route({
      method: 'GET',
      path,
      summary: `List ${nouns}`,
      description: list.description,
      query: z.strictObject({ ...filter.shape, ...paging }),
      answers: tagged(`One page of ${nouns}.`, listOf(record.schema, listId), examples.page(record.example)),
      problems,
      handle: async ({ db }, { viewer, query }) => {
        const { Limit, Cursor, ...wanted } = query;
        const page = readPage(list.of, Limit, Cursor);
        return listAnswer(await list.run(db, viewer, toFields(wanted) as Filter, page), record.of);
      },
    }),
    route({
      method: 'GET',
      path: `${path}/:id`,
      summary: `Read a ${noun}`,
      ...(read.description && { description: read.description }),
      params,
      answers: tagged(`The ${noun}.`, record.schema, record.example),
      problems,
      handle: async ({ db }, call) => recordAnswer(record.of(await read.run(db, call.viewer, call.params.id))),
    }),
    route({
      method: 'POST',
      path,
      summary: `Make a ${noun}`,
      description: create.description,
      body: create,
      answers: {
        201: {
          description: `The ${noun}; \`Location\` is where it is read.`,
          body: record.schema,
          example: { ...record.example, ...create.example },
          headers: ['Location', 'ETag'],
        },
      },
      problems: { ...forAdmins, 409: create.conflict },
      handle: async ({ db, config }, call) => {
        const made = await create.run(db, call, toFields(call.body));
        const location = `${config.BaseUrl}/${call.viewer.mandator}/api${path}/${made.id}`;
        return recordAnswer(record.of(made), { status: 201, location });
      },
    }),
    route({
      method: 'PATCH',
      path: `${path}/:id`,
      summary: `Change a ${noun}`,
      description: `Changes the members that are sent, and only in the version of \`If-Match\`. ${change.description}`,
      headers: ['If-Match'],
      params,
      body: change,
      answers: tagged(`The ${noun} as it is now.`, record.schema, examples.changed(record.example, change.example)),
      problems: { ...forAdmins, 409: change.conflict },
      handle: async ({ db }, call) => {
        const versions = readIfMatch(call.headers);
        return recordAnswer(record.of(await change.run(db, call, call.params.id, versions, toFields(call.body))));
      },
    }),
    ...(remove
      ? [
          route({
            method: 'DELETE',
            path: `${path}/:id`,
            summary: `Delete a ${noun}`,
            description: `Only in the version of \`If-Match\`. ${remove.description}`,
            headers: ['If-Match'],
            params,
            answers: { 204: { description: 'It is gone.' } },
            problems: { ...forAdmins, ...versionProblems, 409: remove.conflict },
            handle: async ({ db }, call) => {
              await remove.run(db, call, call.params.id, readIfMatch(call.headers));
              return { status: 204 };
            },
          }),
        ]
      : []),
  ];
}
