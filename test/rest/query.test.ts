import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { type Service, startService } from '../_util/service.ts';

let lenient: Service;
let strict: Service;
const tokens = new Map<Service, string>();

beforeAll(async () => {
  lenient = await startService({ Role: 'Web' });
  strict = await startService({ Role: 'Web', StrictQueryParameters: 'true' });
  for (const service of [lenient, strict]) tokens.set(service, await service.signIn());
});
afterAll(async () => {
  await lenient.stop();
  await strict.stop();
});
afterEach(() => void jest.restoreAllMocks());

const call = (service: Service, path: string, init: RequestInit = {}) =>
  fetch(`${service.url}/school/api/${path}`, {
    ...init,
    headers: { Authorization: `Bearer ${tokens.get(service)}`, ...(init.headers as Record<string, string>) },
  });
const faultsOf = async (answer: Response) =>
  ((await answer.json()) as { Errors: { Field: string; Code: string }[] }).Errors.map(({ Field, Code }) => [
    Field,
    Code,
  ]);

describe('query parameters that a route does not know', () => {
  test('are ignored, on a route that takes some and on one that takes none', async () => {
    const plain = await call(lenient, 'v1.0/resources?Limit=1');
    const more = await call(lenient, 'v1.0/resources?Limit=1&api-version=1&_=17&__proto__=x&constructor=y&a%00=%00');
    expect([more.status, await more.text()]).toEqual([200, await plain.text()]);
    expect((await call(lenient, 'v1.0/persons/me?_=17')).status).toBe(200);
    const sent = { method: 'POST', body: '[{"JobID":"J"}]', headers: { 'Content-Type': 'application/json' } };
    expect((await call(lenient, 'v2.0/jobs/create?culture=de-CH', sent)).status).toBe(202);
  });

  test('are logged by route and name, but not by value, and neither endlessly many nor endlessly long', async () => {
    const info = jest.spyOn(lenient.context.log, 'info');
    await call(lenient, `v1.0/resources?Secret=hunter2&${'x'.repeat(200)}=1`, { headers: { 'X-Request-Id': 'told' } });
    const [line] = info.mock.calls.filter(([, text]) => String(text).startsWith('query parameters'));
    expect(line?.[0]).toEqual({
      requestId: 'told',
      method: 'GET',
      route: '/:mandator/api/v1.0/resources',
      parameters: ['Secret', `X${'x'.repeat(63)}`],
    });
    info.mockClear();
    const many = Array.from({ length: 100 }, (_, n) => `p${n}=1`).join('&');
    await call(lenient, `v1.0/resources?${many}`);
    const [bounded] = info.mock.calls.filter(([, text]) => String(text).startsWith('query parameters'));
    expect((bounded as unknown as [{ parameters: string[] }])[0].parameters).toHaveLength(20);
    info.mockClear();
    await call(lenient, 'v1.0/resources?limit=1');
    expect(info.mock.calls.filter(([, text]) => String(text).startsWith('query parameters'))).toEqual([]);
  });

  test.each([
    ['v1.0/resources?Limit=none', 'Limit', 'InvalidType'],
    ['v1.0/resources?Limit=1&limit=2', 'Limit', 'InvalidType'],
    ['v1.0/resources?Limit=0', 'Limit', 'InvalidValue'],
    ['v1.0/resources?LocationId=0', 'LocationId', 'InvalidValue'],
    ['v1.0/usage/resources?To=2027-01-01', 'From', 'MissingField'],
  ])('have the codes of members of a body: %s', async (path, field, code) => {
    const answer = await call(lenient, path);
    expect([answer.status, await faultsOf(answer)]).toEqual([400, [[field, code]]]);
  });

  test('hide no fault in known ones', async () => {
    const answer = await call(lenient, 'v1.0/resources?Limit=none&Colour=red');
    expect([answer.status, await faultsOf(answer)]).toEqual([400, [['Limit', 'InvalidType']]]);
    expect((await call(lenient, 'v1.0/resources?Limit=1&limit=2')).status).toBe(400);
  });

  test.each([
    'handling=strict',
    'Handling = "strict"',
    'respond-async, handling=strict; x=y',
    'handling=strict, wait=10',
  ])('are 400 with Prefer: %s, and the answer says that this was heard', async (Prefer) => {
    const answer = await call(lenient, 'v1.0/resources?Colour=red', { headers: { Prefer } });
    expect([answer.status, answer.headers.get('preference-applied')]).toEqual([400, 'handling=strict']);
    expect(await faultsOf(answer)).toEqual([['Colour', 'UnknownField']]);
    const good = await call(lenient, 'v1.0/resources?Limit=1', { headers: { Prefer } });
    expect([good.status, good.headers.get('preference-applied')]).toEqual([200, 'handling=strict']);
  });

  test.each(['handling=lenient', 'handling=stricter', 'mishandling=strict', 'x'])(
    'are ignored with Prefer: %s',
    async (Prefer) => {
      const answer = await call(lenient, 'v1.0/resources?Colour=red', { headers: { Prefer } });
      expect([answer.status, answer.headers.get('preference-applied')]).toEqual([200, null]);
    },
  );

  test('are 400 where the setting StrictQueryParameters is true', async () => {
    expect((await call(strict, 'v1.0/resources?Limit=1')).status).toBe(200);
    const answer = await call(strict, 'v1.0/resources?Colour=red');
    expect([answer.status, await faultsOf(answer)]).toEqual([400, [['Colour', 'UnknownField']]]);
  });
});
