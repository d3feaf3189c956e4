/** Every operation, asked by every kind of caller, answers as docs/rights.md says. */
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  buildSchema,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  GraphQLNonNull,
  getNamedType,
  getNullableType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  parse,
  TypeInfo,
  type ValueNode,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { sql } from 'kysely';
import { hashDisplayToken, makeDisplayToken } from '../../src/identity/service.ts';
import * as generated from '../../src/web/console/generated/graphql.ts';
import { documentFile } from '../_util/contract.ts';
import { makeDisplay, makeTenant } from '../_util/factories.ts';
import { fetchWhole } from '../_util/fetch-whole.ts';
import { project } from '../_util/generate.ts';
import { masterData } from '../_util/master-data.ts';
import {
  type CallerName,
  type Cell,
  callerNames,
  openOperations,
  rights,
  rightsWhereUsersImport,
  userNames,
} from '../_util/rights.ts';
import { type Service, startService } from '../_util/service.ts';
import { makeCalendar, waiting } from '../mail/_util/rows.ts';
import { makeWebhook } from '../webhooks/_util/rows.ts';

type Tree = Record<string, unknown>;
type Asker = CallerName | 'another tenant' | 'nobody';
type Answered = Cell | 'no credential' | `${number}`;

const document = JSON.parse(fs.readFileSync(documentFile, 'utf8')) as {
  paths: Record<
    string,
    Record<
      string,
      {
        parameters?: { name?: string; in?: string; required?: boolean; schema?: { example?: string } }[];
        requestBody?: { content: Record<string, { example?: unknown }> };
        security?: object[];
      }
    >
  >;
};
const schema = buildSchema(fs.readFileSync(path.join(project, 'src/graphql/schema.graphql'), 'utf8'));

let service: Service;
const tokens = new Map<Asker, string>();
/** What operations are asked about, by the noun before an id. */
const ids: Record<string, string | number> = {};
let spare = 0;

const neverAVersion = 999_999;
const from = '2031-03-03T08:00:00Z';
const to = '2031-03-03T09:00:00Z';

