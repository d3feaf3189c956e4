import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { MailServerSettings } from '../../src/config.ts';
import { openLog } from '../../src/log.ts';
import type { CalendarChanges, Connector } from '../../src/mail-servers/connector.ts';
import { openConnectors } from '../../src/mail-servers/service.ts';
import { type Asked, endless, type ScriptedServer, startScriptedServer, type Told } from '../_util/scripted-server.ts';
import { faultOf } from '../mail/_util/fault-of.ts';
import { holdDeadlines, readAll, readInSteps } from '../mail/_util/in-steps.ts';

const messages = 'http://schemas.microsoft.com/exchange/services/2006/messages';
const types = 'http://schemas.microsoft.com/exchange/services/2006/types';
const room = { mailbox: 'room-1@example.org', address: null };
const window = { start: new Date('2026-11-01T00:00:00Z'), end: new Date('2026-12-01T00:00:00Z') };
const callback = 'https://gate.example.org/api/webhooks/mailserver?a=1&k=7.secret';
const log = openLog('silent');

let server: ScriptedServer;
let connector: Connector;

const settingsOf = (more: object = {}): MailServerSettings =>
  ({
    Kind: 'Ews',
    Url: `${server.origin}/EWS/Exchange.asmx`,
    User: 'EXAMPLE\\reader',
    Password: 'pässword',
    PastDays: 1,
    FutureDays: 365,
    ...more,
  }) as MailServerSettings;

beforeAll(async () => {
  server = await startScriptedServer();
});
afterAll(() => server.close());
beforeEach(() => {
  connector = openConnectors({ log })(settingsOf());
});

const soap = (body: string): Told => ({
  headers: { 'content-type': 'text/xml; charset=utf-8' },
  body: `<?xml version="1.0" encoding="utf-8"?><s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Header><h:ServerVersionInfo MajorVersion="15" xmlns:h="${types}"/></s:Header><s:Body>${body}</s:Body></s:Envelope>`,
});
const response = (operation: string, ...contents: string[]) =>
  soap(
    `<m:${operation}Response xmlns:m="${messages}" xmlns:t="${types}"><m:ResponseMessages>${contents
      .map((content) =>
        content.startsWith('<m:MessageText>')
          ? `<m:${operation}ResponseMessage ResponseClass="Error">${content}</m:${operation}ResponseMessage>`
          : `<m:${operation}ResponseMessage ResponseClass="Success"><m:ResponseCode>NoError</m:ResponseCode>${content}</m:${operation}ResponseMessage>`,
      )
      .join('')}</m:ResponseMessages></m:${operation}Response>`,
  );
const refused = (code: string, more = '') =>
  `<m:MessageText>It says no.</m:MessageText><m:ResponseCode>${code}</m:ResponseCode><m:DescriptiveLinkKey>0</m:DescriptiveLinkKey>${more}`;
const fault = (code: string, more = ''): Told => ({
  ...soap(
    `<s:Fault><faultcode xmlns:a="${types}">a:${code}</faultcode><faultstring>It says no.</faultstring><detail><e:ResponseCode xmlns:e="http://schemas.microsoft.com/exchange/services/2006/errors">${code}</e:ResponseCode>${more}</detail></s:Fault>`,
  ),
  status: 500,
});
const synced = (state: string, changes = 0, isLast = true) =>
  response(
    'SyncFolderItems',
    `<m:SyncState>${state}</m:SyncState><m:IncludesLastItemInRange>${isLast}</m:IncludesLastItemInRange><m:Changes>${'<t:Update><t:CalendarItem><t:ItemId Id="x"/></t:CalendarItem></t:Update>'.repeat(changes)}</m:Changes>`,
  );
const found = (items: readonly string[], isWhole = true) =>
  response(
    'FindItem',
    `<m:RootFolder TotalItemsInView="${items.length}" IncludesLastItemInRange="${isWhole}"><t:Items>${items.join('')}</t:Items></m:RootFolder>`,
  );

