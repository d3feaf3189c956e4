/** The snapshots of signs over both APIs: polling over REST, queries and streams over GraphQL. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createClient } from 'graphql-sse';
import { sql } from 'kysely';
import { type Device, pairDevice } from '../_util/displays.ts';
import { type GraphqlService, startGraphql } from '../_util/graphql.ts';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';

type DisplayFrame = Record<string, unknown> & { __typename: string; schedule?: { subject: string | null }[] };

let service: Service;
let admin: MasterData;
let sign: Device;

beforeAll(async () => {
  service = await startService({ Role: 'Web' }, ['R1', 'R2']);
  admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
  sign = await pairDevice(service, admin, { Privacy: 'Organizer' });
});
afterAll(() => service.stop());
const open: (() => void)[] = [];
afterEach(() => {
  for (const leave of open.splice(0)) leave();
});

const room = (index = 0) => service.tenant.resources[index]!.id;
const hour = 3_600_000;
/** `hours` from the next full one on. */
function newBooking(hours: number) {
  const start = (Math.floor(Date.now() / hour) + 1 + hours) * hour;
  return {
    ResourceId: room(),
    Subject: 'Sitzung',
    Start: new Date(start).toISOString(),
    End: new Date(start + hour / 2).toISOString(),
  };
}

const snapshotFields = `cursor serverTime asOf staleAfterSeconds trustUntil timeZone zoneOffsets { from offsetMinutes }
  resource { id: resourceId name locationId locationName kind capacity equipment active } status until
  schedule { bookingId version kind occupies isTentative isRequested from to start end subject organizer classes teachers
    checkIn { required from until checkedInAt } change { kind roomBefore roomNow startBefore endBefore startNow endNow teachersBefore } }
  open { start end } start end nextChangeAt`;
const frameFields = `__typename ... on DisplaySnapshot { ${snapshotFields} } ... on DisplayHeartbeat { cursor asOf trustUntil }
  ... on DisplayEnded { reason retryAfterSeconds }`;

function follow(client: ReturnType<typeof createClient>, query: string, variables: Record<string, unknown>) {
  open.push(() => client.dispose());
  const frames: DisplayFrame[] = [];
  const errors: unknown[] = [];
  let isComplete = false;
  client.subscribe<{ frame: DisplayFrame }>(
    { query, variables },
    {
      next({ data, errors: failed }) {
        if (data) frames.push(data.frame);
        errors.push(...(failed ?? []));
      },
      error: (error) => errors.push(error),
      complete() {
        isComplete = true;
      },
    },
  );
  return { frames, errors, isComplete: () => isComplete };
}
const watchDisplay = `subscription ($id: ID!, $after: String) { frame: display(resourceId: $id, after: $after) { ${frameFields} } }`;
const watchBoard = `subscription ($id: ID!) { frame: board(locationId: $id) { ${frameFields} } }`;

describe('GET /displays/{resourceId}/snapshot', () => {
  const path = () => `/displays/${room()}/snapshot`;

  test('200 with the same values as GraphQL, and when to ask again', async () => {
    await admin.post('/bookings', newBooking(0));
    const [rest, graphql] = [
      await sign.get(path(), { 'X-JsonPropertyFormat': 'camel' }),
      await sign.ask(`query ($id: ID!) { display(resourceId: $id) { ${snapshotFields} } }`, {
        id: String(room()),
      }),
    ];
    const { nextPollSeconds, ...snapshot } = rest.body as Record<'nextChangeAt' | 'serverTime', string> & {
      nextPollSeconds: number;
    };
    const idsAsTexts = JSON.parse(JSON.stringify(snapshot), (name, value) =>
      /^(id|\w+Id)$/.test(name) ? String(value) : value,
    );
    const { data, errors } = graphql as { data?: { display: DisplayFrame }; errors?: unknown };
    expect(errors).toBeUndefined();
    const clock = { serverTime: null, asOf: null, trustUntil: null };
    expect({ ...idsAsTexts, ...clock }).toEqual({ ...data?.display, ...clock });
    expect(data?.display.schedule).toMatchObject([{ subject: null, organizer: 'Admin of school' }]);
    const wait = Math.ceil((Date.parse(snapshot.nextChangeAt) - Date.parse(snapshot.serverTime)) / 1_000);
    expect(nextPollSeconds).toBe(Math.min(300, Math.max(10, wait)));
  });

  test('304 for as long as the room looks the same', async () => {
    const first = await sign.get(path());
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toBe(`"${first.body['Cursor']}"`);
    const again = await sign.get(path(), { 'If-None-Match': etag });
    expect([again.status, again.text, again.headers.get('etag')]).toEqual([304, '', etag]);
    // The time goes on, so each answer says when to ask again.
    expect(first.headers.get('retry-after')).toBe(String(first.body['NextPollSeconds']));
    expect(Number(again.headers.get('retry-after'))).toBeGreaterThanOrEqual(10);
    expect(Number(again.headers.get('retry-after'))).toBeLessThanOrEqual(Number(first.body['NextPollSeconds']));
    await admin.post('/bookings', newBooking(2));
    const changed = await sign.get(path(), { 'If-None-Match': etag });
    expect([changed.status, changed.headers.get('etag') === etag]).toEqual([200, false]);
  });

  test('404 for a room of others as for one that there is not', async () => {
    const withoutId = async (id: number) => {
      const { status, body } = await sign.get(`/displays/${id}/snapshot`);
      return [status, body['detail'], body['Code']];
    };
    expect(await withoutId(room(1))).toEqual(await withoutId(2_000_000_000));
    expect((await withoutId(room(1)))[0]).toBe(404);
  });
});

