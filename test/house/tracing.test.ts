/** Traces, as a collector gets them by OTLP over HTTP. */

import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createClient } from 'graphql-ws';
import { sql } from 'kysely';
import WebSocket from 'ws';
import { openLog } from '../../src/log.ts';
import { inTrace, readTraceparent } from '../../src/tracing.ts';
import { openTraces } from '../../src/tracing-export.ts';
import { lessonClient, makeJobs } from '../_util/lessons.ts';
import { until } from '../_util/process.ts';
import { type ScriptedServer, startScriptedServer } from '../_util/scripted-server.ts';
import { type Service, startService, testConfig } from '../_util/service.ts';

type Value = { stringValue?: string; intValue?: number };
type Span = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: { key: string; value: Value }[];
  status: { code?: number };
};
type Export = { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] };

const kinds = { SERVER: 2, CLIENT: 3, CONSUMER: 5 };

const spansOf = ({ asked }: ScriptedServer): Span[] =>
  asked.flatMap(({ body }) =>
    (JSON.parse(body) as Export).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
  );
const attribute = ({ attributes }: Span, key: string) => {
  const { stringValue, intValue } = attributes.find((one) => one.key === key)?.value ?? {};
  return stringValue ?? intValue;
};

let collector: ScriptedServer;
let receiver: ScriptedServer;
let service: Service;
let token: string;
const lines: string[] = [];

beforeAll(async () => {
  collector = await startScriptedServer();
  collector.answer(() => ({ body: {} }));
  receiver = await startScriptedServer();
  receiver.answer(() => ({ status: 204 }));
  service = await startService(
    {
      Tracing__Endpoint: `${collector.origin}/`,
      Webhooks__TrustedOrigins: receiver.origin,
      Limits__WrongPins: '1000',
    },
    ['R001', 'R002'],
    openLog('info', { write: (line) => void lines.push(line) }),
  );
  token = await service.signIn(service.tenant, 'Admin');
});
afterAll(async () => {
  await service?.stop();
  await receiver?.close();
  await collector?.close();
});

/** All spans of a trace, once those of `names` have come. */
async function traceWith(traceId: string, names: readonly string[]): Promise<Span[]> {
  const found = () => spansOf(collector).filter((span) => span.traceId === traceId);
  await until(() => names.every((name) => found().some((span) => span.name === name)));
  return found();
}

const linesOf = (traceId: string) =>
  lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter((line) => line['traceId'] === traceId);