type Item = Record<string, string | undefined>;
const usual: Item = {
  Subject: 'Choir',
  Sensitivity: 'Normal',
  UID: 'uid-1',
  Start: '2026-11-20T09:00:00Z',
  End: '2026-11-20T10:00:00Z',
  IsAllDayEvent: 'false',
  LegacyFreeBusyStatus: 'Busy',
  IsMeeting: 'true',
  IsCancelled: 'false',
  CalendarItemType: 'Single',
  MyResponseType: 'Accept',
};
const item = (id: string, facts: Item = {}, more = '') =>
  `<t:CalendarItem><t:ItemId Id="${id}" ChangeKey="c"/>${Object.entries({ ...usual, ...facts })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `<t:${name}>${value}</t:${name}>`)
    .join('')}${more}</t:CalendarItem>`;
const organizer = (name: string, address?: string) =>
  `<t:Organizer><t:Mailbox><t:Name>${name}</t:Name>${address ? `<t:EmailAddress>${address}</t:EmailAddress>` : ''}</t:Mailbox></t:Organizer>`;

const operationOf = ({ body }: Asked) => /<s:Body><m:(\w+)/.exec(body)?.[1] ?? '';

/** Answers each operation; SyncFolderItems tells no change after the first. */
function serve(answers: Record<string, (asked: Asked) => Told>): void {
  server.answer((asked) => {
    const answer = answers[operationOf(asked)];
    if (answer) return answer(asked);
    return operationOf(asked) === 'SyncFolderItems'
      ? synced('s1', asked.body.includes('<m:SyncState>') ? 0 : 1)
      : { status: 400 };
  });
}
const serveItems = (...items: string[]) => serve({ FindItem: () => found(items) });

const read = (cursor: string | null = null, signal = AbortSignal.timeout(60_000)): Promise<CalendarChanges> =>
  readAll(connector, room, cursor, window, signal);
const onlyItem = async (...items: string[]) => {
  serveItems(...items);
  return (await read()).groups[0]!.items[0]!;
};
const cursorOf = (state: string) => JSON.stringify({ syncState: state });

describe('subscribing', () => {
  const subscribe = () =>
    connector.subscriptions!.subscribe(
      room,
      { callback, clientState: 'unused', heartbeatMinutes: 10 },
      AbortSignal.timeout(60_000),
    );

  test('asks for push of the four changes to the calendar, in the order of the schema, as the room', async () => {
    serve({
      Subscribe: () =>
        response('Subscribe', '<m:SubscriptionId>JgBl</m:SubscriptionId><m:Watermark>AQAA</m:Watermark>'),
    });
    await expect(subscribe()).resolves.toEqual({ externalId: 'JgBl', expiresAt: null, watermark: 'AQAA' });
    const [{ method, path, headers, body } = {} as Asked] = server.asked;
    expect([method, path]).toEqual(['POST', '/EWS/Exchange.asmx']);
    expect(headers).toMatchObject({
      authorization: `Basic ${Buffer.from('EXAMPLE\\reader:pässword').toString('base64')}`,
      'content-type': 'text/xml; charset=utf-8',
      soapaction: `"${messages}/Subscribe"`,
      'x-anchormailbox': room.mailbox,
    });
    expect(body).toContain(
      '<t:ExchangeImpersonation><t:ConnectingSID><t:PrimarySmtpAddress>room-1@example.org</t:PrimarySmtpAddress></t:ConnectingSID></t:ExchangeImpersonation>',
    );
    expect(body.replace(/^.*<s:Body>|<\/s:Body>.*$/gs, '')).toBe(
      '<m:Subscribe><m:PushSubscriptionRequest><t:FolderIds><t:DistinguishedFolderId Id="calendar"><t:Mailbox><t:EmailAddress>room-1@example.org</t:EmailAddress></t:Mailbox></t:DistinguishedFolderId></t:FolderIds><t:EventTypes><t:EventType>CreatedEvent</t:EventType><t:EventType>DeletedEvent</t:EventType><t:EventType>ModifiedEvent</t:EventType><t:EventType>MovedEvent</t:EventType></t:EventTypes><t:StatusFrequency>10</t:StatusFrequency><t:URL>https://gate.example.org/api/webhooks/mailserver?a=1&amp;k=7.secret</t:URL></m:PushSubscriptionRequest></m:Subscribe>',
    );
  });

  test('an account that may not impersonate is told which role it needs', async () => {
    serve({ Subscribe: () => response('Subscribe', refused('ErrorSubscriptionDelegateAccessNotSupported')) });
    const { fault: kind, message } = await faultOf(subscribe());
    expect(kind).toBe('AccessLost');
    expect(message).toContain('ApplicationImpersonation');
  });

  test('an answer without an id is unreadable', async () => {
    serve({ Subscribe: () => response('Subscribe', '<m:Watermark>AQAA</m:Watermark>') });
    expect((await faultOf(subscribe())).fault).toBe('Unreadable');
  });

  test('who reads as the room itself does not impersonate it', async () => {
    connector = openConnectors({ log })(settingsOf({ User: 'Room-1@example.org' }));
    serveItems();
    await read();
    expect(server.asked[0]!.body).not.toContain('ExchangeImpersonation');
  });
});

