import { EventEmitter } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  GraphQLBoolean,
  type GraphQLFieldConfig,
  GraphQLInt,
  GraphQLList,
  GraphQLObjectType,
  GraphQLScalarType,
  GraphQLSchema,
  GraphQLString,
  parse,
} from 'graphql';
import { sql } from 'kysely';
import WebSocket from 'ws';
import type { DisplayGrant, Viewer } from '../../src/context.ts';
import { NotAuthenticated, NotFound, Unavailable } from '../../src/errors.ts';
import { nextOf } from '../../src/flow/latest.ts';
import type { GraphqlCall } from '../../src/graphql/builder.ts';
import { type Execution, eventOf, resultOf } from '../../src/graphql/execution.ts';
import { createSubscriptions, type Frames } from '../../src/graphql/frames.ts';
import { wholeSchema } from '../../src/graphql/schema.ts';
import { createEventStreams } from '../../src/graphql/sse.ts';
import { createStreams, resolveFrame } from '../../src/graphql/streams.ts';
import { makeTenant } from '../_util/factories.ts';
import { type GraphqlService, startGraphql } from '../_util/graphql.ts';
import { BatchStatusDocument } from '../_util/operations/generated/graphql.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { until } from '../_util/process.ts';

type Frame = { text: string };

/** The frames that watchers of a room get: the latest, at their own pace. */
function makeRooms() {
  const latest = new Map<number, Frame | Error>();
  const listeners = new Set<() => void>();
  return {
    tell(room: number, frame: Frame | Error): void {
      latest.set(room, frame);
      for (const wake of listeners) wake();
    },
    get watchers() {
      return listeners.size;
    },
    watch(room: number): AsyncIterableIterator<Frame | Error> {
      let given: Frame | Error | undefined;
      let isOpen = true;
      let wake = () => {};
      const tell = () => wake();
      listeners.add(tell);
      return {
        async next() {
          while (isOpen && latest.get(room) === given)
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          given = latest.get(room);
          return isOpen && given ? { value: given } : { value: undefined, done: true };
        },
        async return() {
          isOpen = false;
          listeners.delete(tell);
          wake();
          return { value: undefined, done: true };
        },
        [Symbol.asyncIterator]() {
          return this;
        },
      };
    },
  };
}

let rooms: ReturnType<typeof makeRooms>;
/** How often a field of a frame was resolved. */
let executions: number;

/** Takes whatever there is. */
const anything = new GraphQLScalarType({ name: 'Anything' });

const frameType = new GraphQLObjectType<Frame>({
  name: 'Frame',
  fields: {
    text: {
      type: GraphQLString,
      args: { loud: { type: GraphQLBoolean }, any: { type: anything } },
      resolve({ text }, { loud }) {
        executions++;
        return loud ? text.toUpperCase() : text;
      },
    },
    later: { type: GraphQLString, resolve: async ({ text }) => text },
  },
});
const room = (sharesFrames: boolean): GraphQLFieldConfig<Frame, unknown> => ({
  type: frameType,
  args: { id: { type: GraphQLInt }, after: { type: GraphQLString } },
  extensions: { sharesFrames },
  subscribe: (_root, { id }) => rooms.watch(id),
  resolve: resolveFrame,
});
const schema = new GraphQLSchema({
  query: new GraphQLObjectType({ name: 'Query', fields: { all: { type: new GraphQLList(GraphQLString) } } }),
  subscription: new GraphQLObjectType({
    name: 'Subscription',
    fields: { room: room(true), own: room(false) },
  }),
});

const log = { error() {}, warn() {} } as never;
let subscriptions: ReturnType<typeof createSubscriptions>;

type Asked = {
  query: string;
  variables?: Record<string, unknown>;
  operationName?: string;
  viewer?: Partial<Viewer>;
};
async function watch({ query, variables = {}, operationName, viewer = {} }: Asked): Promise<Frames> {
  const contextValue = {
    requestId: 'test',
    viewer: { mandatorId: 1, role: 'User', hiddenRooms: [], display: null, ...viewer },
  } as GraphqlCall;
  const opened = await subscriptions.open({
    schema,
    document: parse(query),
    variableValues: variables,
    contextValue,
    operationName: operationName ?? null,
  });
  if ('errors' in opened) throw opened.errors[0];
  return opened;
}