const call = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${service.url}/${service.tenant.code}${path}`, { headers: { Authorization: `Bearer ${token}`, ...headers } });

const [caller, callersSpan] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'];
const created = 'POST /:mandator/api/v2.0/jobs/create';

test('a batch: from the request through its statements to the import, which another process may run', async () => {
  const client = lessonClient(service, token);
  const jobs = makeJobs(3, { prefix: 'not-to-be-seen' });
  const answer = await client.send('create', jobs, { traceparent: `00-${caller}-${callersSpan}-01` });
  expect(answer.headers.get('x-request-id')).toBe(caller);
  const { BatchId } = (await answer.json()) as { BatchId: string };
  await client.end(BatchId);

  const spans = await traceWith(caller, [created, 'ProcessLessonBatches', 'import batch']);
  const named = (name: string) => spans.find((span) => span.name === name)!;
  const request = named(created);
  expect(request).toMatchObject({ kind: kinds.SERVER, parentSpanId: callersSpan });
  expect(attribute(request, 'http.response.status_code')).toBe(202);
  expect(attribute(request, 'roomgate.mandator')).toBe(service.tenant.code);
  // Both were handed on from the transaction of the request.
  for (const name of ['ProcessLessonBatches', 'import batch'])
    expect(named(name)).toMatchObject({ kind: kinds.CONSUMER, parentSpanId: request.spanId });
  expect(attribute(named('import batch'), 'roomgate.batch')).toBe(BatchId);

  const statements = (parent: Span) =>
    spans.filter(({ parentSpanId }) => parentSpanId === parent.spanId).map((span) => attribute(span, 'db.query.text'));
  expect(statements(request)).toContainEqual(expect.stringMatching(/^insert into "batch" .*\$1/));
  expect(statements(named('import batch'))).toContainEqual(expect.stringMatching(/booking/));

  const [line] = linesOf(caller).filter(({ msg }) => msg === 'request');
  expect(line).toMatchObject({ requestId: caller, spanId: request.spanId, status: 202 });
  expect(linesOf(caller).map(({ msg }) => msg)).toEqual(expect.arrayContaining(['batch accepted', 'batch ended']));
});

test('what is sent to others names the trace that it is a part of', async () => {
  await fetch(`${service.url}/${service.tenant.code}/api/v1.0/webhooks`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ Name: 'Board', Url: `${receiver.origin}/?k=not-to-be-seen`, Kinds: ['BatchEnded'] }),
  });
  await lessonClient(service, token).importJobs(makeJobs(1, { prefix: 'event' }));
  await until(() => receiver.asked.length > 0);
  const sent = readTraceparent(receiver.asked[0]?.headers['traceparent']);
  const spans = await traceWith(String(sent?.traceId), ['POST', 'DeliverEvents']);
  const job = spans.find(({ name }) => name === 'DeliverEvents');
  expect(job?.spanId).toBe(sent?.spanId);
  const post = spans.find(({ name }) => name === 'POST')!;
  expect(post).toMatchObject({ kind: kinds.CLIENT, parentSpanId: job?.spanId });
  expect(attribute(post, 'server.address')).toBe('127.0.0.1');
  expect(attribute(post, 'http.response.status_code')).toBe(204);
});

test('the id of a request is that of its trace, or its X-Request-Id; whom the caller does not record is not recorded', async () => {
  const name = 'GET /:mandator/api/v1.0/bookings/:id';
  const problem = async (headers: Record<string, string> = {}) =>
    (await (await call('/api/v1.0/bookings/999998', headers)).json()) as { TraceId: string };
  const [ticket, quiet] = ['11112222333344445555666677778888', '99998888777766665555444433332222'];

  const client = lessonClient(service, token);
  const unrecorded = await client.send('create', makeJobs(1, { prefix: 'quiet' }), {
    traceparent: `00-${quiet}-${callersSpan}-00`,
  });
  expect(unrecorded.headers.get('x-request-id')).toBe(quiet);
  await client.end(((await unrecorded.json()) as { BatchId: string }).BatchId);
  const named = { 'X-Request-Id': 'ticket 7', traceparent: `00-${ticket}-${callersSpan}-01` };
  expect(await problem(named)).toMatchObject({ TraceId: 'ticket 7' });
  const { TraceId } = await problem();

  // The last of them, and with it all before it.
  const [begun] = (await traceWith(TraceId, [name])).filter((span) => span.name === name);
  expect(begun).toMatchObject({ kind: kinds.SERVER });
  expect(begun?.parentSpanId ?? '').toBe('');
  const [span] = (await traceWith(ticket, [name])).filter((one) => one.name === name);
  expect(attribute(span!, 'roomgate.request_id')).toBe('ticket 7');
  expect(linesOf(ticket)).toContainEqual(expect.objectContaining({ requestId: 'ticket 7', msg: 'request' }));
  // Neither its request nor its import.
  expect(spansOf(collector).filter(({ traceId }) => traceId === quiet)).toEqual([]);
  expect(linesOf(quiet)).toEqual([]);
});

test('an operation of a WebSocket is a trace', async () => {
  const client = createClient({
    url: `${service.url.replace('http', 'ws')}/${service.tenant.code}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { Authorization: `Bearer ${token}` },
  });
  for await (const result of client.iterate({ query: '{ __typename }' })) expect(result.errors).toBeUndefined();
  await client.dispose();
  await until(() => spansOf(collector).some(({ name, kind }) => name === 'graphql' && kind === kinds.SERVER));
});

test('a statement that fails has its code, and not its message, which quotes what was sent', async () => {
  const { traces, db } = service.context;
  const failed = inTrace(traces, 'failing', { kind: 'INTERNAL' }, () =>
    sql`select ${'not-to-be-seen'}::text::integer`.execute(db),
  );
  await expect(failed).rejects.toThrow('not-to-be-seen');
  const failing = () => spansOf(collector).filter((span) => attribute(span, 'error.type') === '22P02');
  await until(() => failing().length === 2);
  expect(failing().map(({ name, status }) => ({ name, status }))).toEqual(
    expect.arrayContaining([
      { name: 'SELECT', status: { code: 2 } },
      { name: 'failing', status: { code: 2 } },
    ]),
  );
});

