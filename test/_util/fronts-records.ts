/** Records of master data through each front: every noun has the same calls. */
import { z } from 'zod';
import { lowerFirst, upperFirst } from '../../src/fields.ts';
import { nameOf } from '../../src/graphql/names.ts';
import { bare } from '../../src/graphql/record.ts';
import * as holidays from '../../src/holidays/wire.ts';
import * as problems from '../../src/problems/wire.ts';
import * as rights from '../../src/tenants/rights-wire.ts';
import * as tenants from '../../src/tenants/wire.ts';
import * as profiles from '../../src/timetable-files/profile-wire.ts';
import type { Asking, Request } from './fronts-bookings.ts';
import * as operations from './operations/generated/graphql.ts';

type NounOf = {
  /** Where it is read. */
  path: string;
  list: string;
  /** What it has. */
  record: z.ZodObject;
  /** How GraphQL makes one; create when left out. */
  verb?: string;
  /** Whether GraphQL lists all of them at once. */
  isWhole?: boolean;
};
const nouns = {
  group: { path: 'groups', list: 'groups', record: rights.groupRecord },
  policy: { path: 'policies', list: 'policies', record: rights.policyRecord },
  resource: { path: 'resources', list: 'resources', record: tenants.resourceRecord },
  location: { path: 'locations', list: 'locations', record: tenants.locationRecord, isWhole: true },
  person: { path: 'persons', list: 'persons', record: tenants.personRecord },
  holidayCalendar: { path: 'holiday-calendars', list: 'holidayCalendars', record: holidays.calendarRecord },
  holiday: { path: 'holidays', list: 'holidays', record: holidays.holidayRecord },
  timetableProfile: { path: 'timetable-profiles', list: 'timetableProfiles', record: profiles.profileRecord },
  roomProblem: { path: 'room-problems', list: 'roomProblems', record: problems.problemRecord, verb: 'report' },
} satisfies Record<string, NounOf>;
/** Nouns of which GraphQL reads one by `node` alone. */
const nodesOnly: readonly string[] = ['roomProblem', 'timetableProfile'];
type Noun = keyof typeof nouns;

export type RecordCalls = {
  records: { noun: Noun; filter: Record<string, unknown> };
  record: { noun: Noun; id: string };
  makeRecord: { noun: Noun; input: object };
  changeRecord: { noun: Noun; id: string; version: number; input: object };
  /** A deletion is answered without a body. */
  deleteRecord: { noun: Noun; id: string; version: number };
};
export type RecordCall = { [Name in keyof RecordCalls]: { name: Name; args: RecordCalls[Name] } }[keyof RecordCalls];

export const isRecordCall = (call: { name: string }): call is RecordCall =>
  ['records', 'record', 'makeRecord', 'changeRecord', 'deleteRecord'].includes(call.name);

export function recordRequest({ name, args }: RecordCall): Request {
  const path = `/v1.0/${nouns[args.noun].path}`;
  switch (name) {
    case 'records':
      return { route: `GET ${path}`, query: args.filter };
    case 'record':
      return { route: `GET ${path}/:id` };
    case 'makeRecord':
      return { route: `POST ${path}`, body: args.input };
    case 'changeRecord':
      return { route: `PATCH ${path}/:id`, version: args.version, body: args.input };
    case 'deleteRecord':
      return { route: `DELETE ${path}/:id`, version: args.version };
  }
}

/** A result whose ids are `groupId` and so on: those of several nouns are alike. */
export function namingIds(noun: Noun, { id, items, ...members }: { id?: unknown; items?: object[] }): object {
  return {
    ...(id !== undefined && { [`${noun}Id`]: id }),
    ...(items && { items: items.map((item) => namingIds(noun, item)) }),
    ...members,
  };
}

const document = <Data, Variables>(text: string) => new operations.TypedDocumentString<Data, Variables>(text);

/** All members of a record, those of its parts too, by the names of REST. */
const selectionOf = ({ shape }: z.ZodObject): string =>
  Object.entries(shape as Record<string, z.ZodType>)
    .map(([name, schema]) => {
      const member = bare(schema);
      const part = member instanceof z.ZodArray ? bare(member.element as z.ZodType) : member;
      const field = `${lowerFirst(name)}: ${nameOf(name)}`;
      return part instanceof z.ZodObject ? `${field} { ${selectionOf(part)} }` : field;
    })
    .join(' ');

export async function askRecord({ name, args }: RecordCall, asking: Asking): Promise<unknown> {
  const { ask, problemOf, listOf, orNotFound } = asking;
  const { noun, ...variables } = args;
  const Noun = upperFirst(noun);
  const { list, record, verb: making = 'create', isWhole = false }: NounOf = nouns[noun];
  const members = selectionOf(record);

  const mutate = (verb: string, given: string, taken: string, read: (result: object) => object) =>
    ask(
      `Mutation.${verb}${Noun}`,
      document<{ result: object }, object>(`mutation (${given}) {
        result: ${verb}${Noun}(${taken}) { ... on ${Noun} { ${members} } ... on Problem { code message } }
      }`),
      variables,
      ({ result }) => ('code' in result ? problemOf(result) : read(result)),
    );
  const whole = (result: object) => result;
  const versioned = ['$id: ID!, $version: Int!', 'id: $id, version: $version'] as const;
  switch (name) {
    case 'records':
      if (isWhole)
        return await ask(
          `Query.${list}`,
          document<{ found: object[] }, object>(`{ found: ${list} { ${members} } }`),
          {},
          ({ found }) => ({ items: found, nextCursor: null }),
        );
      return await ask(
        `Query.${list}`,
        document<{ found: object }, object>(`query ($filter: ${Noun}Filter) {
          found: ${list}(filter: $filter) { nodes { ${members} } pageInfo { hasNextPage endCursor } }
        }`),
        variables,
        ({ found }) => listOf(found),
      );
    case 'record':
      if (nodesOnly.includes(noun))
        return await ask(
          'Query.node',
          document<{ found: object | null }, object>(
            `query ($id: ID!) { found: node(id: $id) { ... on ${Noun} { ${members} } } }`,
          ),
          { id: `${noun}_${args.id}` },
          ({ found }) => orNotFound(found, whole),
        );
      return await ask(
        `Query.${noun}`,
        document<{ found: object | null }, object>(`query ($id: ID!) { found: ${noun}(id: $id) { ${members} } }`),
        variables,
        ({ found }) => orNotFound(found, whole),
      );
    case 'makeRecord':
      return await mutate(making, `$input: ${upperFirst(making)}${Noun}Input!`, 'input: $input', whole);
    case 'changeRecord': {
      const [given, taken] = versioned;
      return await mutate('change', `${given}, $input: Change${Noun}Input!`, `${taken}, input: $input`, whole);
    }
    case 'deleteRecord':
      return await mutate('delete', ...versioned, () => ({}));
  }
}
