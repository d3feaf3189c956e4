import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Event } from '@microsoft/microsoft-graph-types';
import type { MailServerSettings } from '../../src/config.ts';
import { openLog } from '../../src/log.ts';
import type { CalendarChanges, Connector } from '../../src/mail-servers/connector.ts';
import { openConnectors } from '../../src/mail-servers/service.ts';
import { type Asked, endless, type ScriptedServer, startScriptedServer, type Told } from '../_util/scripted-server.ts';
import { faultOf } from '../mail/_util/fault-of.ts';
import { holdDeadlines, readAll, readInSteps } from '../mail/_util/in-steps.ts';

const room = { mailbox: 'room-1@example.org', address: null };
const users = '/v1.0/users/room-1@example.org';
const window = { start: new Date('2026-11-01T00:00:00Z'), end: new Date('2026-12-01T00:00:00Z') };
const log = openLog('silent');

let server: ScriptedServer;
let connector: Connector;

beforeAll(async () => {
  server = await startScriptedServer();
});
afterAll(() => server.close());
beforeEach(() => {
  connector = openConnectors({ log })(settingsOf());
});

const settingsOf = (more: object = {}): MailServerSettings =>
  ({
    Kind: 'Graph',
    Url: `${server.origin}/v1.0`,
    TokenUrl: `${server.origin}/tenant/oauth2/v2.0/token`,
    ClientId: 'client',
    ClientSecret: 'secret of the client',
    PastDays: 1,
    FutureDays: 365,
    ...more,
  }) as MailServerSettings;

type Entry = Partial<Event> & Record<string, unknown>;
const at = (dateTime: string) => ({ dateTime: `${dateTime}.0000000`, timeZone: 'UTC' });
const usual: Entry = {
  type: 'singleInstance',
  start: at('2026-11-20T09:00:00'),
  end: at('2026-11-20T10:00:00'),
  isAllDay: false,
  subject: 'Choir',
  organizer: { emailAddress: { name: 'Ada', address: 'ada@example.org' } },
  isOrganizer: false,
  responseStatus: { response: 'accepted' },
  sensitivity: 'normal',
  showAs: 'busy',
  isCancelled: false,
  iCalUId: 'uid-1',
  lastModifiedDateTime: '2026-11-19T08:00:00Z',
};
const single = (id: string, facts: Entry = {}): Entry => ({ id, ...usual, ...facts });
/** What a delta tells of an occurrence. */
const stub = (id: string, seriesMasterId: string): Entry => ({
  id,
  seriesMasterId,
  type: 'occurrence',
  start: at('2026-11-20T09:00:00'),
  end: at('2026-11-20T10:00:00'),
});
const occurrence = (id: string, seriesMasterId: string, day: number, facts: Entry = {}): Entry => ({
  ...single(id, { seriesMasterId, type: 'occurrence' }),
  originalStart: `2026-11-${day}T09:00:00Z`,
  start: at(`2026-11-${day}T09:00:00`),
  end: at(`2026-11-${day}T10:00:00`),
  ...facts,
});

const token: Told = {
  headers: { 'content-type': 'application/json' },
  body: { token_type: 'Bearer', access_token: 'token-1', expires_in: 3_599 },
};
const isToken = ({ path }: Asked) => path.endsWith('/token');
const deltaLink = (name: string) => `${server.origin}${users}/calendarView/delta?$deltatoken=${name}`;
const cursorOf = (name: string) => JSON.stringify({ deltaLink: deltaLink(name) });
const list = (value: unknown[], links: object = {}): Told => ({ body: { value, ...links } });
const last = (value: unknown[], name = 'd1') => list(value, { '@odata.deltaLink': deltaLink(name) });
const refused = (status: number, code: string, message = 'It says no.', headers = {}): Told => ({
  status,
  headers,
  body: { error: { code, message } },
});

