import { createServer, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { XMLParser } from 'fast-xml-parser';
import type { MailServerSettings } from '../../src/config.ts';
import { openLog } from '../../src/log.ts';
import { openCalDav } from '../../src/mail-servers/caldav.ts';
import type { CalendarChanges, Connector } from '../../src/mail-servers/connector.ts';
import { mergePages } from '../../src/mail-servers/pages.ts';
import { openConnectors } from '../../src/mail-servers/service.ts';
import { longestIdleMs } from '../_util/scripted-server.ts';
import { holdDeadlines, readAll, readInSteps } from '../mail/_util/in-steps.ts';

const window = { start: new Date('2026-11-20T00:00Z'), end: new Date('2027-11-20T00:00Z') };
const mailbox = 'room-a@rooms.test';
const log = openLog('silent');

type Request = { method: string; url: string; depth: string; body: string };
type Reply = { status: number; body?: string; headers?: Record<string, string> };

/** What the server answers; undefined: as a calendar server with `objects` does. */
let script: (request: Request) => Reply | undefined;
let requests: Request[];
/** Each object's text and when it was changed, null when it was deleted; by name. */
let objects: Map<string, { text: string | null; at: number }>;
let pageSize: number;
/** How the server writes the path of the collection and of its objects. */
let collection: string;
let clock = 0;
let origin: string;

const xml = new XMLParser({
  ignoreAttributes: false,
  removeNSPrefix: true,
  isArray: (name) => name === 'href',
  parseTagValue: false,
});
const multistatus = (inner: string): Reply => ({
  status: 207,
  body: `<?xml version="1.0"?><multistatus xmlns="DAV:" xmlns:x="urn:ietf:params:xml:ns:caldav">${inner}</multistatus>`,
});
const refusal = (status: number, precondition: string): Reply => ({
  status,
  body: `<D:error xmlns:D="DAV:"><D:${precondition}/></D:error>`,
});
const response = (href: string, inner: string) => `<response><href>${href}</href>${inner}</response>`;
const found = (properties: string) => `<propstat><prop>${properties}</prop><status>HTTP/1.1 200 OK</status></propstat>`;
const status = (code: number) => `<status>HTTP/1.1 ${code} Some Reason</status>`;
const ics = (uid: string, start = '20261201T090000Z') =>
  [
    'BEGIN:VCALENDAR',
    'BEGIN:VEVENT',
    `UID:${uid}`,
    `DTSTART:${start}`,
    'DURATION:PT1H',
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ].join('\r\n');

function put(name: string, text: string | null = ics(name)): void {
  clock += 1;
  objects.set(name, { text, at: clock });
}

function listChanges(since: number): Reply {
  const changed = [...objects].filter(([, { at }]) => at > since).sort(([, one], [, other]) => one.at - other.at);
  const page = changed.slice(0, pageSize);
  const token = page.length < changed.length ? page.at(-1)![1].at : clock;
  const cut = page.length < changed.length ? response(collection, status(507)) : '';
  const rows = page.map(([name, { text }]) =>
    response(`${collection}${name}`, text === null ? status(404) : found(`<getetag>"${name}"</getetag>`)),
  );
  return multistatus(`${rows.join('')}${cut}<sync-token>token:${token}</sync-token>`);
}

function readObjects(hrefs: string[]): Reply {
  return multistatus(
    hrefs
      .map((href) => {
        const text = objects.get(decodeURIComponent(href.slice(collection.length)))?.text;
        return response(
          href,
          text == null ? status(404) : found(`<x:calendar-data><![CDATA[${text}]]></x:calendar-data>`),
        );
      })
      .join(''),
  );
}

function serve({ body, url }: Request): Reply {
  const { 'sync-collection': sync, 'calendar-multiget': multiget } = xml.parse(body);
  if (url !== collection) return { status: 404 };
  if (sync) return listChanges(Number(`${sync['sync-token']}`.replace('token:', '')));
  if (multiget) return readObjects(multiget.href);
  return { status: 400 };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  return Buffer.concat(await request.toArray()).toString('utf8');
}

const server = createServer({ keepAliveTimeout: longestIdleMs }, async (incoming, outgoing) => {
  const { method = '', url = '', headers } = incoming;
  const request = { method, url, depth: `${headers['depth']}`, body: await bodyOf(incoming) };
  requests.push(request);
  const isKnown = headers.authorization === `Basic ${Buffer.from('reader:secret').toString('base64')}`;
  const reply = isKnown ? (script(request) ?? serve(request)) : { status: 401 };
  outgoing.writeHead(reply.status, { 'content-type': 'application/xml', ...reply.headers }).end(reply.body);
});

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
});
afterAll(() => {
  server.close();
});
beforeEach(() => {
  script = () => undefined;
  requests = [];
  objects = new Map();
  pageSize = 1_000;
  collection = '/dav/room-a/Default/';
});