describe('reading', () => {
  test('the first reading is whole, and takes over what a booking needs', async () => {
    serveItems(
      item(
        'AAMk1',
        { LastModifiedTime: '2026-11-19T08:00:00Z', Sensitivity: 'Private' },
        organizer('Ada', 'ada@example.org'),
      ),
    );
    expect(await read()).toEqual({
      whole: true,
      removed: [],
      address: null,
      cursor: cursorOf('s1'),
      groups: [
        {
          id: 'uid-1',
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
              changeKey: 'c',
            },
          ],
        },
      ],
    });
  });

  test('when nothing has changed no items are asked for', async () => {
    serve({ SyncFolderItems: () => synced('s2') });
    const changes = await read(cursorOf('s1'));
    expect(changes).toEqual({ whole: false, groups: [], removed: [], cursor: cursorOf('s2'), address: null });
    expect(server.asked.map(operationOf)).toEqual(['SyncFolderItems']);
    expect(server.asked[0]!.body).toContain(
      '</m:SyncFolderId><m:SyncState>s1</m:SyncState><m:MaxChangesReturned>512</m:MaxChangesReturned>',
    );
  });

  test('changes are followed to their last page', async () => {
    const states = ['s2', 's3', 's4', 's4'];
    serve({
      SyncFolderItems: () => synced(states.shift()!, states.length > 1 ? 512 : 0, states.length <= 1),
      FindItem: () => found([]),
    });
    expect(await read(cursorOf('s1'))).toMatchObject({ whole: true, cursor: cursorOf('s4') });
  });

  test('what changes while items are read is read once more', async () => {
    let [state, views] = [1, 0];
    serve({
      SyncFolderItems: () => synced(`s${(state += 1)}`, state < 4 ? 1 : 0),
      FindItem: () => found([item('a', { Subject: `View ${(views += 1)}` })]),
    });
    const { groups, cursor } = await read(cursorOf('s1'));
    expect([groups[0]!.items[0]!.subject, cursor]).toEqual(['View 2', cursorOf('s4')]);
  });

  test('a calendar that never stops changing is read again from before its last view', async () => {
    let state = 1;
    serve({ SyncFolderItems: () => synced(`s${(state += 1)}`, 1), FindItem: () => found([]) });
    expect(await read(cursorOf('s1'))).toMatchObject({ whole: true, cursor: cursorOf('s4') });
    expect(state).toBe(5);
  });

  test('a view that is cut off is read in halves, each item once', async () => {
    const starts = new Map([
      ['a', Date.parse('2026-11-05T09:00:00Z')],
      ['b', Date.parse('2026-11-15T23:30:00Z')],
      ['c', Date.parse('2026-11-25T09:00:00Z')],
    ]);
    const within = ({ body }: Asked) => {
      const [, from = '', to = ''] = /StartDate="([^"]+)" EndDate="([^"]+)"/.exec(body)!;
      return [...starts].filter(([, at]) => at < Date.parse(to) && at + 3_600_000 > Date.parse(from));
    };
    serve({
      FindItem: (asked) => {
        const here = within(asked);
        if (here.length > 2) return response('FindItem', refused('ErrorExceededFindCountLimit'));
        return found(
          here.slice(0, 1).map(([id]) => item(id, { UID: id })),
          here.length < 2,
        );
      },
    });
    const { groups } = await read();
    expect(groups.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  });

  test('a long window is read in slices of two months', async () => {
    serveItems();
    await readAll(
      connector,
      room,
      null,
      { ...window, end: new Date('2027-11-01T00:00:00Z') },
      AbortSignal.timeout(60_000),
    );
    const views = server.asked.filter((asked) => operationOf(asked) === 'FindItem');
    expect(views).toHaveLength(6);
    expect(views[0]!.body).toContain(
      '<m:CalendarView MaxEntriesReturned="500" StartDate="2026-11-01T00:00:00.000Z" EndDate="2027-01-01T00:00:00.000Z"/><m:ParentFolderIds>',
    );
  });

  test('the address of an organizer is asked for once per meeting', async () => {
    const asked: string[] = [];
    serve({
      SyncFolderItems: () => synced('s', 1),
      FindItem: () =>
        found([
          item('a1', { UID: 'a', CalendarItemType: 'Occurrence' }, organizer('Ada')),
          item(
            'a2',
            {
              UID: 'a',
              CalendarItemType: 'Occurrence',
              Start: '2026-11-21T09:00:00Z',
              End: '2026-11-21T10:00:00Z',
            },
            organizer('Ada'),
          ),
          item('b', { UID: 'b' }, organizer('Bob')),
        ]),
      GetItem: ({ body }) => {
        asked.push(...[...body.matchAll(/ItemId Id="(\w+)"/g)].map(([, id]) => id!));
        return response(
          'GetItem',
          `<m:Items>${item('a1', {}, organizer('Ada', 'ada@example.org'))}</m:Items>`,
          `${refused('ErrorItemNotFound')}<m:Items/>`,
        );
      },
    });
    const { groups } = await read();
    expect(groups.map(({ items }) => items.map((one) => one.organizer))).toEqual([
      [
        { name: 'Ada', email: 'ada@example.org' },
        { name: 'Ada', email: 'ada@example.org' },
      ],
      [{ name: 'Bob', email: null }],
    ]);
    await read();
    expect(asked).toEqual(['a2', 'b']);
  });
});

