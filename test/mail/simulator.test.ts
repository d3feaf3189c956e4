/** The mail server of the tests does what Microsoft's documents say; an independent client of Exchange speaks with it. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import {
  Appointment,
  CalendarView,
  ConflictResolutionMode,
  ConnectingIdType,
  DateTime,
  DeleteMode,
  EventType,
  ExchangeService,
  ExchangeVersion,
  FolderId,
  ImpersonatedUserId,
  PropertySet,
  SendCancellationsMode,
  SendInvitationsMode,
  SendInvitationsOrCancellationsMode,
  Sensitivity,
  SyncFolderItemsScope,
  Uri,
  WebCredentials,
  WellKnownFolderName,
} from 'ews-javascript-api';
import { until } from '../_util/process.ts';
import { exchangeReply, type Heard, type Reply, startListener } from './_util/listener.ts';
import { type MailServer, startMailServer } from './_util/mail-server.ts';

let server: MailServer;
let rooms = 0;
let room: string;
beforeAll(async () => {
  server = await startMailServer();
});
afterAll(() => server.stop());
beforeEach(async () => {
  room = `room${++rooms}@contoso.test`;
  await server.addRoom(room);
});
const listeners: { stop(): void }[] = [];
afterEach(async () => {
  for (const listener of listeners.splice(0)) listener.stop();
  await server.restart();
  await server.removeSubscription();
  await server.clearFaults();
});

async function listen(reply: (heard: Heard) => Reply | Promise<Reply>) {
  const listener = await startListener(reply);
  listeners.push(listener);
  return listener;
}

function exchangeClient(isImpersonating = true): ExchangeService {
  const service = new ExchangeService(ExchangeVersion.Exchange2016);
  service.Url = new Uri(server.ews);
  service.Credentials = new WebCredentials(server.user, server.password);
  if (isImpersonating) service.ImpersonatedUserId = new ImpersonatedUserId(ConnectingIdType.SmtpAddress, room);
  return service;
}
const calendar = () => new FolderId(WellKnownFolderName.Calendar);
const allEvents = [EventType.Created, EventType.Modified, EventType.Deleted, EventType.Moved];
const subscribe = (client: ExchangeService, url: string, minutes: number) =>
  client.SubscribeToPushNotifications([calendar()], new Uri(url), minutes, null as never, ...allEvents);
const sync = (client: ExchangeService, state: string | null) =>
  client.SyncFolderItems(
    ...([calendar(), PropertySet.FirstClassProperties, null as never, 100] as const),
    ...([SyncFolderItemsScope.NormalItems, state as never] as const),
  );

const events = (body: string) => [...body.matchAll(/<t:(\w+Event)>/g)].map(([, name]) => name);
const textOf = (body: string, name: string) => new RegExp(`<t:${name}>([^<]*)<`).exec(body)?.[1];

test('ews-javascript-api subscribes, saves, finds, synchronises, changes and deletes', async () => {
  const listener = await listen(() => exchangeReply('OK'));
  const client = exchangeClient();
  const subscription = await subscribe(client, listener.url, 30);
  await server.quiesce();
  expect(listener.heard.map(({ body }) => events(body))).toEqual([['StatusEvent']]);
  expect(textOf(listener.heard[0]!.body, 'SubscriptionId')).toBe(subscription.Id);
  expect(textOf(listener.heard[0]!.body, 'PreviousWatermark')).toBe(subscription.Watermark);

  const appointment = new Appointment(client);
  appointment.Subject = 'Lecture 1';
  appointment.Start = new DateTime('2026-12-02T09:00:00Z');
  appointment.End = new DateTime('2026-12-02T10:00:00Z');
  await appointment.Save(WellKnownFolderName.Calendar, SendInvitationsMode.SendToNone);
  const first = await sync(client, null);
  expect(first.GetEnumerator().map(({ ChangeType, ItemId }) => [ChangeType, ItemId.UniqueId])).toEqual([
    [0, appointment.Id.UniqueId],
  ]);
  expect(first.MoreChangesAvailable).toBe(false);

  const view = new CalendarView(new DateTime('2026-12-01T00:00:00Z'), new DateTime('2026-12-05T00:00:00Z'));
  const [found] = (await client.FindAppointments(WellKnownFolderName.Calendar, view)).Items;
  expect([found?.Subject, found?.Start.ToISOString(), found?.End.ToISOString()]).toEqual([
    ...['Lecture 1', '2026-12-02T09:00:00.000Z', '2026-12-02T10:00:00.000Z'],
  ]);

  found!.Sensitivity = Sensitivity.Private;
  await found!.Update(ConflictResolutionMode.AlwaysOverwrite, SendInvitationsOrCancellationsMode.SendToNone);
  const bound = await Appointment.Bind(client, found!.Id, PropertySet.FirstClassProperties);
  expect([bound.Sensitivity, bound.Organizer.Address]).toEqual([Sensitivity.Private, room]);
  expect(await server.truth(room)).toMatchObject([{ subject: 'Lecture 1', sensitivity: 'private' }]);

  await bound.Delete(DeleteMode.HardDelete, SendCancellationsMode.SendToNone);
  const second = await sync(client, first.SyncState);
  expect(second.GetEnumerator().map(({ ChangeType, ItemId }) => [ChangeType, ItemId.UniqueId])).toEqual([
    [2, appointment.Id.UniqueId],
  ]);
  expect(await server.truth(room)).toEqual([]);

  await server.quiesce();
  expect(listener.heard.slice(1).flatMap(({ body }) => events(body))).toEqual([
    ...['CreatedEvent', 'ModifiedEvent', 'ModifiedEvent', 'ModifiedEvent', 'DeletedEvent', 'ModifiedEvent'],
  ]);
});

test('ews-javascript-api sees the occurrences of a series with its exceptions', async () => {
  const { itemId } = await server.appoint(room, {
    subject: 'Seminar',
    start: '2026-12-01T09:00:00',
    end: '2026-12-01T10:00:00',
    repeat: { every: 'week', count: 4 },
  });
  await server.change(itemId!, {
    originalStart: '2026-12-08T09:00:00',
    start: '2026-12-08T11:00:00',
    end: '2026-12-08T12:30:00',
  });
  await server.remove(itemId!, '2026-12-15T09:00:00');
  const view = new CalendarView(new DateTime('2026-11-01T00:00:00Z'), new DateTime('2027-11-01T00:00:00Z'));
  const { Items } = await exchangeClient().FindAppointments(WellKnownFolderName.Calendar, view);
  expect(Items.map(({ Start, End }) => [Start.ToISOString(), End.ToISOString()])).toEqual([
    ['2026-12-01T08:00:00.000Z', '2026-12-01T09:00:00.000Z'],
    ['2026-12-08T10:00:00.000Z', '2026-12-08T11:30:00.000Z'],
    ['2026-12-22T08:00:00.000Z', '2026-12-22T09:00:00.000Z'],
  ]);
});

test('ews-javascript-api is refused as a delegate', async () => {
  const listener = await listen(() => exchangeReply('OK'));
  const refused = subscribe(exchangeClient(false), listener.url, 30);
  await expect(refused).rejects.toMatchObject({
    message: expect.stringContaining('not supported for delegate user access'),
  });
});

const judged: [string, () => Reply, number[]][] = [
  ['202 without a body', () => ({ status: 202 }), [0, 0.5, 1.5, 3.5, 7.5, 15.5]],
  ['500', () => ({ status: 500 }), [0, 0.5, 1.5, 3.5, 7.5, 15.5]],
  ['OK as text/plain', () => ({ ...exchangeReply('OK'), type: 'text/plain' }), [0, 0.5, 1.5, 3.5, 7.5, 15.5]],
  ['200 with other XML', () => ({ ...exchangeReply('OK'), body: '<OK/>' }), [0, 0.5, 1.5, 3.5, 7.5, 15.5]],
  ['Unsubscribe', () => exchangeReply('Unsubscribe'), [0]],
];
test.each(judged)('a listener that answers %s loses its subscription', async (_, reply, minutes) => {
  const listener = await listen(reply);
  await subscribe(exchangeClient(), listener.url, 30);
  await server.advance({ minutes: 60 });
  expect(await server.subscriptions()).toEqual([]);
  const delivery = (await server.deliveries()).findLast(({ url }) => url === listener.url)!;
  const times = delivery.attempts.map(({ at }) => Date.parse(at));
  expect(times.map((at) => Math.round((at - times[0]!) / 30_000) / 2)).toEqual(minutes);
});

test('a listener that answers OK hears a status event every StatusFrequency, each after the last', async () => {
  const listener = await listen(() => exchangeReply('OK'));
  await subscribe(exchangeClient(), listener.url, 30);
  await server.advance({ minutes: 125 });
  expect(listener.heard.map(({ body }) => events(body))).toEqual(Array(5).fill(['StatusEvent']));
  const previous = listener.heard.map(({ body }) => textOf(body, 'PreviousWatermark'));
  const watermarks = listener.heard.map(({ body }) => textOf(body, 'Watermark'));
  expect(previous.slice(1)).toEqual(watermarks.slice(0, -1));
  expect(await server.subscriptions()).toHaveLength(1);
});

test('at most 50 events come at once, and more only after the answer', async () => {
  let [under, most] = [0, 0];
  const listener = await listen(async () => {
    most = Math.max(most, ++under);
    await new Promise((resolve) => setTimeout(resolve, 5));
    under -= 1;
    return exchangeReply('OK');
  });
  await subscribe(exchangeClient(), listener.url, 30);
  await server.quiesce();
  await server.fault({ fault: 'lostAnswer', face: 'Ews' });
  for (let day = 1; day <= 60; day++)
    await server.appoint(room, {
      start: new Date(Date.UTC(2027, 0, day, 9)).toISOString(),
      end: new Date(Date.UTC(2027, 0, day, 10)).toISOString(),
    });
  await server.quiesce({ advance: true });
  const counts = listener.heard.slice(1).map(({ body }) => events(body).length);
  // The first came twice, as its answer was lost.
  expect(counts[0]).toBe(counts[1]);
  expect(Math.max(...counts)).toBe(50);
  expect(counts.slice(1).reduce((sum, count) => sum + count)).toBe(120);
  expect(listener.heard.map(({ body }) => textOf(body, 'MoreEvents') === 'true').at(-1)).toBe(false);
  expect(most).toBe(1);
});

test('a restart forgets EWS subscriptions without a word', async () => {
  const listener = await listen(() => exchangeReply('OK'));
  await subscribe(exchangeClient(), listener.url, 10);
  await server.quiesce();
  await server.restart();
  await server.advance({ minutes: 60 });
  expect(listener.heard).toHaveLength(1);
});

test('the first status event may come before the answer to Subscribe', async () => {
  await server.options({ statusBeforeAnswer: true });
  let isAnswered = false;
  const before: boolean[] = [];
  const listener = await listen(() => {
    before.push(!isAnswered);
    return exchangeReply('OK');
  });
  await subscribe(exchangeClient(), listener.url, 10);
  isAnswered = true;
  await server.options({ statusBeforeAnswer: false });
  expect(before).toEqual([true]);
});

test('watermarks are forgotten after 30 days, and with the memory of the server', async () => {
  const listener = await listen(() => exchangeReply('OK'));
  const client = exchangeClient();
  const { Watermark } = await subscribe(client, listener.url, 1_440);
  const again = (watermark: string) =>
    client.SubscribeToPushNotifications(
      ...([[calendar()], new Uri(listener.url), 1_440, watermark] as [FolderId[], Uri, number, string]),
      ...allEvents,
    );
  expect((await again(Watermark)).Id).not.toBe('');
  await expect(again('AAAA')).rejects.toMatchObject({ message: 'The watermark is invalid.' });
  await server.advance({ minutes: 30 * 1_440 + 1 });
  await expect(again(Watermark)).rejects.toMatchObject({ message: 'The watermark is invalid.' });
  const { Watermark: young } = await subscribe(client, listener.url, 1_440);
  await server.loseState();
  await expect(again(young)).rejects.toMatchObject({ message: 'The watermark is invalid.' });
});

const soap = (body: string, header = '') =>
  `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns:m="http://schemas.microsoft.com/exchange/services/2006/messages" xmlns:t="http://schemas.microsoft.com/exchange/services/2006/types"><s:Header>${header}</s:Header><s:Body>${body}</s:Body></s:Envelope>`;
async function askExchange(body: string): Promise<string> {
  const as = `<t:ExchangeImpersonation><t:ConnectingSID><t:PrimarySmtpAddress>${room}</t:PrimarySmtpAddress></t:ConnectingSID></t:ExchangeImpersonation>`;
  const authorization = `Basic ${Buffer.from(`${server.user}:${server.password}`).toString('base64')}`;
  const answer = await fetch(server.ews, {
    method: 'POST',
    headers: { authorization },
    body: soap(body, as),
  });
  return `${answer.status} ${await answer.text()}`;
}

test('requests that break the schema are refused, and push subscriptions cannot be ended', async () => {
  const folder = '<t:FolderIds><t:DistinguishedFolderId Id="calendar"/></t:FolderIds>';
  const types = '<t:EventTypes><t:EventType>CreatedEvent</t:EventType></t:EventTypes>';
  const url = '<t:URL>http://127.0.0.1:1/</t:URL>';
  const status = '<t:StatusFrequency>1</t:StatusFrequency>';
  const push = (...content: string[]) =>
    askExchange(
      `<m:Subscribe><m:PushSubscriptionRequest>${content.join('')}</m:PushSubscriptionRequest></m:Subscribe>`,
    );
  expect(await push(folder, types, url, status)).toMatch(/^500 .*ErrorSchemaValidation/s);
  expect(await push(folder, types, status.replace('1', '0'), url)).toMatch(/^500 .*ErrorSchemaValidation/s);
  expect(await askExchange('<Subscribe/>')).toMatch(/^500 .*ErrorSchemaValidation/s);
  const subscribed = await push(folder, types, status, url);
  const id = /<m:SubscriptionId>([^<]+)/.exec(subscribed)?.[1];
  expect(await askExchange(`<m:Unsubscribe><m:SubscriptionId>${id}</m:SubscriptionId></m:Unsubscribe>`)).toMatch(
    /^200 .*ErrorInvalidSubscription/s,
  );
});

async function openGraph(): Promise<(method: string, path: string, body?: object) => Promise<[number, never]>> {
  const form = {
    grant_type: 'client_credentials',
    client_id: server.clientId,
    client_secret: server.clientSecret,
  };
  const scope = 'https://graph.microsoft.com/.default';
  const given = await fetch(server.token, { method: 'POST', body: new URLSearchParams({ ...form, scope }) });
  const { access_token } = (await given.json()) as { access_token: string };
  return async (method, path, body) => {
    const answer = await fetch(path.startsWith('http') ? path : server.graph + path, {
      method,
      headers: { authorization: `Bearer ${access_token}`, prefer: 'odata.maxpagesize=2' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return [answer.status, (text ? JSON.parse(text) : null) as never];
  };
}

const echo = ({ url }: Heard): Reply => {
  const token = new URL(url, 'http://listener').searchParams.get('validationToken');
  return token === null ? { status: 202 } : { status: 200, type: 'text/plain; charset=utf-8', body: token };
};
/** Until some minutes after the time of the server, which tests move. */
async function wanted(url: string, minutes = 4_000) {
  const { now } = await server.ask<{ now: string }>('GET', 'clock');
  return {
    changeType: 'created,updated,deleted',
    notificationUrl: url,
    lifecycleNotificationUrl: url,
    resource: `users/${room}/events`,
    clientState: 'a secret',
    expirationDateTime: new Date(Date.parse(now) + minutes * 60_000).toISOString(),
  };
}

