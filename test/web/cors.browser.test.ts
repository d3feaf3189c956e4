import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { createPin } from '../../src/identity/service.ts';
import { pepper } from '../_util/pepper.ts';
import { type Service, startService } from '../_util/service.ts';
import { launchBrowser } from './_util/browser.ts';
import { describeInBrowser } from './_util/in-browser.ts';

/** Empty pages, of another origin than the service by their port: one under each of two names. */
const site = createServer((_request, response) =>
  response.setHeader('Content-Type', 'text/html').end('<!doctype html>'),
);

describeInBrowser('a page of another site in a browser', () => {
  let service: Service;
  let browser: Browser;
  let listed: Page;
  let stranger: Page;
  let pin = '';

  beforeAll(async () => {
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
    const { port } = site.address() as AddressInfo;
    service = await startService({ Role: 'Web', Cors__Origins: `http://localhost:${port}` });
    const { mandatorId, person } = service.tenant;
    ({ pin } = await createPin(service.context.db, pepper, { mandatorId, personId: person('User').id }));
    browser = await launchBrowser();
    [listed, stranger] = await Promise.all([browser.newPage(), browser.newPage()]);
    // Longer than the busiest machine needs.
    for (const page of [listed, stranger]) page.setDefaultTimeout(100_000);
    await listed.goto(`http://localhost:${port}`);
    await stranger.goto(`http://127.0.0.1:${port}`);
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    site.close();
  });

  const signIn = (page: Page) =>
    page.evaluate(
      async ({ url, apikey }) => {
        const form = { grant_type: 'apikey', scope: 'service_api', client_id: 'timetable-import', apikey };
        const answer = await fetch(`${url}/connect/token`, { method: 'POST', body: new URLSearchParams(form) });
        return ((await answer.json()) as { access_token: string }).access_token;
      },
      { url: service.url, apikey: pin },
    );

  test('of a listed one signs in, books, changes, and reads the headers', async () => {
    const told = await listed.evaluate(
      async ({ url, token, resourceId, start, end }) => {
        const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
        const made = await fetch(`${url}/school/api/v1.0/bookings`, {
          method: 'POST',
          headers: { ...headers, 'Idempotency-Key': 'from-a-page', 'X-JsonPropertyFormat': 'camel' },
          body: JSON.stringify({
            resourceId,
            subject: 'x',
            start,
            end,
          }),
        });
        const etag = made.headers.get('ETag') ?? '';
        const { id } = (await made.json()) as { id: number };
        const changed = await fetch(`${url}/school/api/v1.0/bookings/${id}`, {
          method: 'PATCH',
          headers: { ...headers, 'If-Match': etag },
          body: '{"Subject":"y"}',
        });
        const missing = await fetch(`${url}/school/api/v1.0/bookings/999999`, { headers });
        const refused = await fetch(`${url}/school/api/v1.0/bookings`);
        return {
          made: [made.status, made.headers.get('Location') !== null, made.headers.get('X-Request-Id') !== null],
          changed: [changed.status, changed.headers.get('ETag') !== etag],
          missing: [missing.status, ((await missing.json()) as { Code: string }).Code],
          refused: [refused.status, refused.headers.get('WWW-Authenticate')],
        };
      },
      {
        url: service.url,
        token: await signIn(listed),
        resourceId: service.tenant.resources[0]!.id,
        start: new Date(Date.now() + 24 * 3_600_000).toISOString(),
        end: new Date(Date.now() + 25 * 3_600_000).toISOString(),
      },
    );
    expect(told).toEqual({
      made: [201, true, true],
      changed: [200, true],
      missing: [404, 'NotFound'],
      refused: [401, 'Bearer realm="roomgate"'],
    });
  });

  test('of a listed one reads GraphQL, its streams too', async () => {
    const told = await listed.evaluate(
      async ({ url, token }) => {
        const ask = (query: string, accept: string) =>
          fetch(`${url}/school/graphql`, {
            method: 'POST',
            headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', Accept: accept },
            body: JSON.stringify({ query }),
          });
        const me = await (await ask('{ me { role } }', 'application/json')).text();
        const stream = await ask('subscription { batchStatus(batchId: "x") { id } }', 'text/event-stream');
        return [me, await stream.text()];
      },
      { url: service.url, token: await signIn(listed) },
    );
    expect(told).toEqual(['{"data":{"me":{"role":"User"}}}', expect.stringContaining('NOT_FOUND')]);
  });

  /** The code with which the server closes a WebSocket that signs in with nothing; 1006 where it opens none. */
  const openSocket = (page: Page) =>
    page.evaluate(
      (url) =>
        new Promise<number>((resolve) => {
          const socket = new WebSocket(`${url}/school/graphql`, 'graphql-transport-ws');
          socket.onopen = () => socket.send('{"type":"connection_init"}');
          socket.onclose = ({ code }) => resolve(code);
        }),
      service.url.replace('http', 'ws'),
    );

  test('of a listed one opens a WebSocket; of any other it does not', async () => {
    expect(await openSocket(listed)).toBe(4401);
    expect(await openSocket(stranger)).toBe(1006);
  });

  test('of one that is not listed reads nothing, not even a refusal', async () => {
    await expect(signIn(stranger)).rejects.toThrow('Failed to fetch');
    const reading = stranger.evaluate((url) => fetch(`${url}/school/api/v1.0/persons/me`), service.url);
    await expect(reading).rejects.toThrow('Failed to fetch');
  });
});