beforeAll(async () => {
  service = await startService({ Role: 'Web', GraphiQLEnabled: 'false', Limits__StreamsPerToken: '1000' });
  const { tenant, context, signIn } = service;
  const { db, config } = context;
  await sql`update mandator set parameters = parameters || '{"UsersMayImport": false}'`.execute(db);
  tokens.set('Admin', await signIn(tenant, 'Admin'));
  tokens.set('Importer', await signIn(tenant, 'Importer'));
  tokens.set('User of the staff', await signIn());
  const admin = masterData(service, tokens.get('Admin')!);
  const person = async (name: string, role = 'User') => {
    const sent = { Name: name, Email: `${name}@school.example`, TimeZone: 'UTC', Role: role };
    return { id: (await admin.post('/persons', sent)).body['Id'] as number, email: '', role: '', name };
  };
  const other = await person('other');
  tokens.set('other User', await signIn({ ...tenant, person: () => other }));
  const elsewhere = await makeTenant(db, { code: 'elsewhere' });
  tokens.set('another tenant', await signIn(elsewhere, 'Admin'));
  const [room] = tenant.resources;
  const member = masterData(service, tokens.get('User of the staff')!);
  const booking = {
    ResourceId: room!.id,
    Subject: 'Exam',
    Start: new Date(Date.now() + 864e5),
    End: new Date(Date.now() + 9e7),
  };
  ids['booking'] = (await member.post('/bookings', booking)).body['Id'] as number;
  const token = await member.post(`/resources/${room!.id}/calendar-tokens`, {});
  ids['token'] = token.body['Id'] as number;
  ids['timetable token'] = (await member.post('/timetable/calendar-tokens', {})).body['Id'] as number;
  await sql`
    with job as (
      insert into lesson_job (mandator_id, job_id, batch_id, created_by)
      values (${tenant.mandatorId}, 'text', gen_random_uuid(), ${tenant.person('Admin').id}) returning id
    ), taken as (
      insert into booking (mandator_id, resource_id, kind, status, origin, occupied)
      select ${tenant.mandatorId}, ${room!.id}, 'Lesson', 'Confirmed', 'Import', tstzrange(at, at + interval '1 hour')
      from (select now() + interval '3 days' as at) as slot returning id, lower(occupied) as begin, upper(occupied) as end
    )
    insert into lesson (mandator_id, job, lektion_id, booking_id, resource_id, beginn, ende, status)
    select ${tenant.mandatorId}, job.id, 'text', taken.id, ${room!.id}, taken.begin, taken.end, 'Geplant'
    from job cross join taken`.execute(db);
  Object.assign(ids, { JobID: 'text', LektionId: 'text' });
  const clerk = await person('clerk');
  tokens.set('User of the office', await signIn({ ...tenant, person: () => clerk }));
  const planner = await person('planner', 'Importer');
  tokens.set('Importer of the staff', await signIn({ ...tenant, person: () => planner }));
  const makeGroup = async (name: string, ...members: number[]) =>
    (await admin.post('/groups', { Name: name, AddMembers: members })).body['Id'];
  const group = await makeGroup('Staff', tenant.person('User').id, planner.id);
  const office = await makeGroup('Office', clerk.id);
  await makeGroup('Guests', tenant.person('Importer').id, other.id);
  const rules = { Name: 'Exams', MaySee: [group, office], MayBook: [group], MayDecide: [office] };
  const policy = (await admin.post('/policies', rules)).body['Id'];
  await admin.patch(`/resources/${room!.id}`, { PolicyId: policy });
  const displayToken = makeDisplayToken();
  const sign = { resourceIds: [room!.id], tokenHash: hashDisplayToken(config, displayToken) };
  await makeDisplay(db, tenant, sign);
  tokens.set('display', displayToken);
  const batch = randomUUID();
  await sql`
    insert into batch (mandator_id, id, operation, job_count, request_id, created_by, import_status, finished_at)
    values (${tenant.mandatorId}, ${batch}, 'Create', 0, 'test', ${tenant.person('Admin').id}, 'LessonsCreated', now())`.execute(
    db,
  );
  // Some that everybody may see, for the streams of those that are open, and of those that have failed.
  await sql`
    insert into batch (mandator_id, id, operation, job_count, request_id, created_by)
    values (${tenant.mandatorId}, ${randomUUID()}, 'Create', 1, 'test', ${other.id})`.execute(db);
  await sql`
    insert into batch (mandator_id, id, operation, job_count, request_id, created_by, import_status, finished_at, failure_kind,
      error_count, error_messages)
    values (${tenant.mandatorId}, ${randomUUID()}, 'Create', 1, 'test', ${other.id}, 'LessonsImportFailed', now(), 'Data', 1, 'x')`.execute(
    db,
  );
  ids['erased'] = (await person('erased')).id;
  const { id: spareId } = await person('spare');
  Object.assign(ids, { resource: room!.id, location: tenant.locationId, person: spareId, group, policy, batch });
  const ics = 'BEGIN:VCALENDAR\r\nEND:VCALENDAR';
  ids['holidayCalendar'] = (await admin.post('/holiday-calendars', { Name: 'Ferien', Ics: ics })).body['Id'] as number;
  ids['mailSubscription'] = await makeCalendar(
    db,
    { mandatorId: tenant.mandatorId, resourceId: room!.id },
    {},
    waiting,
  );
  ids['webhook'] = await makeWebhook(db, tenant.mandatorId);
  ids['timetableProfile'] = (await admin.post('/timetable-profiles', { Name: 'Untis' })).body['Id'] as number;
  ids['pin'] = (await admin.post(`/persons/${spareId}/pins`, {})).body['PinId'] as number;
  ids['display'] = (await makeDisplay(db, tenant)).displayId;
  const reported = { key: 'one', kind: 'Other', reported_at: new Date() };
  const at = { mandator_id: tenant.mandatorId, resource_id: room!.id, display_id: ids['display'] as number };
  const problem = db
    .insertInto('room_problem')
    .values({ ...at, ...reported })
    .returning('id');
  ids['roomProblem'] = (await problem.executeTakeFirstOrThrow()).id;
  await sql`
    insert into display_pairing (code, mandator, token_hash, expires_at)
    values ('K7QM4D2X', 'school', '', now() + interval '10 minutes')`.execute(db);
  for (const [noun, id] of Object.entries(ids)) expect([noun, id]).toEqual([noun, expect.anything()]);
});
afterAll(() => service.stop());

