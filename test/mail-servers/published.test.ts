/** Calendars that are published as iCalendar: the requests, and which content is accepted. */
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { MailServerSettings } from '../../src/config.ts';
import { openLog } from '../../src/log.ts';
import { type CalendarChanges, ServerFault } from '../../src/mail-servers/connector.ts';
import { openPublished } from '../../src/mail-servers/published.ts';
import { type Nameserver, startNameserver } from '../_util/nameserver.ts';
import { type ScriptedServer, startScriptedServer, type Told } from '../_util/scripted-server.ts';
import { faultOf } from '../mail/_util/fault-of.ts';
import { readAll } from '../mail/_util/in-steps.ts';

const window = { start: new Date('2026-11-20T00:00Z'), end: new Date('2027-11-20T00:00Z') };
const mailbox = 'aula@school.example';
const secret = 'private-5f3a9c';

let server: ScriptedServer;
let elsewhere: ScriptedServer;
let nameserver: Nameserver;
beforeAll(async () => {
  nameserver = await startNameserver({ 'inner.example': ['10.1.2.3'] });
  [server, elsewhere] = await Promise.all([startScriptedServer(), startScriptedServer()]);
});
afterAll(() => Promise.all([server.close(), elsewhere.close(), nameserver.close()]));

function open(
  more: Partial<MailServerSettings> = {},
  { log = openLog('silent'), signal = AbortSignal.timeout(60_000) } = {},
) {
  const settings: MailServerSettings = {
    Kind: 'ICalendar',
    Url: `${server.origin}/`,
    TrustedOrigins: [server.origin, elsewhere.origin],
    Calendars: [{ Mailbox: mailbox, ResourceName: 'Aula', Url: `${server.origin}/ical/${secret}/basic.ics` }],
    PastDays: 1,
    FutureDays: 365,
    ...more,
  };
  const connector = openPublished(settings, log);
  return (cursor: string | null = null) =>
    readAll(connector, { mailbox, address: null, timeZone: 'Europe/Berlin' }, cursor, window, signal);
}

const event = (...lines: string[]) => ['BEGIN:VEVENT', ...lines, 'END:VEVENT'];
const at = (uid: string, start: string, ...more: string[]) =>
  event(`UID:${uid}`, `DTSTART:${start}`, 'DURATION:PT1H', `SUMMARY:${uid}`, ...more);
const feed = (...lines: (string | string[])[]) =>
  ['BEGIN:VCALENDAR', ...lines.flat(), 'END:VCALENDAR', ''].join('\r\n');
const one = feed(at('one', '20261201T090000Z'));
const told = ({ groups }: CalendarChanges) =>
  groups.flatMap(({ id, items, unreadable }) => unreadable ?? items.map(({ start }) => `${id} ${start.toISOString()}`));