const settingsOf = (path: string): MailServerSettings => ({
  Kind: 'CalDav',
  Url: `${origin}${path}`,
  User: 'reader',
  Password: 'secret',
  PastDays: 1,
  FutureDays: 365,
});
const calendar = { mailbox, address: null, timeZone: 'Europe/Berlin' };
const open = (path = '/dav/{user}/Default/') => openCalDav(settingsOf(path), log);
const read = (connector: Connector, cursor: string | null = null, at: string | null = null): Promise<CalendarChanges> =>
  readAll(connector, { ...calendar, address: at }, cursor, window, AbortSignal.timeout(60_000));
const idsOf = ({ groups }: CalendarChanges) => groups.map(({ id }) => id.slice(id.lastIndexOf('/') + 1)).sort();
const asked = (what: string) => requests.filter(({ body }) => body.includes(what));

describe('what has changed is read', () => {
  test('in full at first, then changed and removed objects, each with its occurrences', async () => {
    const connector = open();
    put('one.ics');
    put('two.ics');
    const first = await read(connector);
    expect(first).toMatchObject({ whole: true, removed: [], address: `${origin}/dav/room-a/Default/` });
    expect(first.groups).toMatchObject([
      {
        id: '/dav/room-a/Default/one.ics',
        items: [{ uid: 'one.ics', start: new Date('2026-12-01T09:00Z') }],
      },
      { id: '/dav/room-a/Default/two.ics', items: [{ uid: 'two.ics' }] },
    ]);
    put('two.ics', null);
    put('three.ics', ics('three.ics', '20261202T090000'));
    const second = await read(connector, first.cursor, first.address);
    expect(second).toMatchObject({
      whole: false,
      removed: ['/dav/room-a/Default/two.ics'],
      groups: [{ items: [{ start: new Date('2026-12-02T08:00Z') }] }],
    });
    expect(await read(connector, second.cursor, second.address)).toMatchObject({
      whole: false,
      groups: [],
      removed: [],
      cursor: second.cursor,
    });
    expect(
      requests.filter(({ body }) => body.includes('sync-collection')).map(({ method, depth }) => [method, depth]),
    ).toEqual(Array(3).fill(['REPORT', '0']));
  });

  const all = (count: number) => Array.from({ length: count }, (_, at) => `${at}.ics`);

  test.each([1_000, 70])('in steps, each by another process, from lists of %i: the same', async (size) => {
    pageSize = size;
    for (const name of all(180)) put(name);
    put('3.ics', null);
    const between = (step: number) => {
      if (step !== 2) return;
      put('100.ics', null);
      put('0.ics', ics('0.ics', '20261203T090000Z'));
      put('later.ics');
    };
    const changes = await readInSteps(open, calendar, { window, between });
    expect([changes.faults, changes.whole, changes.steps > 3]).toEqual([[], true, true]);
    expect(asked('/5.ics<')).toHaveLength(1);
    const next = await read(open(), changes.cursor, changes.address);
    const known = mergePages([{ groups: changes.groups, removed: [] }, next]);
    const first = known.groups.find(({ id }) => id.endsWith('/0.ics'));
    expect(first?.items[0]?.start).toEqual(new Date('2026-12-03T09:00Z'));
    expect(idsOf({ ...next, ...known })).toEqual(
      [...all(180), 'later.ics'].filter((name) => !['3.ics', '100.ics'].includes(name)).sort(),
    );
  });

  test('a server that is too slow for so many objects is asked for fewer', async () => {
    const deadlines = holdDeadlines();
    for (const name of all(60)) put(name);
    script = ({ body }) => {
      const isMuch = body.includes('multiget') && body.split('<D:href>').length > 9;
      if (isMuch) deadlines.pass();
      return undefined;
    };
    try {
      const { faults, ...changes } = await readInSteps(open, calendar, { window });
      expect(faults.map(({ message }) => message)).toEqual(
        Array(3).fill(expect.stringContaining('REPORT calendar-multiget took')),
      );
      expect(idsOf(changes)).toEqual(all(60).sort());
    } finally {
      deadlines.stop();
    }
  });

  test('in pages, as the server cuts them, and in batches', async () => {
    pageSize = 7;
    const names = Array.from({ length: 120 }, (_, at) => `${at}.ics`);
    for (const name of names) put(name);
    put('3.ics', null);
    const changes = await read(open());
    expect(idsOf(changes)).toEqual(names.filter((name) => name !== '3.ics').sort());
    expect(changes.removed).toEqual(['/dav/room-a/Default/3.ics']);
    expect(asked('sync-collection')).toHaveLength(18);
    expect(asked('calendar-multiget')).toHaveLength(17);
  });

  test('objects are counted over all lists, also where others continue', async () => {
    // Of 49,990 one more list of eleven is too much.
    const removed = Array.from({ length: 9_998 }, (_, at) => `${collection}${at}.ics`);
    let lists = 0;
    script = ({ body }) => {
      if (!body.includes('sync-collection')) return undefined;
      lists += 1;
      const some = lists <= 5 ? removed : removed.slice(0, 11);
      const rows = some.map((path) => response(path, status(404)));
      const cut = response(collection, status(507));
      return multistatus(`${rows.join('')}${cut}<sync-token>token:${lists}</sync-token>`);
    };
    let continuation: string | null = null;
    const goOn = async () => {
      const pages = open().pages(calendar, { cursor: null, continuation }, window, AbortSignal.timeout(60_000));
      for await (const page of pages) return page;
      throw new Error('no page');
    };
    for (let steps = 1; steps <= 5; steps++) continuation = (await goOn()).cursor;
    await expect(goOn()).rejects.toMatchObject({ fault: 'TooLarge' });
    expect(lists).toBe(6);
  });

  test('a continuation of another form is lost', async () => {
    for (const continuation of ['{"address":"/","lists":0}', '{', 'null']) {
      const pages = open().pages(calendar, { cursor: null, continuation }, window, AbortSignal.timeout(60_000));
      await expect(pages[Symbol.asyncIterator]().next()).rejects.toMatchObject({ fault: 'StateLost' });
    }
  });

  test('pages without end are a fault', async () => {
    script = ({ body }) =>
      body.includes('sync-collection')
        ? multistatus(`${response(collection, status(507))}<sync-token>same</sync-token>`)
        : undefined;
    await expect(read(open())).rejects.toMatchObject({ fault: 'Unreadable' });
    expect(requests.length).toBeLessThan(5);
  });

  test.each([
    ['507', { status: 507 }],
    ['403 number-of-matches-within-limits', refusal(403, 'number-of-matches-within-limits')],
  ])('a server that takes no limit (%s) is asked without one', async (_name, refused: Reply) => {
    put('one.ics');
    script = ({ body }) => (body.includes('nresults') ? refused : undefined);
    expect(idsOf(await read(open()))).toEqual(['one.ics']);
  });

  test('what is deleted between the list and its reading is removed', async () => {
    put('one.ics');
    put('two.ics');
    script = ({ body }) => {
      if (body.includes('calendar-multiget')) objects.set('one.ics', { text: null, at: 1 });
      return undefined;
    };
    const changes = await read(open());
    expect([idsOf(changes), changes.removed]).toEqual([['two.ics'], ['/dav/room-a/Default/one.ics']]);
  });

  test('names are the same however the server escapes them, and nested collections are no objects', async () => {
    put('a@b.ics');
    script = ({ body }) => {
      if (body.includes('sync-collection'))
        return multistatus(
          `${response(`${collection}a@b.ics`, found('<getetag/>'))}${response(`${collection}inner/`, found('<getetag/>'))}${response(collection, found(''))}<sync-token>1</sync-token>`,
        );
      return multistatus(response(`${collection}a%40b.ics`, found(`<x:calendar-data>${ics('x')}</x:calendar-data>`)));
    };
    expect(await read(open())).toMatchObject({
      groups: [{ id: '/dav/room-a/Default/a%40b.ics', items: [{}] }],
      removed: [],
    });
  });
});

