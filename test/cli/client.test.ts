import { openAsBlob } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { connect, reach } from '../../src/cli/client.ts';
import { CommandFailed } from '../../src/cli/command.ts';
import { type BatchRecord, openBatchClient } from '../../src/lessons/batch-client.ts';

/** What the server is asked to do with one request: answer, or cut the line. */
type Reply = { status?: number; headers?: Record<string, string>; body?: unknown } | 'cut';
type Seen = { method: string; url: string; headers: IncomingMessage['headers']; body: string };

/** A server that plays a script of answers below `/school/api`, and remembers what it was sent. */
let server: Server;
let url: string;
let seen: Seen[];
let script: ((request: Seen) => Reply)[];
let tokens: number;
const file = path.join(tmpdir(), `roomgate-${process.pid}-client.json`);

function answer(response: ServerResponse, reply: Reply): void {
  if (reply === 'cut') {
    response.destroy();
    return;
  }
  const { status = 200, headers = {}, body = {} } = reply;
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body));
}

async function listen(port: number): Promise<void> {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = '', url: path = '', headers } = request;
    const what = { method, url: path, headers, body: Buffer.concat(chunks).toString() };
    if (path === '/connect/token') {
      const form = new URLSearchParams(what.body);
      if (form.get('apikey') !== 'the-pin')
        return answer(response, { status: 400, body: { error: 'invalid_grant', error_description: 'No.' } });
      return answer(response, { body: { access_token: `token-${++tokens}` } });
    }
    seen.push(what);
    return answer(response, script.shift()?.(what) ?? { status: 500, body: { detail: 'Off script.' } });
  });
  server.listen(port, '127.0.0.1');
  await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject));
}

async function stop(): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

beforeEach(async () => {
  [seen, script, tokens] = [[], [], 0];
  await listen(0);
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  await stop();
  await rm(file, { force: true });
});

const signIn = async ({ pin = 'the-pin', giveUpAfterMs = 120_000 } = {}) =>
  openBatchClient(
    await connect({
      baseUrl: url,
      mandator: 'school',
      giveUpAfterMs,
      credential: { idpUrl: url, clientId: 'c', pin },
    }),
  );

const batch = (change: Partial<BatchRecord> = {}): Partial<BatchRecord> => ({
  BatchId: 'b1',
  ImportStatus: 'AwaitingLessonProcessing',
  ProcessedCount: 0,
  ...change,
});
const ended = { body: batch({ ImportStatus: 'LessonsCreated' }) };
const accepted = { status: 202, body: { BatchId: 'b1', ImportStatus: 'AwaitingLessonCreation' } };
const jobs = new Blob(['[{"JobID":"J-1"}]']);

describe('connect', () => {
  test("a refused PIN fails with the server's words and without the PIN", async () => {
    const failure = await signIn({ pin: 'wrong-pin' }).catch((error) => error);
    expect(failure).toBeInstanceOf(CommandFailed);
    expect(failure.message).toBe('No.');
  });

  test('a worker, which makes no tokens: names the URL and how to start a server', async () => {
    const credential = { idpUrl: `${url}/worker`, clientId: 'c', pin: 'the-pin' };
    script = [
      () => ({
        status: 404,
        headers: { 'Content-Type': 'application/problem+json; charset=utf-8' },
        body: { detail: 'There is nothing at /connect/token.' },
      }),
    ];
    await expect(connect({ baseUrl: url, mandator: 'school', credential })).rejects.toThrow(
      `${url}/worker makes no tokens; a server with Role=Worker does not. Start the server with "./roomgate serve"`,
    );
  });

  test('no server: names the URL and how to start one, at once', async () => {
    await stop();
    const advice = `${url} cannot be reached: ECONNREFUSED. Start the server with "./roomgate serve"`;
    await expect(reach(url)).rejects.toThrow(advice);
    await expect(signIn()).rejects.toThrow(advice);
    await listen(Number(new URL(url).port));
  });
});

