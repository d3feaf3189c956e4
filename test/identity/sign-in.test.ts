/** Signing in to the console at an outside provider: by people, by attackers, and with a provider that fails. */
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { importJWK, SignJWT } from 'jose';
import { openLog } from '../../src/log.ts';
import { makeTenant } from '../_util/factories.ts';
import { countWaiting, patiently } from '../_util/hold.ts';
import { until } from '../_util/process.ts';
import { type ScriptedServer, startScriptedServer, type Told } from '../_util/scripted-server.ts';
import { type Service, startService } from '../_util/service.ts';
import { makeKey, publicRoot, refuser, resourceClient, startProvider } from './_util/oidc-provider.ts';

const settingsFor = (authority: string) => ({
  Role: 'Web',
  BaseUrl: publicRoot,
  TrustProxy: '1',
  Limits__TokenRequestsPerMinute: '60',
  IdentityProvider__Mode: 'External',
  IdentityProvider__Authority: authority,
  IdentityProvider__ClientId: resourceClient.ClientId,
  IdentityProvider__ClientSecret: resourceClient.ClientSecret,
  IdentityProvider__SignIn: 'true',
});

/** Where the service itself listens, behind the proxy. */
const behindProxy = ({ context }: Service) => `http://127.0.0.1:${context.config.Port}`;