describe('one object spoils no others', () => {
  test('that breaks the XML, is refused, or is too large', async () => {
    const names = Array.from({ length: 20 }, (_, at) => `${at}.ics`);
    for (const name of names) put(name);
    put('5.ics', ics('\u0001'));
    put('9.ics', 'x'.repeat(17 * 1_048_576));
    script = ({ body }) => {
      if (!body.includes('<D:href>/dav/room-a/Default/7.ics')) return undefined;
      if (xml.parse(body)['calendar-multiget'].href.length > 1) return { status: 400 };
      return multistatus(response(`${collection}7.ics`, status(403)));
    };
    const { groups } = await read(open());
    expect(
      groups
        .filter(({ unreadable }) => unreadable)
        .map(({ id }) => id.slice(-5))
        .sort(),
    ).toEqual(['5.ics', '7.ics', '9.ics']);
    expect(groups.filter(({ items }) => items.length === 1)).toHaveLength(17);
  });

  test('that is no calendar object', async () => {
    put('one.ics', 'rubbish');
    put('two.ics');
    expect((await read(open())).groups).toMatchObject([
      { items: [], unreadable: expect.stringMatching('VCALENDAR') },
      { items: [{}] },
    ]);
  });
});

describe('faults', () => {
  const cursorOf = async (connector: Connector) => {
    put('one.ics');
    return (await read(connector)).cursor;
  };

  test.each([
    ['403 valid-sync-token', refusal(403, 'valid-sync-token')],
    ['409 valid-sync-token', refusal(409, 'valid-sync-token')],
    ['410', { status: 410 }],
  ])('%s: what was read is lost', async (_name, refused: Reply) => {
    const connector = open();
    const cursor = await cursorOf(connector);
    script = ({ body }) => (body.includes('token:') ? refused : undefined);
    await expect(read(connector, cursor)).rejects.toMatchObject({ fault: 'StateLost' });
    expect(await read(connector)).toMatchObject({ whole: true });
  });

  test('500 three times at the same token: what was read is lost', async () => {
    const connector = openConnectors({ log })(settingsOf('/dav/{user}/Default/'));
    const cursor = await cursorOf(connector);
    script = () => ({ status: 500 });
    for (const fault of ['Unreachable', 'Unreachable', 'StateLost'])
      await expect(read(connector, cursor)).rejects.toMatchObject({ fault });
    await expect(read(connector)).rejects.toMatchObject({ fault: 'Unreachable' });
  });

  test('an answer that fails names its request, without the query and without secrets', async () => {
    script = () => ({ status: 502 });
    const messageOf = (connector: Connector) => read(connector).catch((error: Error) => error.message);
    expect(await messageOf(open('/dav/'))).toBe(`${origin} answers 502 to PROPFIND /dav/`);
    script = ({ body }) => (body.includes('calendar-multiget') ? { status: 500 } : undefined);
    put('one.ics');
    expect(await messageOf(open())).toBe(`${origin} answers 500 to REPORT calendar-multiget ${collection}`);
    script = ({ url }) =>
      url === collection
        ? { status: 302, headers: { location: `/moved/1.${'k'.repeat(43)}/?token=x` } }
        : { status: 400 };
    expect(await messageOf(open())).toBe(`${origin} answers 400 to REPORT sync-collection /moved/[secret]/`);
  });

  test('403 for other reasons: no access; 404: no calendar; 503: later', async () => {
    for (const [code, fault, text] of [
      [403, 'AccessLost', '403'],
      [404, 'Unreachable', `404 for ${collection}; is there a calendar`],
      [503, 'Throttled', '503'],
      [401, 'AccessLost', '401'],
    ] as const) {
      script = () => ({ status: code, headers: { 'retry-after': '7' } });
      await expect(read(open())).rejects.toMatchObject({
        fault,
        message: expect.stringContaining(text),
      });
    }
  });

  test('what is no answer of a calendar server', async () => {
    for (const reply of [
      { status: 200, body: '<html>' },
      { status: 207, body: '<html>' },
      { status: 207, body: '<html/>' },
      multistatus(''),
    ]) {
      script = () => reply;
      await expect(read(open())).rejects.toMatchObject({ fault: 'Unreadable' });
    }
  });

  test('no other host is asked, whatever the server names', async () => {
    script = ({ body }) =>
      body.includes('sync-collection')
        ? multistatus(`${response('http://127.0.0.1:1/steal.ics', found('<getetag/>'))}<sync-token>1</sync-token>`)
        : undefined;
    await expect(read(open())).rejects.toMatchObject({
      fault: 'Unreadable',
      message: expect.stringContaining('another server'),
    });
    script = () => ({ status: 302, headers: { location: 'http://127.0.0.1:1/' } });
    await expect(read(open())).rejects.toMatchObject({
      fault: 'Unreadable',
      message: expect.stringContaining('another server'),
    });
  });

  test('messages contain no secrets and no texts of the server', async () => {
    script = () => ({ status: 403, body: 'the password is secret' });
    const error = await read(open()).catch((each: unknown) => each);
    expect(JSON.stringify([`${error}`, error])).not.toMatch('secret');
  });
});