type Answers = {
  delta?: (asked: Asked) => Told;
  instances?: (master: string, asked: Asked) => Told;
  view?: (asked: Asked) => Told;
};
function serve({ delta, instances, view }: Answers): void {
  server.answer((asked) => {
    if (isToken(asked)) return token;
    if (asked.path.startsWith(`${users}/calendarView/delta?`)) return delta?.(asked) ?? { status: 400 };
    if (asked.path.startsWith(`${users}/calendarView?`)) return view?.(asked) ?? { status: 400 };
    const [, master] = /\/events\/([^/]+)\/instances\?/.exec(asked.path) ?? [];
    return (master && instances?.(decodeURIComponent(master), asked)) || { status: 400 };
  });
}
const serveDelta = (...value: unknown[]) => serve({ delta: () => last(value) });

const read = (cursor: string | null = null, signal = AbortSignal.timeout(60_000)): Promise<CalendarChanges> =>
  readAll(connector, room, cursor, window, signal);
const onlyItem = async (event: Entry) => {
  serveDelta(event);
  return (await read()).groups[0]!.items[0]!;
};
const asked = () => server.asked.filter((one) => !isToken(one));
const subjects = ({ groups }: CalendarChanges) =>
  groups.map(({ id, items }) => [id, ...items.map(({ subject }) => subject)]);

describe('tokens', () => {
  test('one is had with the secret of the application, and used until shortly before it expires', async () => {
    serveDelta();
    await Promise.all([read(), read()]);
    await read();
    const tokens = server.asked.filter(isToken);
    expect(tokens).toHaveLength(1);
    expect(Object.fromEntries(new URLSearchParams(tokens[0]!.body))).toEqual({
      grant_type: 'client_credentials',
      client_id: 'client',
      client_secret: 'secret of the client',
      scope: 'https://graph.microsoft.com/.default',
    });
    expect(asked().map(({ headers }) => headers.authorization)).toEqual(Array(3).fill('Bearer token-1'));
  });

  test('a refused token is renewed once', async () => {
    let [given, isTaken] = [0, true];
    const isCurrent = ({ headers }: Asked) => isTaken && headers.authorization === `Bearer token-${given}`;
    server.answer((one) => {
      if (!isToken(one)) return isCurrent(one) ? last([]) : { status: 401 };
      const access_token = `token-${(given += 1)}`;
      return { ...token, body: { token_type: 'Bearer', access_token, expires_in: 3_599 } };
    });
    await read();
    given += 1;
    await expect(read()).resolves.toMatchObject({ whole: true });
    isTaken = false;
    expect((await faultOf(read())).fault).toBe('AccessLost');
    expect(given).toBe(4);
  });

  test('Exchange is asked with one for its own address', async () => {
    connector = openConnectors({ log })(settingsOf({ Kind: 'Ews', Url: `${server.origin}/EWS/Exchange.asmx` }));
    server.answer((one) => (isToken(one) ? token : { status: 403 }));
    expect((await faultOf(read())).fault).toBe('AccessLost');
    expect(new URLSearchParams(server.asked[0]!.body).get('scope')).toBe(`${server.origin}/.default`);
    expect(server.asked[1]!.headers.authorization).toBe('Bearer token-1');
  });

  test.each<[string, Told, string]>([
    [
      'a wrong secret',
      { status: 401, headers: json(), body: { error: 'invalid_client', error_description: 'AADSTS7000215' } },
      'AccessLost',
    ],
    ['an unknown client', { status: 400, headers: json(), body: { error: 'unauthorized_client' } }, 'AccessLost'],
    [
      'too many requests',
      { status: 429, headers: { ...json(), 'retry-after': '3' }, body: { error: 'slow_down' } },
      'Throttled',
    ],
    ['an outage', { status: 500, body: 'oh' }, 'Unreachable'],
    ['HTML', { headers: { 'content-type': 'text/html' }, body: '<p>' }, 'Unreadable'],
    ['no token', { headers: json(), body: { token_type: 'Bearer' } }, 'Unreadable'],
    [
      'a token that cannot be sent',
      { headers: json(), body: { token_type: 'Bearer', access_token: 'a\nb' } },
      'Unreadable',
    ],
    ['more than a MiB', { headers: json(), body: endless }, 'TooLarge'],
    ['a redirect', { status: 302, headers: { location: 'https://example.org/' } }, 'Unreachable'],
    ['a broken connection', { body: (one) => one.destroy() }, 'Unreachable'],
  ])('where one is asked for: %s', async (_, answer, kind) => {
    server.answer(() => answer);
    const { fault, message } = await faultOf(read());
    expect(fault).toBe(kind);
    expect(message).not.toContain('secret of');
    expect(server.asked.every(isToken)).toBe(true);
  });

  function json() {
    return { 'content-type': 'application/json' };
  }
});