describe('what is published is read', () => {
  test('appointments, series with exceptions, zones of its own, whole days, without an UID, and in part', async () => {
    const zone = [
      ...['BEGIN:VTIMEZONE', 'TZID:Here', 'BEGIN:STANDARD', 'DTSTART:19700101T000000', 'TZOFFSETFROM:+0300'],
      ...['TZOFFSETTO:+0300', 'END:STANDARD', 'END:VTIMEZONE'],
    ];
    const body = feed(
      ['X-WR-CALNAME:Aula', ...zone],
      at('one', '20261201T090000Z'),
      event('UID:two', 'DTSTART;TZID=Here:20261202T090000', 'DTEND;TZID=Here:20261202T100000'),
      event('UID:week', 'DTSTART;TZID=Europe/Berlin:20261203T080000', 'DURATION:PT1H', 'RRULE:FREQ=WEEKLY;COUNT=2'),
      event('UID:week', 'RECURRENCE-ID:20261210T070000Z', 'DTSTART:20261211T070000Z', 'DURATION:PT1H'),
      event('DTSTAMP:20261101T000000Z', 'DTSTART;VALUE=DATE:20261224', 'SUMMARY:Closed'),
      // A long UID is folded.
      event(`UID:${'x'.repeat(60)}`, ` ${'y'.repeat(20)}`, 'DTSTART:20261205T090000Z', 'DURATION:PT1H'),
      at('past', '20200101T090000Z'),
      at('odd', '2026-12-01'),
      event('UID:alarm', 'DTSTART:20261206T090000Z', 'DURATION:PT1H', 'BEGIN:VALARM', 'UID:inner', 'END:VALARM'),
    );
    server.answer(() => ({ body: `\uFEFF${body}` }));
    const changes = await open()();
    expect(changes).toMatchObject({ whole: true, removed: [], address: null });
    expect(told(changes)).toEqual([
      'one 2026-12-01T09:00:00.000Z',
      'two 2026-12-02T06:00:00.000Z',
      'week 2026-12-03T07:00:00.000Z',
      'week 2026-12-11T07:00:00.000Z',
      expect.stringMatching(/^sha256:\S{43} 2026-12-24T/),
      `${'x'.repeat(60)}${'y'.repeat(20)} 2026-12-05T09:00:00.000Z`,
      'It cannot be read: its DTSTART is not a time.',
      'alarm 2026-12-06T09:00:00.000Z',
    ]);
    expect(server.asked).toMatchObject([{ path: `/ical/${secret}/basic.ics`, headers: { accept: 'text/calendar' } }]);
  });

  test('a long definition of a zone is held once, however many appointments name it', async () => {
    const zone = [
      ...['BEGIN:VTIMEZONE', 'TZID:Here', `X-NOTE:${'x'.repeat(900_000)}`, 'BEGIN:STANDARD', 'DTSTART:19700101T000000'],
      ...['TZOFFSETFROM:+0300', 'TZOFFSETTO:+0300', 'END:STANDARD', 'END:VTIMEZONE'],
    ];
    const all = Array.from({ length: 6_000 }, (_, number) =>
      event(`UID:${number}`, 'DTSTART;TZID=Here:20261202T090000', 'DURATION:PT1H'),
    );
    server.answer(() => ({ body: feed(zone, ...all) }));
    const read = told(await open()());
    expect(read.length).toBe(all.length);
    expect(new Set(read.map((one) => one.split(' ')[1]))).toEqual(new Set(['2026-12-02T06:00:00.000Z']));
  });

  test.each<[string, Partial<MailServerSettings>, string]>([
    [
      'by the Url of the server',
      { Url: 'ORIGIN/{user}/{mailbox}.ics', Calendars: [] },
      '/aula/aula%40school.example.ics',
    ],
    [
      'by an address of its own, with another room beside it',
      {
        Calendars: [
          { Mailbox: 'other@school.example', ResourceName: 'Other', Url: 'https://other.example/other.ics' },
          { Mailbox: ` ${mailbox.toUpperCase()}`, ResourceName: 'Aula', Url: 'ORIGIN/aula.ics?token=1' },
        ],
      },
      '/aula.ics?token=1',
    ],
  ])('%s', async (_, more, path) => {
    server.answer(() => ({ body: one }));
    await open(JSON.parse(JSON.stringify(more).replaceAll('ORIGIN', server.origin)))();
    expect(server.asked.map((asked) => asked.path)).toEqual([path]);
  });

  test('an address that leads elsewhere is followed five times', async () => {
    const hops = (most: number) => (asked: { path: string }) => {
      const hop = Number(/hop(\d)/.exec(asked.path)?.[1] ?? 0);
      return hop < most ? { status: 302, headers: { location: `/hop${hop + 1}` } } : { body: one };
    };
    server.answer(hops(5));
    expect(told(await open()())).toHaveLength(1);
    server.answer(hops(6));
    expect(await faultOf(open()())).toMatchObject({
      fault: 'Unreachable',
      message: expect.stringContaining('redirects too many times'),
    });
    expect(server.asked).toHaveLength(6);
  });
});