test('Graph shakes hands for both URLs, with a token that holds a colon and spaces', async () => {
  const listener = await listen(echo);
  const ask = await openGraph();
  const [status] = await ask('POST', '/subscriptions', await wanted(`${listener.url}?k=1`));
  expect(status).toBe(201);
  const told = listener.heard.map(({ url, body }) => [url.split('&')[0], decodeURIComponent(url.split('=')[2]!), body]);
  expect(told).toEqual(
    Array(2).fill(['/listener?k=1', expect.stringMatching(/^Validation: Testing client .+: [\w-]+$/), '']),
  );
});

const failing: [string, (heard: Heard) => Reply][] = [
  ['strips the colon', (heard) => ({ ...echo(heard), body: echo(heard).body!.replaceAll(':', '') })],
  ['answers 202', () => ({ status: 202 })],
  ['answers as HTML', (heard) => ({ ...echo(heard), type: 'text/html' })],
];
test.each(failing)('Graph refuses a listener that %s in the handshake', async (_, reply) => {
  const listener = await listen(reply);
  const ask = await openGraph();
  expect(await ask('POST', '/subscriptions', await wanted(listener.url))).toMatchObject([
    400,
    { error: { code: 'ValidationError' } },
  ]);
  expect(await server.subscriptions()).toEqual([]);
});

