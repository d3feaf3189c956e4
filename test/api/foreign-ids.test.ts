/**
 * Every id of another tenant, in every place of the API that takes one (trust S12): the answer is the one for an unknown
 * id, byte by byte but for the id itself. The places come from the OpenAPI document and the SDL: a new one that this test
 * has no id for fails it.
 */
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  buildSchema,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  getNamedType,
  getNullableType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isScalarType,
} from 'graphql';
import { sql } from 'kysely';
import { createPin } from '../../src/identity/service.ts';
import { documentFile } from '../_util/contract.ts';
import { makeTenant } from '../_util/factories.ts';
import { fetchWhole, readStart } from '../_util/fetch-whole.ts';
import { project } from '../_util/generate.ts';
import { lessonClient } from '../_util/lessons.ts';
import { masterData } from '../_util/master-data.ts';
import { pepper } from '../_util/pepper.ts';
import { type Service, startService } from '../_util/service.ts';
import { makeWebhook } from '../webhooks/_util/rows.ts';

const nouns = [
  ...(['resource', 'location', 'person', 'pin', 'token', 'batch', 'series', 'booking', 'display'] as const),
  ...(['group', 'policy', 'holidayCalendar', 'mailSubscription', 'roomProblem', 'webhook'] as const),
  ...(['lesson', 'lessonJob', 'timetableProfile'] as const),
] as const;
type Noun = (typeof nouns)[number];
type Tree = Record<string, unknown>;
type Operation = {
  parameters?: { name?: string; in?: string; required?: boolean; schema?: { example?: string } }[];
  requestBody?: { content: Record<string, { example?: unknown }> };
  security?: object[];
};

const document = JSON.parse(fs.readFileSync(documentFile, 'utf8')) as {
  paths: Record<string, Record<string, Operation>>;
};
const schema = buildSchema(fs.readFileSync(path.join(project, 'src/graphql/schema.graphql'), 'utf8'));

/** What an id of this name is about: `locationId`, `{pinId}`, or a plain `id` below `where`. */
function nounOf(name: string, where: string): Noun {
  if (name.toLowerCase() === 'organizerid') return 'person';
  if (/^job(id|key)$/i.test(name)) return 'lessonJob';
  if (name === 'id' && (where === 'lesson' || where === 'lessonJob')) return where;
  if (where === 'checkIn') return 'booking';
  if (/^calendarid$/i.test(name) || (name === 'id' && /holiday/i.test(where))) return 'holidayCalendar';
  if (name === 'id' && /mail/i.test(where)) return 'mailSubscription';
  if (name === 'id' && /webhook/i.test(where)) return 'webhook';
  if (name === 'id' && /timetable-?profile/i.test(where)) return 'timetableProfile';
  if (name === 'id' && /room-?problem/i.test(where)) return 'roomProblem';
  if (where === 'opening-hours' && name === 'id') return 'resource';
  if (/^may/i.test(name)) return 'group';
  if (/members$/i.test(name)) return 'person';
  if (where === 'policies' && name === 'id') return 'policy';
  if (where === 'opening-hours') return 'resource';
  // Of an act: here they are about resources.
  if (name.toLowerCase() === 'subjectid') return 'resource';
  const ofName = (text: string) => nouns.find((noun) => text.toLowerCase().includes(noun));
  const noun = ofName(name) ?? ofName(where);
  if (!noun) throw new Error(`${where}: say in this test what ${name} is an id of`);
  return noun;
}

const unknown: Record<Noun, string> = {
  resource: '2000000000',
  location: '2000000000',
  person: '2000000000',
  pin: '2000000000',
  token: '2000000000',
  series: '2000000000',
  booking: '2000000000',
  display: '2000000000',
  group: '2000000000',
  policy: '2000000000',
  holidayCalendar: '2000000000',
  mailSubscription: '2000000000',
  roomProblem: '2000000000',
  webhook: '2000000000',
  timetableProfile: '2000000000',
  batch: '01a1f8da-707e-77b2-927f-0b8eb9707a33',
  lesson: '2000000000_L',
  lessonJob: 'job-of-nobody',
};
const foreign = {} as Record<Noun, string>;
const own = {} as Record<Noun, string>;
const canary = 'canary-of-the-other';
/** The key of each lesson here: below the job of another tenant it finds no more than any other. */
const lessonKey = 'L';
let service: Service;
let admin: ReturnType<typeof masterData>;

