/**
 * Google Calendar against the mail server of the tests: what is read, pushed and written there. Google's own client library
 * judges that mail server.
 */

import type { calendar_v3 } from '@googleapis/calendar';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { openLog } from '../../src/log.ts';
import type { Write } from '../../src/mail-servers/connector.ts';
import { openGoogle } from '../../src/mail-servers/google.ts';
import { eventIdOf } from '../../src/mail-servers/google-writes.ts';
import { provisionTask } from '../../src/mail-subscriptions/provisioning.ts';
import { secretsOf } from '../_util/notifications.ts';
import { until } from '../_util/process.ts';
import { startScriptedServer } from '../_util/scripted-server.ts';
import { faultOf } from './_util/fault-of.ts';
import { startGoBetween } from './_util/go-between.ts';
import { openGoogleClient } from './_util/google-client.ts';
import { readAll, readInSteps } from './_util/in-steps.ts';
import { type MailServer, startMailServer } from './_util/mail-server.ts';
import { openSubscriptionDesk, type SubscriptionDesk } from './_util/subscription-desk.ts';

const window = { start: new Date('2026-12-01T00:00:00Z'), end: new Date('2027-03-01T00:00:00Z') };
const soon = () => AbortSignal.timeout(60_000);
const day = 24 * 60;

let server: MailServer;
let desk: SubscriptionDesk;
let key: string;
let rooms = 0;
let room: { mailbox: string; address: null };

const settings = () => ({
  Kind: 'Google' as const,
  Url: server.google,
  TokenUrl: server.googleToken,
  PastDays: 1,
  FutureDays: 365,
  ServiceAccountKey: JSON.parse(key) as { client_email: string; private_key: string },
});
const open = (more: object = {}) => openGoogle({ ...settings(), ...more }, openLog('silent'));

beforeAll(async () => {
  server = await startMailServer();
  key = JSON.stringify(await server.googleKey());
  await server.addRoom('r001@rooms.test', { allowConflicts: true });
  desk = await openSubscriptionDesk({
    MailServer__school__Kind: 'Google',
    MailServer__school__Url: server.google,
    MailServer__school__TokenUrl: server.googleToken,
    MailServer__school__ServiceAccountKey: key,
  });
});
afterAll(async () => {
  await desk.close();
  await server.stop();
});
beforeEach(async () => {
  room = { mailbox: `room${++rooms}@rooms.test`, address: null };
  await server.addRoom(room.mailbox, { allowConflicts: true });
});
afterEach(() => server.clearFaults());

/** `uid start subject` of everything in the calendar, by the server's own ledger. */
const truth = async () =>
  (await server.truth(room.mailbox, window.start, window.end))
    .filter(({ isCancelled }) => !isCancelled)
    .map(({ uid, start, subject }) => `${uid} ${start} ${subject}`)
    .toSorted();

test('events without an id, or that are none, are unreadable together, and keep no other from being read', async () => {
  const scripted = await startScriptedServer();
  try {
    const times = { start: { dateTime: '2026-12-10T09:00:00Z' }, end: { dateTime: '2026-12-10T10:00:00Z' } };
    const items = [{ summary: 'Choir', ...times }, null, 5, { id: 'b', ...times }, { id: '' }];
    scripted.answer(() => ({ body: { items, nextSyncToken: 't1' } }));
    const changes = await readAll(open({ Url: scripted.origin }), room, null, window, soon());
    expect(changes.groups).toEqual([
      expect.objectContaining({ id: 'b', items: [expect.anything()] }),
      { id: 'without an id', items: [], unreadable: expect.stringContaining('without an id') },
    ]);
  } finally {
    await scripted.close();
  }
});

/** Everything that readings have told of a calendar. */
function openKnowledge() {
  const known = new Map<string, string>();
  let cursor: string | null = null;
  return {
    async read(): Promise<string[]> {
      const changes = await readAll(open(), room, cursor, window, soon());
      if (changes.whole) known.clear();
      for (const id of changes.removed) known.delete(id);
      for (const { items, id, unreadable } of changes.groups) {
        expect(unreadable).toBeUndefined();
        for (const { uid, start, subject } of items) known.set(id, `${uid} ${start.toISOString()} ${subject}`);
      }
      cursor = changes.cursor;
      return [...known.values()].toSorted();
    },
    forget: () => (cursor = null),
    cursor: () => cursor,
  };
}

