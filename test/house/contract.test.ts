import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createClient as createSseClient } from 'graphql-sse';
import { createClient as createWsClient } from 'graphql-ws';
import { sql } from 'kysely';
import * as openid from 'openid-client';
import WebSocket from 'ws';
import { createPin } from '../../src/identity/service.ts';
import { lessonClient, makeJobs } from '../_util/lessons.ts';
import { BatchStatusDocument, type BatchStatusSubscription } from '../_util/operations/generated/graphql.ts';
import { pepper } from '../_util/pepper.ts';
import { type Service, startService } from '../_util/service.ts';

const rooms = Array.from({ length: 40 }, (_, number) => `R${number + 1}`);
let service: Service;

beforeAll(async () => {
  service = await startService({ GraphiQLEnabled: 'true' }, rooms);
});
afterAll(() => service.stop());

/** What a standard client does with a PIN: discovery, then the grant. */
async function signInAsStandardClient(): Promise<string> {
  const { context, tenant, url } = service;
  const { pin } = await createPin(context.db, pepper, {
    mandatorId: tenant.mandatorId,
    personId: tenant.person('User').id,
  });
  const config = await openid.discovery(new URL(url), 'timetable-import', undefined, openid.None(), {
    algorithm: 'oidc',
    execute: [openid.allowInsecureRequests],
  });
  const tokens = await openid.genericGrantRequest(config, 'apikey', { apikey: pin, scope: 'service_api' });
  return tokens.access_token;
}

type Frame = BatchStatusSubscription['batchStatus'];

/** Every state that a subscription shows, until it completes. */
async function follow(
  frames: AsyncIterable<{ data?: BatchStatusSubscription | null | undefined }>,
  onFrame: (frame: Frame) => void,
) {
  const seen: Frame[] = [];
  for await (const { data } of frames) {
    if (!data) throw new Error('a frame without data');
    seen.push(data.batchStatus);
    onFrame(data.batchStatus);
  }
  return seen;
}

describe('the main job', () => {
  test('PIN to token, lessons posted, followed over SSE and WebSocket to the end; a lost LISTEN connection loses nothing', async () => {
    const authorization = `Bearer ${await signInAsStandardClient()}`;
    const client = lessonClient(service, authorization.slice('Bearer '.length));
    const graphql = `${service.url}/school/graphql`;
    const operation = (batchId: string) => ({
      query: BatchStatusDocument.toString(),
      variables: { batchId },
    });
    const sse = createSseClient({ url: graphql, headers: { authorization }, retryAttempts: 0 });
    const ws = createWsClient({
      url: graphql.replace('http', 'ws'),
      webSocketImpl: WebSocket,
      connectionParams: { Authorization: authorization },
      retryAttempts: 0,
    });

    const posted = await client.post(makeJobs(30_000, { rooms }));
    const { BatchId } = (await posted.json()) as { BatchId: string };
    let cut: Promise<unknown> | undefined;
    const cutOnce = ({ processedCount }: Frame) => {
      if (processedCount > 0)
        cut ??= sql`select pg_terminate_backend(pid) from pg_stat_activity
          where application_name = 'roomgate listen' and datname = current_database()`.execute(service.context.db);
    };
    const [overSse, overWs] = await Promise.all([
      follow(sse.iterate<BatchStatusSubscription>(operation(BatchId)), cutOnce),
      follow(ws.iterate<BatchStatusSubscription>(operation(BatchId)), () => {}),
    ]);
    await cut;
    await ws.dispose();
    sse.dispose();

    expect(cut).toBeDefined();
    for (const frames of [overSse, overWs]) {
      expect(frames.at(0)?.importStatus).toMatch(/^Awaiting/);
      expect(frames.at(-1)).toMatchObject({
        importStatus: 'LessonsCreated',
        processedCount: 30_000,
        progress: 1,
      });
      const counts = frames.map(({ processedCount }) => processedCount);
      expect(counts).toEqual(counts.toSorted((one, other) => one - other));
      expect(new Set(counts).size).toBeGreaterThan(2);
    }
    expect(await client.get(`/batches/${BatchId}`)).toMatchObject({
      ImportStatus: 'LessonsCreated',
      CreatedCount: 30_000,
    });
  });
});

describe('GET /{mandator}/graphql', () => {
  test('200: GraphiQL for a browser, without a token and without content from elsewhere', async () => {
    const answer = await fetch(`${service.url}/school/graphql`, { headers: { Accept: 'text/html' } });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-security-policy')).toMatch(/connect-src 'self'/);
    expect(await answer.text()).not.toMatch(/<(script|link|img)[^>]+(src|href)="(https?:)?\/\//);
  });

  test('401 for anything that is no page', async () => {
    expect((await fetch(`${service.url}/school/graphql`)).status).toBe(401);
  });
});