describe('which item it is', () => {
  test('a moved exception keeps the place in its series that it was moved from', async () => {
    serveItems(
      item('o1', { CalendarItemType: 'Occurrence', OriginalStart: '2026-11-20T09:00:00Z' }),
      item('o2', {
        CalendarItemType: 'Exception',
        OriginalStart: '2026-11-27T09:00:00Z',
        Start: '2026-11-28T14:00:00Z',
        End: '2026-11-28T15:00:00Z',
      }),
    );
    const { groups } = await read();
    expect(groups).toHaveLength(1);
    expect(groups[0]!.items.map(({ occurrence }) => occurrence)).toEqual([
      '2026-11-20T09:00:00.000Z',
      '2026-11-27T09:00:00.000Z',
    ]);
  });

  test('where FindItem does not tell the original start of an exception, GetItem does', async () => {
    const facts = {
      CalendarItemType: 'Exception',
      Start: '2026-11-28T14:00:00Z',
      End: '2026-11-28T15:00:00Z',
    };
    serve({
      FindItem: () => found([item('o2', facts)]),
      GetItem: () =>
        response('GetItem', `<m:Items>${item('o2', { ...facts, OriginalStart: '2026-11-27T09:00:00Z' })}</m:Items>`),
    });
    const { groups } = await read();
    expect(groups[0]!.items[0]!.occurrence).toBe('2026-11-27T09:00:00.000Z');
  });

  test('an occurrence that was invited without its series has its RecurrenceId', async () => {
    expect(await onlyItem(item('a', { RecurrenceId: '2026-11-20T09:00:00Z' }))).toMatchObject({
      occurrence: '2026-11-20T09:00:00.000Z',
    });
  });

  test('a copy with the same UID is an item of its own, the same each time', async () => {
    serveItems(item('b', { Subject: 'Copy' }), item('a'));
    const first = await read();
    serveItems(item('a'), item('b', { Subject: 'Copy' }));
    const second = await read();
    expect(first.groups.map(({ id, items }) => [id, items.map(({ subject }) => subject)])).toEqual([
      ['uid-1', ['Choir']],
      ['uid-1 b', ['Copy']],
    ]);
    expect(second.groups).toEqual(first.groups);
  });

  test('all occurrences share the UID that Exchange wraps, whichever day it carries', async () => {
    const wrapped = (day: string, uid: string) =>
      `040000008200E00074C5B7101A82E008${day}${'0'.repeat(32)}${'28000000'}7643616C2D55696401000000${Buffer.from(`${uid}\0`).toString('hex')}`;
    const own = (day: string) =>
      `040000008200E00074C5B7101A82E008${day}B0C4D1A9${'0'.repeat(24)}10000000${'ab'.repeat(16)}`;
    expect((await onlyItem(item('a', { UID: wrapped('07EA0B14', 'booking-7@demo') }))).uid).toBe('booking-7@demo');
    const uids = [
      await onlyItem(item('a', { UID: own('07EA0B14') })),
      await onlyItem(item('a', { UID: own('00000000') })),
    ];
    expect(uids[0]!.uid).toBe(own('00000000').toUpperCase());
    expect(uids[1]!.uid).toBe(uids[0]!.uid);
  });

  test('without a UID it is its item id', async () => {
    serveItems(item('AAMk=', { UID: undefined }));
    expect((await read()).groups[0]).toMatchObject({ id: 'AAMk=', items: [{ uid: null }] });
  });
});