describe('over SSE', () => {
  const sse = (token = sign.token) =>
    createClient({
      url: `${service.url}/school/graphql`,
      headers: { Authorization: `Bearer ${token}` },
      retryAttempts: 0,
    });

  test('a booking over REST is on the sign and on the board at once, and not with the next heartbeat', async () => {
    const streams = [
      follow(sse(), watchDisplay, { id: String(room()) }),
      follow(sse(), watchBoard, { id: String(service.tenant.locationId) }),
    ];
    // A heartbeat, which has no schedule, may come after any of them.
    const bookings = () => streams.map(({ frames }) => frames.findLast(({ schedule }) => schedule)?.schedule?.length);
    await until(() => !bookings().includes(undefined));
    const before = bookings()[0] ?? 0;
    const { status, body } = await admin.post('/bookings', newBooking(4));
    expect(status).toBe(201);
    await until(() => bookings().every((count) => count === before + 1));
    expect((await admin.send('DELETE', `/bookings/${body['Id']}`)).status).toBe(200);
    await until(() => bookings().every((count) => count === before));
    expect(streams.map(({ errors }) => errors)).toEqual([[], []]);
  });

  test('holidays close and open the rooms of a board at once, whatever becomes of their calendar', async () => {
    const { body: annex } = await admin.post('/locations', { Name: 'Annex', TimeZone: 'UTC' });
    await admin.post('/resources', { LocationId: annex['Id'], Name: 'R3' });
    const rules = `/opening-hours/locations/${annex['Id']}/rules`;
    const always = [{ Weekdays: [1, 2, 3, 4, 5, 6, 7], Opens: '00:00', Closes: '24:00' }];
    const set = await admin.send('PUT', rules, { body: { Items: always }, headers: { 'If-Match': '*' } });
    expect(set.status).toBe(200);
    const { frames } = follow(sse(admin.token), watchBoard, { id: String(annex['Id']) });
    const shown = () => frames.findLast(({ schedule }) => schedule)?.['status'];
    await until(() => shown() === 'FREE');

    const day = (days: number) =>
      new Date(Date.now() + days * 24 * hour).toISOString().slice(0, 10).replaceAll('-', '');
    const on = (from: string, to: string) => {
      const event = ['BEGIN:VEVENT', `DTSTART:${from}`, `DTEND:${to}`, 'SUMMARY:Fest', 'END:VEVENT'];
      return ['BEGIN:VCALENDAR', ...event, 'END:VCALENDAR'].join('\r\n');
    };
    const today = on(day(-1), day(3));
    // A time of day is no holiday.
    const none = on(`${day(1)}T100000Z`, `${day(1)}T110000Z`);
    const calendar = { Name: 'Feste', LocationId: annex['Id'], Ics: today };
    const { body: made } = await admin.post('/holiday-calendars', calendar);
    await until(() => shown() === 'CLOSED');
    const path = `/holiday-calendars/${made['Id']}`;
    const steps: [changes: object, status: string][] = [
      [{ Closes: false }, 'FREE'],
      [{ Closes: true }, 'CLOSED'],
      [{ LocationId: service.tenant.locationId }, 'FREE'],
      [{ LocationId: null }, 'CLOSED'],
      [{ Ics: none }, 'FREE'],
      [{ Ics: today }, 'CLOSED'],
    ];
    for (const [changes, status] of steps) {
      expect((await admin.patch(path, changes)).status).toBe(200);
      await until(() => shown() === status).catch(() => {});
      expect([changes, shown()]).toEqual([changes, status]);
    }
    expect((await admin.send('DELETE', path, { headers: { 'If-Match': '*' } })).status).toBe(204);
    await until(() => shown() === 'FREE');
  });

  test('who has the present cursor gets a heartbeat with it', async () => {
    const { body } = await sign.get(`/displays/${room()}/snapshot`);
    const stream = follow(sse(), watchDisplay, { id: String(room()), after: body['Cursor'] });
    await until(() => stream.frames.length === 1);
    expect(stream.frames[0]).toMatchObject({ __typename: 'DisplayHeartbeat', cursor: body['Cursor'] });
  });

  test('another room is not found, with the text of an unknown one', async () => {
    const streams = [room(1), 2_000_000_000].map((id) => follow(sse(), watchDisplay, { id: String(id) }));
    await until(() => streams.every(({ errors }) => errors.length === 1));
    const [theirs, nobodys] = streams.map(({ errors }) => errors[0]) as {
      message: string;
      extensions: Record<string, unknown>;
    }[];
    const nobodysCall = { traceId: nobodys?.extensions['traceId'] };
    expect({ ...theirs, extensions: { ...theirs?.extensions, ...nobodysCall } }).toEqual(nobodys);
  });

  test('the board is the query of it, frame by frame', async () => {
    const id = String(service.tenant.locationId);
    const { data } = await admin.ask(`query ($id: ID!) { board(locationId: $id) { cursor resource { name } } }`, {
      id,
    });
    const stream = follow(sse(admin.token), watchBoard, { id });
    await until(() => stream.frames.length === 3);
    const cursors = stream.frames.map(({ cursor }) => cursor);
    const board = data?.['board'] as { cursor: string; resource: { name: string } }[];
    expect(board.map(({ resource }) => resource.name)).toEqual(['R1', 'R2']);
    // Each at its own level of privacy.
    expect(new Set(cursors)).toEqual(new Set([...board.map(({ cursor }) => cursor), '']));
  });
});

