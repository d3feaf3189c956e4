import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openCredentials } from '../../src/mail-servers/credentials.ts';
import { faultOf } from './_util/fault-of.ts';

/** Refuses every grant, as Entra does where a policy blocks the application. */
const refusing = http.createServer((request, response) => {
  request.resume();
  response.writeHead(400, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: 'invalid_grant', error_description: 'AADSTS53003: Blocked by a policy.' }));
});
beforeAll(async () => {
  refusing.listen(0, '127.0.0.1');
  await once(refusing, 'listening');
});
afterAll(() => void refusing.close());

test('a grant that is refused to an application asks nothing about a service account', async () => {
  const url = `http://127.0.0.1:${(refusing.address() as AddressInfo).port}`;
  const client = { TokenUrl: `${url}/token`, ClientId: 'roomgate', ClientSecret: 'secret' };
  const { authorization } = openCredentials({ Kind: 'Graph', Url: url, PastDays: 1, FutureDays: 30, ...client });
  expect(await faultOf(authorization())).toMatchObject({
    fault: 'AccessLost',
    message: expect.stringMatching(/returns no token: .*invalid_grant AADSTS53003: Blocked by a policy\.[^;]*$/),
  });
});
