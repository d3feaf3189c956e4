import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import {
  executeSubscriptionEvent,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLOutputType,
  GraphQLSchema,
  isObjectType,
  type OperationDefinitionNode,
  parse,
  validateSubscriptionArgs,
} from 'graphql';
import { sql } from 'kysely';
import { toContent, toSnapshot } from '../../src/displays/snapshot.ts';
import type { GraphqlCall } from '../../src/graphql/builder.ts';
import { createLimits } from '../../src/graphql/limits.ts';
import { createPipeline } from '../../src/graphql/pipeline.ts';
import { planFrames, planQuery } from '../../src/graphql/plan.ts';
import { readsRecord } from '../../src/graphql/record.ts';
import { Resolved } from '../../src/graphql/resolved.ts';
import { wholeSchema } from '../../src/graphql/schema.ts';
import { TextList } from '../../src/http/large-json.ts';
import { openLog } from '../../src/log.ts';
import { documents } from '../../src/web/display/frames.ts';
import { makeTenant } from '../_util/factories.ts';
import { type GraphqlService, startGraphql } from '../_util/graphql.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { statementsOf } from '../_util/statements.ts';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let service: GraphqlService;
let resourceId: string;

beforeAll(async () => {
  database = await cloneDatabase();
  service = await startGraphql(database.url);
  const tenant = await makeTenant(service.context.db);
  service.admit('user', tenant);
  resourceId = String(tenant.resources[0]?.id);
});

afterAll(async () => {
  await service.stop();
  await database.drop();
});

/** The same call with a directive, of which no plan is made: GraphQL's own executor answers it. */
function forExecutor<Call extends { query: string }>(call: Call): Call {
  const { query } = call;
  const end = (parse(query).definitions[0]?.loc?.end ?? 0) - 1;
  return { ...call, query: `${query.slice(0, end)} __typename @skip(if: true) ${query.slice(end)}` };
}