let addresses = 0;
/** A browser as it sees the service: its cookies are those of the last answers. */
function openBrowser(service: Service) {
  const cookies = new Map<string, string>();
  const from = `203.0.113.${++addresses}`;
  async function get(path: string, headers: Record<string, string> = {}) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(behindProxy(service) + path, {
      redirect: 'manual',
      headers: { 'x-forwarded-for': from, ...(cookie && { cookie }), ...headers },
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/Max-Age=0/.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
    return answer;
  }
  const locationOf = (answer: Response) => {
    expect(answer.status).toBe(303);
    return answer.headers.get('location') ?? '';
  };
  return {
    cookies,
    get,
    start: async (mandator = 'school') => new URL(locationOf(await get(`/${mandator}/session/start`))),
    /** Returns to the service with the provider's answer. @returns the address where the sign-in ends */
    finish: async (back: URL | string) => {
      const { pathname, search } = new URL(back, publicRoot);
      return locationOf(await get(pathname.replace('/gate', '') + search));
    },
    session: (mandator = 'school') => get(`/${mandator}/session`, { 'x-roomgate-console': '1' }),
  };
}
type Browser = ReturnType<typeof openBrowser>;

/** The code of the failure with which a sign-in has ended at the console. */
function faultAt(location: string): string | null {
  const { pathname, searchParams } = new URL(location, `${publicRoot}/school/session/return`);
  expect(pathname).toBe('/gate/school/console');
  expect([...searchParams.keys()]).toEqual(['fault', 'trace']);
  return searchParams.get('fault');
}

describe('at a provider', () => {
  let provider: Awaited<ReturnType<typeof startProvider>>;
  let service: Service;

  beforeAll(async () => {
    const ada = { tenant: 'School', email: 'USER@school.example', email_verified: true };
    provider = await startProvider({
      ada,
      retired: { ...ada, email: 'importer@school.example' },
      nobody: { ...ada, email: 'nobody@school.example' },
      elsewhere: { ...ada, tenant: 'stranger', email: 'user@stranger.example' },
      unverified: { ...ada, email_verified: false },
      silent: {},
    });
    service = await startService(settingsFor(provider.issuer));
    await makeTenant(service.context.db, { code: 'stranger' });
    const { id } = service.tenant.person('Importer');
    await service.context.db.updateTable('person').set({ active: false }).where('id', '=', id).execute();
  });
  afterAll(async () => {
    await service?.stop();
    await provider?.stop();
  });

  /** Goes through the provider as somebody, and returns the address that it sends the browser to. */
  async function pass(address: URL, who: string): Promise<URL> {
    const kept = new Map<string, string>();
    address.searchParams.set('login_hint', who);
    for (let next = address; ; ) {
      if (next.href.startsWith(publicRoot)) return next;
      const cookie = [...kept].map(([name, value]) => `${name}=${value}`).join('; ');
      const answer = await fetch(next, { redirect: 'manual', headers: { cookie } });
      for (const line of answer.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        kept.set(name, value);
      }
      const location = answer.headers.get('location');
      if (!location) throw new Error(`the provider stays at ${next}: ${answer.status} ${await answer.text()}`);
      next = new URL(location, next);
    }
  }
  const signIn = async (browser: Browser, who: string) => browser.finish(await pass(await browser.start(), who));

  test('a person signs in: PKCE, a session in a strict cookie, and the session before ends', async () => {
    const browser = openBrowser(service);
    const options = await browser.get('/school/session/options');
    const name = new URL(provider.issuer).host;
    expect(await options.json()).toEqual({ Pin: false, Provider: { Name: name, Start: 'session/start' } });
    const begun = await browser.get('/School/session/start');
    expect(begun.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^__Secure-roomgate_sign_in=[\w.-]+; Path=\/gate\/school\/; HttpOnly; SameSite=Lax; Secure; Max-Age=600$/,
      ),
    ]);
    const address = new URL(begun.headers.get('location')!);
    expect(Object.fromEntries(address.searchParams)).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      scope: 'openid email',
      redirect_uri: `${publicRoot}/school/session/return`,
    });
    const back = await pass(address, 'ada');
    const answer = await browser.get(back.pathname.replace('/gate', '') + back.search);
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '../console']);
    expect(answer.headers.getSetCookie()).toEqual([
      '__Secure-roomgate_sign_in=; Path=/gate/school/; HttpOnly; SameSite=Lax; Secure; Max-Age=0',
      expect.stringMatching(
        /^__Secure-roomgate_session=[\w-]{43}; Path=\/gate\/school\/; HttpOnly; SameSite=Strict; Secure$/,
      ),
    ]);
    const { id } = service.tenant.person('User');
    const told = await browser.session();
    expect([told.status, await told.json()]).toEqual([
      200,
      expect.objectContaining({ SignedInBy: 'Provider', Person: expect.objectContaining({ Id: id, Role: 'User' }) }),
    ]);
    const before = new Map(browser.cookies);
    expect(await signIn(browser, 'ada')).toBe('../console');
    expect((await browser.session()).status).toBe(200);
    const old = openBrowser(service);
    for (const [cookie, value] of before) old.cookies.set(cookie, value);
    expect((await old.session()).status).toBe(401);
  });

  test('a session ends when its person gets another address, which is what names the person at the provider', async () => {
    const browser = openBrowser(service);
    await signIn(browser, 'ada');
    const { id } = service.tenant.person('User');
    const change = (email: string) =>
      service.context.db.updateTable('person').set({ email }).where('id', '=', id).execute();
    await change('USER@School.example');
    expect((await browser.session()).status).toBe(200);
    await change('grace@school.example');
    expect((await browser.session()).status).toBe(401);
    await change('user@school.example');
    expect((await browser.session()).status).toBe(401);
  });

  test('a sign-in that meets a change of the address begins no session', async () => {
    const { db } = service.context;
    const { id } = service.tenant.person('User');
    const browser = openBrowser(service);
    const back = await pass(await browser.start(), 'ada');
    const end = await patiently(async () => {
      const change = db.transaction().execute(async (trx) => {
        await trx.updateTable('person').set({ email: 'grace@school.example' }).where('id', '=', id).execute();
        const finishing = browser.finish(back);
        await until('the sign-in waits for the change', async () => (await countWaiting(db)) > 0);
        return { finishing };
      });
      return await (await change).finishing;
    });
    expect(faultAt(end)).toBe('PersonUnknown');
    expect([...browser.cookies]).toEqual([]);
    await db.updateTable('person').set({ email: 'user@school.example' }).where('id', '=', id).execute();
  });

  test.each([
    ['the person refuses', refuser, 'SignInDenied'],
    ['nobody has the address', 'nobody', 'PersonUnknown'],
    ['the person is not active', 'retired', 'PersonUnknown'],
    ['the person is of another tenant', 'elsewhere', 'PersonUnknown'],
    ['the address is not verified', 'unverified', 'PersonUnknown'],
    ['the provider says nothing of the person', 'silent', 'ProviderRefused'],
  ])('%s: no session', async (_what, who, fault) => {
    const browser = openBrowser(service);
    expect(faultAt(await signIn(browser, who))).toBe(fault);
    expect([...browser.cookies]).toEqual([]);
  });

  test('an answer counts once, in the browser and tenant of its flow, with its state', async () => {
    const browser = openBrowser(service);
    const back = await pass(await browser.start(), 'ada');
    const flow = new Map(browser.cookies);
    const strange = openBrowser(service);
    expect(faultAt(await strange.finish(back))).toBe('SignInExpired');
    const other = new URL(back);
    other.searchParams.set('state', 'another');
    expect(faultAt(await browser.finish(other))).toBe('SignInExpired');
    expect([...browser.cookies]).toEqual([...flow]);
    // With the right state, but a flow of another tenant.
    const moved = await pass(await strange.start('stranger'), 'ada');
    moved.pathname = back.pathname;
    expect(faultAt(await strange.finish(moved))).toBe('SignInExpired');
    const forge = (value: string) => `${value.slice(0, -5)}${value.at(-5) === 'A' ? 'B' : 'A'}${value.slice(-4)}`;
    for (const [name, value] of flow) strange.cookies.set(name, forge(value));
    expect(faultAt(await strange.finish(back))).toBe('SignInExpired');
    expect(await browser.finish(back)).toBe('../console');
    const again = openBrowser(service);
    for (const [name, value] of flow) again.cookies.set(name, value);
    expect(faultAt(await again.finish(back))).toBe('SignInExpired');
    expect((await again.session()).status).toBe(401);
  });

  test('nothing that a request says gets into an address or a cookie', async () => {
    const browser = openBrowser(service);
    for (const path of ['/a%0d%0ax:y/session/start', '/a;Domain=x/session/start', '/api/session/return'])
      expect([path, [401, 404].includes((await browser.get(path)).status)]).toEqual([path, true]);
    const hostile = await browser.get('/school/session/start?return=https://evil.example&redirect_uri=x', {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'http',
    });
    expect(new URL(hostile.headers.get('location')!).searchParams.get('redirect_uri')).toBe(
      `${publicRoot}/school/session/return`,
    );
    const trace = 'a&fault=x#y z';
    const failed = await browser.get('/school/session/return?fault=%0d%0aSet-Cookie:x', { 'x-request-id': trace });
    const { searchParams } = new URL(failed.headers.get('location')!, publicRoot);
    expect([searchParams.getAll('fault'), searchParams.get('trace')]).toEqual([['SignInExpired'], trace]);
  });

  test('past the limit of an address the browser must wait', async () => {
    const browser = openBrowser(service);
    const ends = await Promise.all(
      Array.from(
        { length: 61 },
        async () => (await browser.get('/school/session/start')).headers.get('location') ?? '',
      ),
    );
    expect(ends.filter((end) => end.startsWith('../console?fault=LimitExceeded&trace='))).toHaveLength(1);
  });

  test('a provider that is down is reported, on the way there and back', async () => {
    const browser = openBrowser(service);
    const back = await pass(await browser.start(), 'ada');
    await provider.stop();
    expect(faultAt(await browser.finish(back))).toBe('ProviderUnavailable');
    const late = await startService(settingsFor(provider.issuer));
    const fault = faultAt((await openBrowser(late).get('/school/session/start')).headers.get('location')!);
    await late.stop();
    expect(fault).toBe('ProviderUnavailable');
  });
});