test('/metrics counts what was read for displays', async () => {
  const text = await (await fetch(`${service.url}/metrics`)).text();
  const figures = Object.fromEntries(
    [...text.matchAll(/^roomgate_display_(\w+) (\d+)$/gm)].map(([, name, value]) => [name, Number(value)]),
  );
  expect(figures).toMatchObject({
    rooms_watched: expect.any(Number),
    reads_total: expect.any(Number),
    rooms_read_total: expect.any(Number),
  });
  expect(figures['rooms_read_total']).toBeGreaterThan(3);
});

describe('the last frame', () => {
  let graphql: GraphqlService;
  beforeAll(async () => {
    graphql = await startGraphql(service.databaseUrl);
  });
  afterAll(() => graphql.stop());

  test.each<[string, string, () => unknown]>([
    ['Expired', 'of a credential that has', () => {}],
    [
      'Revoked',
      'of a credential that no longer counts',
      () => {
        graphql.viewers.delete('sign');
        return sql`select pg_notify('roomgate', 'pin:1')`.execute(service.context.db);
      },
    ],
    // The service of this test is over then.
    ['Restarting', 'when the service stops', () => graphql.context.notifications.stop()],
  ])('is %s %s', async (reason, _when, end) => {
    const expiresAt = new Date(Date.now() + (reason === 'Expired' ? 1_000 : hour));
    graphql.admit('sign', service.tenant, { expiresAt });
    const stream = follow(graphql.sse('sign'), watchDisplay, { id: String(room()) });
    await until(() => stream.frames.length > 0);
    await end();
    await until(stream.isComplete);
    expect(stream.frames.at(-1)).toEqual({
      __typename: 'DisplayEnded',
      reason,
      retryAfterSeconds: reason === 'Restarting' ? 5 : null,
    });
    expect(stream.errors).toEqual([]);
  });
});