function nounOf(name: string, where: string): string {
  if (where === 'erasePerson' || where.endsWith('/erasure')) return 'erased';
  if (name === 'calendarId' || (/^id$/i.test(name) && /holiday/i.test(where))) return 'holidayCalendar';
  if (/^id$/i.test(name) && /mail/i.test(where)) return 'mailSubscription';
  if (/^id$/i.test(name) && /webhook/i.test(where)) return 'webhook';
  if (/^id$/i.test(name) && /timetable-?profile/i.test(where)) return 'timetableProfile';
  if (/^id$/i.test(name) && /room-?problem/i.test(where)) return 'roomProblem';
  if (where.includes('/timetable/')) return 'timetable token';
  if (name === 'JobID' || name === 'LektionId') return name;
  if (/^may[A-Z]/.test(name)) return 'group';
  if (name === 'subjectId') return 'resource';
  if (name.endsWith('Members') || name === 'organizerId') return 'person';
  const ofName = (text: string) =>
    ['token', 'pin', 'batch', 'booking', 'series', 'resource', 'location', 'group', 'policy', 'person', 'display'].find(
      (noun) => text.toLowerCase().replace('policies', 'policy').includes(noun),
    );
  const places = { checkIn: 'booking', 'opening-hours': 'resource' } as Record<string, string>;
  const noun = (/^ids?$/i.test(name) ? undefined : ofName(name)) ?? places[where] ?? ofName(where);
  if (!noun) throw new Error(`${where}: say in this test what ${name} is an id of`);
  return noun;
}

const headersOf = (asker: Asker) => {
  const token = tokens.get(asker);
  return { ...(token !== undefined && { Authorization: `Bearer ${token}` }), 'Content-Type': 'application/json' };
};

type Ask = (asker: Asker) => Promise<Answered>;
const places = new Map<string, Ask>();
const open: [name: string, template: string, method: string][] = [];

const isUnknown = (text: string) => /"code": ?"UnknownResource"/i.test(text);

for (const [template, item] of Object.entries(document.paths))
  for (const [verb, operation] of Object.entries(item)) {
    const method = verb.toUpperCase();
    if (operation.security?.length === 0) {
      open.push([`${method} ${template}`, template, method]);
      continue;
    }
    // The session of a browser tells of itself alone.
    if (operation.security?.every((one) => 'Session' in one)) continue;
    const name = `${method} ${template.replace(/^\/\{mandator\}\/api\/v\d\.0\//, '')}`;
    places.set(name, async (asker) => {
      const address = template
        .replace('{mandator}', 'school')
        .replace(/\{(\w+)\}/g, (hole, parameter: string) =>
          String(
            ids[
              nounOf(
                parameter,
                /\/erasure$|\/timetable\//.test(template)
                  ? template
                  : (template.slice(0, template.indexOf(hole)).split('/').at(-2) ?? ''),
              )
            ],
          ),
        );
      const query = (operation.parameters ?? [])
        .filter((one) => one.in === 'query' && one.required)
        .map((one) => `${one.name}=${one.schema?.example}`);
      const example = operation.requestBody?.content['application/json']?.example;
      const body =
        example !== null && typeof example === 'object' && !Array.isArray(example)
          ? { ...example, ...('ResourceId' in example && { ResourceId: ids['resource'] }), OrganizerId: undefined }
          : example;
      const answer = await fetchWhole(`${service.url}${address}?${query.join('&')}`, {
        method,
        headers: { ...headersOf(asker), 'If-Match': `"${neverAVersion}"` },
        body: body === undefined ? null : JSON.stringify(body),
      });
      const text = await answer.text();
      if (answer.status === 401) return 'no credential';
      if (answer.status === 403) return 'no';
      if (answer.status === 404 || (answer.status === 422 && isUnknown(text))) return 'unknown';
      return [200, 201, 202, 204, 304, 409, 412, 422].includes(answer.status) ? 'yes' : `${answer.status}`;
    });
  }

type Input = GraphQLArgument | GraphQLInputField;

/** Texts that are judged by their form. */
const texts: Record<string, () => string> = {
  email: () => `p${++spare}@school.example`,
  timeZone: () => 'UTC',
  code: () => 'K7QM4D2X',
  name: () => `New ${++spare}`,
  url: () => 'https://hooks.example/',
};

function fillerOf(input: Input, where: string): unknown {
  if (input.name === 'confirm') return true;
  if (!isNonNullType(input.type)) {
    // A display shows at least one room; a lesson and its job are named by their keys here.
    const isNeeded = where === 'pairDisplay' ? input.name === 'resourceIds' : /Key$/.test(input.name);
    if (!isNeeded || !['pairDisplay', 'lesson', 'lessonJob'].includes(where)) return undefined;
  }
  const type = getNamedType(input.type);
  const one = (): unknown => {
    if (where === 'node' || where === 'nodes') return `resource_${ids['resource']}`;
    if (type.name === 'ID') return String(ids[nounOf(input.name, where)]);
    if (isEnumType(type)) return type.getValues()[0]?.value;
    if (isInputObjectType(type))
      return Object.fromEntries(Object.values(type.getFields()).map((field) => [field.name, fillerOf(field, where)]));
    if (type.name === 'DateTime') return /to|end/i.test(input.name) ? to : from;
    if (type.name === 'Date') return '2026-03-02';
    if (type.name === 'Int') return input.name === 'version' ? neverAVersion : 5;
    if (type.name === 'Boolean') return false;
    return texts[input.name]?.() ?? 'text';
  };
  if (!isListType(getNullableType(input.type))) return one();
  return ['resourceIds', 'ids', 'files', 'kinds'].includes(input.name) ? [one()] : [];
}