describe('subscriptions', () => {
  const callback = 'https://gate.example.org/api/webhooks/mailserver?k=7.secret';
  const signal = AbortSignal.timeout(60_000);
  const subscriptions = () => connector.subscriptions!;
  const answerWith = (told: Told) => server.answer((one) => (isToken(one) ? token : told));
  const granted = { id: 'sub 1', expirationDateTime: '2026-11-26T22:59:00.1234567+05:30' };
  const inSixDays = (text: string) => Math.abs(Date.parse(text) - Date.now() - 6 * 86_400_000) < 60_000;

  test('one is asked for six days, and has the life that Graph gives it', async () => {
    answerWith({ status: 201, body: granted });
    const terms = { callback, clientState: '7.state', heartbeatMinutes: 10 };
    await expect(subscriptions().subscribe(room, terms, signal)).resolves.toEqual({
      externalId: 'sub 1',
      expiresAt: new Date('2026-11-26T17:29:00.123Z'),
      watermark: null,
    });
    const [{ method, path, headers, body } = {} as Asked] = asked();
    expect([method, path, headers['content-type']]).toEqual(['POST', '/v1.0/subscriptions', 'application/json']);
    const { expirationDateTime, ...others } = JSON.parse(body);
    expect(inSixDays(expirationDateTime)).toBe(true);
    expect(others).toEqual({
      changeType: 'created,updated,deleted',
      notificationUrl: callback,
      lifecycleNotificationUrl: callback,
      resource: 'users/room-1@example.org/events',
      clientState: '7.state',
      latestSupportedTlsVersion: 'v1_2',
    });
  });

  test('a callback that Graph cannot reach is reported as such, without its secret', async () => {
    answerWith(
      refused(400, 'ValidationError', `Subscription validation request failed. ${callback} must respond with 200 OK.`),
    );
    const terms = { callback, clientState: '7.state', heartbeatMinutes: 10 };
    const { fault, message } = await faultOf(subscriptions().subscribe(room, terms, signal));
    expect(fault).toBe('Unreadable');
    expect(message).toContain('ValidationError Subscription validation request failed.');
    expect(message).toContain('can Graph reach the callback');
    expect(message).not.toContain('7.secret');
  });

  test('one is renewed, probed and ended by its id', async () => {
    answerWith({ body: granted });
    await expect(subscriptions().renew!('sub 1', signal)).resolves.toEqual({
      expiresAt: new Date('2026-11-26T17:29:00.123Z'),
    });
    await expect(subscriptions().probe!('sub 1', signal)).resolves.toBe('Alive');
    const renewal = JSON.parse(asked()[0]!.body);
    expect([Object.keys(renewal), inSixDays(renewal.expirationDateTime)]).toEqual([['expirationDateTime'], true]);
    const before = asked();
    answerWith({ status: 204 });
    await subscriptions().end!('sub 1', signal);
    expect([...before, ...asked()].map(({ method, path }) => [method, path])).toEqual([
      ['PATCH', '/v1.0/subscriptions/sub%201'],
      ['GET', '/v1.0/subscriptions/sub%201'],
      ['DELETE', '/v1.0/subscriptions/sub%201'],
    ]);
  });

  test('one that is not there is gone, which is no fault', async () => {
    answerWith(refused(404, 'ResourceNotFound', 'The object was not found.'));
    await expect(subscriptions().renew!('a', signal)).resolves.toBe('Gone');
    await expect(subscriptions().probe!('a', signal)).resolves.toBe('Gone');
    await expect(subscriptions().end!('a', signal)).resolves.toBeUndefined();
  });

  test('all are listed over all pages', async () => {
    server.answer((one) => {
      if (isToken(one)) return token;
      if (one.path.includes('skip')) return list([{ id: 'c', notificationUrl: 'https://c.example.org/' }]);
      return list(
        [
          { id: 'a', notificationUrl: callback },
          { id: 'b', notificationUrl: null },
        ],
        {
          '@odata.nextLink': `${server.origin}/v1.0/subscriptions?$skiptoken=2`,
        },
      );
    });
    await expect(subscriptions().list!(signal)).resolves.toEqual([
      { externalId: 'a', callback },
      { externalId: 'c', callback: 'https://c.example.org/' },
    ]);
  });

  test.each<[string, Told]>([
    ['no id', { body: { expirationDateTime: granted.expirationDateTime } }],
    ['an expiry that is no date', { body: { id: 'a', expirationDateTime: 'soon' } }],
    ['HTML', { body: '<p>' }],
  ])('an answer with %s is unreadable', async (_, told) => {
    answerWith(told);
    expect((await faultOf(subscriptions().renew!('a', signal))).fault).toBe('Unreadable');
  });
});