async function openTenant(tenant: Service['tenant'], ids: Record<Noun, string>): Promise<void> {
  const { mandatorId } = tenant;
  const personId = tenant.person('User').id;
  const { pinId } = await createPin(service.context.db, pepper, { mandatorId, personId, label: canary });
  const client = lessonClient({ url: service.url, tenant }, await service.signIn(tenant));
  const lessonJob = `job-of-${mandatorId}`;
  const [Beginn, Ende] = [72, 73].map((hours) => new Date(Date.now() + hours * 3_600_000).toISOString());
  const lesson = { LektionId: lessonKey, Titel: canary, RessourceName: tenant.resources[0]!.name, Beginn, Ende };
  const sent = await client.post([{ JobID: lessonJob, Bezeichnung: canary, LektionList: [lesson] }]);
  const { BatchId } = (await sent.json()) as { BatchId: string };
  expect(await client.end(BatchId)).toMatchObject({ ImportStatus: 'LessonsCreated' });
  const job = await service.context.db
    .selectFrom('lesson_job')
    .where('mandator_id', '=', mandatorId)
    .select('id')
    .executeTakeFirstOrThrow();
  const { id: token } = await service.context.db
    .insertInto('calendar_token')
    .values({
      mandator_id: mandatorId,
      resource_id: tenant.resources[0]!.id,
      person_id: personId,
      hash: randomBytes(32),
      label: canary,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  const { rows } = await sql<{ series: number; booking: number }>`
    with series as (
      insert into booking_series (mandator_id, recurrence_rule) values (${mandatorId}, ${canary}) returning id
    )
    insert into booking (mandator_id, resource_id, organizer_id, series_id, kind, status, origin, subject, occupied)
    select ${mandatorId}, ${tenant.resources[0]!.id}, ${personId}, id, 'Booking', 'Confirmed', 'Api', ${canary},
      tstzrange(now() + interval '1 day', now() + interval '25 hours')
    from series returning series_id as series, id as booking`.execute(service.context.db);
  await sql`
    insert into audit (mandator_id, person_id, action, subject, subject_id, request_id)
    values (${mandatorId}, ${personId}, 'change resource', 'Resource', ${tenant.resources[0]!.id}, ${canary})`.execute(
    service.context.db,
  );
  const display = await sql<{ id: number }>`
    with paired as (
      insert into display (mandator_id, person_id, created_by, privacy, token_hash, expires_at)
      values (${mandatorId}, ${tenant.person('Display').id}, ${personId}, 'Title', ${randomBytes(32)}, now() + interval '1 day')
      returning mandator_id, id
    ), given as (
      insert into display_resource (mandator_id, display_id, resource_id)
      select mandator_id, id, ${tenant.resources[0]!.id} from paired
    )
    select id from paired`.execute(service.context.db);
  const calendar = await sql<{ id: number }>`
    with calendar as (
      insert into holiday_calendar (mandator_id, location_id, name, closes)
      values (${mandatorId}, ${tenant.locationId}, ${canary}, false) returning mandator_id, id
    )
    insert into holiday (mandator_id, calendar_id, from_date, to_date, name)
    select mandator_id, id, '2030-12-24', '2030-12-26', ${canary} from calendar returning calendar_id as id`.execute(
    service.context.db,
  );
  const mail = await service.context.db
    .insertInto('mail_calendar')
    .values({ mandator_id: mandatorId, resource_id: tenant.resources[0]!.id, kind: 'CalDav', mailbox: canary })
    .returning('id')
    .executeTakeFirstOrThrow();
  const problem = await service.context.db
    .insertInto('room_problem')
    .values({
      mandator_id: mandatorId,
      resource_id: tenant.resources[0]!.id,
      display_id: display.rows[0]!.id,
      key: canary,
      kind: 'Other',
      text: canary,
      reported_at: new Date(),
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  const rights = await sql<{ group: number; policy: number }>`
    with made as (
      insert into person_group (mandator_id, name) values (${mandatorId}, ${canary}) returning id
    ), member as (
      insert into person_group_member (mandator_id, group_id, person_id)
      select ${mandatorId}::integer, id, ${personId}::integer from made
    ), ruling as (
      insert into policy (mandator_id, name) values (${mandatorId}, ${canary}) returning id
    )
    select made.id as group, ruling.id as policy from made, ruling`.execute(service.context.db);
  const profile = await sql<{ id: number }>`
    insert into timetable_profile (mandator_id, name, reading)
    values (${mandatorId}, ${canary}, ${JSON.stringify({ Standort: canary })}::jsonb) returning id`.execute(
    service.context.db,
  );
  Object.assign(ids, {
    timetableProfile: String(profile.rows[0]!.id),
    group: String(rights.rows[0]!.group),
    policy: String(rights.rows[0]!.policy),
    display: String(display.rows[0]!.id),
    holidayCalendar: String(calendar.rows[0]!.id),
    mailSubscription: String(mail.id),
    roomProblem: String(problem.id),
    webhook: String(await makeWebhook(service.context.db, mandatorId, canary)),
    token: String(token),
    series: String(rows[0]!.series),
    booking: String(rows[0]!.booking),
    resource: String(tenant.resources[0]!.id),
    location: String(tenant.locationId),
    person: String(personId),
    pin: String(pinId),
    batch: BatchId,
    lesson: `${job.id}_${lessonKey}`,
    lessonJob,
  });
}

beforeAll(async () => {
  service = await startService();
  admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
  await openTenant(service.tenant, own);
  // Ids that stand nowhere else in an answer.
  for (const table of [
    ...['location', 'resource', 'person', 'pin', 'calendar_token', 'booking_series', 'booking', 'display'],
    ...['holiday_calendar', 'mail_calendar', 'room_problem', 'lesson_job', 'timetable_profile'],
  ])
    await sql`alter table ${sql.table(table)} alter column id restart with 770077`.execute(service.context.db);
  // A device that shows the code of the example, so that its rooms are looked at.
  await sql`
    insert into display_pairing (code, mandator, token_hash, expires_at)
    values ('K7QM4D2X', 'school', '', now() + interval '10 minutes')`.execute(service.context.db);
  await openTenant(await makeTenant(service.context.db, { code: canary, rooms: [canary] }), foreign);
});
afterAll(() => service.stop());

/** Everything of the other tenant, as text. */
async function readForeign(): Promise<string> {
  const tables = [
    ...['mandator', 'location', 'resource', 'person', 'pin', 'batch', 'audit', 'calendar_token'],
    ...['booking_series', 'booking', 'display', 'display_resource', 'room_problem', 'lesson_job', 'lesson'],
  ];
  const texts = tables.map(
    (table) => sql<string>`(
      select coalesce(string_agg(to_jsonb(one)::text, ',' order by to_jsonb(one)::text), '') from ${sql.table(table)} as one
      where (to_jsonb(one) ->> ${table === 'mandator' ? 'code' : 'mandator_id'}) in (${canary},
        (select id::text from mandator where code = ${canary})))`,
  );
  const { rows } = await sql<{ texts: string[] }>`select array[${sql.join(texts)}] as texts`.execute(
    service.context.db,
  );
  return rows[0]!.texts.join('\n');
}

/** Of an id there are three kinds here: one that it must not reach, one that nobody has, and for the rest its own. */
type Place = {
  name: string;
  noun: Noun;
  isGraphql?: boolean;
  ask(id: string): Promise<{ status: number; text: string }>;
};

const idNamed = /(^|[a-z])ids?$/i;

function restPlaces(): Place[] {
  return Object.entries(document.paths).flatMap(([template, item]) =>
    Object.entries(item).flatMap(([method, operation]): Place[] => {
      // Of an anonymous call the ids are not looked at.
      if (!template.startsWith('/{mandator}/api/') || operation.security?.length === 0) return [];
      const example = operation.requestBody?.content['application/json']?.example;
      // Lessons are named below their jobs.
      const holes = [...template.matchAll(/\{(JobID|(?!LektionId)\w*[iI]d)\}/g)].map(([hole, name = '']) => ({
        hole,
        noun: nounOf(name, template.slice(0, template.indexOf(hole)).split('/').at(-2) ?? ''),
      }));
      const send = async (address: string, body: unknown) => {
        const answer = await fetchWhole(service.url + address, {
          method: method.toUpperCase(),
          headers: {
            Authorization: `Bearer ${admin.token}`,
            'X-Request-Id': 'the same',
            'If-Match': '*',
            ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          },
          body: body === undefined ? null : JSON.stringify(body),
        });
        return { status: answer.status, text: await answer.text() };
      };
      const addressWith = (at: string | undefined, id: string) =>
        holes
          .reduce((address, { hole, noun }) => address.replace(hole, hole === at ? id : own[noun]), template)
          .replace('{mandator}', 'school')
          .replace('{LektionId}', lessonKey);
      const where = `${method.toUpperCase()} ${template}`;
      const required = (operation.parameters ?? [])
        .filter((one) => one.in === 'query' && one.required)
        .map((one) => `${one.name}=${one.schema?.example}`);
      const members =
        typeof example === 'object' && example !== null && !Array.isArray(example)
          ? Object.keys(example).filter((name) => idNamed.test(name))
          : [];
      return [
        ...holes.map(
          ({ hole, noun }): Place => ({
            name: `${where}: ${hole}`,
            noun,
            ask: (id) => send(addressWith(hole, id), example),
          }),
        ),
        ...(operation.parameters ?? [])
          .filter((one) => one.in === 'query' && idNamed.test(one.name ?? ''))
          .map(
            ({ name = '' }): Place => ({
              name: `${where}: ?${name}`,
              noun: nounOf(name, ''),
              ask: (id) => send(`${addressWith(undefined, '')}?${[...required, `${name}=${id}`].join('&')}`, example),
            }),
          ),
        ...members.map(
          (member): Place => ({
            name: `${where}: body ${member}`,
            noun: nounOf(member, ''),
            ask: (id) => {
              const sent = Array.isArray((example as Tree)[member]) ? [Number(id)] : Number(id);
              return send(addressWith(undefined, ''), { ...(example as Tree), [member]: sent });
            },
          }),
        ),
      ];
    }),
  );
}

type Input = GraphQLArgument | GraphQLInputField;
const isId = ({ name, type }: Input) => getNamedType(type).name === 'ID' || name === 'jobKey';

/** A right value of an argument that is not about `at`; undefined to leave it out. */
function fillerOf(input: Input, where: string): unknown {
  // What takes an input judges itself what is missing.
  if (!isNonNullType(input.type) && !input.description?.startsWith('Required.')) return undefined;
  if (isListType(getNullableType(input.type))) return [];
  const type = getNamedType(input.type);
  if (type.name === 'ID') return own[nounOf(input.name, where)];
  if (isEnumType(type)) return type.getValues()[0]?.value;
  if (isInputObjectType(type)) {
    const members = Object.values(type.getFields()).map((member) => [member.name, fillerOf(member, where)]);
    return type.name.endsWith('JobInput') ? [] : Object.fromEntries(members.filter(([, value]) => value !== undefined));
  }
  if (type.name === 'Date') return `2027-03-0${['to', 'end'].includes(input.name) ? 2 : 1}`;
  if (type.name === 'DateTime') return `2027-03-0${['to', 'end'].includes(input.name) ? 2 : 1}T00:00:00Z`;
  if (isScalarType(type)) return type.name === 'Int' ? 1 : 'text';
  return undefined;
}

function selectionOf({ type }: GraphQLField<unknown, unknown>): string {
  const named = getNamedType(type);
  if (!isCompositeType(named)) return '';
  const isOfProblems = 'getTypes' in named && named.getTypes().some((one) => one.getInterfaces().length > 0);
  if (isOfProblems) return '{ __typename ... on Problem { code message } }';
  if ('getTypes' in named) return '{ __typename }';
  return 'nodes' in named.getFields() ? '{ nodes { __typename } }' : '{ __typename }';
}

function graphqlPlaces(): Place[] {
  const kinds = [
    ['query', schema.getQueryType()],
    ['mutation', schema.getMutationType()],
    ['subscription', schema.getSubscriptionType()],
  ] as const;
  return kinds.flatMap(([kind, type]) =>
    Object.values(type?.getFields() ?? {}).flatMap((field): Place[] => {
      // They take ids of the graph alone, of any noun: test/graphql/graph.test.ts.
      if (['node', 'nodes'].includes(field.name)) return [];
      const declared = field.args.map(({ name, type: of }) => `$${name}: ${of}`).join(', ');
      const passed = field.args.map(({ name }) => `${name}: $${name}`).join(', ');
      const head = declared ? `${kind} (${declared}) { ${field.name}(${passed})` : `${kind} { ${field.name}`;
      const query = `${head} ${selectionOf(field)} }`;
      const ask = async (name: string, value: unknown) => {
        const fillers = Object.fromEntries(field.args.map((one) => [one.name, fillerOf(one, field.name)]));
        // Either an id, or both keys.
        if (field.name === 'lesson' && name === 'jobKey') fillers['lessonKey'] = lessonKey;
        const answer = await (kind === 'subscription' ? fetch : fetchWhole)(`${service.url}/school/graphql`, {
          method: 'POST',
          headers: {
            Authorization: `Bearer ${admin.token}`,
            'Content-Type': 'application/json',
            'X-Request-Id': 'the same',
            Accept: kind === 'subscription' ? 'text/event-stream' : 'application/json',
          },
          body: JSON.stringify({ query, variables: { ...fillers, [name]: value } }),
        });
        return { status: answer.status, text: await readStart(answer) };
      };
      return field.args.flatMap((argument): Place[] => {
        const where = `${kind} ${field.name}(${argument.name}`;
        if (isId(argument))
          return [
            {
              name: `${where})`,
              noun: nounOf(argument.name, field.name),
              isGraphql: true,
              ask: (id) => ask(argument.name, id),
            },
          ];
        const named = getNamedType(argument.type);
        if (!isInputObjectType(named) || argument.type.toString().startsWith('[')) return [];
        const members = Object.values(named.getFields());
        const fillers = () => Object.fromEntries(members.map((one) => [one.name, fillerOf(one, field.name)]));
        return members.filter(isId).map((member) => ({
          name: `${where}.${member.name})`,
          noun: nounOf(member.name, field.name),
          isGraphql: true,
          ask: (id) => ask(argument.name, { ...fillers(), [member.name]: id }),
        }));
      });
    }),
  );
}

const places = [...restPlaces(), ...graphqlPlaces()];

test('there are places of every noun, over both fronts', () => {
  for (const noun of nouns)
    for (const front of [/^[A-Z]+ \//, /^(query|mutation|subscription) /])
      expect([noun, places.some((place) => place.noun === noun && front.test(place.name))]).toEqual([
        noun,
        // REST has the keys of a lesson, and no id.
        noun !== 'lesson' || front.test('query '),
      ]);
});

describe('the id of another tenant is answered as an unknown one', () => {
  test.each(places.map((place) => [place.name, place] as const))('%s', async (_name, { noun, ask }) => {
    const before = await readForeign();
    const [theirs, nobodys] = [await ask(foreign[noun]), await ask(unknown[noun])];
    const scrub = (text: string, id: string) => text.replaceAll(id, '(id)');
    expect([theirs.status, scrub(theirs.text, foreign[noun])]).toEqual([
      nobodys.status,
      scrub(nobodys.text, unknown[noun]),
    ]);
    expect(theirs.text).not.toContain(canary);
    expect(await readForeign()).toBe(before);
  });

  test('and each place answers differently for an own id, or it would prove nothing', async () => {
    // Of the audit the person here has no part, figures of use are asked for here without what they need, and batches are
    // listed here as long as they are under way.
    const isSame = /audit.*person|query usage|batches.*\b(JobID|jobKey)\b/i;
    const reads = places.filter(({ name }) => /^(GET|query)/.test(name) && !isSame.test(name));
    expect(reads.length).toBeGreaterThan(8);
    for (const { name, noun, ask } of reads) {
      const [ours, nobodys] = [await ask(own[noun]), await ask(unknown[noun])];
      expect([name, ours.text === nobodys.text]).toEqual([name, false]);
    }
  });
});

describe('global ids', () => {
  const globalOf = (noun: Noun, id: string) => `${noun === 'token' ? 'calendarToken' : noun}_${id}`;
  // Where an id may be of any noun, none is wrong; a key is no id.
  const taking = places.filter(({ name, isGraphql }) => isGraphql && !/\.subjectId\)$|\bjobKey\)$/.test(name));

  test.each(taking.map((place) => [place.name, place] as const))('%s takes them, and no other', async (name, place) => {
    const { noun, ask } = place;
    const other = noun === 'pin' ? 'display' : 'pin';
    expect((await ask(globalOf(other, '7'))).text).toMatch(
      new RegExp(`must be the id of a [a-z ]+; this is that of a ${other}`),
    );
    if (name.startsWith('query ')) expect(await ask(globalOf(noun, own[noun]))).toEqual(await ask(own[noun]));
  });
});