describe('what an item says', () => {
  test.each([
    ['2026-11-19T23:00:00Z', '2026-11-20T23:00:00Z', 'Berlin'],
    ['2026-11-20T05:00:00Z', '2026-11-21T05:00:00Z', 'New York'],
    ['2026-11-20T10:00:00Z', '2026-11-21T10:00:00Z', 'Honolulu'],
    ['2026-11-19T11:00:00Z', '2026-11-20T11:00:00Z', 'Auckland'],
    ['2026-11-20T00:00:00Z', '2026-11-21T00:00:00Z', 'UTC'],
  ])('a whole day is the local date that begins at %s (until %s, %s)', async (Start, End) => {
    expect((await onlyItem(item('a', { IsAllDayEvent: 'true', Start, End }))).days).toEqual({
      from: '2026-11-20',
      to: '2026-11-21',
    });
  });

  test.each([
    ['2026-11-19T10:00:00Z', '2026-11-20T10:00:00Z', 'Line Islands Standard Time'],
    ['2026-11-19T10:15:00Z', '2026-11-20T10:15:00Z', 'Chatham Islands Standard Time'],
    ['2026-11-20T12:00:00Z', '2026-11-21T12:00:00Z', 'Dateline Standard Time'],
    ['2026-11-19T10:00:00Z', '2026-11-20T10:00:00Z', 'Pacific/Kiritimati'],
    ['2026-11-19T23:00:00Z', '2026-11-20T23:00:00Z', 'W. Europe Standard Time'],
    // Made by a program that names a zone in which it is no midnight.
    ['2026-11-19T23:00:00Z', '2026-11-20T23:00:00Z', 'Dateline Standard Time'],
    ['2026-11-19T23:00:00Z', '2026-11-20T23:00:00Z', 'tzone://Microsoft/Custom'],
  ])('a whole day from %s to %s is that of the zone it was made in, %s', async (Start, End, zone) => {
    const zones = `<t:StartTimeZone Id="${zone}" Name="x"/><t:EndTimeZone Id="${zone}" Name="x"/>`;
    const whole = item('a', { IsAllDayEvent: 'true', Start, End });
    const { days } = await onlyItem(whole.replace('</t:CalendarItem>', `${zones}</t:CalendarItem>`));
    expect(days).toEqual({ from: '2026-11-20', to: '2026-11-21' });
  });

  test.each<[Item, object]>([
    [{ MyResponseType: 'Tentative' }, { response: 'Tentative' }],
    [{ MyResponseType: 'Decline' }, { response: 'Declined' }],
    [{ MyResponseType: 'NoResponseReceived' }, { response: 'None' }],
    [{ MyResponseType: 'Organizer' }, { response: 'Organizer' }],
    [{ MyResponseType: 'Unknown', IsMeeting: 'false' }, { response: 'Organizer' }],
    [{ MyResponseType: 'Unknown' }, { response: 'None' }],
    [{ LegacyFreeBusyStatus: 'Free' }, { shownAs: 'Free' }],
    [{ LegacyFreeBusyStatus: 'Tentative' }, { shownAs: 'Tentative' }],
    [{ LegacyFreeBusyStatus: 'OOF' }, { shownAs: 'Busy' }],
    [{ LegacyFreeBusyStatus: 'WorkingElsewhere' }, { shownAs: 'Busy' }],
    [{ LegacyFreeBusyStatus: undefined }, { shownAs: 'Busy' }],
    [{ IsCancelled: 'true' }, { isCancelled: true }],
    [{ Sensitivity: 'Confidential' }, { isPrivate: true }],
    [{ Sensitivity: 'Personal' }, { isPrivate: false }],
    [{ Subject: undefined }, { subject: null }],
    [{ Subject: ' a&#10;b  ' }, { subject: 'a b' }],
    [{ Subject: 'a&#x1;b&#x0;c' }, { subject: 'a\ufffdb\ufffdc' }],
    [{ Start: '2026-11-20T10:00:00.1234567+01:00' }, { start: new Date('2026-11-20T09:00:00.123Z') }],
  ])('%j is %j', async (facts, expected) => {
    expect(await onlyItem(item('a', facts))).toMatchObject(expected);
  });

  test('a subject of a megabyte is cut to what bookings allow, between characters', async () => {
    const { subject } = await onlyItem(item('a', { Subject: `${'x'.repeat(199)}😀${'y'.repeat(1_000_000)}` }));
    expect(subject).toBe('x'.repeat(199));
  });

  test('an organizer without an e-mail address has its name only', async () => {
    const told = item('a', {}, organizer('Ada', '/O=EXAMPLE/CN=ADA'));
    serve({
      FindItem: () => found([told]),
      GetItem: () => response('GetItem', `<m:Items>${told}</m:Items>`),
    });
    expect((await read()).groups[0]!.items[0]!.organizer).toEqual({ name: 'Ada', email: null });
  });

  test.each<[string, Item]>([
    ['a start that is no date', { Start: '2026-13-45T99:00:00Z' }],
    ['a start in another age', { Start: '0001-01-01T00:00:00Z' }],
    ['no end', { End: undefined }],
  ])('%s makes its group unreadable, not the others', async (_, facts) => {
    serveItems(item('a', facts), item('b', { UID: 'uid-2' }));
    const { groups } = await read();
    expect(groups).toEqual([
      { id: 'uid-1', items: [], unreadable: expect.any(String) },
      expect.objectContaining({ id: 'uid-2', items: [expect.anything()] }),
    ]);
  });

  test('a series that the server does not expand is unreadable', async () => {
    serveItems(item('a', { CalendarItemType: 'RecurringMaster' }));
    expect((await read()).groups).toEqual([{ id: 'uid-1', items: [], unreadable: expect.any(String) }]);
  });

  test('10,000 occurrences of one series are unreadable', async () => {
    const at = (minute: number) => new Date(window.start.getTime() + minute * 60_000).toISOString();
    const most = 43_200;
    serve({
      FindItem: ({ body }) => {
        const [, from = '', to = ''] = /StartDate="([^"]+)" EndDate="([^"]+)"/.exec(body)!;
        const [first, end] = [from, to].map((text) => (Date.parse(text) - window.start.getTime()) / 60_000);
        const here = [];
        for (let minute = Math.ceil(first! / 4) * 4; minute < Math.min(end!, most) && here.length < 500; minute += 4)
          here.push(item(`i${minute}`, { CalendarItemType: 'Occurrence', Start: at(minute), End: at(minute + 4) }));
        return found(here);
      },
    });
    expect((await read()).groups).toEqual([
      { id: 'uid-1', items: [], unreadable: expect.stringContaining('more than') },
    ]);
  });

  test('free/busy data of the server and other things than calendar items are no items', async () => {
    serveItems(
      item('a', { ItemClass: 'IPM.SchedulePlus.FreeBusy.BinaryData' }),
      '<t:Message><t:ItemId Id="m"/></t:Message>',
      '<t:CalendarItem><t:Subject>No id</t:Subject></t:CalendarItem>',
      item('b', { ItemClass: 'IPM.OLE.CLASS.{00061055-0000-0000-C000-000000000046}' }),
    );
    expect((await read()).groups.flatMap(({ items }) => items.map(({ id }) => id))).toEqual(['b']);
  });
});