describe('with a provider that is scripted', () => {
  let scripted: ScriptedServer;
  let service: Service;
  let key: Awaited<ReturnType<typeof makeKey>>;
  const logged: string[] = [];
  /** The answers of the token endpoints that hang. */
  const hanging: (() => void)[] = [];

  beforeAll(async () => {
    [scripted, key] = await Promise.all([startScriptedServer(), makeKey('first')]);
    const log = openLog('warn', { write: (line) => void logged.push(line) });
    const settings = { ...settingsFor(scripted.origin), IdentityProvider__SignInName: 'School login' };
    service = await startService(settings, undefined, log);
  });
  afterAll(async () => {
    for (const end of hanging) end();
    await service?.stop();
    await scripted?.close();
  });

  type Said = {
    claims?: Record<string, unknown>;
    key?: typeof key;
    token?: Told;
    callback?: Record<string, string>;
    mandator?: string;
  };

  /** Signs in with what the provider is made to say, and tells the fault, or null. */
  async function signIn(said: Said, browser = openBrowser(service)): Promise<string | null> {
    let token: Told = said.token ?? {};
    scripted.answer(({ path }) => {
      const headers = { 'content-type': 'application/json' };
      const { kid, kty, n, e } = key;
      if (path === '/jwks') return { headers, body: { keys: [{ kid, kty, n, e, alg: 'RS256', use: 'sig' }] } };
      if (path === '/token') return { headers, ...token };
      const { origin: issuer } = scripted;
      const endpoints = { authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` };
      return { headers, body: { issuer, jwks_uri: `${issuer}/jwks`, ...endpoints } };
    });
    const { searchParams } = await browser.start(said.mandator);
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: scripted.origin,
      aud: resourceClient.ClientId,
      sub: 'ada',
      iat: now,
      exp: now + 60,
      nonce: searchParams.get('nonce'),
      tenant: 'school',
      email: 'user@school.example',
      ...said.claims,
    };
    const idToken = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid: 'first' })
      .sign(await importJWK(said.key ?? key, 'RS256'));
    if (!said.token) token = { body: { access_token: 'x', token_type: 'Bearer', id_token: idToken } };
    const query = new URLSearchParams({ code: 'c', state: searchParams.get('state')!, ...said.callback });
    const end = await browser.finish(`${publicRoot}/school/session/return?${query}`);
    return end === '../console' ? null : faultAt(end);
  }

  test('the claims of a valid ID token are enough, and PINs are not accepted', async () => {
    expect(await signIn({})).toBeNull();
    expect(scripted.asked.map(({ path }) => path)).not.toContain('/userinfo');
    const answer = await fetch(`${behindProxy(service)}/school/session/options`);
    expect(await answer.json()).toMatchObject({ Pin: false, Provider: { Name: 'School login' } });
  });

  const badGateway = { status: 502, body: '<html>' };
  test.each<[string, string, () => Said | Promise<Said>]>([
    ['a right answer for a flow of another tenant', 'SignInExpired', () => ({ mandator: 'stranger' })],
    ['another nonce', 'ProviderRefused', () => ({ claims: { nonce: 'another' } })],
    ['no nonce', 'ProviderRefused', () => ({ claims: { nonce: undefined } })],
    ['another issuer', 'ProviderRefused', () => ({ claims: { iss: 'https://issuer.example' } })],
    ['another audience', 'ProviderRefused', () => ({ claims: { aud: 'other' } })],
    ['an ID token that has expired', 'ProviderRefused', () => ({ claims: { exp: 1_700_000_000 } })],
    ['another key', 'ProviderRefused', async () => ({ key: await makeKey('first') })],
    ['U+0000 in the address', 'ProviderRefused', () => ({ claims: { email: 'user\0@school.example' } })],
    ['no ID token', 'ProviderRefused', () => ({ token: { body: { access_token: 'x', token_type: 'Bearer' } } })],
    [
      'a client that is not known',
      'ProviderRefused',
      () => ({ token: { status: 401, body: { error: 'invalid_client' } } }),
    ],
    ['a code of before', 'SignInExpired', () => ({ token: { status: 400, body: { error: 'invalid_grant' } } })],
    ['what is no JSON', 'ProviderUnavailable', () => ({ token: badGateway })],
    ['more than 1 MiB', 'ProviderUnavailable', () => ({ token: { body: { filler: 'x'.repeat(1_100_000) } } })],
    ['that it is busy', 'ProviderUnavailable', () => ({ callback: { error: 'temporarily_unavailable' } })],
    ['that we ask wrongly', 'ProviderRefused', () => ({ callback: { error: 'invalid_scope' } })],
  ])('%s: no session', async (_what, fault, said) => {
    const browser = openBrowser(service);
    expect(await signIn(await said(), browser)).toBe(fault);
    expect((await browser.session()).status).toBe(401);
  });

  test.each<[string, string, Said]>([
    [
      'the status and type of an answer that is no JSON',
      '200, text/html',
      { token: { headers: { 'content-type': 'text/html' }, body: '<html>' } },
    ],
    [
      'the claims that it looked for',
      'the mandator in tenant and an e-mail address in email',
      { claims: { tenant: ['school'] } },
    ],
  ])('the log tells %s', async (_what, told, said) => {
    logged.length = 0;
    expect(await signIn(said)).toBe('ProviderRefused');
    expect(logged.join('')).toContain(told);
  });

  test('a provider that hangs is given up, and delays nobody else meanwhile', async () => {
    const deadlines: [milliseconds: number, over: AbortController][] = [];
    const timeouts = jest.spyOn(AbortSignal, 'timeout').mockImplementation((milliseconds) => {
      const over = new AbortController();
      deadlines.push([milliseconds, over]);
      return over.signal;
    });
    const arrived = Promise.withResolvers<void>();
    const body: Told['body'] = (response) => {
      hanging.push(() => response.end());
      arrived.resolve();
    };
    try {
      const slow = signIn({ token: { body } });
      await arrived.promise;
      await openBrowser(service).start('stranger');
      expect((await openBrowser(service).session()).status).toBe(401);
      expect(deadlines.map(([milliseconds]) => milliseconds)).toContain(5_000);
      for (const [, over] of deadlines) over.abort(new DOMException('It is too late.', 'TimeoutError'));
      expect(await slow).toBe('ProviderUnavailable');
    } finally {
      timeouts.mockRestore();
    }
  });
});