describe('reading', () => {
  test('the first reading is whole, in UTC, and takes over what a booking needs', async () => {
    serveDelta(single('AAMk1', { sensitivity: 'private' }));
    expect(await read()).toEqual({
      whole: true,
      removed: [],
      address: null,
      cursor: cursorOf('d1'),
      groups: [
        {
          id: 'AAMk1',
          items: [
            {
              id: 'AAMk1',
              occurrence: '',
              uid: 'uid-1',
              start: new Date('2026-11-20T09:00:00Z'),
              end: new Date('2026-11-20T10:00:00Z'),
              days: null,
              subject: 'Choir',
              organizer: { name: 'Ada', email: 'ada@example.org' },
              isPrivate: true,
              isCancelled: false,
              response: 'Accepted',
              shownAs: 'Busy',
              changedAt: new Date('2026-11-19T08:00:00Z'),
              origin: null,
              changeKey: null,
            },
          ],
        },
      ],
    });
    const [{ path, headers } = {} as Asked] = asked();
    expect(path).toBe(
      `${users}/calendarView/delta?startDateTime=2026-11-01T00:00:00.000Z&endDateTime=2026-12-01T00:00:00.000Z`,
    );
    expect(headers['prefer']).toMatch(/outlook\.timezone="UTC".*odata\.maxpagesize=\d+/);
  });

  test('the next one continues where it ended, over all pages, and tells what is gone', async () => {
    serve({
      delta: ({ path }) =>
        path.endsWith('=d1')
          ? list([single('a', { subject: 'Old' }), { id: 'gone', '@removed': { reason: 'deleted' } }], {
              '@odata.nextLink': `${server.origin}${users}/calendarView/delta?$skiptoken=p2`,
            })
          : last([single('a', { subject: 'New' }), { id: 'b', '@removed': { reason: 'changed' } }, single('b')], 'd2'),
    });
    const changes = await read(cursorOf('d1'));
    expect(subjects(changes)).toEqual([
      ['a', 'New'],
      ['b', 'Choir'],
    ]);
    expect(changes).toMatchObject({ whole: false, removed: ['gone'], cursor: cursorOf('d2') });
    expect(asked().some(({ path }) => path.includes('/events/b/'))).toBe(false);
    expect(asked().every(({ headers }) => String(headers['prefer']).includes('outlook.timezone="UTC"'))).toBe(true);
  });

  test('of a series of which anything has changed all occurrences are read anew', async () => {
    serve({
      delta: () => last([stub('o1', 'master'), single('a'), { id: 'o9', '@removed': { reason: 'deleted' } }]),
      instances: (master, { path }) => {
        if (master !== 'master') return refused(400, 'ErrorInvalidRequest', 'It is no series.');
        const isFirst = !path.includes('$skip=');
        const next = `${server.origin}${users}/events/${master}/instances?$skip=1`;
        return isFirst
          ? list([occurrence('o1', master, 13)], { '@odata.nextLink': next })
          : list([
              occurrence('o2', master, 20, {
                type: 'exception',
                start: at('2026-11-21T14:00:00'),
                end: at('2026-11-21T15:00:00'),
                subject: 'Moved',
              }),
            ]);
      },
    });
    const { groups, removed } = await read(cursorOf('d1'));
    expect(
      groups.map(({ id, items }) => [id, ...items.map((one) => `${one.id} ${one.occurrence} ${one.subject}`)]),
    ).toEqual([
      ['a', 'a  Choir'],
      ['master', 'o1 2026-11-13T09:00:00.000Z Choir', 'o2 2026-11-20T09:00:00.000Z Moved'],
    ]);
    expect(removed).toEqual(['o9']);
    expect(asked().find(({ path }) => path.includes('/master/'))!.path).toContain(
      '?startDateTime=2026-11-01T00:00:00.000Z&endDateTime=2026-12-01T00:00:00.000Z&$select=id,',
    );
  });

  test('the master itself stands for its series', async () => {
    serve({
      delta: () => last([single('master', { type: 'seriesMaster' })]),
      instances: () => list([occurrence('o1', 'master', 13)]),
    });
    expect(subjects(await read(cursorOf('d1')))).toEqual([['master', 'Choir']]);
  });

  test('a series without an occurrence in the window is an empty group, and one that is not there is gone', async () => {
    serve({
      delta: () => last([stub('o1', 'empty'), stub('o2', 'gone')]),
      instances: (master) => (master === 'empty' ? list([]) : refused(404, 'ErrorItemNotFound')),
    });
    expect(await read(cursorOf('d1'))).toMatchObject({
      groups: [{ id: 'empty', items: [] }],
      removed: ['gone'],
    });
  });

  test('a series that continues is not gone because its master is told to be removed', async () => {
    serve({
      delta: () => last([{ id: 'master', '@removed': { reason: 'changed' } }]),
      instances: (master) => list([occurrence('o1', master, 13)]),
    });
    const changes = await read(cursorOf('d1'));
    expect([subjects(changes), changes.removed]).toEqual([[['master', 'Choir']], []]);
  });

  test('an id that was removed and is there all the same is not gone', async () => {
    serve({
      delta: () =>
        last([stub('o1', 'master'), { id: 'o1', '@removed': { reason: 'deleted' } }, { id: 'master', '@removed': {} }]),
      instances: (master) => list([occurrence('o1', master, 13)]),
    });
    expect((await read(cursorOf('d1'))).removed).toEqual([]);
  });

  const manySeries = Array.from({ length: 9 }, (_, number) => `m${number}`);
  const everything = [single('a'), ...manySeries.map((master) => occurrence(`o-${master}`, master, 13))];
  const stubs = manySeries.map((master) => stub(`o-${master}`, master));

  test('when many series have changed the whole window is read at once', async () => {
    serve({
      delta: ({ path }) => last(path.endsWith('=d0') ? stubs : [], path.endsWith('=d0') ? 'd1' : 'd2'),
      view: () => list(everything),
    });
    const changes = await read(cursorOf('d0'));
    expect(changes).toMatchObject({ whole: true, removed: [], cursor: cursorOf('d2') });
    expect(changes.groups.map(({ id }) => id)).toEqual(['a', ...manySeries]);
    expect(asked()).toHaveLength(3);
  });

  test('what changes meanwhile is read once more', async () => {
    let [deltas, views] = [0, 0];
    serve({
      delta: () => last((deltas += 1) === 1 ? stubs : deltas === 2 ? [single('a')] : [], `d${deltas}`),
      view: () => list([single('a', { subject: `View ${(views += 1)}` })]),
    });
    const changes = await read();
    expect([subjects(changes), changes.cursor]).toEqual([[['a', 'View 2']], cursorOf('d3')]);
  });

  test('a window that does not fit on one page is read in halves', async () => {
    serve({
      delta: () => last(stubs),
      view: ({ path }) =>
        path.includes('startDateTime=2026-11-01') && path.includes('endDateTime=2026-12-01')
          ? list([single('a')], { '@odata.nextLink': `${server.origin}${users}/calendarView?$skip=1` })
          : list([single(path.includes('startDateTime=2026-11-01') ? 'a' : 'b')]),
    });
    expect((await read(cursorOf('d9'))).groups).toMatchObject([{ id: 'a' }, { id: 'b' }]);
  });
});