describe('faults', () => {
  const sync = (answer: Told) => {
    serve({ SyncFolderItems: () => answer });
    return faultOf(read(cursorOf('s1')));
  };

  test.each([
    ['ErrorInvalidSyncStateData', 'StateLost'],
    ['ErrorInvalidWatermark', 'StateLost'],
    ['ErrorServerBusy', 'Throttled'],
    ['ErrorAccessDenied', 'AccessLost'],
    ['ErrorNonExistentMailbox', 'AccessLost'],
    ['ErrorImpersonateUserDenied', 'AccessLost'],
    ['ErrorMailboxStoreUnavailable', 'Unreachable'],
    ['ErrorInternalServerError', 'Unreachable'],
    ['ErrorSomethingNew', 'Unreadable'],
  ])('%s is %s, in a response and as a SOAP fault', async (code, kind) => {
    const told = [await sync(response('SyncFolderItems', refused(code))), await sync(fault(code))];
    expect(told.map((one) => one.fault)).toEqual([kind, kind]);
    for (const { message } of told) expect(message).toContain(`${code}: It says no.`);
  });

  const backOff = (milliseconds: number) =>
    `<t:MessageXml xmlns:t="${types}"><t:Value Name="BackOffMilliseconds">${milliseconds}</t:Value></t:MessageXml>`;
  test.each([
    ['5 s', backOff(5_000), 5_000],
    ['at least a second', backOff(1), 1_000],
    ['at most an hour', backOff(999_999_999), 3_600_000],
  ])('a busy server is left alone for as long as it asks: %s', async (_, more, wait) => {
    for (const answer of [
      fault('ErrorServerBusy', more),
      response('SyncFolderItems', refused('ErrorServerBusy', more)),
    ]) {
      const asked = Date.now();
      const retryAt = (await sync(answer)).retryAt!.getTime();
      expect(retryAt).toBeGreaterThanOrEqual(asked + wait);
      expect(retryAt).toBeLessThanOrEqual(Date.now() + wait);
    }
  });

  test.each<[string, Told, string]>([
    ['401', { status: 401 }, 'AccessLost'],
    ['403', { status: 403 }, 'AccessLost'],
    ['404', { status: 404 }, 'Unreachable'],
    ['429', { status: 429, headers: { 'retry-after': '7' } }, 'Throttled'],
    ['503', { status: 503 }, 'Throttled'],
    ['500 without SOAP', { status: 500, body: '<html>' }, 'Unreachable'],
    ['502', { status: 502 }, 'Unreachable'],
    ['a redirect', { status: 302, headers: { location: '/owa' } }, 'Unreachable'],
    ['HTML', { body: '<!DOCTYPE html><html><p>Sign in' }, 'Unreadable'],
    ['a DOCTYPE', soapWithDoctype(), 'Unreadable'],
    ['another operation', response('FindItem', ''), 'Unreadable'],
    ['no response message', response('SyncFolderItems'), 'Unreadable'],
    ['no SyncState', synced(''), 'Unreadable'],
    ['nothing', {}, 'Unreadable'],
    ['more than 16 MiB', { body: endless }, 'TooLarge'],
    ['a broken connection', { body: (one) => one.destroy() }, 'Unreachable'],
  ])('%s', async (_, answer, kind) => {
    expect((await sync(answer)).fault).toBe(kind);
  });

  function soapWithDoctype(): Told {
    const { body } = synced('s2') as { body: string };
    return { body: body.replace('?>', '?><!DOCTYPE s:Envelope [<!ENTITY a "b">]>') };
  }

  test('changes without an end are given up', async () => {
    serve({ SyncFolderItems: () => synced('s1', 1, false) });
    expect((await faultOf(read(cursorOf('s1')))).fault).toBe('Unreadable');
    expect(server.asked).toHaveLength(1);
  });

  test('a continuation of another form is lost', async () => {
    const calendar = { mailbox: 'room-1@example.org', address: null };
    for (const continuation of ['{"state":"s1","rounds":0}', '{', 'null']) {
      const from = { cursor: null, continuation };
      const pages = connector.pages(calendar, from, window, AbortSignal.timeout(60_000));
      expect((await faultOf(pages[Symbol.asyncIterator]().next())).fault).toBe('StateLost');
    }
  });

  test('views that are always cut off are given up', async () => {
    serve({ FindItem: () => found([], false) });
    expect((await faultOf(read())).fault).toBe('TooLarge');
    expect(server.asked.length).toBeLessThan(20);
  });

  test('a server that does not answer is waited for no longer than its caller waits', async () => {
    serve({ SyncFolderItems: () => ({ body: () => {} }) });
    const { fault: kind, message } = await faultOf(read(null, AbortSignal.timeout(50)));
    expect([kind, message]).toEqual(['Unreachable', expect.stringContaining('in time')]);
  });

  test('one that is too slow is asked for less, continues from there, and is told of what was slow', async () => {
    const deadlines = holdDeadlines();
    const slices: [number, number][] = [];
    serve({
      SyncFolderItems: () => synced('s1'),
      FindItem: ({ body }) => {
        const [from, to] = /StartDate="([^"]+)" EndDate="([^"]+)"/.exec(body)!.slice(1).map(Date.parse) as [
          number,
          number,
        ];
        if (to - from > 10 * 86_400_000) return { body: () => deadlines.pass() };
        slices.push([from, to]);
        return found([item(`i${slices.length}`)]);
      },
    });
    try {
      const open = () => openConnectors({ log })(settingsOf());
      const { faults, groups, cursor } = await readInSteps(open, room, { window });
      expect(faults.length).toBeGreaterThan(0);
      for (const { message } of faults) expect(message).toMatch(/did not answer in time: FindItem took [\d.]+ s\.$/);
      // Each day was read, and none twice.
      expect([slices[0]![0], slices.at(-1)![1]]).toEqual([window.start.getTime(), window.end.getTime()]);
      expect(slices.slice(1).map(([from]) => from)).toEqual(slices.slice(0, -1).map(([, to]) => to));
      expect(groups.flatMap(({ items }) => items)).toHaveLength(slices.length);
      expect(cursor).toBe(cursorOf('s1'));
    } finally {
      deadlines.stop();
    }
  });

  test('where nobody listens', async () => {
    connector = openConnectors({ log })(settingsOf({ Url: 'http://127.0.0.1:9/EWS/Exchange.asmx' }));
    expect(await faultOf(read())).toMatchObject({ fault: 'Unreachable' });
  });

  test('a server that fails three times in a row at the same cursor has lost it', async () => {
    serve({ SyncFolderItems: () => fault('ErrorInternalServerError') });
    const kinds = [];
    for (const cursor of ['s1', 's2', 's2', 's2', 's2']) kinds.push((await faultOf(read(cursorOf(cursor)))).fault);
    expect(kinds).toEqual(['Unreachable', 'Unreachable', 'Unreachable', 'StateLost', 'Unreachable']);
  });

  test.each(['', '{}', '{"syncState":7}', '{"deltaLink":"https://example.org"}'])(
    'a cursor of another form is lost: %s',
    async (cursor) => {
      expect((await faultOf(read(cursor))).fault).toBe('StateLost');
    },
  );

  test('texts of the server are reported on one line, short and without secrets', async () => {
    const text = `no\n${'x'.repeat(50)} k=7.abc 7.${'a'.repeat(43)} ${'y'.repeat(999)}`;
    const { message } = await sync(
      response('SyncFolderItems', refused('ErrorAccessDenied').replace('It says no.', text)),
    );
    expect(message).toMatch(/^[^\n]{1,320}$/);
    expect(message).not.toMatch(/7\.a/);
  });
});