test('Graph grants at most 10,080 minutes, renews, and forgets what has expired', async () => {
  const listener = await listen(echo);
  const ask = await openGraph();
  const { now } = await server.ask<{ now: string }>('GET', 'clock');
  const [, one] = (await ask('POST', '/subscriptions', await wanted(listener.url, 20_000))) as unknown as [
    number,
    { id: string; expirationDateTime: string },
  ];
  expect(Math.round((Date.parse(one.expirationDateTime) - Date.parse(now)) / 60_000)).toBe(10_080);
  await server.advance({ minutes: 10_079 });
  const again = await openGraph();
  const until = new Date(Date.parse(one.expirationDateTime) + 3_600_000).toISOString();
  expect(await again('PATCH', `/subscriptions/${one.id}`, { expirationDateTime: until })).toMatchObject([
    200,
    { expirationDateTime: until },
  ]);
  await server.advance({ minutes: 62 });
  const last = await openGraph();
  expect(await last('GET', `/subscriptions/${one.id}`)).toMatchObject([404, {}]);
});

test('Graph sends again what was not acknowledged, and reports events of a subscription’s life cycle', async () => {
  let isUp = false;
  const listener = await listen((heard) => (isUp || heard.url.includes('validation') ? echo(heard) : { status: 503 }));
  const ask = await openGraph();
  await ask('POST', '/subscriptions', await wanted(listener.url));
  await server.appoint(room, { start: '2026-12-01T09:00:00Z', end: '2026-12-01T10:00:00Z' });
  await server.advance({ seconds: 25 });
  isUp = true;
  expect(await server.quiesce({ advance: true })).toEqual({ pending: 0 });
  const bodies = listener.heard.slice(2).map(({ body }) => body);
  expect(bodies).toHaveLength(3);
  expect(new Set(bodies).size).toBe(1);
  const { value } = JSON.parse(bodies[0]!) as { value: { clientState: string; changeType: string }[] };
  expect(value.map(({ changeType, clientState }) => [changeType, clientState])).toEqual([
    ['created', 'a secret'],
    ['updated', 'a secret'],
  ]);
  await server.lifecycle('missed');
  await server.quiesce();
  expect(JSON.parse(listener.heard.at(-1)!.body)).toMatchObject({
    value: [{ lifecycleEvent: 'missed', clientState: 'a secret' }],
  });
});