beforeEach(() => {
  rooms = makeRooms();
  executions = 0;
  subscriptions = createSubscriptions(log, () => undefined);
});

describe('an execution', () => {
  const query = 'subscription ($id: Int, $after: String) { room(id: $id, after: $after) { text } }';

  async function frameOf(asked: Asked) {
    return await nextOf(await watch(asked));
  }

  test('is shared by all who ask for the same of the same frame, whatever chose the frame', async () => {
    rooms.tell(1, { text: 'free' });
    const all = await Promise.all(['a', 'b', null].map((after) => frameOf({ query, variables: { id: 1, after } })));
    expect(new Set(all).size).toBe(1);
    expect(executions).toBe(1);
    rooms.tell(1, { text: 'busy' });
    expect(await resultOf((await frameOf({ query, variables: { id: 1 } })) as Execution)).toEqual({
      data: { room: { text: 'busy' } },
    });
    expect(executions).toBe(2);
  });

  const named = 'subscription A { room(id: 1) { text } } subscription B { room(id: 1) { text } }';
  const loud = 'subscription ($loud: Boolean) { room(id: 1) { text(loud: $loud) } }';
  const skipped = 'subscription ($loud: Boolean = false) { room(id: 1) { text ... @skip(if: $loud) { t: text } } }';
  const inFragment = `subscription ($loud: Boolean) { room(id: 1) { ...F } } fragment F on Frame { text(loud: $loud) }`;
  test.each<[string, Asked, Asked]>([
    ['texts of the document', { query }, { query: query.replace('text', 't: text') }],
    ['operations of one document', { query: named, operationName: 'A' }, { query: named, operationName: 'B' }],
    ['values below the root', { query: loud, variables: { loud: true } }, { query: loud, variables: {} }],
    ['values in a fragment', { query: inFragment, variables: { loud: true } }, { query: inFragment }],
    ['values of a directive', { query: skipped, variables: { loud: true } }, { query: skipped }],
  ])('is not shared between two %s', async (_name, one, other) => {
    rooms.tell(1, { text: 'free' });
    const [first, second] = await Promise.all(
      [one, other].map((asked) => frameOf({ ...asked, variables: { id: 1, ...asked.variables } })),
    );
    expect(first).not.toBe(second);
  });

  test('is shared by the same tenant, rights and variables alone, value by value', async () => {
    const value = fc.constantFrom(
      ...[undefined, null, 0, -0, 1, '', ' ', '0', 'null', 'undefined', '"', '",null', '\0', false],
      ...[Number.POSITIVE_INFINITY, [], [null], [undefined], {}, { a: null }, { a: undefined }],
    );
    const plain = { noNullPrototype: true };
    const variables = fc.record({ any: value, other: value }, { ...plain, requiredKeys: [] });
    const viewer = fc.record(
      {
        mandatorId: fc.constantFrom(1, 2, 12),
        role: fc.constantFrom('Admin', 'User', 'Display'),
        display: fc.constantFrom(...(['Title', 'BusyOnly'] as const).map((privacy) => ({ privacy }) as DisplayGrant)),
      },
      plain,
    );
    const asked = fc.record({ variables, viewer }, plain);
    const document =
      'subscription ($id: Int, $any: Anything, $other: Anything) { room(id: $id) { text(any: $any) t: text(any: $other) } }';
    rooms.tell(1, { text: 'free' });
    await fc.assert(
      fc.asyncProperty(asked, fc.option(asked), async (one, another) => {
        const other = another ?? { ...one, variables: { ...one.variables } };
        const [first, second] = await Promise.all(
          [one, other].map(({ variables: sent, viewer: by }) =>
            frameOf({ query: document, variables: { ...sent, id: 1 }, viewer: by as Viewer }),
          ),
        );
        expect(first === second).toBe(isDeepStrictEqual(one, other));
      }),
      { numRuns: 500 },
    );
  });

  test('fails for whom it fails alone: a variable that is null is not one that is missing', async () => {
    const query = 'subscription ($skip: Boolean = false) { room(id: 1) { text @skip(if: $skip) } }';
    rooms.tell(1, { text: 'free' });
    const [wrong, right] = await Promise.all([
      frameOf({ query, variables: { skip: null } }),
      frameOf({ query, viewer: { mandatorId: 2 } }),
    ]);
    expect(await resultOf(wrong as Execution)).toHaveProperty('errors');
    expect(await resultOf(right as Execution)).toEqual({ data: { room: { text: 'free' } } });
  });

  test('is not shared between two frames, though they look the same', async () => {
    rooms.tell(1, { text: 'free' });
    rooms.tell(2, { text: 'free' });
    const [first, second] = await Promise.all([1, 2].map((id) => frameOf({ query, variables: { id } })));
    expect(first).not.toBe(second);
    expect(executions).toBe(2);
  });

  test('is not shared where the field does not promise it', async () => {
    rooms.tell(1, { text: 'free' });
    const own = { query: 'subscription { own(id: 1) { text } }' };
    const [first, second] = await Promise.all([frameOf(own), frameOf(own)]);
    expect(first).not.toBe(second);
    expect(executions).toBe(2);
  });

  test('is the same as bytes and as an object, in whatever order', async () => {
    rooms.tell(1, { text: 'über' });
    for (const fields of ['text', 'text later']) {
      const asked = { query: `subscription { room(id: 1) { ${fields} } }` };
      const execution = (await frameOf(asked)) as Execution;
      const event = await eventOf(execution);
      const data = { room: { text: 'über', ...(fields.includes('later') && { later: 'über' }) } };
      expect(await resultOf(execution)).toEqual({ data });
      expect(await resultOf(execution)).toBe(await resultOf(execution));
      expect(await eventOf(execution)).toBe(event);
    }
    expect(executions).toBe(2);
  });

  test('is promised to be the same for all only by the frames of rooms', () => {
    const fields = Object.values(wholeSchema().getSubscriptionType()?.getFields() ?? {});
    const promising = fields.filter(({ extensions }) => extensions['sharesFrames']);
    expect(promising.map(({ name }) => name).sort()).toEqual(['board', 'display']);
  });

  test('fails as a frame with an error', async () => {
    rooms.tell(1, new NotFound('gone'));
    const frame = await frameOf({ query, variables: { id: 1 } });
    expect(await resultOf(frame as Execution)).toMatchObject({
      errors: [{ message: 'gone', extensions: { code: 'NOT_FOUND' } }],
      data: { room: null },
    });
  });
});