describe('what has not changed is not read again', () => {
  const stamped = (stamp: string, uid = 'one') => feed(at(uid, '20261201T090000Z', `DTSTAMP:${stamp}`));

  test.each<[string, Told, Record<string, string>]>([
    ['by its ETag', { headers: { etag: '"v1"' } }, { 'if-none-match': '"v1"' }],
    [
      'by its date',
      { headers: { 'last-modified': 'Sun, 01 Nov 2026 10:00:00 GMT' } },
      { 'if-modified-since': 'Sun, 01 Nov 2026 10:00:00 GMT' },
    ],
  ])('%s', async (_, validators, sent) => {
    server.answer(({ headers }) =>
      Object.entries(sent).every(([name, value]) => headers[name] === value)
        ? { status: 304 }
        : { ...validators, body: one },
    );
    const read = open();
    const first = await read();
    const second = await read(first.cursor);
    expect(second).toMatchObject({ whole: false, groups: [], cursor: first.cursor });
    expect(server.asked[1]?.headers).toMatchObject(sent);
  });

  test('by its content, without the stamps, where the server has no validators', async () => {
    server.answer(() => ({ body: stamped('20261101T000000Z') }));
    const read = open();
    const { cursor } = await read();
    server.answer(() => ({ body: stamped('20261102T000000Z') }));
    expect(await read(cursor)).toMatchObject({ whole: false, groups: [] });
    server.answer(() => ({ body: stamped('20261102T000000Z', 'two') }));
    expect(told(await read(cursor))).toEqual(['two 2026-12-01T09:00:00.000Z']);
  });

  test('another address of the same room is read anew, with nothing of the first', async () => {
    server.answer(() => ({ headers: { etag: '"v1"' }, body: one }));
    const { cursor } = await open()();
    const moved = open({ Calendars: [{ Mailbox: mailbox, ResourceName: 'Aula', Url: `${server.origin}/new.ics` }] });
    expect(await moved(cursor)).toMatchObject({ whole: true });
    expect(server.asked[1]?.headers['if-none-match']).toBeUndefined();
  });

  test.each<[string, string[], Partial<MailServerSettings>, number]>([
    ['15 minutes', [], {}, 15],
    ['the setting', [], { PollMinutes: 5 }, 5],
    ['the publisher, where it wants more', ['REFRESH-INTERVAL;VALUE=DURATION:PT6H'], { PollMinutes: 5 }, 360],
    ['the publisher, where it wants more, in any spelling', ['REFRESH-INTERVAL:+pt2h'], {}, 120],
    ['the publisher, in the words of Outlook', ['X-PUBLISHED-TTL:P1DT30M', 'REFRESH-INTERVAL:PT1H'], {}, 1440],
    ['the setting, where the publisher wants less', ['X-PUBLISHED-TTL:PT1M'], { PollMinutes: 30 }, 30],
    ['15 minutes, where the publisher says nothing that is known', ['X-PUBLISHED-TTL:often'], {}, 15],
  ])('the next reading is after %s', async (_, lines, more, minutes) => {
    server.answer(() => ({ body: feed(lines, at('one', '20261201T090000Z')) }));
    const pages = openPublished(
      {
        Kind: 'ICalendar',
        Url: `${server.origin}/{user}.ics`,
        PastDays: 1,
        FutureDays: 365,
        TrustedOrigins: [server.origin],
        ...more,
      },
      openLog('silent'),
    ).pages({ mailbox, address: null }, { cursor: null, continuation: null }, window, AbortSignal.timeout(60_000));
    for await (const page of pages)
      expect(page).toMatchObject({ pollMinutes: minutes, isPublished: true, isLast: true });
  });
});