async function ask(body: { query: string; variables?: object }): Promise<[status: number, body: unknown]> {
  const response = await service.post(body, { accept: 'application/graphql-response+json' });
  const text = await response.text();
  // Each answer has its own.
  return [response.status, JSON.parse(text.replaceAll(/"traceId":"[^"]+"/g, '"traceId":""'))];
}

describe('a query by its plan', () => {
  const byId = 'query Room($id: ID!) { resource(id: $id) { __typename id called: name active equipment } }';
  const listed =
    'query ($n: Int = 1, $f: ResourceFilter) { resources(first: $n, filter: $f) { nodes { ...r } pageInfo { hasNextPage } } } fragment r on Resource { id ... on Resource { location { name } } ... { name } }';
  const calls: [name: string, query: string, variables?: object, operationName?: string][] = [
    ['by a variable', byId, { id: 'room' }],
    ['by a literal', '{ a: resource(id: 1) { id } b: resource(id: "2") { name } serverTime: __typename }'],
    ['of what there is not', byId, { id: '999999' }],
    ['of a wrong id', byId, { id: 'x' }],
    ['with a variable of a wrong type', byId, { id: { id: 1 } }],
    ['without a required variable', byId, {}],
    ['with a null that may not be', byId, { id: null }],
    ['by its name', byId, { id: 'room' }, 'Room'],
    ['by a name that it has not', byId, { id: 'room' }, 'Other'],
    ['of two operations', 'query A { me { id } } query B { me { name } }', {}, 'B'],
    ['with fragments and defaults', listed],
    ['with a filter', listed, { n: 2, f: { minCapacity: 0, equipment: null } }],
    ['with a filter that is refused', listed, { n: 2, f: { minCapacity: -1 } }],
    ['with a filter of a wrong shape', listed, { n: 2, f: { capacity: 1 } }],
    ['that costs too much by its variables', listed, { n: 4_000 }],
    ['with a page that is too long', listed, { n: 201 }],
    ['that leaves fields out', 'query ($s: Boolean!) { me { id name @skip(if: $s) } }', { s: true }],
    ['of a field twice', '{ me { id } me { name id } }'],
    [
      'with a date-time',
      'query ($t: DateTime) { bookings(filter: { from: $t }) { nodes { id } } }',
      {
        t: '2027-01-01T00:00:00Z',
      },
    ],
    [
      'with a wrong date-time',
      'query ($t: DateTime) { bookings(filter: { from: $t }) { nodes { id } } }',
      { t: 'now' },
    ],
    ['of the schema', '{ __type(name: "Booking") { name } me { role } }'],
    ['for Admins alone', '{ me { id } persons { nodes { id } } }'],
    ['that is half refused', '{ good: resource(id: "1") { id } bad: resource(id: "x") { id } }'],
    ['under a strange name', '{ __proto__: me { role } constructor: me { id } }'],
  ];

  test.each(calls)('is answered as by the executor: %s', async (_name, query, variables = {}, operationName) => {
    const body = { query, variables: { ...variables }, operationName };
    if ('id' in body.variables && body.variables.id === 'room') body.variables.id = resourceId;
    const expected = await ask(forExecutor(body));
    for (const time of [1, 2, 3]) expect([time, await ask(body)]).toEqual([time, expected]);
    expect(JSON.stringify(await ask(body))).toBe(JSON.stringify(expected));
  });

  test('keeps its limit on what variables make it cost', async () => {
    const query = 'query ($n: Int) { resources(first: $n) { nodes { id bookings(first: 200) { nodes { id } } } } }';
    for (const n of [1, 2, 1]) expect(await ask({ query, variables: { n } })).toMatchObject([200, {}]);
    const [, refused] = await ask({ query, variables: { n: 200 } });
    expect(refused).toMatchObject({ errors: [{ extensions: { code: 'LIMIT' } }] });
  });

  test.each([
    ['before it asks', 'bad: persons { nodes { id } }'],
    [
      'once it has asked',
      'bad: availability(input: { resourceIds: ["999999"], from: "2027-03-01T00:00:00Z", to: "2027-03-02T00:00:00Z" }) { capacity }',
    ],
  ])('asks the database no more than the executor does where a field fails %s', async (_when, bad) => {
    const query = `{ rooms: resources { nodes { id location { name } bookings(first: 1) { nodes { id } } } } ... { ${bad} } }`;
    const count = async (body: { query: string }) => {
      const { answer, texts } = await statementsOf(service.context.db, () => ask(body));
      expect(answer).toMatchObject([200, { errors: [{ path: ['bad'] }] }]);
      return texts.length;
    };
    await count(forExecutor({ query }));
    const expected = await count(forExecutor({ query }));
    const planned = [await count({ query }), await count({ query }), await count({ query })];
    expect([expected > 2, planned]).toEqual([true, [expected, expected, expected]]);
  });

  describe('makes no record of a span of availability, and neither does the executor', () => {
    const input = 'input: { from: "2027-03-01T00:00:00Z", to: "2027-03-02T00:00:00Z" }';
    beforeAll(async () => {
      await sql`
        insert into booking (mandator_id, resource_id, kind, status, origin, subject, occupied)
        select mandator_id, id, 'Booking', 'Confirmed', 'Api', 'One', '[2027-03-01T09:00Z, 2027-03-01T10:00:30.5Z)' from resource
        where id = ${Number(resourceId)}`.execute(service.context.db);
    });

    test.each<[name: string, query: string]>([
      ['whole', `{ availability(${input}) { resourceName free { start end } busy { start end } } }`],
      [
        'in other orders, under other names, more than once',
        `{ availability(${input}) { free { end: start start: end kind: __typename __proto__: end } busy { end } } }`,
      ],
      [
        'as directives leave it',
        `query ($yes: Boolean = true, $no: Boolean!) { availability(${input}) {
          free { start @skip(if: $yes) end @include(if: $yes) ...s @include(if: $no) ... @skip(if: $no) { again: end } }
          busy { start @skip(if: $yes) ...s @include(if: $no) } } } fragment s on TimeSpan { start }`,
      ],
      [
        'by fragments',
        `{ availability(${input}) { ...f busy { start } } }
          fragment f on ResourceAvailability { busy { end ...s } } fragment s on TimeSpan { start }`,
      ],
      ['beside a field that fails', `{ availability(${input}) { free { start end } } bad: persons { nodes { id } } }`],
      [
        'under another name, beside a field that fails',
        `{ availability(${input}) { free { from: start } } bad: persons { nodes { id } } }`,
      ],
      ['beside the word subscription', `{ availability(${input}) { subscription: free { end } } }`],
      ['of several operations', `query A { me { id } } query B { availability(${input}) { busy { start } } }`],
    ])('%s', async (_name, query) => {
      const body = { query, variables: { no: false }, ...(query.startsWith('query A') && { operationName: 'B' }) };
      // Then all are made of records.
      const selecting = jest.spyOn(TextList.prototype, 'selecting').mockReturnValue(undefined);
      const read = jest.spyOn(TextList.prototype, Symbol.iterator);
      const expected = JSON.stringify(await ask(forExecutor(body)));
      expect([expected.includes('"errors"'), read.mock.calls.length > 0]).toEqual([query.includes('bad:'), true]);
      selecting.mockRestore();
      read.mockClear();
      const answers = [await ask(body), await ask(body), await ask(forExecutor(body))];
      expect(answers.map((answer) => JSON.stringify(answer))).toEqual([expected, expected, expected]);
      const socket = service.ws();
      const { value } = await socket.iterate(body).next();
      await socket.dispose();
      expect(JSON.stringify(value.data)).toBe(JSON.stringify(JSON.parse(expected)[1].data));
      expect(read).not.toHaveBeenCalled();
      read.mockRestore();
    });
  });

  test('does not go through all of the pipeline once it has been answered', async () => {
    const pipeline = createPipeline(openLog('silent'), () => {});
    const call = { context: {}, viewer: {} } as GraphqlCall;
    const run = () => pipeline.answer({ query: '{ serverTime }' }, call, async (result) => result);
    expect(await run()).toHaveProperty('data.serverTime');
    Object.assign(pipeline.yoga, {
      getResultForParams() {
        throw new Error('all of it');
      },
    });
    expect(await run()).toHaveProperty('data.serverTime');
    await expect(pipeline.answer({ query: '{ now: serverTime }' }, call, async (result) => result)).rejects.toThrow(
      'all of it',
    );
  });
});

test('no plugin wraps the resolver of a field that a plan reads without it', () => {
  const fields = Object.values(wholeSchema().getTypeMap())
    .filter((type) => isObjectType(type))
    .flatMap((type) => Object.values(type.getFields()))
    .filter(({ extensions }) => extensions[readsRecord]);
  expect(fields.length).toBeGreaterThan(100);
  expect(fields.filter(({ extensions }) => extensions['pothosResolveWrapped'] !== false)).toEqual([]);
});

describe('a plan', () => {
  const limits = createLimits(() => {});
  const planned = (value: () => unknown, type: GraphQLOutputType) => {
    const fields = { one: { type, resolve: value }, other: { type: GraphQLInt, resolve: async () => 2 } };
    const schema = new GraphQLSchema({ query: new GraphQLObjectType({ name: 'Query', fields }) });
    return planQuery(schema, parse('{ one other }'), limits)?.({}, { context: {} } as GraphqlCall, new Resolved());
  };
  const Int = GraphQLInt;

  test('completes a long list in many turns of the event loop, unless its items ask for more', async () => {
    let turn = 0;
    const count = () => {
      turn++;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    const items = Array.from({ length: 110 }, (_, number) => ({ number }));
    /** Every tenth item takes longer than a slice. */
    function work({ number }: { number: number }): number {
      for (const begun = performance.now(); number % 10 === 0 && performance.now() - begun < 6; );
      return turn;
    }
    const at = { type: GraphQLInt, resolve: work };
    const asked = { type: GraphQLInt, resolve: async () => turn };
    const item = new GraphQLObjectType({ name: 'Item', fields: { at, asked } });
    const list = { type: new GraphQLList(item), resolve: () => items };
    const schema = new GraphQLSchema({ query: new GraphQLObjectType({ name: 'Query', fields: { list } }) });
    async function turnsOf(selected: string) {
      const run = planQuery(schema, parse(`{ list { ${selected} } }`), limits);
      const data = await run?.({}, { context: {} } as GraphqlCall, new Resolved());
      const found = (data as { list: { at: number }[] }).list;
      expect(found).toHaveLength(110);
      return new Set(found.map((one) => one.at)).size;
    }
    const turns = [await turnsOf('at'), await turnsOf('at asked')];
    clearImmediate(counting);
    expect(turns).toEqual([expect.any(Number), 1]);
    expect(turns[0]).toBeGreaterThan(10);
  });

  test.each([
    ['{ bookings(filter: {}) { edges { cursor node { id origin { system } } } pageInfo { endCursor } } }', true],
    ['query Q($id: ID!) { batch(id: $id) { ...b } } fragment b on Batch { importStatus }', true],
    ['{ a: me { ... on Person { id } ... { role } } }', true],
    ['{ me { id @skip(if: false) } }', false],
    ['{ me { ...p @include(if: true) } } fragment p on Person { id }', false],
    ['query @one { me { id } }', false],
    ['{ me { id } __schema { types { name } } }', false],
    ['query A { me { id } } query B { me { id } }', false],
    ['mutation { cancelBatch(id: "x") { __typename } }', false],
    ['subscription { batches { id } }', false],
  ])('is made of one query over plain records: %s', (query, isMade) => {
    expect(planQuery(wholeSchema(), parse(query), limits) !== undefined).toBe(isMade);
  });

  test.each<[string, () => unknown, GraphQLOutputType, unknown]>([
    ['a value', () => 1, Int, 1],
    ['a promise', async () => 1, Int, 1],
    ['nothing', () => undefined, Int, null],
    ['a list', () => [1, null], new GraphQLList(Int), [1, null]],
  ])('gives %s', async (_name, value, type, one) => {
    const data = await planned(value, type);
    expect(JSON.stringify(data)).toBe(JSON.stringify({ one, other: 2 }));
  });

  test.each<[string, () => unknown, GraphQLOutputType]>([
    [
      'what is thrown',
      () => {
        throw new Error('x');
      },
      Int,
    ],
    ['a promise that fails', () => Promise.reject(new Error('x')), Int],
    ['an error as a value', () => new Error('x'), Int],
    ['an error in a list', () => [new Error('x')], new GraphQLList(Int)],
    ['a null that may not be', () => null, new GraphQLNonNull(Int)],
    ['a null in a list without', () => [null], new GraphQLList(new GraphQLNonNull(Int))],
    ['a promise of a null that may not be', async () => null, new GraphQLNonNull(Int)],
    ['a promise in a list', () => [Promise.resolve(1)], new GraphQLList(Int)],
    ['another iterable', () => new Set([1]), new GraphQLList(Int)],
    ['a value that does not fit', () => 'x', Int],
  ])('leaves %s to the executor', async (_name, value, type) => {
    expect(await planned(value, type)).toBeUndefined();
  });
});

describe('a plan of frames', () => {
  const schema = wholeSchema();
  const call = { viewer: { mandatorId: 1 }, context: {} } as GraphqlCall;
  const planOf = (query: string) => {
    const document = parse(query);
    const args = validateSubscriptionArgs({ schema, document, variableValues: { id: '1' }, contextValue: call });
    if (!('operation' in args)) throw args[0];
    return { args, plan: planFrames(schema, document, args.operation) };
  };
  const now = Date.UTC(2027, 0, 1);
  const heartbeat = { kind: 'heartbeat', cursor: 'c', serverTime: now, asOf: now, trustUntil: now };
  const content = toContent(
    {
      stored: {
        resourceId: 2,
        name: 'Zimmer "über"',
        kind: 'Room',
        capacity: null,
        equipment: ['Beamer'],
        isActive: true,
        locationId: 1,
        locationName: 'Zürich',
        timeZone: 'Europe/Zurich',
        start: now,
        midnight: now + 1,
        end: now + 2,
        slots: [],
      },
      open: [{ start: now, end: now + 2 }],
      zoneOffsets: [{ from: now, offsetMinutes: 60 }],
    },
    'Title',
    now,
  );

  test.each<[string, object]>([
    ['a snapshot', toSnapshot(content, now, now)],
    ['a heartbeat', heartbeat],
    ['the end', { kind: 'ended', reason: 'Revoked', serverTime: now, retryAfterSeconds: null }],
  ])('gives what the executor gives of %s', async (_name, frame) => {
    for (const { stream } of [documents.sign, documents.board]) {
      const { args, plan } = planOf(stream);
      const { data } = await executeSubscriptionEvent({ ...args, rootValue: frame });
      expect(JSON.stringify(plan?.(frame, call, args.variableValues))).toBe(JSON.stringify(data));
    }
  });

  test('leaves what fails to the executor', () => {
    const { args, plan } = planOf(documents.sign.stream);
    for (const frame of [new Error('x'), { kind: 'unknown' }, { ...heartbeat, cursor: null }])
      expect(plan?.(frame, call, args.variableValues)).toBeUndefined();
  });

  test.each([
    ['subscription @one { display(resourceId: 1) { __typename } }', false],
    ['subscription { display(resourceId: 1) { ... @include(if: true) { __typename } } }', false],
    ['subscription { a: display(resourceId: 1) { ...h } } fragment h on DisplayHeartbeat { cursor }', true],
  ])('is made of a field over plain records: %s', (query, isMade) => {
    const document = parse(query);
    const [operation] = document.definitions as [OperationDefinitionNode];
    expect(planFrames(schema, document, operation) !== undefined).toBe(isMade);
  });
});