describe('what an event says', () => {
  test.each<[Entry, object]>([
    [
      { isAllDay: true, start: at('2026-11-20T00:00:00'), end: at('2026-11-22T00:00:00') },
      { days: { from: '2026-11-20', to: '2026-11-22' } },
    ],
    [{ responseStatus: { response: 'tentativelyAccepted' } }, { response: 'Tentative' }],
    [{ responseStatus: { response: 'declined' } }, { response: 'Declined' }],
    [{ responseStatus: { response: 'notResponded' } }, { response: 'None' }],
    [{ responseStatus: { response: 'organizer' } }, { response: 'Organizer' }],
    [{ responseStatus: { response: 'none' }, isOrganizer: true }, { response: 'Organizer' }],
    [{ responseStatus: null }, { response: 'None' }],
    [{ showAs: 'free' }, { shownAs: 'Free' }],
    [{ showAs: 'tentative' }, { shownAs: 'Tentative' }],
    [{ showAs: 'oof' }, { shownAs: 'Busy' }],
    [{ showAs: 'workingElsewhere' }, { shownAs: 'Busy' }],
    [{ sensitivity: 'confidential' }, { isPrivate: true }],
    [{ isCancelled: true }, { isCancelled: true }],
    [{ subject: null }, { subject: null }],
    [{ subject: 'a\u0000b\n\u2028c' }, { subject: 'a b c' }],
    [{ subject: 'x'.repeat(1_000_000) }, { subject: 'x'.repeat(200) }],
    [{ organizer: null }, { organizer: null }],
    [{ organizer: { emailAddress: { name: 'Ada', address: 'nowhere' } } }, { organizer: { name: 'Ada', email: null } }],
    [{ lastModifiedDateTime: 'never' }, { changedAt: null }],
    [{ iCalUId: null }, { uid: null }],
    [{ start: { dateTime: '2026-11-20T09:00:00' } }, { start: new Date('2026-11-20T09:00:00Z') }],
  ])('%#', async (facts, expected) => {
    expect(await onlyItem(single('a', facts))).toMatchObject(expected);
  });

  test.each<[string, Entry]>([
    ['no start', { start: null }],
    ['an end that is no date', { end: at('2026-02-31T25:00:00') }],
    ['another time zone', { start: { dateTime: '2026-11-20T09:00:00', timeZone: 'Romance Standard Time' } }],
    ['another type of value', { subject: { text: 'Choir' } } as unknown as Entry],
  ])('%s makes its group unreadable, not the others', async (_, facts) => {
    serveDelta(single('a', facts), single('b'));
    expect((await read()).groups).toEqual([
      { id: 'a', items: [], unreadable: expect.any(String) },
      expect.objectContaining({ id: 'b', items: [expect.anything()] }),
    ]);
  });

  const nameless = [{ subject: 'Choir' }, null, 5, { id: '' }] as unknown as Entry[];
  const toldOfNameless = { id: 'without an id', items: [], unreadable: expect.stringContaining('without an id') };

  test('events without an id, or that are none, are unreadable together, and keep no other from being read', async () => {
    serveDelta(...nameless, single('b'));
    expect((await read()).groups).toEqual([
      expect.objectContaining({ id: 'b', items: [expect.anything()] }),
      toldOfNameless,
    ]);
    serve({
      delta: () => last([stub('o1', 'm')]),
      instances: (master) => list([...nameless, occurrence('o1', master, 13)]),
    });
    // The others of its series would seem to be all that there are.
    expect((await read()).groups).toEqual([{ ...toldOfNameless, id: 'm' }]);
  });

  test('10,000 occurrences of one series are unreadable, and not all read', async () => {
    const all = Array.from({ length: 500 }, (_, number) => occurrence(`o${number}`, 'm', 13));
    let page = 0;
    serve({
      delta: () => last([stub('o1', 'm')]),
      instances: () => {
        page += 1;
        const value = all.map((one, index) => ({
          ...one,
          id: `o${page}-${index}`,
          originalStart: new Date(1.75e12 + (page * 500 + index) * 60_000).toISOString(),
        }));
        return list(value, {
          '@odata.nextLink': `${server.origin}${users}/events/m/instances?$skip=${page}`,
        });
      },
    });
    expect((await read()).groups).toEqual([{ id: 'm', items: [], unreadable: expect.stringContaining('more than') }]);
    expect(page).toBeLessThan(15);
  });

  test('ids of any length and characters are kept in bounds', async () => {
    const id = 'é'.repeat(5_000);
    serveDelta(stub('o', `${id}1`), single(id), { id: `${id}2`, '@removed': {} });
    const { groups, removed } = await read();
    expect(groups[1]).toMatchObject({ items: [], unreadable: expect.any(String) });
    for (const bound of [groups[0]!.id, groups[1]!.id, groups[0]!.items[0]!.id, removed[0]])
      expect(bound).toMatch(/^sha256:[0-9a-f]{64}$/);
  });
});