describe('readers of SSE', () => {
  const events = createEventStreams(log, 1_000);
  /** Streams that cut no reader, however slow the machine is. */
  const patient = createEventStreams(log, 3_600_000);
  let server: http.Server;
  const sockets: net.Socket[] = [];
  let answered: http.ServerResponse | undefined;
  let streamed: { close(): void } | undefined;

  beforeAll(async () => {
    server = http.createServer(async (request, response) => {
      answered = response.setHeader('X-Of-Route', 'yes');
      const frames = await watch(JSON.parse(decodeURIComponent(String(request.headers['x-asked']))));
      streamed = frames;
      response.on('close', () => frames.close());
      (request.url === '/patient' ? patient : events).serve(response, frames);
    });
    server.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
  });
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
    return until(() => rooms.watchers === 0);
  });
  afterAll(() => {
    events.close();
    patient.close();
    server.close();
  });

  const requestOf = (asked: Asked, version = '1.1', path = '/') =>
    `GET ${path} HTTP/${version}\r\nHost: localhost\r\nX-Asked: ${encodeURIComponent(JSON.stringify(asked))}\r\n\r\n`;

  /** The bytes that a reader has had, behind the headers. */
  function read(asked: Asked, version = '1.1', path = '/') {
    const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
    sockets.push(socket);
    const reader = { socket, text: '', closed: false };
    socket.write(requestOf(asked, version, path));
    socket.setEncoding('utf8').on('data', (part) => (reader.text += part));
    socket.on('error', () => {}).on('close', () => (reader.closed = true));
    return reader;
  }
  const query = 'subscription ($id: Int, $after: String) { room(id: $id, after: $after) { text later } }';
  const bodyOf = ({ text }: { text: string }) => text.slice(text.indexOf('\r\n\r\n') + 4);

  test('get the very same bytes, made once', async () => {
    rooms.tell(1, { text: 'frei' });
    const readers = Array.from({ length: 50 }, (_, after) =>
      read({ query, variables: { id: 1, after: String(after) } }),
    );
    await until(() => readers.every(({ text }) => text.includes('"frei"')));
    rooms.tell(1, { text: 'belegt für Übung 日本' });
    await until(() => readers.every(({ text }) => text.includes('日本')));
    expect(executions).toBe(2);
    expect(new Set(readers.map(bodyOf)).size).toBe(1);
    expect(bodyOf(readers[0] as { text: string })).toContain(
      'event: next\ndata: {"data":{"room":{"text":"belegt für Übung 日本","later":"belegt für Übung 日本"}}}\n\n',
    );
  });

  test('cost no memory for the head of their answer once it was sent', async () => {
    rooms.tell(1, { text: 'frei' });
    const reader = read({ query, variables: { id: 1 } });
    await until(() => reader.text.includes('"frei"'));
    expect(reader.text).toMatch(/^HTTP\/1\.1 200 OK\r\nX-Of-Route: yes\r\nContent-Type: text\/event-stream\r\n/);
    expect(answered?.headersSent).toBe(true);
    expect(answered?.getHeaderNames()).toEqual([]);
    const texts = Object.values(answered ?? {}).filter((value) => typeof value === 'string');
    expect(texts.join()).not.toContain('X-Of-Route');
  });

  test('get the stream of a pipelined request after the end of the one before it', async () => {
    rooms.tell(1, { text: 'frei' });
    rooms.tell(2, { text: 'belegt' });
    const reader = read({ query, variables: { id: 1 } }, '1.1', '/patient');
    await until(() => reader.text.includes('"frei"'));
    const first = streamed;
    reader.socket.write(requestOf({ query, variables: { id: 2 } }, '1.1', '/patient'));
    await until(() => rooms.watchers === 2);
    expect(reader.text).not.toContain('"belegt"');
    first?.close();
    await until(() => reader.text.includes('"belegt"'));
    const [, before = '', behind = ''] = reader.text.split('HTTP/1.1 200 OK\r\nX-Of-Route: yes\r\n');
    expect(before).toMatch(/event: complete\ndata:\n\n\r\n0\r\n\r\n$/);
    expect(behind).toContain('event: next\ndata: {"data":{"room":{"text":"belegt","later":"belegt"}}}\n\n\r\n');
  });

  test('are not cut while another stream of their connection is before theirs', async () => {
    const before = events.cutCount();
    for (const [room, text] of [
      [1, 'frei'],
      [2, 'belegt'],
      [3, 'first'],
    ] as const)
      rooms.tell(room, { text });
    const reader = read({ query, variables: { id: 1 } }, '1.1', '/patient');
    await until(() => reader.text.includes('"frei"'));
    const first = streamed;
    reader.socket.write(requestOf({ query, variables: { id: 2 } }));
    await until(() => rooms.watchers === 2);
    // One that takes nothing since later is cut.
    const stalled = read({ query, variables: { id: 3 } });
    await until(() => stalled.text.includes('"first"'));
    stalled.socket.pause();
    rooms.tell(3, { text: 'x'.repeat(12_000_000) });
    await until(() => events.cutCount() > before && rooms.watchers === 2);
    expect(events.cutCount()).toBe(before + 1);
    first?.close();
    await until(() => reader.text.includes('"belegt"'));
  });

  test('of HTTP/1.0 get them without chunks', async () => {
    rooms.tell(1, { text: 'frei' });
    const reader = read({ query, variables: { id: 1 } }, '1.0');
    await until(() => reader.text.includes('"frei"'));
    expect(bodyOf(reader)).toBe(':\n\nevent: next\ndata: {"data":{"room":{"text":"frei","later":"frei"}}}\n\n');
  });

  test('that do not read are counted, and delay no other', async () => {
    rooms.tell(1, { text: 'first' });
    const asked = { query, variables: { id: 1 } };
    const [stalled, reads] = [read(asked, '1.1', '/patient'), read(asked, '1.1', '/patient')];
    await until(() => [stalled, reads].every(({ text }) => text.includes('first')));
    stalled.socket.pause();
    // More than the buffers of both ends hold.
    for (let count = 0; count < 3; count++) {
      rooms.tell(1, { text: `${count}${'x'.repeat(4_000_000)}` });
      await until(() => reads.text.includes(`"${count}x`));
    }
    await until(() => patient.stalledCount() === 1);
    rooms.tell(1, { text: 'last' });
    await until(() => reads.text.endsWith('"last"}}}\n\n\r\n'));
  });

  test('that do not read are cut, and no others', async () => {
    const before = events.cutCount();
    rooms.tell(1, { text: 'first' });
    rooms.tell(2, { text: 'frei' });
    const [stalled, reads] = [read({ query, variables: { id: 1 } }), read({ query, variables: { id: 2 } })];
    await until(() => stalled.text.includes('first') && reads.text.includes('frei'));
    stalled.socket.pause();
    rooms.tell(1, { text: 'x'.repeat(12_000_000) });
    await until(() => events.cutCount() === before + 1);
    await until(() => rooms.watchers === 1);
    rooms.tell(2, { text: 'belegt' });
    await until(() => reads.text.includes('belegt'));
    stalled.socket.resume();
    await until(() => stalled.closed);
    expect(reads.closed).toBe(false);
  });

  test('that read again in time get only the latest frame', async () => {
    rooms.tell(1, { text: 'first' });
    const reader = read({ query, variables: { id: 1 } }, '1.1', '/patient');
    await until(() => reader.text.includes('first'));
    reader.socket.pause();
    rooms.tell(1, { text: 'x'.repeat(12_000_000) });
    await until(() => executions === 2);
    for (const text of ['skipped', 'skipped too', 'latest']) {
      rooms.tell(1, { text });
      // By then it would have been taken.
      await new Promise(setImmediate);
    }
    reader.socket.resume();
    await until(() => reader.text.includes('"latest"'));
    expect(reader.text).not.toContain('skipped');
  });
});