function selectionOf({ type }: GraphQLField<unknown, unknown>): string {
  const named = getNamedType(type);
  if (!isCompositeType(named)) return '';
  if (named.name === 'Usage') return '{ __typename resources { __typename } }';
  const isJudging = 'getTypes' in named && named.getTypes().some(({ name }) => name === 'ValidationProblem');
  return `{ __typename ${isJudging ? '... on ValidationProblem { errors { code } }' : ''} }`;
}

/** All of an answer; of a stream, which may never end, its first event. */
async function readStart(answer: Response): Promise<string> {
  if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) return await answer.text();
  let text = '';
  for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const [, data] = /^data: (.+)\n\n/m.exec(text) ?? [];
    if (data) return data;
  }
  return '{}';
}

for (const [kind, type] of [
  ['Query', schema.getQueryType()],
  ['Mutation', schema.getMutationType()],
  ['Subscription', schema.getSubscriptionType()],
] as const)
  for (const field of Object.values(type?.getFields() ?? {})) {
    const declared = field.args.map(({ name, type: of }) => `$${name}: ${of}`).join(', ');
    const passed = field.args.map(({ name }) => `${name}: $${name}`).join(', ');
    const head = declared ? `(${declared}) { ${field.name}(${passed})` : `{ ${field.name}`;
    const query = `${kind.toLowerCase()} ${head} ${selectionOf(field)} }`;
    places.set(`${kind}.${field.name}`, (asker) => {
      const variables = Object.fromEntries(field.args.map((one) => [one.name, fillerOf(one, field.name)]));
      return askGraph(asker, query, variables, field.name);
    });
  }

/** @param name of the field whose answer counts, in the answer */
async function askGraph(asker: Asker, query: string, variables: Tree, name: string): Promise<Answered> {
  const isStream = query.trimStart().startsWith('subscription');
  const answer = await (isStream ? fetch : fetchWhole)(`${service.url}/school/graphql`, {
    method: 'POST',
    headers: { ...headersOf(asker), Accept: isStream ? 'text/event-stream' : 'application/json' },
    body: JSON.stringify({ query, variables }),
  });
  const text = await readStart(answer);
  if (answer.status === 401) return 'no credential';
  if (answer.status === 404) return 'unknown';
  const { data, errors = [] } = JSON.parse(text) as {
    data?: Tree | null;
    errors?: { message: string; extensions?: { code?: string } }[];
  };
  const code = errors[0]?.extensions?.code ?? errors[0]?.message;
  const result = data?.[name] as { __typename?: string } | null | undefined;
  if (code === 'FORBIDDEN' || result?.__typename === 'ForbiddenProblem') return 'no';
  if (code === 'NOT_FOUND' || result === null || result?.__typename === 'NotFoundProblem') return 'unknown';
  if (result?.__typename === 'ValidationProblem' && isUnknown(text)) return 'unknown';
  return code === undefined ? 'yes' : (code as `${number}`);
}

/** What the screens of the console ask, as they ask it: with all that they read within. */
const asked: [name: string, fields: string[], ask: Ask][] = [];
for (const document of Object.values<unknown>(generated)) {
  if (!(document instanceof generated.TypedDocumentString)) continue;
  const query = document.toString();
  const [operation] = parse(query).definitions;
  if (operation?.kind !== 'OperationDefinition') continue;
  const kind = `${operation.operation.charAt(0).toUpperCase()}${operation.operation.slice(1)}`;
  const chosen = operation.selectionSet.selections.flatMap((one) => (one.kind === 'Field' ? [one] : []));
  const answers = chosen.map(({ name, alias }) => (alias ?? name).value);
  const fields = chosen.map(({ name }) => `${kind}.${name.value}`);
  const declared = new Map(operation.variableDefinitions?.map((one) => [one.variable.name.value, one.type]));
  asked.push([
    operation.name?.value ?? '',
    fields,
    async (asker) => {
      const variables: Tree = {};
      const fill = (value: ValueNode, input: Input, where: string): void => {
        if (value.kind === 'Variable') {
          const isNeeded = declared.get(value.name.value)?.kind === 'NonNullType';
          const type = isNeeded && !isNonNullType(input.type) ? new GraphQLNonNull(input.type) : input.type;
          variables[value.name.value] = fillerOf({ ...input, type } as Input, where);
        }
        const named = getNamedType(input.type);
        if (value.kind !== 'ObjectValue' || !isInputObjectType(named)) return;
        for (const member of value.fields) {
          const field = named.getFields()[member.name.value];
          if (field) fill(member.value, field, where);
        }
      };
      const types = new TypeInfo(schema);
      visit(
        operation,
        visitWithTypeInfo(types, {
          Argument({ value }) {
            const [input, field] = [types.getArgument(), types.getFieldDef()];
            if (input && field) fill(value, input, field.name);
          },
        }),
      );
      return await askGraph(asker, query, variables, answers[0] ?? '');
    },
  ]);
}