type Page = {
  value: { id: string; type?: string; subject?: string; '@removed'?: object }[];
  '@odata.nextLink'?: string;
  '@odata.deltaLink'?: string;
};

test('delta returns stubs of occurrences, what is gone, and what never was in its window', async () => {
  const ask = await openGraph();
  async function read(from: string): Promise<{ value: Page['value']; link: string }> {
    const value: Page['value'] = [];
    for (let next: string | undefined = from; next; ) {
      const [, page] = (await ask('GET', next)) as unknown as [number, Page];
      value.push(...page.value);
      if (page['@odata.deltaLink']) return { value, link: page['@odata.deltaLink'] };
      next = page['@odata.nextLink'];
    }
    throw new Error('there is no deltaLink');
  }
  const one = await server.appoint(room, {
    subject: 'One',
    start: '2026-12-01T09:00:00Z',
    end: '2026-12-01T10:00:00Z',
  });
  const series = await server.appoint(room, {
    subject: 'Series',
    start: '2026-12-02T09:00:00Z',
    end: '2026-12-02T10:00:00Z',
    repeat: { every: 'day', count: 3 },
  });
  const far = await server.appoint(room, { start: '2028-12-01T09:00:00Z', end: '2028-12-01T10:00:00Z' });
  const first = await read(
    `/users/${room}/calendarView/delta?startDateTime=2026-11-01T00:00:00Z&endDateTime=2027-01-01T00:00:00Z`,
  );
  expect(first.value.map(({ type, subject }) => [type, subject])).toEqual([
    ['singleInstance', 'One'],
    ...Array(3).fill(['occurrence', undefined]),
  ]);
  await server.remove(one.itemId!);
  await server.change(far.itemId!, { subject: 'Far' });
  const second = await read(first.link);
  expect(second.value.map((entry) => [entry.id, '@removed' in entry])).toEqual([
    [one.itemId, true],
    [far.itemId, true],
  ]);
  const [, { value: instances }] = (await ask(
    'GET',
    `/users/${room}/events/${encodeURIComponent(series.itemId!)}/instances?startDateTime=2026-11-01T00:00:00Z&endDateTime=2027-01-01T00:00:00Z`,
  )) as unknown as [number, Page];
  expect(instances.map(({ subject }) => subject)).toEqual(Array(3).fill('Series'));
  await server.loseState();
  expect(await ask('GET', second.link)).toMatchObject([410, { error: { code: 'SyncStateNotFound' } }]);
});

