import { expect } from '@jest/globals';
import { createClient as createSseClient } from 'graphql-sse';
import { createClient as createWsClient } from 'graphql-ws';
import WebSocket from 'ws';
import { lessonClient, makeJobs } from './lessons.ts';
import type { Service } from './service.ts';

let journeys = 0;

type Frame = { data?: { batchStatus?: { importStatus: string } } | null; errors?: unknown };

/** One request of each kind through whatever stands before a service, at `url`: REST, GraphQL, SSE and WebSocket. */
export async function travel(service: Service, url = service.url): Promise<void> {
  const token = await service.signIn(service.tenant, 'User');
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const client = lessonClient({ url, tenant: service.tenant }, token);
  const path = `${url}/${service.tenant.code}/graphql`;

  async function submit(): Promise<string> {
    const from = Date.UTC(2030, 0, 7, 7) + ++journeys * 7 * 86_400_000;
    const answer = await client.post(makeJobs(2, { prefix: `Journey ${journeys} `, from, perJob: 1 }));
    expect(answer.status).toBe(202);
    return ((await answer.json()) as { BatchId: string }).BatchId;
  }
  /** What a stream tells of a batch last. */
  async function follow(frames: AsyncIterable<Frame>): Promise<string | undefined> {
    let last: string | undefined;
    for await (const { data, errors } of frames) {
      expect(errors).toBeUndefined();
      last = data?.batchStatus?.importStatus;
    }
    return last;
  }
  const subscriptionTo = (batchId: string) => ({
    query: 'subscription ($batchId: ID!) { batchStatus(batchId: $batchId) { importStatus } }',
    variables: { batchId },
  });

  const sse = createSseClient({ url: path, headers: { authorization: headers.authorization }, retryAttempts: 0 });
  expect(await follow(sse.iterate(subscriptionTo(await submit())) as AsyncIterable<Frame>)).toBe('LessonsCreated');
  sse.dispose();

  const ws = createWsClient({
    url: path.replace(/^http/, 'ws'),
    webSocketImpl: WebSocket,
    connectionParams: { authorization: headers.authorization },
    retryAttempts: 0,
  });
  expect(await follow(ws.iterate(subscriptionTo(await submit())) as AsyncIterable<Frame>)).toBe('LessonsCreated');
  await ws.dispose();

  const batch = await client.end(await submit());
  expect(batch).toMatchObject({ ImportStatus: 'LessonsCreated', CreatedCount: 2 });
  const body = JSON.stringify({ query: '{ lessons(first: 1) { nodes { title resourceName } } }' });
  const answer = await fetch(path, { method: 'POST', headers, body });
  expect([answer.status, await answer.json()]).toMatchObject([200, { data: { lessons: { nodes: [{}] } } }]);
}