describe('faults', () => {
  const delta = (told: Told, cursor: string | null = cursorOf('d1')) => {
    serve({ delta: () => told });
    return faultOf(read(cursor));
  };
  const page = (link: string): Told => list([single('a')], { '@odata.nextLink': link });

  test.each<[string, () => Told, string]>([
    ['410', () => refused(410, 'SyncStateNotFound'), 'StateLost'],
    ['resyncRequired', () => refused(400, 'resyncRequired'), 'StateLost'],
    ['a token that it cannot read', () => refused(400, 'BadRequest'), 'StateLost'],
    ['a token that is not there', () => refused(404, 'ErrorItemNotFound'), 'StateLost'],
    ['no permission', () => refused(403, 'ErrorAccessDenied'), 'AccessLost'],
    ['no such user', () => refused(404, 'ErrorInvalidUser'), 'AccessLost'],
    ['no mailbox', () => refused(404, 'MailboxNotEnabledForRESTAPI'), 'AccessLost'],
    ['429', () => refused(429, 'ApplicationThrottled', 'Slow', { 'retry-after': '20' }), 'Throttled'],
    ['503', () => ({ status: 503 }), 'Throttled'],
    ['500', () => refused(500, 'InternalServerError'), 'Unreachable'],
    ['504', () => ({ status: 504, body: '<html>' }), 'Unreachable'],
    ['418', () => ({ status: 418 }), 'Unreadable'],
    ['HTML', () => ({ body: '<!DOCTYPE html><p>Sign in' }), 'Unreadable'],
    ['deep JSON', () => ({ body: '['.repeat(500_000) }), 'Unreadable'],
    ['no list', () => ({ body: { value: {} } }), 'Unreadable'],
    ['no deltaLink', () => list([]), 'Unreadable'],
    ['a link to another place', () => page('https://example.org/v1.0/me'), 'Unreadable'],
    ['a link to a file', () => page('file:///etc/passwd'), 'Unreadable'],
    [
      'a redirect to another place',
      () => ({ status: 302, headers: { location: 'https://example.org/' } }),
      'Unreadable',
    ],
    ['a redirect to itself', () => ({ status: 302, headers: { location: '?again' } }), 'Unreachable'],
    ['more than 16 MiB', () => ({ body: endless }), 'TooLarge'],
  ])('%s', async (_, told, kind) => {
    expect((await delta(told())).fault).toBe(kind);
  });

  test('without a cursor what is not there is no mailbox', async () => {
    expect((await delta(refused(404, 'ErrorFolderNotFound'), null)).fault).toBe('AccessLost');
  });

  test('it is not asked for as long as it wants, in seconds or until a date', async () => {
    const waitingFor = async (wait: string) =>
      (await delta(refused(429, 'TooManyRequests', 'Slow', { 'retry-after': wait }))).retryAt!.getTime();
    const asked = Date.now();
    const retryAt = await waitingFor('20');
    expect(retryAt).toBeGreaterThanOrEqual(asked + 20_000);
    expect(retryAt).toBeLessThanOrEqual(Date.now() + 20_000);
    // To the second.
    const date = Math.ceil(Date.now() / 1_000) * 1_000 + 600_000;
    expect(await waitingFor(new Date(date).toUTCString())).toBe(date);
    expect((await delta({ status: 429, headers: { 'retry-after': 'later' } })).retryAt).toBeNull();
  });

  test.each(['the same', 'another'])('pages without an end are given up: each links to %s', async (which) => {
    let pages = 0;
    serve({
      delta: () =>
        page(`${server.origin}${users}/calendarView/delta?$skiptoken=${which === 'another' ? (pages += 1) : 0}`),
    });
    expect((await faultOf(read(null, new AbortController().signal))).fault).toBe('TooLarge');
    expect(asked().length).toBe(which === 'another' ? 2_000 : 2);
  });

  test('a server that is too slow for so many changes is asked for fewer, and is told of what was slow', async () => {
    const deadlines = holdDeadlines();
    server.answer((asked) => {
      const { headers } = asked;
      if (isToken(asked)) return token;
      const size = Number(/maxpagesize=(\d+)/.exec(`${headers['prefer']}`)?.[1]);
      if (size > 30) return { body: () => deadlines.pass() };
      return { body: { value: [single(`of ${size}`)], '@odata.deltaLink': `${server.origin}/delta` } };
    });
    try {
      const { faults, groups } = await readInSteps(() => connector, room, { window });
      expect(faults.map(({ message }) => message)).toEqual(
        Array(2).fill(expect.stringContaining('GET calendarView/delta took')),
      );
      expect(groups.map(({ id }) => id)).toEqual(['of 25']);
    } finally {
      deadlines.stop();
    }
  });

  test('a redirect within the server is followed', async () => {
    serve({
      delta: ({ path }) =>
        path.includes('$deltatoken')
          ? last([single('a')])
          : { status: 307, headers: { location: `${users}/calendarView/delta?$deltatoken=d0` } },
    });
    expect(subjects(await read())).toEqual([['a', 'Choir']]);
  });

  test('a page of more than 16 MiB is asked for again with fewer events', async () => {
    serve({
      delta: ({ headers }) =>
        Number(/maxpagesize=(\d+)/.exec(String(headers['prefer']))![1]) > 20 ? { body: endless } : last([single('a')]),
    });
    expect(subjects(await read())).toEqual([['a', 'Choir']]);
    expect(asked()).toHaveLength(2);
  });

  test.each(['', '[]', '{"deltaLink":7}', '{"deltaLink":"https://example.org/v1.0/delta"}', '{"syncState":"a"}'])(
    'a cursor of another server is lost: %s',
    async (cursor) => {
      serveDelta();
      expect((await faultOf(read(cursor))).fault).toBe('StateLost');
      expect(asked()).toEqual([]);
    },
  );
});
