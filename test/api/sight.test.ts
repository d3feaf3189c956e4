/** A resource that a policy hides from a person is unknown to that person: in every read, list, stream and refusal. */

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createClient } from 'graphql-sse';
import { sql } from 'kysely';
import { hashDisplayToken, makeDisplayToken } from '../../src/identity/service.ts';
import { mayChangeJob } from '../../src/lessons/sight.ts';
import { makeDisplay } from '../_util/factories.ts';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { until } from '../_util/process.ts';
import { type CallerName, told } from '../_util/rights.ts';
import { type Service, startService } from '../_util/service.ts';

type Tree = Record<string, unknown>;

let service: Service;
let admin: MasterData;
/** One person sees all rooms; the second room is hidden from the other. */
let member: MasterData;
let other: MasterData;
let otherId: number;
/** Of the group from which the second room is hidden; no policy hides a room from an Importer. */
let importer: MasterData;
/** Hangs at the second room. */
let sign: MasterData;
let open: number;
let hidden: number;
let openBooking: number;
let hiddenBooking: number;
let group: number;
let policy: number;
let batchId: string;
let calendarPath: string;

const day = 86_400_000;
const from = new Date(Math.ceil(Date.now() / day) * day + day);
const at = (hour: number) => new Date(from.getTime() + hour * 3_600_000).toISOString();
const window = `From=${at(0)}&To=${at(24)}`;
const idOf = ({ body }: { body: Tree }) => body['Id'] as number;
const itemsOf = ({ body }: { body: Tree }) => body['Items'] as Tree[];

const book = (who: MasterData, resourceId: number, hour: number, more: object = {}) =>
  who.post('/bookings', { ResourceId: resourceId, Subject: 'Exam', Start: at(hour), End: at(hour + 1), ...more });

type Ended = { ImportStatus: string; ErrorMessages: string | null };

/** A batch once it has ended. */
async function endOf(id: string, token: string): Promise<Ended> {
  const url = `${service.url}/school/api/v2.0/jobs/batches/${id}?WaitSeconds=25`;
  const answer = await fetch(url, { headers: { Authorization: `Bearer ${token}` } });
  const batch = (await answer.json()) as Ended;
  return batch.ImportStatus.startsWith('Awaiting') ? await endOf(id, token) : batch;
}