test('Graph serves four requests for a mailbox at a time', async () => {
  const ask = await openGraph();
  await server.options({ latencyMs: 300_000 });
  const statuses: number[] = [];
  const all = Array.from({ length: 6 }, async () => {
    const [status] = await ask('GET', `/users/${room}/calendar`);
    statuses.push(status);
  });
  await until('two answers', () => statuses.length === 2);
  await server.options({ latencyMs: 0 });
  await Promise.all(all);
  expect(statuses).toEqual([429, 429, 200, 200, 200, 200]);
});

test('Graph drops what it would send to a listener that is often slow', async () => {
  await server.advance({ minutes: 11 });
  let held: Promise<void> | undefined;
  const listener = await listen(async (heard) => {
    await held;
    return echo(heard);
  });
  const ask = await openGraph();
  await ask('POST', '/subscriptions', await wanted(listener.url));
  await server.options({ timeoutMs: 100 });
  const appoint = (day: number) =>
    server.appoint(room, { start: `2026-12-0${day}T09:00:00Z`, end: `2026-12-0${day}T10:00:00Z` });
  const { promise, resolve: release } = Promise.withResolvers<void>();
  held = promise;
  await appoint(1);
  await server.advance({ seconds: 1 });
  release();
  await server.options({ timeoutMs: 10_000 });
  await appoint(2);
  await server.quiesce({ advance: true });
  await server.advance({ minutes: 11 });
  await appoint(3);
  await server.quiesce({ advance: true });
  const mine = (await server.deliveries({ kind: 'change' })).filter(({ url }) => url === listener.url);
  expect(mine.map(({ state, attempts }) => [state, attempts.map(({ outcome }) => outcome)])).toEqual([
    ['Acknowledged', ['timeout', 'ok']],
    ['Dropped', []],
    ['Acknowledged', ['ok']],
  ]);
});
