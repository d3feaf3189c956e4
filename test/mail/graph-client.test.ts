/**
 * Microsoft's own client against the mail server of the tests: it finds there what it finds at Graph, reads what we have written,
 * and sends what we send for the same requests.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import {
  BatchRequestContent,
  type BatchRequestStep,
  BatchResponseContent,
  type Client,
  type GraphError,
} from '@microsoft/microsoft-graph-client';
import type { Event } from '@microsoft/microsoft-graph-types';
import { openLog } from '../../src/log.ts';
import type { Write } from '../../src/mail-servers/connector.ts';
import { openGraph } from '../../src/mail-servers/graph.ts';
import { markId } from '../../src/mail-servers/graph-events.ts';
import { openGraphClient } from './_util/graph-client.ts';
import { type MailServer, startMailServer } from './_util/mail-server.ts';
import { type Relay, startRelay } from './_util/relay.ts';

const origin = "booking-7@o'hare";
const item = {
  origin,
  subject: 'Übung & "Probe"',
  isPrivate: true,
  start: new Date('2026-12-01T08:00:00Z'),
  end: new Date('2026-12-01T09:00:00Z'),
};
const moment = (dateTime: string) => ({ dateTime, timeZone: 'UTC' });
const soon = () => AbortSignal.timeout(60_000);

let server: MailServer;
let relay: Relay;
let client: Client;
let rooms = 0;
let room: { mailbox: string; address: null };

beforeAll(async () => {
  server = await startMailServer();
  relay = await startRelay(server.url);
  client = await openGraphClient(server);
});
afterAll(async () => {
  await relay?.stop();
  await server?.stop();
});
beforeEach(async () => {
  room = { mailbox: `room${++rooms}@rooms.test`, address: null };
  await server.addRoom(room.mailbox, { allowConflicts: true });
});

const events = (rest = '') => client.api(`/users/${room.mailbox}/events${rest}`);
const statusOf = (attempt: Promise<unknown>) =>
  attempt.then(
    () => 200,
    ({ statusCode, code }: GraphError) => `${statusCode} ${code}`,
  );

test('it would send what is written in the same form, and reads it', async () => {
  const account = { ClientId: server.clientId, ClientSecret: server.clientSecret };
  const times = { PastDays: 1, FutureDays: 365 };
  const settings = { Kind: 'Graph' as const, Url: `${relay.url}/v1.0`, TokenUrl: server.token, ...account, ...times };
  const { write, find } = openGraph(settings, openLog('silent')).writes!;
  const ask = (...writes: Write[]) => write(room, writes, soon());
  await ask({ do: 'Create', item });
  const [made] = await find(room, [origin], soon());
  expect(made?.item).toEqual(item);
  await ask({ do: 'Change', item: { ...item, isPrivate: false }, at: made! });
  const [changed] = await find(room, [origin], soon());
  await ask({ do: 'Create', item: { ...item, origin: 'booking-8@x' } }, { do: 'Remove', origin, at: changed! });

  type Sent = { id: string; method: string; url: string; headers: Record<string, string>; body?: Event };
  const sent = relay.asked.map(({ body }) => JSON.parse(body) as { requests: Sent[] });
  expect(sent.flatMap(({ requests }) => requests.map(({ method }) => method))).toEqual([
    ...['POST', 'GET', 'PATCH', 'GET', 'POST', 'DELETE'],
  ]);
  for (const batch of sent) {
    const steps = batch.requests.map(({ id, url, body, ...init }): BatchRequestStep => {
      const request = new Request(server.url + url, { ...init, ...(body && { body: JSON.stringify(body) }) });
      return { id, request };
    });
    expect(batch).toEqual(await new BatchRequestContent(steps).getContent());
  }
  const filter = `singleValueExtendedProperties/any(ep: ep/id eq '${markId}' and ep/value eq 'booking-8@x')`;
  const expansion = `singleValueExtendedProperties($filter=id eq '${markId}')`;
  const { value } = (await events().filter(filter).expand(expansion).get()) as { value: Event[] };
  expect(value).toMatchObject([
    {
      subject: item.subject,
      sensitivity: 'private',
      showAs: 'busy',
      type: 'singleInstance',
      isAllDay: false,
      start: moment('2026-12-01T08:00:00.0000000'),
      end: moment('2026-12-01T09:00:00.0000000'),
      transactionId: 'booking-8@x',
      singleValueExtendedProperties: [{ id: markId, value: 'booking-8@x' }],
    },
  ]);
});

test('it creates, changes under an ETag and deletes; a transaction counts once', async () => {
  const wanted: Event = {
    subject: 'Lesson',
    transactionId: 'one',
    start: moment('2026-12-01T08:00:00'),
    end: moment('2026-12-01T09:00:00'),
  };
  type Tagged = Event & { '@odata.etag': string };
  const made = (await events().post(wanted)) as Tagged;
  expect((await events().post(wanted)) as Event).toMatchObject({ id: made.id });
  expect(await statusOf(events().post({ ...wanted, subject: 'Other' }))).toBe('400 ErrorDuplicateTransactionId');
  const place = `/${encodeURIComponent(made.id!)}`;
  const patch = (etag: string) => events(place).header('If-Match', etag).patch({ subject: 'Band' });
  const changed = (await patch(made['@odata.etag'])) as Tagged;
  expect(changed).toMatchObject({ id: made.id, subject: 'Band', changeKey: expect.any(String) });
  expect(changed['@odata.etag']).not.toBe(made['@odata.etag']);
  expect(await statusOf(patch(made['@odata.etag']))).toBe('412 ErrorIrresolvableConflict');
  expect(await statusOf(events(place).header('If-Match', made['@odata.etag']).delete())).toBe(
    '412 ErrorIrresolvableConflict',
  );
  expect(await statusOf(events(place).delete())).toBe(200);
  expect(await statusOf(events(place).get())).toBe('404 ErrorItemNotFound');
});

test('it reads the answers of a batch, each by its id', async () => {
  const post = (id: string, day: number): BatchRequestStep => ({
    id,
    request: new Request(`${server.url}/users/${room.mailbox}/events`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        subject: `Day ${day}`,
        start: moment(`2026-12-0${day}T08:00:00`),
        end: moment('2026-12-05T09:00:00'),
      } satisfies Event),
    }),
  });
  const content = await new BatchRequestContent([post('a', 1), post('b', 9), post('c', 3)]).getContent();
  const responses = new BatchResponseContent(await client.api('/$batch').post(content));
  const statuses = [...responses.getResponses()].map(([id, { status }]) => `${id} ${status}`);
  expect(statuses.toSorted()).toEqual(['a 201', 'b 400', 'c 201']);
  expect(await responses.getResponseById('c').json()).toMatchObject({ subject: 'Day 3' });
  const nothing = client.api('/$batch').post({ requests: [] });
  expect(await statusOf(nothing)).toBe('400 BadRequest');
});