describe('postJobs', () => {
  test('sends the bytes with type, token and an Idempotency-Key, and tells how far it is', async () => {
    script = [() => accepted];
    const bytes = JSON.stringify([{ JobID: 'J-1', Bemerkung: 'ä'.repeat(200_000) }]);
    const sent: [number, number][] = [];
    const client = await signIn();
    await writeFile(file, bytes);
    const body = await openAsBlob(file);
    expect(await client.postJobs('create', body, { onProgress: (...at) => sent.push(at) })).toEqual(accepted.body);
    expect(seen[0]).toMatchObject({ method: 'POST', url: '/school/api/v2.0/jobs/create', body: bytes });
    expect(seen[0]?.headers).toMatchObject({
      authorization: 'Bearer token-1',
      'content-type': 'application/json',
      'idempotency-key': expect.stringMatching(/^.{16,}$/),
    });
    expect(sent.length).toBeGreaterThan(1);
    expect(sent.at(-1)).toEqual([body.size, body.size]);
  });

  test('repeats after a cut line, 503 and 409 under the same key and with the whole body', async () => {
    script = [() => 'cut', () => ({ status: 503, headers: { 'Retry-After': '0' } }), () => ({ status: 409 })];
    script.push(() => accepted);
    await (await signIn()).postJobs('create', jobs);
    expect(seen).toHaveLength(4);
    expect(new Set(seen.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    expect(new Set(seen.map(({ body }) => body))).toEqual(new Set([await jobs.text()]));
  });

  test('does not repeat what is wrong: the detail of the problem is the message', async () => {
    script = [() => ({ status: 400, body: { detail: 'The body is not a JSON array.' } })];
    const client = await signIn();
    await expect(client.postJobs('create', jobs)).rejects.toThrow(new CommandFailed('The body is not a JSON array.'));
    expect(seen).toHaveLength(1);
  });

  test('a fault of the server is told with its TraceId', async () => {
    script = [() => ({ status: 500, body: { detail: 'Went wrong.', TraceId: 't-9' } })];
    await expect((await signIn()).postJobs('create', jobs)).rejects.toThrow('Went wrong. TraceId: t-9');
  });

  test('gives up when nothing works for as long as its giveUpAfterMs', async () => {
    script = Array.from({ length: 50 }, () => () => 'cut' as const);
    const client = await signIn({ giveUpAfterMs: 300 });
    const message = await client.postJobs('create', jobs).then(String, (error: Error) => error.message);
    expect(message).toMatch(/ cannot be reached: \w+\. Gave up after \d+ attempts/);
    expect(message).toContain(`after ${seen.length} attempts`);
  });
});

describe('every call', () => {
  test('an expired token is renewed once, and the call repeated', async () => {
    script = [() => ({ status: 401 }), () => ({ body: batch() })];
    expect(await (await signIn()).getBatch('b1')).toEqual(batch());
    expect(seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-1', 'Bearer token-2']);
  });

  test('a second 401 in a row is the answer', async () => {
    script = [() => ({ status: 401 }), () => ({ status: 401, body: { detail: 'The PIN was revoked.' } })];
    await expect((await signIn()).getBatch('b1')).rejects.toThrow('The PIN was revoked.');
  });

  test('429 waits as long as Retry-After says', async () => {
    const client = await signIn();
    const asked = performance.now();
    script = [() => ({ status: 429, headers: { 'Retry-After': '1' } }), () => ({ body: batch() })];
    await client.getBatch('b1');
    expect(performance.now() - asked).toBeGreaterThanOrEqual(990);
  });

  test('something else at that address is named as such', async () => {
    server.removeAllListeners('request');
    server.on('request', (_request, response) => void response.writeHead(404).end('<html>'));
    await expect(signIn()).rejects.toThrow(`${url} answered 404, but not as roomgate does`);
  });
});

describe('followBatch', () => {
  test('asks at once, then by long poll, and reports each change once until the end', async () => {
    const half = { body: batch({ ProcessedCount: 5 }), headers: { 'Retry-After': '0' } };
    script = [() => ({ body: batch() }), () => half, () => half, () => ended];
    const reported: unknown[] = [];
    const last = await (await signIn()).followBatch('b1', (state) => reported.push(state));
    expect(last).toEqual(ended.body);
    expect(reported).toEqual([batch(), half.body, ended.body]);
    const path = '/school/api/v2.0/jobs/batches/b1';
    const poll = `${path}?WaitSeconds=25`;
    expect(seen.map(({ url: asked }) => asked)).toEqual([path, poll, poll, poll]);
  });

  test('continues after the server was stopped and started again', async () => {
    const port = Number(new URL(url).port);
    script = [() => ({ body: batch() }), () => 'cut', () => ended];
    const restarted = Promise.withResolvers<void>();
    const client = await signIn();
    const following = client.followBatch('b1', (state) => {
      if (state.ImportStatus !== 'AwaitingLessonProcessing') return;
      void stop()
        .then(() => fetch(url).catch(() => {}))
        .then(() => listen(port))
        .then(restarted.resolve);
    });
    await restarted.promise;
    expect(await following).toEqual(ended.body);
  });
});

describe('lists', () => {
  test('errors are read page by page to the end', async () => {
    const page = (Items: unknown[], NextCursor: string | null) => () => ({ body: { Items, NextCursor } });
    script = [page([{ Code: 'A' }, { Code: 'B' }], 'next='), page([{ Code: 'C' }], null)];
    const codes = [];
    for await (const { Code } of (await signIn()).listErrors('b1')) codes.push(Code);
    expect(codes).toEqual(['A', 'B', 'C']);
    expect(seen.map(({ url: asked }) => asked)).toEqual([
      '/school/api/v2.0/jobs/batches/b1/errors?Limit=200',
      '/school/api/v2.0/jobs/batches/b1/errors?Limit=200&Cursor=next%3D',
    ]);
  });

  test('batches: the running ones, or all', async () => {
    script = Array.from({ length: 2 }, () => () => ({ body: { Items: [], NextCursor: null } }));
    const client = await signIn();
    for (const all of [false, true]) for await (const _ of client.listBatches({ all }));
    expect(seen.map(({ url: asked }) => asked)).toEqual([
      '/school/api/v2.0/jobs/batches?Limit=200',
      '/school/api/v2.0/jobs/batches?ImportStatus=All&Limit=200',
    ]);
  });
});