test('every operation has a row, and every row an operation', () => {
  expect(rights.flatMap(({ names }) => names).toSorted()).toEqual([...places.keys()].toSorted());
  expect(open.map(([name]) => name).toSorted()).toEqual([...openOperations].toSorted());
});

test('OPTIONS names the methods that the path takes, and 405 the same', async () => {
  const taken = Object.entries(document.paths).flatMap(([template, item]) =>
    template.startsWith('/{mandator}/api/') && Object.values(item).some(({ security }) => security?.length !== 0)
      ? [[template, Object.keys(item).map((verb) => verb.toUpperCase())] satisfies [string, string[]]]
      : [],
  );
  const ofGraphql = [
    ['/{mandator}/graphql', ['POST']],
    ['/{mandator}/graphql/schema.graphql', ['GET']],
  ] satisfies [string, string[]][];
  const headers = headersOf('Admin');
  for (const [template, methods] of [...taken, ...ofGraphql]) {
    const address = service.url + template.replace('{mandator}', 'school').replaceAll(/\{\w+\}/g, '1');
    const expected = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : method)).toSorted();
    const other = methods.includes('PUT') ? 'PATCH' : 'PUT';
    for (const [method, status] of [
      ['OPTIONS', 204],
      [other, 405],
    ] as const) {
      const answer = await fetchWhole(address, { method, headers });
      const allow = answer.headers.get('allow')?.split(', ').toSorted();
      expect([template, method, answer.status, allow]).toEqual([template, method, status, expected]);
    }
  }
});

test.each(rights.flatMap(({ names, cells }) => names.map((name) => [name, cells] as const)))(
  '%s',
  async (name, cells) => {
    const ask = places.get(name)!;
    const told: Partial<Record<Asker, Answered>> = {};
    // Who may do most comes last: then there is something left to refuse to the others.
    const askers: Asker[] = ['nobody', 'another tenant', ...callerNames.toReversed()];
    for (const asker of askers) told[asker] = await ask(asker);
    expect(told).toEqual({ ...cells, nobody: 'no credential', 'another tenant': 'unknown' });
  },
);

describe('where Users may import', () => {
  const setParameter = (isSet: boolean) =>
    sql`update mandator set parameters = parameters || ${JSON.stringify({ UsersMayImport: isSet })}::jsonb`.execute(
      service.context.db,
    );
  beforeAll(() => setParameter(true));
  afterAll(() => setParameter(false));

  test.each(rightsWhereUsersImport.flatMap(({ names, cells }) => names.map((name) => [name, cells] as const)))(
    '%s',
    async (name, cells) => {
      for (const caller of userNames)
        expect([caller, await places.get(name)?.(caller)]).toEqual([caller, cells[caller]]);
    },
  );
});

test.each(openOperations)('%s asks for no credential', async (name) => {
  const [, template, method] = open.find(([one]) => one === name)!;
  const answer = await fetchWhole(`${service.url}${template.replace('{mandator}', 'school')}`, { method: method! });
  expect(answer.headers.get('www-authenticate')).toBeNull();
});

test.each(asked)('of the console: %s', async (_name, fields, ask) => {
  const strictest = (caller: CallerName): Cell => {
    const cells = fields.map((field) => rights.find(({ names }) => names.includes(field))?.cells[caller]);
    return cells.includes('no') ? 'no' : cells.includes('unknown') ? 'unknown' : 'yes';
  };
  const told: Partial<Record<Asker, Answered>> = {};
  const askers: Asker[] = ['nobody', 'another tenant', ...callerNames.toReversed()];
  for (const asker of askers) told[asker] = await ask(asker);
  const cells = Object.fromEntries(callerNames.map((caller) => [caller, strictest(caller)]));
  expect(told).toEqual({ ...cells, nobody: 'no credential', 'another tenant': 'unknown' });
});