test('no secret, no parameter and nothing of a body is in a span', async () => {
  const all = () => collector.asked.map(({ body }) => body).join('\n');
  await call('/api/v1.0/resources?Name=not-to-be-seen');
  await until(() => all().includes('GET /:mandator/api/v1.0/resources'));
  expect(all()).toContain('select');
  for (const secret of ['not-to-be-seen', token, String(token.split('.')[2]), 'Bearer'])
    expect(all()).not.toContain(secret);
});

test.each([
  '',
  '00',
  `00-${'0'.repeat(32)}-${callersSpan}-01`,
  `00-${caller}-${'0'.repeat(16)}-01`,
  `00-${caller}-${callersSpan}-01-more`,
  `ff-${caller}-${callersSpan}-01`,
  `00-${caller.toUpperCase()}-${callersSpan}-01`,
  `01-${caller}-${callersSpan}-01-${'x'.repeat(200)}`,
])('%j is no traceparent', async (traceparent) => {
  expect(readTraceparent(traceparent)).toBeUndefined();
  const id = (await call('/api/v1.0/resources', { traceparent })).headers.get('x-request-id');
  expect(id).toMatch(/^[0-9a-f]{32}$/);
  expect(id).not.toBe(caller);
});

test('of a later version what is known is read', () => {
  expect(readTraceparent(`01-${caller}-${callersSpan}-03-more`)).toEqual({
    traceId: caller,
    spanId: callersSpan,
    traceFlags: 1,
  });
});

describe('what a process does by itself', () => {
  test('it keeps a bounded number of spans that are not sent yet', async () => {
    const own = await startScriptedServer();
    own.answer(() => ({ body: {} }));
    const traces = openTraces(testConfig('postgres://nowhere/', { Tracing__Endpoint: own.origin }), openLog('silent'));
    for (let made = 0; made < 20_000; made++) traces.begin(`span ${made}`, { kind: 'INTERNAL' }).end();
    await traces.close();
    // What waits, and what is under way.
    expect(spansOf(own).length).toBeLessThanOrEqual(2_048 + 512);
    await own.close();
  });

  test('it does not wait for a collector that answers nothing', async () => {
    const silent = await startScriptedServer();
    const held = Promise.withResolvers<ServerResponse>();
    silent.answer(() => ({ body: held.resolve }));
    const traces = openTraces(
      testConfig('postgres://nowhere/', { Tracing__Endpoint: silent.origin }),
      openLog('silent'),
    );
    traces.begin('span', { kind: 'INTERNAL' }).end();
    await traces.close();
    (await held.promise).end('{}');
    await silent.close();
  });

  test('it logs why a collector has not taken its spans, without a stack', async () => {
    const lines = new PassThrough();
    const traces = openTraces(
      testConfig('postgres://nowhere/', { Tracing__Endpoint: 'http://127.0.0.1:1' }),
      openLog('warn', lines),
    );
    traces.begin('span', { kind: 'INTERNAL' }).end();
    const [line] = await once(lines, 'data');
    await traces.close();
    expect(JSON.parse(String(line))).toMatchObject({
      err: expect.stringMatching(/^[^{]*ECONNREFUSED/),
      msg: 'traces are not delivered',
    });
  });

  test('one of many traces is recorded when the setting says so', async () => {
    const config = testConfig('postgres://nowhere/', {
      Tracing__Endpoint: collector.origin,
      Tracing__OneIn: '1000000',
    });
    const traces = openTraces(config, openLog('silent'));
    const recorded = Array.from({ length: 100 }, () => traces.begin('one of many', { kind: 'INTERNAL' }).isRecording());
    expect(recorded.filter(Boolean).length).toBeLessThan(5);
    const parent = `00-${caller}-${callersSpan}-01`;
    expect(traces.begin('wanted by its caller', { kind: 'INTERNAL', parent }).isRecording()).toBe(true);
    await traces.close();
  });
});

describe('without a collector', () => {
  test('the trace of the caller names the request all the same', async () => {
    const quiet = await startService();
    const ask = async (traceparent?: string) =>
      (await fetch(`${quiet.url}/healthz`, { headers: traceparent ? { traceparent } : {} })).headers.get(
        'x-request-id',
      );
    expect(await ask(`00-${caller}-${callersSpan}-01`)).toBe(caller);
    expect(await ask()).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    await quiet.stop();
  });
});