describe('where the calendar is', () => {
  test.each([
    ['/dav/{user}/Default/', '/dav/room-a/Default/'],
    ['/dav/{mailbox}/', '/dav/room-a%40rooms.test/'],
  ])('the Url names it: %s', async (path, at) => {
    collection = at;
    expect((await read(open(path), null, `${origin}/elsewhere/`)).address).toBe(`${origin}${at}`);
    expect(requests.map(({ url }) => url)).toEqual([at]);
  });

  const href = (name: string, path: string, prefix = '') =>
    `<${prefix}${name}${prefix ? '' : ' xmlns="DAV:"'}><href>${path}</href></${prefix}${name}>`;
  const principal = (path: string, address: string, home: string) =>
    response(
      path,
      found(
        `${href('calendar-home-set', home, 'x:')}${href('calendar-user-address-set', `mailto:${address}`, 'x:')}${href('principal-collection-set', '/principals/')}`,
      ),
    );
  const home = (...calendars: string[]) =>
    multistatus(
      [
        response('/home/a/', found('<resourcetype><collection/></resourcetype>')),
        response(
          '/home/a/Inbox/',
          found(
            `<resourcetype><collection/><x:schedule-inbox/></resourcetype>${calendars.length > 1 ? href('schedule-default-calendar-URL', '/home/a/rooms%2Ffirst/', 'x:') : ''}`,
          ),
        ),
        response(
          '/home/a/tasks/',
          found(
            '<resourcetype><x:calendar/></resourcetype><x:supported-calendar-component-set><x:comp name="VTODO"/></x:supported-calendar-component-set>',
          ),
        ),
        ...calendars.map((path) =>
          response(
            path,
            found(
              '<resourcetype><collection/><x:calendar/></resourcetype><x:supported-calendar-component-set><x:comp name="VEVENT"/></x:supported-calendar-component-set>',
            ),
          ),
        ),
      ].join(''),
    );

  /** A server that knows the reader, who is no room, and finds rooms by their address. */
  function directory(calendars: string[], known = mailbox): (request: Request) => Reply | undefined {
    return ({ method, url, body }) => {
      if (url === '/.well-known/caldav') return { status: 301, headers: { location: '/dav/' } };
      if (url === '/dav/')
        return multistatus(response('/dav/', found(href('current-user-principal', '/principals/reader/'))));
      if (url === '/principals/reader/') return multistatus(principal(url, 'reader@rooms.test', '/home/reader/'));
      if (url === '/principals/' && method === 'REPORT' && body.includes(`mailto:${mailbox}`))
        return multistatus(
          `${principal('/principals/b/', `x${mailbox}`, '/home/b/')}${principal('/principals/a/', known.toUpperCase(), '/home/a/')}`,
        );
      if (url === '/principals/a/') return multistatus(principal(url, known, '/home/a/'));
      if (url === '/home/a/') return home(...calendars);
      return undefined;
    };
  }

  test('the server is asked for the principal of the address, and for its calendar of invitations', async () => {
    collection = '/home/a/rooms%2Ffirst/';
    script = directory(['/home/a/other/', collection]);
    const connector = open('/');
    const { address, cursor } = await read(connector);
    expect(address).toBe(`${origin}${collection}`);
    requests = [];
    await read(connector, cursor, address);
    expect(requests.map(({ url }) => url)).toEqual([collection]);
  });

  test('an account that is the room itself finds its own', async () => {
    collection = '/home/a/only/';
    script = (request) =>
      request.url === '/principals/reader/'
        ? multistatus(principal(request.url, mailbox, '/home/a/'))
        : directory([collection], 'nobody@rooms.test')(request);
    expect((await read(open('/dav/'))).address).toBe(`${origin}${collection}`);
  });

  test('a server that finds rooms by their account, and names the home of whoever asks, leads nowhere', async () => {
    const known = directory([]);
    script = (request) => {
      const { url, body } = request;
      if (url !== '/principals/' && url !== '/principals/a/') return known(request);
      if (url === '/principals/' && !body.includes('match>room-a<')) return multistatus('');
      return multistatus(principal('/principals/a/', mailbox, '/home/reader/'));
    };
    await expect(read(open('/'))).rejects.toThrow(/does not say where the calendars are of .*\{mailbox\}/);
  });

  test('one that is not where it was is sought again, and read whole', async () => {
    collection = '/home/a/new/';
    put('one.ics');
    script = directory([collection]);
    const changes = await read(open('/'), `${origin}/home/a/old/ token:1`, `${origin}/home/a/old/`);
    expect(changes).toMatchObject({ whole: true, address: `${origin}${collection}`, groups: [{}] });
    expect(await read(open('/'), null, 'https://mail.example/before/')).toMatchObject({
      address: `${origin}${collection}`,
    });
  });

  test.each([
    ['nobody has the address', () => directory([], 'nobody@rooms.test'), 'does not know the address'],
    ['it has none', () => directory([]), 'no calendar'],
    ['it has several', () => directory(['/home/a/1/', '/home/a/2/']), '2 calendars'],
    ['it is no calendar server', () => () => ({ status: 404 }), 'does not say where'],
  ])('what is to be set where %s', async (_name, answers, text) => {
    script = answers();
    await expect(read(open('/'))).rejects.toMatchObject({
      fault: 'Unreachable',
      message: expect.stringMatching(text),
    });
    await expect(read(open('/'))).rejects.toThrow('{mailbox}');
  });
});