const lesson = (id: string, room: string, hour = 10) => ({
  LektionId: id,
  RessourceName: room,
  Beginn: at(hour),
  Ende: at(hour + 1),
});
async function sendJobs(token: string, path: string, jobs: object[]) {
  const answer = await fetch(`${service.url}/school/api/v2.0/jobs/${path}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(jobs),
  });
  return { status: answer.status, id: ((await answer.json()) as { BatchId: string }).BatchId };
}

/** A batch that writes nothing. */
const validate = (token: string, room = 'R001') =>
  sendJobs(token, 'create?ValidateOnly=true', [{ JobID: 'V', LektionList: [lesson('1', room, 18)] }]);

beforeAll(async () => {
  service = await startService();
  const { tenant } = service;
  await sql`update mandator set parameters = parameters || '{"UsersMayImport": true}'`.execute(service.context.db);
  admin = masterData(service, await service.signIn(tenant, 'Admin'));
  member = masterData(service, await service.signIn());
  const made = await admin.post('/persons', {
    Name: 'Other',
    Email: 'other@school.example',
    TimeZone: 'UTC',
    Role: 'User',
  });
  otherId = idOf(made);
  const person = { id: otherId, email: '', role: '', name: '' };
  importer = masterData(service, await service.signIn(tenant, 'Importer'));
  other = masterData(service, await service.signIn({ ...tenant, person: () => person }));
  [open, hidden] = tenant.resources.map(({ id }) => id) as [number, number];
  openBooking = idOf(await book(other, open, 8));
  hiddenBooking = idOf(await book(other, hidden, 8));
  const token = await other.post(`/resources/${hidden}/calendar-tokens`, {});
  calendarPath = String(token.body['Url']).replace(service.url, '');
  const sent = await sendJobs(admin.token, 'create', [
    { JobID: 'J', LektionList: [lesson('1', 'R001'), lesson('2', 'R002')] },
    { JobID: 'H', Bezeichnung: 'Secret', LektionList: [{ ...lesson('1', 'R002', 11), Klassen: ['1a'] }] },
    { JobID: 'O', LektionList: [{ ...lesson('1', 'R001', 12), Klassen: ['1a'] }] },
    { JobID: 'M', LektionList: [lesson('1', 'R002', 13)] },
  ]);
  batchId = sent.id;
  expect(await endOf(batchId, admin.token)).toMatchObject({ ImportStatus: 'LessonsCreated' });
  // Moved, so that it says where it was.
  const moved = await sendJobs(admin.token, 'update', [{ JobID: 'M', LektionList: [lesson('1', 'R001', 13)] }]);
  expect(await endOf(moved.id, admin.token)).toMatchObject({ ImportStatus: 'LessonsCreated' });
  group = idOf(await admin.post('/groups', { Name: 'Staff', AddMembers: [tenant.person('User').id] }));
  policy = idOf(await admin.post('/policies', { Name: 'Staff only', MaySee: [group] }));
  await admin.post('/groups', { Name: 'Guests', AddMembers: [tenant.person('Importer').id, otherId] });
  const displayToken = makeDisplayToken();
  const tokenHash = hashDisplayToken(service.context.config, displayToken);
  const device = await makeDisplay(service.context.db, tenant, { resourceIds: [hidden], tokenHash });
  sign = masterData(service, displayToken);
  await sql`
    insert into room_problem (mandator_id, resource_id, display_id, key, kind, reported_at)
    select ${tenant.mandatorId}, room, ${device.displayId}, room::text, 'Other', now()
    from unnest(${[open, hidden]}::int[]) as room`.execute(service.context.db);
  await admin.patch(`/resources/${hidden}`, { PolicyId: policy });
  await until(async () => (await other.get(`/resources/${hidden}`)).status === 404);
});
afterAll(() => service.stop());

/** The ids of the resources that an answer names, whatever its members are called. */
const named = (text: string) =>
  [open, hidden].filter((id) => new RegExp(`"resource_?id":"?(resource_)?${id}"?[,}]`, 'i').test(text));

const get = (path: string) => async (who: MasterData) => (await who.send('GET', path)).text;
const rest = (path: () => string) => (who: MasterData) => get(path())(who);
const graphql =
  (query: () => string) =>
  async (who: MasterData): Promise<string> =>
    JSON.stringify(await who.ask(query()));
const v2 = (path: string) => async (who: MasterData) =>
  (await fetchV2(who, path)).text.replaceAll('RessourceId', 'ResourceId');

/** The rooms for which something stands in a text, and the refusal. */
const instead = (text: string, ofOpen: string, ofHidden: string) =>
  `${text.includes(ofOpen) ? `"ResourceId":${open},` : ''}${text.includes(ofHidden) ? `"ResourceId":${hidden},` : ''}${
    /"FORBIDDEN"|"Code":"Forbidden"/.exec(text)?.[0] ?? ''
  }`;
const jobs = (text: string) => instead(text, '"O"', '"H"');
const calendar = (text: string) => instead(text, 'LOCATION:R001', 'LOCATION:R002');
const ofBatch = (text: string) => instead(text, batchId, batchId);
/** As text, whatever it is. */
const fetchText = async (who: MasterData, path: string) => {
  const headers = { Authorization: `Bearer ${who.token}` };
  return await (await fetch(`${service.url}/school/api/v1.0${path}`, { headers })).text();
};

function watch(who: MasterData, query: string) {
  const frames: Tree[] = [];
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const client = createClient({
    url: `${service.url}/school/graphql`,
    headers: { authorization: `Bearer ${who.token}` },
    retryAttempts: 0,
  });
  client.subscribe(
    { query },
    { next: (frame) => frames.push(frame as Tree), error: () => resolve(), complete: () => resolve() },
  );
  const text = () => JSON.stringify(frames);
  return { frames, ended, text, close: () => client.dispose() };
}

/** What a stream sends at first, and until the result of `act`, whose last words `act` returns. */
async function hear(who: MasterData, query: string, act?: () => Promise<string>): Promise<string> {
  const stream = watch(who, query);
  await until(() => stream.frames.length > 0);
  if (act && !stream.text().includes('"errors"')) {
    const last = await act();
    await until(() => stream.text().includes(last));
  }
  stream.close();
  return stream.text();
}

let changes = 0;
/** Gives a booking another subject, which begins alike. */
async function touch(id: number): Promise<string> {
  const Subject = `Exam ${++changes}.`;
  expect(await admin.patch(`/bookings/${id}`, { Subject })).toMatchObject({ status: 200 });
  return Subject;
}
const touchBoth = async () => {
  await touch(hiddenBooking);
  return await touch(openBooking);
};
const bookingFrames = (filter: string) => `subscription { bookings${filter} { bookings { resourceId subject } gone } }`;
const timetableFrames = (filter: string) => bookingFrames(filter).replace('bookings', 'bookings: timetable');

/** Of a booking that is moved to the hidden room: what a stream tells in `gone`. */
async function hearGone(who: MasterData, query: string): Promise<string> {
  const id = idOf(await book(admin, open, 22));
  const text = await hear(who, query, async () => {
    await admin.patch(`/bookings/${id}`, { ResourceId: hidden });
    return await touch(openBooking);
  });
  await admin.send('DELETE', `/bookings/${id}`, { headers: { 'If-Match': '*' } });
  return instead(text, openText, `"booking_${id}"`);
}
const openText = '"resourceId":';

/** What names resources, each in the text of an answer, by its row in docs/rights.md; behind a colon, what is asked. */
const readers: Record<string, (who: MasterData) => Promise<string>> = {
  'GET resources': async (who) => {
    const { body, text } = await who.get('/resources');
    return body['Items'] ? JSON.stringify(itemsOf({ body }).map(({ Id }) => ({ ResourceId: Id }))) : text;
  },
  'Query.resources': graphql(() => '{ resources { nodes { resourceId: id } } }'),
  'Query.resource': graphql(
    () => `{ a: resource(id: "${open}") { resourceId: id } b: resource(id: "${hidden}") { resourceId: id } }`,
  ),
  'GET bookings': rest(() => `/bookings?${window}`),
  'GET bookings: of a room': async (who) =>
    (await get(`/bookings?${window}&ResourceId=${open}`)(who)) +
    (await get(`/bookings?${window}&ResourceId=${hidden}`)(who)),
  'GET bookings: of several rooms, latest first': rest(
    () => `/bookings?${window}&ResourceId=${open}&ResourceId=${hidden}&Order=Descending`,
  ),
  'GET bookings: of a location': rest(() => `/bookings?${window}&LocationId=${service.tenant.locationId}`),
  'GET bookings: since': rest(() => `/bookings?${window}&ChangedAfter=2020-01-01T00:00:00Z`),
  'GET bookings: by their words': rest(() => `/bookings?${window}&Search=exam`),
  'Query.bookings': graphql(
    () => `{ bookings(filter: { from: "${at(0)}", to: "${at(24)}" }) { nodes { resourceId resource { id } } } }`,
  ),
  'Query.booking': graphql(
    () => `{ a: booking(id: "${openBooking}") { resourceId } b: booking(id: "${hiddenBooking}") { resourceId } }`,
  ),
  'Subscription.bookings': (who) => hear(who, bookingFrames('(filter: {})'), touchBoth),
  'gone of Subscription.bookings': (who) => hearGone(who, bookingFrames('(filter: {})')),
  'gone of Subscription.timetable': (who) => hearGone(who, timetableFrames(`(filter: { resourceId: "${open}" })`)),
  'GET availability': rest(() => `/availability?${window}`),
  'Query.availability': graphql(() => `{ availability(input: { from: "${at(0)}", to: "${at(24)}" }) { resourceId } }`),
  'GET availability/free': rest(() => `/availability/free?DurationMinutes=5`),
  'GET opening-hours/all/{locationId}': rest(() => `/opening-hours/all/${service.tenant.locationId}`),
  'GET changes': async (who) => {
    const { body, text } = await who.get('/changes?Limit=200');
    if (!body['Items']) return text;
    return JSON.stringify(
      itemsOf({ body }).map(({ Kind, Id, ResourceId }) => ({
        ResourceId: Kind === 'Resource' ? Number(Id) : ResourceId,
      })),
    );
  },
  'GET changes: of batches and displays': async (who) => {
    const { body, text } = await who.get('/changes?Limit=200');
    const own = await validate(other.token);
    await endOf(own.id, other.token);
    const { body: later } = await who.get(`/changes?Cursor=${body['NextCursor']}`);
    // Of its own batches everybody hears.
    expect([who === sign, JSON.stringify(later).includes(own.id)]).toEqual([who === sign, who !== sign]);
    if (!body['Items']) return text;
    // The only display hangs at the hidden room.
    const told = itemsOf({ body }).some(({ Kind, Id }) => Kind === 'Display' || Id === batchId);
    return `"ResourceId":${open},${told ? `"ResourceId":${hidden},` : ''}`;
  },
  'Query.changes': graphql(() => '{ changes(first: 200) { items { resourceId booking { resourceId } } } }'),
  'GET timetable': rest(() => `/timetable?${window}&Klasse=1a`),
  'Query.timetable': graphql(
    () => `{ timetable(filter: { class: "1a", from: "${at(0)}", to: "${at(24)}" }) { nodes { resourceId } } }`,
  ),
  'Subscription.timetable': (who) => hear(who, timetableFrames('(filter: { class: "1a" })'), touchBoth),
  'GET timetable/calendar.ics': async (who) => calendar(await fetchText(who, '/timetable/calendar.ics?Klasse=1a')),
  'GET resources/{id}/calendar.ics': async (who) => {
    const texts = await Promise.all([open, hidden].map((id) => fetchText(who, `/resources/${id}/calendar.ics`)));
    return calendar(texts.join(''));
  },
  'GET jobs': async (who) => jobs(await v2('jobs')(who)),
  'Query.lessonJobs': async (who) => jobs(await graphql(() => '{ lessonJobs { nodes { jobKey } } }')(who)),
  'GET lessons': v2('lessons'),
  'GET lessons: of a job': v2('lessons?JobID=J'),
  'Query.lessons': graphql(() => '{ lessons { nodes { resourceId resource { id } } } }'),
  'GET jobs/batches': async (who) => ofBatch(await v2('jobs/batches?ImportStatus=LessonsCreated')(who)),
  'Query.batches': async (who) =>
    ofBatch(await graphql(() => '{ batches(filter: { importStatus: [LessonsCreated] }) { nodes { id } } }')(who)),
  'Subscription.batches': async (who) => {
    const own = await validate(other.token);
    await endOf(own.id, other.token);
    const text = await hear(who, 'subscription { batches(states: [LessonsCreated]) { id } }', async () => {
      const { id } = await validate(other.token);
      return id;
    });
    expect([who === sign, text.includes(own.id)]).toEqual([who === sign, who !== sign]);
    return ofBatch(text);
  },
  'jobs of Query.batch': async (who) =>
    jobs(await graphql(() => `{ batch(id: "${batchId}") { jobs { nodes { jobKey } } } }`)(who)),
  'lessons of Query.batch': graphql(() => `{ batch(id: "${batchId}") { lessons { nodes { resourceId } } } }`),
  'GET room-problems': rest(() => '/room-problems'),
  'Query.roomProblems': graphql(() => '{ roomProblems { nodes { resourceId } } }'),
  'Subscription.roomProblems': (who) => hear(who, 'subscription { roomProblems { resourceId } }'),
  'GET displays/{resourceId}/snapshot': async (who) => {
    const asked = await Promise.all([open, hidden].map((id) => who.get(`/displays/${id}/snapshot`)));
    return asked.map(({ status }, at) => (status === 200 ? `"ResourceId":${[open, hidden][at]},` : '')).join('');
  },
};

async function fetchV2(who: MasterData, path: string) {
  const answer = await fetch(`${service.url}/school/api/v2.0/${path}`, {
    headers: { Authorization: `Bearer ${who.token}` },
  });
  return { status: answer.status, text: await answer.text() };
}

/** Those of docs/rights.md that differ in what they see. */
const callers = {
  Admin: () => admin,
  Importer: () => importer,
  'User of the staff': () => member,
  'other User': () => other,
  display: () => sign,
} satisfies Partial<Record<CallerName, () => MasterData>>;
const rowOf = (name: string) => told.find(({ names }) => names.includes(name.split(':')[0]!));

test('each row of docs/rights.md about what is told is read here', () => {
  const read = Object.keys(readers).map((name) => name.split(':')[0]!);
  expect([...new Set(read)].toSorted()).toEqual(told.flatMap(({ names }) => names).toSorted());
});

test.each(Object.keys(readers))('%s shows the hidden room to those whom docs/rights.md names', async (name) => {
  const found: Tree = {};
  for (const [caller, who] of Object.entries(callers)) {
    const text = await readers[name]!(who());
    const rooms = named(text);
    found[caller] = rooms.includes(hidden) ? 'yes' : /"FORBIDDEN"|"Code":"Forbidden"/.test(text) ? 'no' : 'unknown';
    // Who does not see it is answered nevertheless; a batch is of both rooms, and a display has one.
    const isWhole = found[caller] !== 'no' && caller !== 'display' && !/batch/i.test(name);
    if (isWhole) expect([caller, rooms]).toEqual([caller, expect.arrayContaining([open])]);
  }
  const cells: Tree = rowOf(name)!.cells;
  expect(found).toEqual(Object.fromEntries(Object.keys(callers).map((caller) => [caller, cells[caller]])));
});

test('a hidden record is unknown by its id', async () => {
  const nobody = 2_000_000_000;
  const same = async (path: (id: number) => string, id: number) => {
    const [asked, unknown] = await Promise.all([other.get(path(id)), other.get(path(nobody))]);
    const told = ({ status, body }: typeof asked) => [status, body['Code'], body['detail']];
    expect(told(asked).map((one) => String(one).replaceAll(String(id), ''))).toEqual(
      told(unknown).map((one) => String(one).replaceAll(String(nobody), '')),
    );
    expect((await member.get(path(id))).status).toBe(200);
  };
  await same((id) => `/resources/${id}`, hidden);
  await same((id) => `/resources/${id}/calendar-tokens`, hidden);
  await same((id) => `/bookings/${id}`, hiddenBooking);
  await same((id) => `/availability?${window}&ResourceIds=${id}`, hidden);
  expect((await fetchV2(other, `jobs/batches/${batchId}`)).status).toBe(404);
  expect((await fetchV2(member, `jobs/batches/${batchId}`)).status).toBe(200);
  expect((await other.get(`/policies/${policy}`)).status).toBe(404);
  expect(itemsOf(await other.get('/policies'))).toEqual([]);
});

test('a calendar address ends with the right of the person who made it', async () => {
  expect((await fetch(`${service.url}${calendarPath}`)).status).toBe(404);
});

describe('writing', () => {
  test('a hidden room is unknown for a booking, and for the move of one', async () => {
    const refused = { status: 422, body: { Errors: [{ Code: 'UnknownResource' }] } };
    expect(await book(other, hidden, 14)).toMatchObject(refused);
    const moved = await other.patch(`/bookings/${openBooking}`, { ResourceId: hidden });
    expect(moved).toMatchObject(refused);
    expect((await book(member, hidden, 14)).status).toBe(201);
  });

  test('one’s own booking in a room that is hidden now is unknown', async () => {
    for (const path of [`/bookings/${hiddenBooking}/check-in`, `/bookings/${hiddenBooking}/release`])
      expect((await other.post(path, {})).status).toBe(404);
    expect((await other.send('DELETE', `/bookings/${hiddenBooking}`)).status).toBe(404);
    expect((await other.patch(`/bookings/${hiddenBooking}`, { Subject: 'New' })).status).toBe(404);
  });

  test('a request that is repeated tells nothing of its booking once that is in a hidden room', async () => {
    const wanted = { ResourceId: open, Subject: 'Exam', Start: at(16), End: at(17) };
    const send = () => other.send('POST', '/bookings', { body: wanted, headers: { 'Idempotency-Key': 'moved' } });
    const id = idOf(await send());
    expect(await admin.patch(`/bookings/${id}`, { ResourceId: hidden })).toMatchObject({ status: 200 });
    const repeated = await send();
    expect(repeated).toMatchObject({ status: 409, body: { Code: 'Conflict' } });
    expect(repeated.text).not.toContain('Exam');
    const input = { resourceId: `${open}`, subject: 'Exam', start: at(16), end: at(17), idempotencyKey: 'moved' };
    const query = 'mutation ($input: CreateBookingInput!) { createBooking(input: $input) { __typename } }';
    expect(await other.ask(query, { input })).toMatchObject({
      data: { createBooking: { __typename: 'ConflictProblem' } },
    });
  });

  test('alternatives name no hidden room', async () => {
    const alternatives = async (who: MasterData) =>
      ((await book(who, open, 8)).body['Alternatives'] as { ResourceId: number }[]).map(({ ResourceId }) => ResourceId);
    await sql`delete from booking where resource_id = ${hidden} and kind = 'Booking' and id <> ${hiddenBooking}`.execute(
      service.context.db,
    );
    await sql`update booking set status = 'Cancelled' where id = ${hiddenBooking}`.execute(service.context.db);
    expect(await alternatives(member)).toContain(hidden);
    expect(await alternatives(other)).not.toContain(hidden);
  });

  test('lessons of a User find no hidden room; those of an Importer find all', async () => {
    const validated = async ({ token }: MasterData) => {
      const { id } = await validate(token, 'R002');
      return (await endOf(id, token)).ImportStatus;
    };
    expect(await validated(other)).toBe('LessonsImportFailed');
    expect(await validated(member)).toBe('LessonsCreated');
    expect(await validated(importer)).toBe('LessonsCreated');
  });
});

describe('lesson jobs', () => {
  const jobsOf = async (who: MasterData) => {
    const { Items } = JSON.parse((await fetchV2(who, 'jobs')).text) as { Items: Tree[] };
    return Items.map(({ JobID, LessonCount }) => `${JobID}${LessonCount}`).toSorted();
  };

  test('are unknown with all of their lessons, and count those that are seen', async () => {
    expect(await jobsOf(member)).toEqual(['H1', 'J2', 'M1', 'O1']);
    expect(await jobsOf(other)).toEqual(['J1', 'M1', 'O1']);
    expect((await fetchV2(other, 'jobs?JobID=H')).text).not.toContain('Secret');
    const query = `{
      lessonJobs { nodes { jobKey lessonCount } } lessonJob(jobKey: "H") { designation } node(id: "lessonJob_H") { id }
      nodes(ids: ["lessonJob_H"]) { id } batches(filter: { importStatus: [LessonsCreated] }) { nodes { jobs { nodes { jobKey } } } }
    }`;
    const asked = await other.ask(query);
    expect(asked).toMatchObject({ data: { lessonJob: null, node: null, nodes: [null] } });
    for (const batch of (asked.data!['batches'] as { nodes: object[] }).nodes)
      expect(batch).toEqual({ jobs: { nodes: [] } });
    expect(asked.data!['lessonJobs']).toEqual({
      nodes: ['M', 'O', 'J'].map((jobKey) => ({ jobKey, lessonCount: 1 })),
    });
    expect(await member.ask(query)).toMatchObject({ data: { lessonJob: { designation: 'Secret' } } });
  });

  test('of its own batch a User reads the jobs and lessons in rooms that it sees', async () => {
    const own = await sendJobs(other.token, 'create', [
      { JobID: 'P', LektionList: [lesson('1', 'R001', 17), lesson('2', 'R001', 18)] },
      { JobID: 'Q', LektionList: [lesson('1', 'R001', 19)] },
    ]);
    expect(await endOf(own.id, other.token)).toMatchObject({ ImportStatus: 'LessonsCreated' });
    const asked = `{ batch(id: "${own.id}") {
      jobs { nodes { jobKey lessonCount } } lessons { nodes { jobKey lessonKey } } } }`;
    const read = async (who: MasterData) => {
      const { jobs: ofJobs, lessons } = (await who.ask(asked)).data!['batch'] as Record<string, { nodes: Tree[] }>;
      return [
        ofJobs!.nodes.map(({ jobKey, lessonCount }) => `${jobKey} ${lessonCount}`),
        lessons!.nodes.map(({ jobKey, lessonKey }) => `${jobKey} ${lessonKey}`),
      ];
    };
    expect(await read(other)).toEqual([
      ['Q 1', 'P 2'],
      ['P 1', 'P 2', 'Q 1'],
    ]);
    const moved = await sendJobs(admin.token, 'update', [
      { JobID: 'P', LektionList: [lesson('2', 'R002', 18)] },
      { JobID: 'Q', LektionList: [lesson('1', 'R002', 19)] },
    ]);
    await endOf(moved.id, admin.token);
    expect(await read(other)).toEqual([['P 1'], ['P 1']]);
    for (const who of [admin, importer])
      expect(await read(who)).toEqual([
        ['Q 1', 'P 2'],
        ['P 1', 'P 2', 'Q 1'],
      ]);
    const deleted = await sendJobs(admin.token, 'delete', [{ JobID: 'P' }, { JobID: 'Q' }]);
    expect(await endOf(deleted.id, admin.token)).toMatchObject({ ImportStatus: 'LessonsCreated' });
  });

  test('the check of what a batch may change reads no jobs for a viewer of all rooms, and hidden rooms once for others', async () => {
    const { db, tenant } = { db: service.context.db, tenant: service.tenant };
    const explain = async (createdBy: number) => {
      const sender = { mandatorId: tenant.mandatorId, createdBy };
      const { rows } = await sql<{ 'QUERY PLAN': string }>`
        explain (analyze, costs off, timing off) select from lesson_job as stored
        where stored.mandator_id = ${tenant.mandatorId} and ${mayChangeJob(sender)}`.execute(db);
      const scans = rows.map((row) => row['QUERY PLAN']).filter((line) => /Scan.* on /.test(line));
      const of = (table: string) => scans.filter((line) => new RegExp(` on ${table}\\b`).test(line));
      return { lessons: of('lesson'), persons: of('person'), policies: of('policy') };
    };
    const ofAdmin = await explain(tenant.person('Admin').id);
    expect(ofAdmin.lessons.length).toBeGreaterThan(0);
    for (const line of [...ofAdmin.lessons, ...ofAdmin.policies]) expect(line).toContain('(never executed)');
    const ofOther = await explain(otherId);
    expect(ofOther.lessons.some((line) => !line.includes('(never executed)'))).toBe(true);
    for (const line of [...ofAdmin.persons, ...ofOther.persons]) expect(line).toMatch(/loops=1\)|\(never executed\)/);
  });

  test('a lesson that came from a hidden room does not name it', async () => {
    const origins = async (who: MasterData) => [
      (JSON.parse((await fetchV2(who, 'lessons?JobID=M')).text) as { Items: Tree[] }).Items[0]!['Ursprung'],
      itemsOf(await who.get(`/bookings?From=${at(13)}&To=${at(14)}`)).map(
        ({ Lektion }) => (Lektion as Tree)['Ursprung'],
      )[0],
    ];
    const [first, second] = await origins(member);
    expect([first, second]).toEqual([expect.objectContaining({ RessourceName: 'R002' }), first]);
    expect(await origins(other)).toEqual([null, null]);
  });

  test('of coupled lessons one that came from a hidden room has not moved', async () => {
    const run = async (path: string, ...jobs: object[]) => {
      const { id } = await sendJobs(admin.token, path, jobs);
      expect(await endOf(id, admin.token)).toMatchObject({ ImportStatus: 'LessonsCreated' });
    };
    const job = (JobID: string, room: string) => ({
      JobID,
      LektionList: [{ ...lesson('1', room, 17), KopplungId: 'K', Fach: 'Choir' }],
    });
    await run('create', job('K-1', 'R001'), job('K-2', 'R002'));
    await run('update', job('K-2', 'R001'));
    const summaryFor = async (who: MasterData) =>
      /SUMMARY:(.*Choir)/.exec(await fetchText(who, `/resources/${open}/calendar.ics`))?.[1];
    expect([await summaryFor(member), await summaryFor(other)]).toEqual(['Verlegt: Choir', 'Choir']);
    await run('delete', { JobID: 'K-1' }, { JobID: 'K-2' });
  });

  const unseen = { H: 'Unknown JobId: H', J: 'Unknown JobId: J has lessons in rooms that you do not see' };
  const taken = 'is taken by a job that you do not see';
  const whole = (hour: number) => ({ ReplaceLektionList: true, LektionList: [lesson('1', 'R001', hour)] });
  const refusals: [path: string, field: string, options: object, job: { JobID: 'H' | 'J' } & Tree, told?: string][] = [
    ['update', 'updateLessonJobs', {}, { JobID: 'H', Bezeichnung: 'Mine' }],
    ['update', 'updateLessonJobs', {}, { JobID: 'J', LektionList: [{ LektionId: '1', Titel: 'Mine' }] }],
    ['update', 'updateLessonJobs', {}, { JobID: 'J', ...whole(15) }],
    ['update?OnConflict=Skip', 'updateLessonJobs', { onConflict: 'Skip' }, { JobID: 'H', Bezeichnung: 'Mine' }],
    ['update?CreateMissing=true', 'updateLessonJobs', { createMissing: true }, { JobID: 'H', ...whole(15) }, taken],
    ['update?CreateMissing=true', 'updateLessonJobs', { createMissing: true }, { JobID: 'J', ...whole(10) }, taken],
    ['delete', 'deleteLessonJobs', {}, { JobID: 'H' }],
    ['delete', 'deleteLessonJobs', {}, { JobID: 'J' }],
    ['delete', 'deleteLessonJobs', {}, { JobID: 'J', LektionList: [{ LektionId: '2' }] }],
    ['create', 'createLessonJobs', {}, { JobID: 'H', LektionList: [lesson('1', 'R001', 15)] }, taken],
    ['create', 'createLessonJobs', {}, { JobID: 'J', LektionList: [lesson('1', 'R001')] }, taken],
  ];
  /** A job in the words of GraphQL. */
  const words: Record<string, string> = {
    JobID: 'jobKey',
    LektionList: 'lessons',
    ReplaceLektionList: 'replaceLessons',
    Bezeichnung: 'designation',
    LektionId: 'lessonKey',
    RessourceName: 'resourceName',
    Beginn: 'start',
    Ende: 'end',
    Titel: 'title',
  };
  const translate = (sent: unknown): unknown => {
    if (Array.isArray(sent)) return sent.map(translate);
    if (sent === null || typeof sent !== 'object') return sent;
    return Object.fromEntries(Object.entries(sent).map(([name, value]) => [words[name], translate(value)]));
  };
  const inputs: Record<string, string> = {
    createLessonJobs: 'LessonJobInput',
    updateLessonJobs: 'LessonJobChangeInput',
    deleteLessonJobs: 'LessonJobDeletionInput',
  };
  const submit = async (who: MasterData, field: string, jobs: object[], options: object) =>
    (
      await who.ask(
        `mutation ($jobs: [${inputs[field]}!]!, $options: BatchOptions) { ${field}(jobs: $jobs, options: $options) {
          __typename ... on BatchAccepted { batch { batchId: id } } } }`,
        { jobs: translate(jobs), options },
      )
    ).data![field] as { __typename: string; batch?: { batchId: string } };

  test.each(
    refusals.map(([path, field, options, job, told = unseen[job.JobID]]) => [path, job, field, options, told] as const),
  )('%s of %j changes nothing of which the sender does not see all', async (path, job, field, options, told) => {
    const stored = async () =>
      (await Promise.all(['jobs', 'lessons'].map((list) => fetchV2(admin, list)))).map(({ text }) => text);
    const before = await stored();
    const expected = {
      ImportStatus: 'LessonsImportFailed',
      ErrorCount: 1,
      ErrorMessages: expect.stringContaining(told),
    };
    const { id } = await sendJobs(other.token, path, [job]);
    expect(await endOf(id, other.token)).toMatchObject(expected);
    const { batch } = await submit(other, field, [job], options);
    expect(await endOf(batch!.batchId, other.token)).toMatchObject(expected);
    expect(await stored()).toEqual(before);
  });

  test('nobody displaces bookings that are hidden from them', async () => {
    const job = { JobID: 'D', LektionList: [lesson('1', 'R002', 11)] };
    for (const who of [other, member]) {
      expect((await sendJobs(who.token, 'create?OnConflict=Displace', [job])).status).toBe(403);
      const asked = await submit(who, 'createLessonJobs', [job], { onConflict: 'Displace' });
      expect(asked.__typename).toBe('ForbiddenProblem');
    }
    const { id } = await sendJobs(other.token, 'create?OnConflict=Skip', [job]);
    const { ErrorMessages } = await endOf(id, other.token);
    expect(ErrorMessages).toContain('Unknown resource: R002');
  });

  test('without lessons stay with their senders', async () => {
    const made = await sendJobs(other.token, 'create', [{ JobID: 'E', LektionList: [lesson('1', 'R001', 16)] }]);
    await endOf(made.id, other.token);
    for (const JobID of ['E', 'H']) {
      const emptied = await sendJobs(admin.token, 'delete', [{ JobID, LektionList: [{ LektionId: '1' }] }]);
      await endOf(emptied.id, admin.token);
    }
    expect(await jobsOf(other)).toEqual(['E0', 'J1', 'M1', 'O1']);
    const refused = await sendJobs(other.token, 'delete', [{ JobID: 'H' }]);
    expect(await endOf(refused.id, other.token)).toMatchObject({ ErrorMessages: expect.stringContaining(unseen.H) });
    const { id } = await sendJobs(other.token, 'delete', [{ JobID: 'E' }, { JobID: 'O' }]);
    expect(await endOf(id, other.token)).toMatchObject({ ImportStatus: 'LessonsCreated' });
  });

  test('in hidden rooms are neither disclosed nor deleted by timetable files that no longer list them', async () => {
    const Quelle = 'csv T1';
    const jobs = [
      { JobID: 'S-hidden', Quelle, LektionList: [lesson('1', 'R002', 1)] },
      { JobID: 'S-mixed', Quelle, LektionList: [lesson('1', 'R001', 1), lesson('2', 'R002', 2)] },
      { JobID: 'S-open', Quelle, LektionList: [lesson('1', 'R001', 2)] },
    ];
    await endOf((await sendJobs(admin.token, 'create', jobs)).id, admin.token);
    const date = at(0).slice(0, 10);
    const Content = Buffer.from(`Raum;Datum;Beginn;Ende;Fach\nR001;${date};03:00;03:45;Ma\n`).toString('base64');
    const send = async (query: string, more: object) => {
      const answer = await fetch(`${service.url}/school/api/v2.0/timetables${query}`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${other.token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({
          Files: [{ Name: 'a.csv', Content }],
          Source: 'csv',
          TimeZone: 'UTC',
          Standort: 'Campus',
          ...more,
          Term: { Name: 'T1', From: date, To: date },
        }),
      });
      return await endOf(((await answer.json()) as { BatchId: string }).BatchId, other.token);
    };
    // The lesson that he sees is all that he is told of.
    expect(await send('', {})).toMatchObject({ ErrorMessages: expect.stringContaining('1 of the 1 stored lessons') });
    expect(await send('?ValidateOnly=true', {})).toMatchObject({
      Difference: { Removed: 1, Lessons: [{ JobID: 'S-open' }, { Kind: 'Added' }] },
    });
    expect(await send('', { AllowRemoval: true })).toMatchObject({ ImportStatus: 'LessonsCreated' });
    const { rows } = await sql<{ job_id: string; lessons: number }>`
      select job_id, (select count(*)::int from lesson where lesson.job = job.id) as lessons
      from lesson_job as job where quelle = ${Quelle} and job_id like 'S-%' order by 1`.execute(service.context.db);
    expect(rows).toEqual([
      { job_id: 'S-hidden', lessons: 1 },
      { job_id: 'S-mixed', lessons: 2 },
    ]);
  });
});

describe('open streams', () => {
  test('a booking that is moved to a hidden room is gone, and one that comes from there is reported', async () => {
    const id = idOf(await book(admin, open, 21, { Subject: 'Moving' }));
    const query = (more: string) => `subscription {
      bookings(filter: {${more}}) { bookings { id resourceId subject } gone } }`;
    const all = watch(other, query(''));
    const ofRoom = watch(other, query(`resourceId: ["${open}"]`));
    const timetable = watch(
      other,
      `subscription { bookings: timetable(filter: { resourceId: "${open}" }) { bookings { id } gone } }`,
    );
    const insider = watch(member, query(''));
    const streams = [all, ofRoom, timetable, insider];
    await until(() => streams.every(({ frames }) => frames.length > 0));
    const text = ({ frames }: { frames: Tree[] }) => JSON.stringify(frames);
    await admin.patch(`/bookings/${id}`, { ResourceId: hidden, Subject: 'Secret' });
    await until(() => streams.slice(0, 3).every((stream) => text(stream).includes(`"gone":["booking_${id}"]`)));
    await until(() => text(insider).includes('Secret'));
    await admin.patch(`/bookings/${id}`, { Subject: 'Secret too' });
    await until(() => text(insider).includes('Secret too'));
    await admin.patch(`/bookings/${id}`, { ResourceId: open, Subject: 'Back' });
    await until(() => [all, ofRoom, insider].every((stream) => text(stream).includes('Back')));
    for (const stream of streams.slice(0, 3)) {
      expect(text(stream)).not.toContain('Secret');
      expect(text(stream).match(/"gone":\["/g)).toHaveLength(1);
    }
    expect(text(insider)).not.toContain('"gone":["');
    for (const { close } of streams) close();
  });

  const losses: Record<string, () => Promise<unknown>> = {
    'a person leaves the group': () =>
      admin.patch(`/groups/${group}`, { RemoveMembers: [service.tenant.person('User').id] }),
    'the policy names another group': async () => {
      const empty = idOf(await admin.post('/groups', { Name: 'Nobody' }));
      return await admin.patch(`/policies/${policy}`, { MaySee: [empty] });
    },
    'another room gets the policy': () => admin.patch(`/resources/${open}`, { PolicyId: policy }),
  };
  test.each(Object.keys(losses))('end when %s', async (name) => {
    await admin.patch(`/groups/${group}`, { AddMembers: [service.tenant.person('User').id] });
    await admin.patch(`/policies/${policy}`, { MaySee: [group] });
    await admin.patch(`/resources/${open}`, { PolicyId: null });
    const who = name.startsWith('another') ? other : member;
    await until(async () => (await who.get(`/resources/${open}`)).status === 200);
    await until(async () => (await member.get(`/resources/${hidden}`)).status === 200);
    const { frames, ended } = watch(
      who,
      `subscription { display(resourceId: "${who === member ? hidden : open}") { __typename } }`,
    );
    await until(() => frames.length > 0);
    await losses[name]!();
    await ended;
    expect(JSON.stringify(frames.at(-1))).toMatch(/DisplayEnded|UNAVAILABLE/);
  });
});