describe('a file that is not a calendar is a fault, which discloses only the origin of the address', () => {
  const large = `${'BEGIN:VEVENT\r\nEND:VEVENT\r\n'.repeat(450_000)}`;
  test.each<[string, Told, string, RegExp]>([
    ['a page', { body: '<!doctype html><title>Sign in</title>' }, 'Unreadable', /it is not iCalendar/],
    ['nothing', { body: '' }, 'Unreadable', /it is empty/],
    ['a part of it', { body: one.slice(0, -20) }, 'Unreadable', /ends inside|not closed/],
    ['what is closed otherwise', { body: feed('BEGIN:VEVENT', 'END:VTODO') }, 'Unreadable', /not closed/],
    ['what is deep', { body: feed(...Array.from({ length: 9 }, () => 'BEGIN:VEVENT')) }, 'Unreadable', /deeper/],
    [
      'what inflates to more than 10 MiB',
      { headers: { 'content-encoding': 'gzip' }, body: (response) => void response.end(gzipSync(large)) },
      'TooLarge',
      /more than 10485760 bytes/,
    ],
    [
      'many series whose occurrences must be counted from long ago',
      {
        body: feed(
          ...Array.from({ length: 700 }, (_, index) =>
            at(`s${index}`, '19800101T090000Z', 'RRULE:FREQ=DAILY;COUNT=16000'),
          ),
        ),
      },
      'TooLarge',
      // A busy machine ends it by time.
      /more than 10000000 days|was not read in time/,
    ],
    [
      'more than 20,000 items',
      {
        body: feed(
          ...Array.from({ length: 60 }, (_, index) => at(`s${index}`, '20261120T090000Z', 'RRULE:FREQ=DAILY')),
        ),
      },
      'TooLarge',
      /more than 20000 items/,
    ],
    ['404', { status: 404 }, 'Unreachable', /answers 404/],
    ['a refusal', { status: 403 }, 'AccessLost', /answers 403/],
    ['a request to wait', { status: 429, headers: { 'retry-after': '120' } }, 'Throttled', /answers 429/],
    ['a failure', { status: 502 }, 'Unreachable', /answers 502/],
    [
      'what is no HTTP',
      { body: (response) => void response.socket?.end('220 mail.example ESMTP\r\n') },
      'Unreachable',
      /^http:\/\/127\.0\.0\.1:\d+ did not send a valid HTTP answer\.$/,
    ],
    ['304 to what was not asked', { status: 304 }, 'Unreachable', /answers 304/],
    [
      'a place inside',
      { status: 302, headers: { location: 'http://169.254.169.254/meta' } },
      'Unreachable',
      /169\.254\.169\.254 is not an https address, and http:\/\/127\.0\.0\.1:\d+ redirects there; give the address/,
    ],
    [
      'a name that leads inside',
      { status: 302, headers: { location: 'https://inner.example/' } },
      'Unreachable',
      /inner.example resolves to .*redirects there; give the address/,
    ],
    ['another scheme', { status: 302, headers: { location: 'file:///etc/passwd' } }, 'Unreachable', /give the address/],
  ])('%s', async (_, reply, fault, words) => {
    server.answer(() => reply);
    const answer = await open()().catch((error: unknown) => error);
    expect(answer).toBeInstanceOf(ServerFault);
    expect(answer).toMatchObject({ fault, message: expect.stringMatching(words) });
    expect((answer as ServerFault).message).not.toContain(secret);
  });

  test.each<[string, string, ServerFault['fault'], RegExp]>([
    [
      'is still split',
      feed(...Array.from({ length: 1_000 }, (_, index) => `X-LINE-${index}:`)),
      'TooLarge',
      / was not read in time: /,
    ],
    ['is still read', one, 'TooLarge', / was not read in time: /],
    ['is none', 'Not found', 'Unreadable', / it is not iCalendar/],
  ])('one that %s when the turn ends', async (_, body, fault, message) => {
    server.answer(() => ({ body }));
    const end = new AbortController();
    const log = openLog('silent');
    // Nothing is logged between the answer and the reading of its content.
    jest.spyOn(log, 'debug').mockImplementation(() => end.abort());
    expect(await faultOf(open({}, { log, signal: end.signal })())).toMatchObject({
      fault,
      message: expect.stringMatching(message),
    });
  });

  test('a publisher cannot redirect to an internal server, even one that the settings trust', async () => {
    server.answer(() => ({ status: 302, headers: { location: `${elsewhere.origin}/secret.ics` } }));
    elsewhere.answer(() => ({ body: one }));
    expect(await faultOf(open()())).toMatchObject({
      fault: 'Unreachable',
      message: expect.stringContaining('redirects there; give the address that it redirects to'),
    });
    expect(elsewhere.asked).toHaveLength(0);
  });

  test('an internal address is not asked unless it is trusted', async () => {
    server.answer(() => ({ body: one }));
    expect(await faultOf(open({ TrustedOrigins: [] })())).toMatchObject({
      fault: 'Unreachable',
      message: expect.stringContaining(`name ${server.origin} in TrustedOrigins`),
    });
    expect(server.asked).toHaveLength(0);
  });
});