describe('with a database', () => {
  let database: Awaited<ReturnType<typeof cloneDatabase>>;
  let service: GraphqlService;
  let tenant: Awaited<ReturnType<typeof makeTenant>>;

  beforeAll(async () => {
    database = await cloneDatabase();
    service = await startGraphql(database.url, { StalledReaderSeconds: 1 });
    tenant = await makeTenant(service.context.db);
  });
  beforeEach(() => void service.admit('user', tenant));
  afterAll(async () => {
    await service.stop();
    await database.drop();
  });

  test('a WebSocket that does not read is cut and counted', async () => {
    const socket = new WebSocket(service.url.replace('http', 'ws'), 'graphql-transport-ws');
    await new Promise((resolve) => socket.once('open', resolve));
    socket.send(JSON.stringify({ type: 'connection_init', payload: { Authorization: 'Bearer user' } }));
    await new Promise((resolve) => socket.once('message', resolve));
    socket.pause();
    await until(() => service.graphql.cutCount() === 1);
    socket.resume();
    await new Promise((resolve) => socket.once('close', resolve));
  });

  describe('a stream that follows a source', () => {
    const grant: NonNullable<Viewer['display']> = {
      displayId: 77,
      mayBook: false,
      privacy: 'Title' as const,
      resourceIds: [1, 2],
    };
    let viewer: Viewer;
    let streams: ReturnType<typeof createStreams>;
    let authenticated: () => Viewer;

    beforeEach(async () => {
      viewer = service.admit('display', tenant, { role: 'Display', display: grant });
      authenticated = () => ({ ...viewer, display: { ...grant, resourceIds: [1, 2] } });
      streams = createStreams(service.context, async () => authenticated());
    });
    afterEach(() => streams.close());

    /** Gives numbers as they are pushed; an error fails it. */
    function makeSource() {
      let pushed: (() => number) | undefined;
      const push = (give: () => number) => {
        pushed = give;
        source.onNews?.();
      };
      const source = {
        isOver: false,
        onNews: undefined as (() => void) | undefined,
        push: (value: number) => push(() => value),
        fail: (error: Error) =>
          push(() => {
            throw error;
          }),
        take() {
          const give = pushed;
          pushed = undefined;
          return give?.();
        },
        close() {
          source.isOver = true;
          source.onNews?.();
        },
      };
      return source;
    }

    const gone = () => Object.assign(new EventEmitter(), { closed: false });
    function leave(client: ReturnType<typeof gone>): void {
      client.closed = true;
      client.emit('close');
    }
    const follow = (source: ReturnType<typeof makeSource>, client = gone()) =>
      streams.follow(
        { viewer, credentials: { address: '' }, client },
        async () => source,
        (error) => error.constructor.name,
      );
    const notify = (topic: string) => sql`select pg_notify('roomgate', ${topic})`.execute(service.context.db);

    test('gives what the source gives until the client has gone', async () => {
      const [source, client] = [makeSource(), gone()];
      const stream = await follow(source, client);
      source.push(1);
      expect(await stream.next()).toEqual({ value: 1, done: false });
      const waiting = stream.next();
      leave(client);
      expect(await waiting).toEqual({ value: undefined, done: true });
      expect([source.isOver, streams.count()]).toEqual([true, 0]);
    });

    test.each<[string, (source: ReturnType<typeof makeSource>) => unknown, string]>([
      [
        'the display is revoked',
        () => {
          authenticated = () => {
            throw new NotAuthenticated('revoked');
          };
          return notify('display:77');
        },
        'NotAuthenticated',
      ],
      [
        'what the display may do has changed',
        () => {
          authenticated = () => ({ ...viewer, display: { ...grant, resourceIds: [1] } });
          return notify('display:77');
        },
        'ChangedRights',
      ],
      ['the source fails', (source) => source.fail(new Unavailable('down')), 'Unavailable'],
    ])('has a last frame when %s', async (_name, end, last) => {
      const source = makeSource();
      const stream = await follow(source);
      const waiting = stream.next();
      await end(source);
      expect(await waiting).toEqual({ value: last, done: false });
      expect(await stream.next()).toEqual({ value: undefined, done: true });
      expect([source.isOver, streams.count()]).toEqual([true, 0]);
    });

    test('continues when the display was only heard of, and past the end that it had then', async () => {
      viewer = { ...viewer, expiresAt: new Date(Date.now() + 50) };
      let asked = 0;
      authenticated = () => {
        asked++;
        return { ...viewer, display: { ...grant }, expiresAt: new Date(Date.now() + 3_600_000) };
      };
      const source = makeSource();
      const stream = await follow(source);
      await until(() => asked === 2);
      await notify('display:77');
      await until(() => asked === 3);
      source.push(1);
      expect(await stream.next()).toEqual({ value: 1, done: false });
      await stream.return?.();
    });

    test('counts against the limit of its credential, and is not opened after the client has gone', async () => {
      const client = gone().setMaxListeners(0);
      const open = Array.from({ length: 50 }, () => follow(makeSource(), client));
      await Promise.all(open);
      await expect(follow(makeSource())).rejects.toThrow(/50 streams open/);
      leave(client);
      expect(streams.count()).toBe(0);
      await expect(follow(makeSource(), client)).rejects.toThrow('has gone');
    });

    test('closes its source when the credential was revoked while it was opened', async () => {
      const source = makeSource();
      authenticated = () => {
        throw new NotAuthenticated('revoked');
      };
      await expect(follow(source)).rejects.toThrow('revoked');
      expect([source.isOver, streams.count()]).toEqual([true, 0]);
    });
  });

  test('a subscription whose errors come before its stream is answered by Yoga', async () => {
    const response = await service.post(
      { query: BatchStatusDocument.toString(), variables: { batchId: 'x' } },
      { accept: 'text/event-stream' },
    );
    expect([response.status, await response.text()]).toEqual([
      200,
      expect.stringMatching(/"code":"NOT_FOUND".*event: complete/s),
    ]);
  });
});