const appoint = (start: string, more: object = {}) =>
  server.appoint(room.mailbox, {
    start: `2026-12-${start}:00:00Z`,
    end: `2026-12-${start}:30:00Z`,
    subject: 'Choir',
    ...more,
  });

describe('what is read', () => {
  test('is the content of the calendar: appointments, whole days, series with exceptions, and all their values', async () => {
    await appoint('01T08', { sensitivity: 'private', answer: 'tentative' });
    await appoint('02T08', { shownAs: 'free', organizer: null });
    await appoint('03T08', { start: '2026-12-24', end: '2026-12-26', isWholeDay: true });
    await appoint('04T08', { shownAs: 'tentative', repeat: { every: 'week', count: 3 } });
    const { groups, whole } = await readAll(open(), room, null, window, soon());
    expect(whole).toBe(true);
    const items = groups
      .flatMap((group) => group.items)
      .toSorted((one, other) => Number(one.start) - Number(other.start));
    const person = { name: 'Erika Mustermann', email: 'erika@contoso.test' };
    expect(items).toMatchObject(
      [
        { response: 'Tentative', isPrivate: true, shownAs: 'Busy', organizer: person, days: null, occurrence: '' },
        { response: 'Organizer', shownAs: 'Free', organizer: { email: room.mailbox }, subject: 'Choir' },
        ...[1, 2, 3].map(() => ({ shownAs: 'Tentative', occurrence: expect.stringMatching(/^2026-12-\d\dT/) })),
        {
          days: { from: '2026-12-24', to: '2026-12-26' },
          response: 'Accepted',
          changeKey: expect.stringMatching(/^"/),
        },
      ].toSorted((one, other) => Number('days' in one && one.days) - Number('days' in other && other.days)),
    );
  });

  test('follows every change, by tokens, and anew when they are lost', async () => {
    const knowledge = openKnowledge();
    const one = (await appoint('01T08')).itemId!;
    const week = (await appoint('02T08', { repeat: { every: 'week', count: 6 } })).itemId!;
    const expectTruth = async () => expect(await knowledge.read()).toEqual(await truth());
    await expectTruth();
    await server.change(one, { start: '2026-12-01T10:00:00Z', end: '2026-12-01T11:00:00Z', subject: 'Band' });
    await server.change(week, {
      originalStart: '2026-12-09T08:00:00Z',
      start: '2026-12-10T08:00:00Z',
      end: '2026-12-10T09:00:00Z',
    });
    await expectTruth();
    await server.remove(week, '2026-12-16T08:00:00Z');
    await server.cancel(one);
    await appoint('05T08');
    await expectTruth();
    await server.remove(week);
    await server.change((await appoint('06T08')).itemId!, {
      start: '2028-01-01T08:00:00Z',
      end: '2028-01-01T09:00:00Z',
    });
    await expectTruth();
    expect((await readAll(open(), room, knowledge.cursor(), window, soon())).groups).toEqual([]);
    await server.loseState();
    expect(await faultOf(readAll(open(), room, knowledge.cursor(), window, soon()))).toMatchObject({
      fault: 'StateLost',
    });
    knowledge.forget();
    await expectTruth();
  });

  test('is complete when a series ends or moves, of whose lost occurrences Google returns those of some months', async () => {
    const year = { start: window.start, end: new Date('2027-12-01T00:00:00Z') };
    const read = (cursor: string | null) => readAll(open(), room, cursor, year, soon());
    const minutesOf = ({ groups }: Awaited<ReturnType<typeof read>>) =>
      groups.flatMap(({ items }) => items.map(({ start }) => start.getUTCMinutes()));
    const week = (await appoint('02T08', { repeat: { every: 'week', count: 50 } })).itemId!;
    const first = await read(null);
    await server.remove(week, '2026-12-09T08:00:00Z');
    const second = await read(first.cursor);
    expect(second).toMatchObject({ whole: false, removed: [expect.stringMatching(/_20261209T080000Z$/)] });
    await server.change(week, { start: '2026-12-02T08:15:00Z', end: '2026-12-02T08:45:00Z' });
    const third = await read(second.cursor);
    expect([third.whole, new Set(minutesOf(third))]).toEqual([true, new Set([15])]);
    await appoint('05T12');
    await server.remove(week);
    const fourth = await read(third.cursor);
    expect([fourth.whole, minutesOf(fourth)]).toEqual([true, [0]]);
    expect(await read(fourth.cursor)).toMatchObject({ whole: false, groups: [], removed: [] });
  });

  test('continues page by page in other processes', async () => {
    for (const hour of ['08', '09', '10', '11', '12', '13', '14'])
      await appoint(`01T${hour}`, { repeat: { every: 'day', count: 90 } });
    const { steps, groups } = await readInSteps(() => open(), room, { window });
    expect(steps).toBe(2);
    expect(
      groups.flatMap(({ items }) => items.map(({ uid, start }) => `${uid} ${start.toISOString()} Choir`)).toSorted(),
    ).toEqual(await truth());
  });

  test.each<[string, () => Promise<unknown>, object, string, RegExp]>([
    ['a limit', () => server.fault({ fault: 'busy', face: 'Google' }), {}, 'Throttled', /rateLimitExceeded/],
    ['a failure', () => server.fault({ fault: 'unavailable', face: 'Google' }), {}, 'Throttled', /503/],
    [
      'a calendar that is not shared',
      () => server.setRoom(room.mailbox, { isAccessible: false }),
      {},
      'AccessLost',
      /shared/,
    ],
    [
      'a key that is not the right one',
      async () => {},
      { ServiceAccountKey: { client_email: 'other@x.example', private_key: '' } },
      'AccessLost',
      /^(?!.*BEGIN).*(not a valid key|returns no token)/,
    ],
    [
      'a signature that Google does not accept, perhaps for its time',
      async () => {},
      {
        get ServiceAccountKey() {
          return { ...settings().ServiceAccountKey, client_email: 'other@x.example' };
        },
      },
      'AccessLost',
      /invalid_grant .*; are ServiceAccountKey and the clock of this machine right\?$/,
    ],
  ])('%s is a fault', async (_, prepare, more, fault, words) => {
    await prepare();
    expect(await faultOf(readAll(open(more), room, null, window, soon()))).toMatchObject({
      fault,
      message: expect.stringMatching(words),
    });
  });
});

describe('what is written', () => {
  const origin = 'booking-7@0d9f3a52-5c1e-4a43-9d5e-0f5a3f0f8d11';
  const item = (more: object = {}) => ({
    origin,
    subject: 'Lesson',
    isPrivate: true,
    start: new Date('2026-12-01T08:00:00Z'),
    end: new Date('2026-12-01T09:00:00Z'),
    ...more,
  });
  const write = (...writes: Write[]) => open().writes!.write(room, writes, soon());
  const find = (...origins: string[]) => open().writes!.find(room, origins, soon());
  async function create() {
    const [outcome] = await write({ do: 'Create', item: item() });
    if (outcome?.is !== 'Done' || !outcome.at) throw new Error(`not created: ${JSON.stringify(outcome)}`);
    return outcome.at;
  }

  test('is written once, found, changed and deleted, each step under its change key', async () => {
    const at = await create();
    expect(at.id).toMatch(/^rg[0-9a-f]{64}$/);
    expect(await find(origin, 'booking-8@x')).toEqual([{ ...at, item: item() }]);
    expect(await server.truth(room.mailbox)).toMatchObject([
      { subject: 'Lesson', sensitivity: 'private', organizer: null },
    ]);
    const [changed] = await write({ do: 'Change', item: item({ subject: 'Moved', isPrivate: false }), at });
    expect(changed).toMatchObject({ is: 'Done', at: { id: at.id } });
    expect(await write({ do: 'Change', item: item(), at }, { do: 'Remove', origin, at })).toEqual([
      { is: 'Changed' },
      { is: 'Changed' },
    ]);
    const [now] = await find(origin);
    expect(now).toMatchObject({ item: { subject: 'Moved', isPrivate: false } });
    expect(await write({ do: 'Remove', origin, at: now! })).toEqual([{ is: 'Done', at: null }]);
    expect(await server.truth(room.mailbox)).toEqual([]);
    expect(await write({ do: 'Remove', origin, at: now! })).toEqual([{ is: 'Done', at: null }]);
  });

  test('is found otherwise than it was written when somebody shows the room as free', async () => {
    await create();
    const [{ itemId } = { itemId: '' }] = await server.truth(room.mailbox);
    await server.change(itemId, { shownAs: 'free' });
    expect(await find(origin)).toMatchObject([{ item: { subject: '' } }]);
  });

  test.each<[string, object | string, object]>([
    ['cannot be read', { id: eventIdOf(origin), etag: '"1"' }, [{ id: eventIdOf(origin), item: { subject: '' } }]],
    ['is not an event', '<html>', { fault: 'Unreadable' }],
  ])('is not taken for deleted where the answer %s', async (_, body, outcome) => {
    const between = await startGoBetween(server.url);
    between.setFate(() => ({ status: 200, body: typeof body === 'string' ? body : JSON.stringify(body) }));
    const { writes } = open({ Url: `${between.url}/calendar/v3` });
    const found = await writes!.find(room, [origin], soon()).catch((error: unknown) => error);
    await between.stop();
    expect(found).toMatchObject(outcome);
  });

  test('is known again when it is read, by its mark', async () => {
    const { id, changeKey } = await create();
    const { groups } = await readAll(open(), room, null, window, soon());
    expect(groups).toMatchObject([{ id, items: [{ id, origin, changeKey }] }]);
  });

  test('a second time is distinguished from one whose id is gone forever', async () => {
    const at = await create();
    expect(await write({ do: 'Create', item: item() })).toEqual([{ is: 'Changed' }]);
    await write({ do: 'Remove', origin, at });
    expect(await write({ do: 'Create', item: item() }, { do: 'Change', item: item(), at })).toEqual([
      { is: 'Gone' },
      { is: 'Gone' },
    ]);
    expect(await find(origin)).toEqual([]);
    const again = origin.replace('7@', '7-2@');
    expect(await write({ do: 'Create', item: item({ origin: again }) })).toMatchObject([{ is: 'Done' }]);
  });

  test('is refused alone; what a limit stops is not asked; a lost answer is found', async () => {
    const end = item().start;
    expect(await write({ do: 'Create', item: item({ end }) }, { do: 'Create', item: item() })).toMatchObject([
      { is: 'Refused', reason: expect.stringContaining('time range is empty') },
      { is: 'Done' },
    ]);
    const others = [1, 2, 3].map((number): Write => ({ do: 'Create', item: item({ origin: `booking-${number}@x` }) }));
    // Of each request the path has the calendar; the first is one more that goes well.
    await server.fault({ fault: 'busy', face: 'Google', operation: 'DELETE' });
    expect(await write(...others, { do: 'Remove', origin, at: (await find(origin))[0]! })).toHaveLength(3);
    await server.fault({ fault: 'busy', face: 'Google' });
    expect(await faultOf(write(others[0]!))).toMatchObject({ fault: 'Throttled' });
    await server.fault({ fault: 'reset', face: 'Google', operation: 'POST' });
    const lost = item({ origin: 'booking-9@x' });
    expect(await faultOf(write({ do: 'Create', item: lost }))).toMatchObject({ fault: 'Unreachable' });
    expect(await find('booking-9@x')).toMatchObject([{ item: lost }]);
  });

  test('nothing is written where the calendar is not shared', async () => {
    await server.setRoom(room.mailbox, { isAccessible: false });
    expect(await faultOf(write({ do: 'Create', item: item() }))).toMatchObject({ fault: 'AccessLost' });
  });
});

describe('what is pushed', () => {
  const channels = () => server.subscriptions();
  const mailbox = 'r001@rooms.test';
  const inbox = async () =>
    (
      await sql<{ kind: string; verdict: string }>`
        select kind, verdict from mail_notification where dialect = 'Google' order by id`.execute(desk.db)
    ).rows;

  test('a channel is replaced at half time and then stopped; what it still sends changes nothing', async () => {
    await server.quiesce();
    await desk.settle();
    await server.quiesce();
    const [first] = await channels();
    expect(first).toMatchObject({ face: 'Google', mailbox });
    expect(await desk.states()).toEqual(['Active']);
    expect(await inbox()).toEqual([{ kind: 'Status', verdict: 'Accepted' }]);
    const before = (await desk.marks())[0]!;
    await server.appoint(mailbox, { start: '2026-12-01T08:00:00Z', end: '2026-12-01T09:00:00Z' });
    await server.quiesce();
    await until(async () => (await desk.marks())[0]! > before);
    expect((await inbox()).at(-1)).toEqual({ kind: 'Change', verdict: 'Accepted' });
    const [sent] = await server.deliveries({ face: 'Google', kind: 'change' });
    expect(sent).toMatchObject({ state: 'Acknowledged', body: '', subscriptionIds: [first!.id] });

    await desk.pass(3 * day);
    await desk.settle();
    expect(await desk.states()).toEqual(['Active']);
    await desk.pass(0.6 * day);
    const [active] = await desk.rows();
    // Somebody holds the row of the old channel, and then Google is busy: it is ended all the same.
    await desk.db.transaction().execute(async (trx) => {
      await sql`select from mail_subscription where id = ${active!.id} for no key update`.execute(trx);
      await desk.run(provisionTask, { mandatorId: desk.mandatorId, calendarId: active!.calendarId! });
    });
    expect(await desk.states()).toEqual(['Active', 'Active']);
    await server.fault({ fault: 'busy', face: 'Google', operation: 'channels/stop' });
    await desk.settle();
    expect(await desk.states()).toEqual(['Replaced', 'Active']);
    expect(await channels()).toHaveLength(2);
    await desk.pass(6);
    await desk.settle();
    expect(await channels()).toHaveLength(1);
    await server.quiesce();
    expect(await desk.states()).toEqual(['Replaced', 'Active']);
    const [second] = await channels();
    expect(second!.id).not.toBe(first!.id);

    const marks = (await desk.marks())[0];
    const [old] = await desk.rows();
    const { clientState } = secretsOf(desk.service, old!.id);
    const answer = await fetch(sent!.url, {
      method: 'POST',
      headers: {
        'x-goog-channel-id': first!.id,
        'x-goog-channel-token': clientState,
        'x-goog-resource-state': 'exists',
        'x-goog-message-number': '999',
      },
    });
    expect(answer.status).toBe(200);
    expect((await desk.marks())[0]).toBe(marks);
  });

  test('a callback that Google does not accept is reported', async () => {
    await desk.reset();
    desk.set({
      MailServer__school__Kind: 'Google',
      MailServer__school__Url: server.google,
      IdpUrl: 'http://rooms.example',
      MailServer__school__TokenUrl: server.googleToken,
      MailServer__school__ServiceAccountKey: key,
    });
    await desk.settle();
    expect((await desk.rows()).at(-1)).toMatchObject({
      state: 'Failed',
      text: expect.stringMatching(/push\.webhookUrlNotHttps WebHook callback must be HTTPS/),
    });
  });

  test('the channels of a tenant that has left Google keep nobody busy: they expire', async () => {
    await desk.reset();
    await desk.settle();
    expect(await desk.states()).toEqual(['Active']);
    desk.set({ MailServer__school__Kind: 'ICalendar', MailServer__school__Url: 'https://127.0.0.1:9/{user}.ics' });
    await desk.settle();
    expect(await desk.states()).toEqual(['Disabled']);
  });
});

describe("Google's own client", () => {
  let api: calendar_v3.Calendar;
  beforeAll(async () => {
    api = await openGoogleClient(server);
  });
  const statusOf = (attempt: Promise<unknown>) =>
    attempt.then(
      () => 200,
      (error: { status: number }) => error.status,
    );

  test('lists, follows, inserts, changes under an ETag and deletes, as with Google', async () => {
    const calendarId = room.mailbox;
    await appoint('01T08', { repeat: { every: 'day', count: 5 } });
    const list = (params: calendar_v3.Params$Resource$Events$List) =>
      api.events.list({ calendarId, singleEvents: true, ...params }).then(({ data }) => data);
    const first = await list({ maxResults: 3 });
    expect(first).toMatchObject({ kind: 'calendar#events', nextPageToken: expect.any(String) });
    const rest = await list({ maxResults: 3, pageToken: first.nextPageToken! });
    expect([...first.items!, ...rest.items!]).toHaveLength(5);
    const id = 'rg0123456789';
    const event = {
      id,
      summary: 'Lesson',
      start: { dateTime: '2026-12-01T08:00:00Z' },
      end: { dateTime: '2026-12-01T09:00:00Z' },
    };
    const { data: made } = await api.events.insert({ calendarId, sendUpdates: 'none', requestBody: event });
    expect(made).toMatchObject({ id, status: 'confirmed', organizer: { self: true } });
    expect(await statusOf(api.events.insert({ calendarId, requestBody: event }))).toBe(409);
    const changes = await list({ syncToken: rest.nextSyncToken! });
    expect(changes.items).toMatchObject([{ id, summary: 'Lesson' }]);
    const patch = (etag: string) =>
      api.events.patch(
        { calendarId, eventId: id, requestBody: { summary: 'Band' } },
        { headers: { 'If-Match': etag } },
      );
    expect(await statusOf(patch('"other"'))).toBe(412);
    expect((await patch(made.etag!)).data.summary).toBe('Band');
    await api.events.delete({ calendarId, eventId: id });
    expect(await statusOf(api.events.delete({ calendarId, eventId: id }))).toBe(410);
    expect((await api.events.get({ calendarId, eventId: id })).data.status).toBe('cancelled');
    expect(await statusOf(list({ syncToken: 'lost' }))).toBe(410);
    await server.fault({ fault: 'busy', face: 'Google' });
    expect(await statusOf(list({}))).toBe(403);
  });

  test('watches a calendar and stops; and reads what we have written', async () => {
    const calendarId = room.mailbox;
    const requestBody = { id: `c-${rooms}`, type: 'web_hook', address: `${desk.service.url}/api/webhooks/mailserver` };
    const { data } = await api.events.watch({ calendarId, requestBody });
    expect(data).toMatchObject({
      kind: 'api#channel',
      id: requestBody.id,
      expiration: expect.stringMatching(/^\d{13}$/),
    });
    await api.channels.stop({ requestBody: { id: data.id!, resourceId: data.resourceId! } });
    expect(await statusOf(api.channels.stop({ requestBody: { id: data.id!, resourceId: data.resourceId! } }))).toBe(
      404,
    );
    const origin = 'booking-1@x';
    const span = { start: new Date('2026-12-01T08:00:00Z'), end: new Date('2026-12-01T09:00:00Z') };
    await open().writes!.write(
      room,
      [{ do: 'Create', item: { origin, ...span, subject: 'L', isPrivate: true } }],
      soon(),
    );
    expect((await api.events.get({ calendarId, eventId: eventIdOf(origin) })).data).toMatchObject({
      summary: 'L',
      visibility: 'private',
      extendedProperties: { private: { rg: origin } },
      start: { dateTime: '2026-12-01T08:00:00Z' },
    });
  });

  test('declines for a room as we do: the others who are invited stay as they are', async () => {
    const calendarId = room.mailbox;
    await appoint('01T08', {});
    await appoint('02T08', {});
    const [theirs, ours] = (await api.events.list({ calendarId, singleEvents: true })).data.items!;
    const decline = (sendUpdates: string, attendeesOmitted: boolean) => {
      const attendees = [{ email: calendarId, responseStatus: 'declined', comment: 'Taken.' }];
      const requestBody = { attendeesOmitted, attendees };
      return api.events.patch({ calendarId, eventId: theirs!.id!, sendUpdates, requestBody });
    };
    expect(await statusOf(decline('all', false))).toBe(403);
    expect((await decline('all', true)).data.attendees).toMatchObject([
      { organizer: true, responseStatus: 'accepted' },
      { email: calendarId, self: true, responseStatus: 'declined' },
    ]);
    const place = { id: ours!.id!, group: ours!.id!, occurrence: '' };
    const look = () => open().invitation!(room, place, soon());
    const found = await look();
    if (found.is !== 'Open') throw new Error(found.is);
    expect(await found.decline('Taken.', soon())).toEqual({ is: 'Done' });
    // Under an ETag that has gone.
    expect(await found.decline('Taken.', soon())).toEqual({ is: 'Changed' });
    expect(await look()).toEqual({ is: 'Declined' });
    const answers = await server.answers(calendarId);
    expect(answers.map(({ to, comment }) => [to, comment])).toEqual(Array(2).fill([answers[0]!.to, 'Taken.']));
    const { data } = await api.events.get({ calendarId, eventId: ours!.id! });
    expect(data.attendees).toMatchObject([{ responseStatus: 'accepted' }, { responseStatus: 'declined' }]);
  });
});
