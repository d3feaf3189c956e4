import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { makeTenant } from '../_util/factories.ts';
import { type LessonClient, lessonClient, makeJobs } from '../_util/lessons.ts';
import { type Service, startService } from '../_util/service.ts';

const rooms = ['R001', 'R002', 'Aula Ü1'];
let service: Service;
let user: LessonClient;
let admin: LessonClient;

beforeAll(async () => {
  service = await startService({}, [...rooms, 'R003']);
  user = lessonClient(service, await service.signIn());
  admin = lessonClient(service, await service.signIn(service.tenant, 'Admin'));
});
afterAll(() => service.stop());

const lesson = (LektionId: string, RessourceName: string, Beginn: string, Ende: string, more: object = {}) => ({
  LektionId,
  RessourceName,
  Beginn,
  Ende,
  ...more,
});

async function imported(client: LessonClient, jobs: unknown): Promise<string> {
  const batch = await client.importJobs(jobs);
  expect([batch.ImportStatus, batch.ErrorMessages]).toEqual(['LessonsCreated', null]);
  return batch.BatchId;
}

/** A cursor as ours look. */
const madeUp = (key: string) => Buffer.from(`r1:lessons:${key}`).toString('base64url');

type List = { Items: Record<string, unknown>[]; NextCursor: string | null };
const idsOf = ({ Items }: List) => Items.map((item) => item['LektionId'] ?? item['JobID']);

/** Every page of a list, from the first to the last. */
async function pages(read: (paging: string) => Promise<List>, limit: number): Promise<List[]> {
  const found = [await read(`Limit=${limit}`)];
  for (let last = found[0]; last?.NextCursor; last = found.at(-1))
    found.push(await read(`Limit=${limit}&Cursor=${last.NextCursor}`));
  return found;
}

/** Another person who is no Admin. */
async function otherUser(email = 'other@school.example'): Promise<LessonClient> {
  const { tenant } = service;
  const other = await service.context.db
    .insertInto('person')
    .values({
      mandator_id: tenant.mandatorId,
      name: 'Other',
      email,
      time_zone: 'UTC',
      role: 'User',
    })
    .returning(['id', 'email', 'role', 'name'])
    .executeTakeFirstOrThrow();
  return lessonClient(service, await service.signIn({ ...tenant, person: () => other }));
}

describe('GET …/jobs', () => {
  let batchId: string;
  beforeAll(async () => {
    const at = (hour: number) => ['R001', `2031-01-06T${hour}:00:00Z`, `2031-01-06T${hour}:45:00Z`] as const;
    batchId = await imported(user, [
      {
        JobID: 'job-1',
        Bezeichnung: 'Mathematik',
        Quelle: 'Plan',
        Standort: 'Campus',
        Bemerkung: 'B',
        LektionList: [lesson('1', ...at(10)), lesson('2', ...at(11))],
      },
      { JobID: 'job-2', LektionList: [lesson('1', ...at(12))] },
      { JobID: 'job-3', LektionList: [lesson('1', ...at(13))] },
    ]);
  });

  test('200: a job with its values, without its lessons', async () => {
    const sender = service.tenant.person('User');
    const { Items, NextCursor } = await user.get<List>('?JobID=job-1');
    expect([Items.length, NextCursor]).toEqual([1, null]);
    expect(Items[0]).toEqual({
      JobID: 'job-1',
      Bezeichnung: 'Mathematik',
      Quelle: 'Plan',
      Standort: 'Campus',
      Bemerkung: 'B',
      LessonCount: 2,
      BatchId: batchId,
      CreatedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      ChangedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      CreatedBy: { PersonId: sender.id, DisplayName: sender.name },
    });
  });

  test('200: newest first, page by page; what comes in between does not move the pages', async () => {
    const first = await user.get<List>('?Limit=2');
    expect(idsOf(first)).toEqual(['job-3', 'job-2']);
    await imported(user, [
      { JobID: 'job-4', LektionList: [lesson('1', 'R002', '2031-01-06T10:00:00Z', '2031-01-06T10:45:00Z')] },
    ]);
    const second = await user.get<List>(`?Limit=2&Cursor=${first.NextCursor}`);
    expect([idsOf(second), second.NextCursor]).toEqual([['job-1'], null]);
    expect(idsOf(await user.get<List>('?Limit=1'))).toEqual(['job-4']);
  });

  test('200: an unknown JobID gives an empty list', async () => {
    expect(await user.get('?JobID=unknown')).toEqual({ Items: [], NextCursor: null });
  });

  test('400: the cursor of another list', async () => {
    const { NextCursor } = await user.lessons('Limit=1');
    expect((await user.call(`?Cursor=${NextCursor}`)).status).toBe(400);
    const jobs = await user.get<List>('?Limit=1');
    expect((await user.call(`/batches?Cursor=${jobs.NextCursor}`)).status).toBe(400);
    expect((await user.call(`/batches/${batchId}/errors?Cursor=${jobs.NextCursor}`)).status).toBe(400);
  });

  test('403: a display; 404: of another tenant', async () => {
    const display = lessonClient(service, await service.signIn(service.tenant, 'Display'));
    expect((await display.call('')).status).toBe(403);
    const stranger = await makeTenant(service.context.db, { code: 'stranger' });
    const token = await service.signIn(stranger);
    expect((await lessonClient(service, token).call('')).status).toBe(404);
    const own = lessonClient({ url: service.url, tenant: stranger }, token);
    expect([(await own.get<List>('')).Items, (await own.lessons()).Items]).toEqual([[], []]);
  });
});

describe('GET …/lessons', () => {
  test('200: a lesson with its values', async () => {
    await imported(user, [
      {
        JobID: 'values',
        LektionList: [
          lesson('L-1', ' aula ü1 ', '2032-01-05T08:00:00+01:00', '2032-01-05T08:45:00+01:00', {
            Titel: 'T',
            Fach: 'F',
            Bemerkung: 'B',
            Klassen: ['1a', '1b'],
            Lehrpersonen: ['N. N.'],
            KopplungId: 'K',
            Status: 'Vertretung',
          }),
          lesson('L-2', 'R001', '2032-01-05T09:00:00Z', '2032-01-05T09:45:00Z'),
        ],
      },
    ]);
    const { Items } = await user.lessons('JobID=values');
    const booking = expect.any(Number);
    expect(Items).toEqual([
      {
        LektionId: 'L-1',
        JobID: 'values',
        Beginn: '2032-01-05T07:00:00.000Z',
        Ende: '2032-01-05T07:45:00.000Z',
        RessourceName: 'Aula Ü1',
        RessourceId: service.tenant.resources[2]?.id,
        Titel: 'T',
        Fach: 'F',
        Bemerkung: 'B',
        Klassen: ['1a', '1b'],
        Lehrpersonen: ['N. N.'],
        Status: 'Vertretung',
        KopplungId: 'K',
        Privat: false,
        BookingId: booking,
        Ursprung: null,
      },
      {
        LektionId: 'L-2',
        JobID: 'values',
        Beginn: '2032-01-05T09:00:00.000Z',
        Ende: '2032-01-05T09:45:00.000Z',
        RessourceName: 'R001',
        RessourceId: service.tenant.resources[0]?.id,
        Titel: null,
        Fach: null,
        Bemerkung: null,
        Klassen: null,
        Lehrpersonen: null,
        Status: 'Geplant',
        KopplungId: null,
        Privat: false,
        BookingId: booking,
        Ursprung: null,
      },
    ]);
  });

  test('camel: every property in camel case', async () => {
    const answer = await user.call('/../lessons?JobID=values&limit=1', {
      headers: { 'X-JsonPropertyFormat': 'camel' },
    });
    const { items } = (await answer.json()) as { items: object[] };
    expect(Object.keys(items[0] ?? {})).toContain('lehrpersonen');
    expect(items[0]).toMatchObject({ lektionId: 'L-1', jobID: 'values', ressourceName: 'Aula Ü1' });
  });

  test('Changed: what is cancelled, substituted or has moved, by where it is and by where it was', async () => {
    const at = (id: string, room: string, day: number, more: object = {}) =>
      lesson(id, room, `2032-03-0${day}T08:00:00Z`, `2032-03-0${day}T09:00:00Z`, { Klassen: ['9z'], ...more });
    const before = [at('off', 'R001', 1), at('sub', 'R002', 1), at('away', 'R003', 1), at('same', 'Aula Ü1', 1)];
    const secret = { JobID: 'secret', LektionList: [at('hid', 'R001', 3, { Privat: true })] };
    await imported(admin, [{ JobID: 'change', LektionList: before }, secret]);
    const changes = [
      { LektionId: 'off', Status: 'Entfaellt' },
      { LektionId: 'sub', Status: 'Vertretung', Lehrpersonen: ['Noether'] },
      at('away', 'R001', 2),
    ];
    const hid = {
      JobID: 'secret',
      LektionList: [at('hid', 'R002', 1, { Status: 'Vertretung' })].map((l) => ({
        ...l,
        Beginn: '2032-03-01T10:00:00Z',
        Ende: '2032-03-01T11:00:00Z',
      })),
    };
    const { ImportStatus, ErrorMessages } = await admin.importJobs(
      [{ JobID: 'change', LektionList: changes }, hid],
      'update',
    );
    expect([ImportStatus, ErrorMessages]).toEqual(['LessonsCreated', null]);
    const on = (client: LessonClient, day: number, more = '') =>
      client.lessons(`Changed=true&From=2032-03-0${day}T00:00:00Z&To=2032-03-0${day + 1}T00:00:00Z${more}`).then(idsOf);
    expect(await on(user, 1)).toEqual(['off', 'sub', 'away']);
    expect(await on(admin, 1)).toEqual(['off', 'sub', 'hid', 'away']);
    expect(await on(user, 2)).toEqual(['away']);
    expect(await on(admin, 3)).toEqual(['hid']);
    expect(await on(user, 1, '&Klasse=9Z')).toEqual(['off', 'sub']);
    expect(await on(user, 1, '&JobID=change&Status=Vertretung')).toEqual(['sub']);
    expect(await on(user, 1, '&RessourceName=R001')).toEqual(['off', 'away']);
    const paged = await pages(
      (paging) =>
        user.lessons(`Changed=true&From=2032-03-01T00:00:00Z&To=2032-03-02T00:00:00Z&Order=Descending&${paging}`),
      1,
    );
    expect(paged.flatMap(idsOf)).toEqual(['away', 'sub', 'off']);
  });

  test('Changed: a lesson that is again as it was created is not changed', async () => {
    const planned = [
      lesson('room', 'R001', '2032-04-01T08:00:00Z', '2032-04-01T09:00:00Z'),
      lesson('teacher', 'R002', '2032-04-01T08:00:00Z', '2032-04-01T09:00:00Z', { Lehrpersonen: ['Gauß'], Fach: 'M' }),
      lesson('time', 'R003', '2032-04-01T08:00:00Z', '2032-04-01T09:00:00Z'),
    ];
    await imported(admin, [{ JobID: 'back', LektionList: planned }]);
    const changed = () =>
      user.lessons('JobID=back&Changed=true&From=2032-04-01T00:00:00Z&To=2032-04-02T00:00:00Z').then(idsOf);
    const update = async (LektionList: object[]) => {
      const { ErrorMessages } = await admin.importJobs([{ JobID: 'back', LektionList }], 'update');
      expect(ErrorMessages).toBeNull();
    };
    await update([
      { LektionId: 'room', RessourceName: 'Aula Ü1' },
      { LektionId: 'teacher', Lehrpersonen: ['Noether'], Status: 'Vertretung' },
      { LektionId: 'time', Ende: '2032-04-01T09:30:00Z' },
    ]);
    expect(await changed()).toEqual(['room', 'teacher', 'time']);
    await update([...planned.slice(0, 1), { ...planned[1], Status: 'Geplant' }]);
    expect(await changed()).toEqual(['time']);
    await update([{ ...planned[1], Lehrpersonen: null }, planned[2] as object]);
    expect(await changed()).toEqual(['teacher']);
  });

  describe('From and To', () => {
    beforeAll(async () => {
      await imported(user, [
        {
          JobID: 'span',
          LektionList: [
            lesson('day', 'R001', '2033-01-03T08:30:00Z', '2033-01-04T08:30:00Z'),
            lesson('hour', 'R002', '2033-01-04T08:00:00Z', '2033-01-04T09:00:00Z'),
          ],
        },
      ]);
    });

    test.each([
      ['end and begin with them', '2033-01-04T08:00:00Z', '2033-01-04T09:00:00Z', ['day', 'hour']],
      ['began nearly a day before', '2033-01-04T08:29:59Z', '2033-01-04T08:30:00Z', ['day', 'hour']],
      ['ended at From: not those', '2033-01-04T08:30:00Z', '2033-01-05T00:00:00Z', ['hour']],
      ['begin at To: not those', '2033-01-03T00:00:00Z', '2033-01-04T08:00:00Z', ['day']],
      ['an offset', '2033-01-04T10:30:00%2B02:00', '2033-01-04T11:00:00%2B02:00', ['hour']],
      ['nothing', '2033-01-04T09:00:00Z', '2033-01-05T09:00:00Z', []],
    ])('200: lessons that overlap them: %s', async (_name, from, to, ids) => {
      const span = `From=${from}&To=${to}`;
      expect(idsOf(await user.lessons(span))).toEqual(ids);
      expect(idsOf(await user.lessons(`JobID=span&${span}`))).toEqual(ids);
      const inRoom = ids.filter((id) => id === 'day');
      expect(idsOf(await user.lessons(`RessourceName=R001&${span}`))).toEqual(inRoom);
    });

    test.each(['From=today', 'To=2033-01-04', 'From=2033-02-30T00:00:00Z', 'From=2033-01-04T08:00:00'])(
      '400: %s',
      async (query) => {
        const problem = (await user.lessons(query)) as unknown as { status: number; detail: string };
        expect(problem.status).toBe(400);
        expect(problem.detail).toMatch(/must be a date-time such as/);
      },
    );
  });

  test('200: RessourceName in any case, with spaces, of every location that has it', async () => {
    const { tenant, context } = service;
    const annex = await context.db
      .insertInto('location')
      .values({ mandator_id: tenant.mandatorId, name: 'Annex', time_zone: 'Asia/Tokyo' })
      .returning('id')
      .executeTakeFirstOrThrow();
    await context.db
      .insertInto('resource')
      .values({ mandator_id: tenant.mandatorId, location_id: annex.id, name: 'r003' })
      .execute();
    const at = ['2034-01-02T08:00:00Z', '2034-01-02T08:45:00Z'] as const;
    await imported(user, [
      { JobID: 'campus', Standort: 'Campus', LektionList: [lesson('c', 'R003', ...at)] },
      { JobID: 'annex', Standort: 'annex', LektionList: [lesson('a', 'R003', ...at)] },
    ]);
    const { Items } = await user.lessons('RessourceName=%20R003%09&From=2034-01-01T00:00:00Z');
    expect(Items.map(({ RessourceName }) => RessourceName)).toEqual(['R003', 'r003']);
    expect(idsOf(await user.lessons('RessourceName=aula%20u%CC%88' + '1&JobID=values'))).toEqual(['L-1']);
  });

  test('200: an unknown JobID or RessourceName gives an empty list', async () => {
    for (const query of ['JobID=unknown', 'RessourceName=unknown', 'JobID=values&RessourceName=R002'])
      expect(await user.lessons(query)).toEqual({ Items: [], NextCursor: null });
  });

  describe('paging', () => {
    const from = Date.UTC(2040, 0, 2, 7);
    const jobs = makeJobs(240, { rooms, prefix: 'page-', perJob: 10, from });
    const sorted = jobs
      .flatMap(({ LektionList }) => LektionList)
      .sort((one, other) => one.Beginn.localeCompare(other.Beginn));
    beforeAll(async () => void (await imported(user, jobs)));

    test.each([
      ['of all rooms', 'From=2040-01-01T00:00:00Z', sorted],
      [
        'of a room',
        'RessourceName=R001&From=2040-01-01T00:00:00Z',
        sorted.filter(({ RessourceName }) => RessourceName === 'R001'),
      ],
      ['of a job', 'JobID=page-3', jobs[3]?.LektionList ?? []],
    ])('%s: each lesson once, in order of Beginn', async (_name, query, expected) => {
      // With 2 the page ends before the first lesson of the third room.
      for (const limit of [2, 7, 50]) {
        const items = (await pages((paging) => user.lessons(`${query}&${paging}`), limit)).flatMap(
          ({ Items }) => Items,
        );
        expect(items.map(({ Beginn }) => Beginn)).toEqual(expected.map(({ Beginn }) => Beginn.replace('Z', '.000Z')));
        expect(new Set(items.map(({ LektionId }) => LektionId)).size).toBe(expected.length);
      }
    });

    test('coupled lessons, which begin at once in one room: each once', async () => {
      const at = ['R002', '2041-01-07T08:00:00Z', '2041-01-07T08:45:00Z'] as const;
      const ids = ['c1', 'c2', 'c3', 'c4', 'c5'];
      const LektionList = ids.toReversed().map((id) => lesson(id, ...at, { KopplungId: 'paged' }));
      await imported(user, [{ JobID: 'coupled', LektionList }]);
      for (const query of ['RessourceName=R002', '']) {
        const span = `${query}&From=2041-01-07T00:00:00Z&To=2041-01-08T00:00:00Z`;
        const found = await pages((paging) => user.lessons(`${span}&${paging}`), 2);
        expect(found.flatMap(idsOf)).toEqual(ids);
      }
    });

    test.each([1600, 2300])('lessons of the year %i, to the microsecond: each once', async (year) => {
      const LektionList = Array.from({ length: 60 }, (_, index) => {
        // Pairs that begin a microsecond apart, in two rooms.
        const hour = `${year}-03-${String(1 + (index >> 2)).padStart(2, '0')}T1${(index >> 1) & 1}:00:00`;
        const [room, fraction] = index & 1 ? ['R002', '.000002Z'] : ['R001', '.000001Z'];
        return lesson(String(index), room!, hour + fraction, `${hour.slice(0, -5)}30:00Z`);
      });
      await imported(user, [{ JobID: `year-${year}`, LektionList }]);
      const span = `From=${year}-01-01T00:00:00Z&To=${year + 1}-01-01T00:00:00Z`;
      const found = await pages((paging) => user.lessons(`${span}&${paging}`), 7);
      expect(found.flatMap(idsOf)).toEqual(LektionList.map(({ LektionId }) => LektionId));
    });

    test('a lesson that comes in before the cursor does not move the pages', async () => {
      const span = 'From=2040-01-01T00:00:00Z&Limit=5';
      const first = await user.lessons(span);
      const second = await user.lessons(`${span}&Cursor=${first.NextCursor}`);
      await imported(admin, [
        {
          JobID: 'early',
          LektionList: [lesson('e', 'R001', '2040-01-01T12:00:00Z', '2040-01-01T13:00:00Z')],
        },
      ]);
      expect(await user.lessons(`${span}&Cursor=${first.NextCursor}`)).toEqual(second);
    });

    test('above 200 is lowered to 200', async () => {
      expect((await user.lessons('Limit=100000')).Items).toHaveLength(200);
    });

    test.each([
      'cjE6MTs',
      ...[
        ...['5', '["1",2]', '["1",2,"\\u0000"]', '["1",1e99,"x"]', '["now",2,"x"]'],
        ...[`["${10n ** 18n}",2,"x"]`, `["${-(10n ** 17n)}",2,"x"]`],
      ].map(madeUp),
    ])('400: the cursor %s', async (cursor) =>
      expect(await user.lessons(`Cursor=${cursor}`)).toMatchObject({ status: 400 }),
    );
  });

  test('a room whose name has 200 characters is imported, and found by it', async () => {
    const name = 'Ü'.repeat(200);
    await service.context.db
      .insertInto('resource')
      .values({ mandator_id: service.tenant.mandatorId, location_id: service.tenant.locationId, name })
      .execute();
    const long = lesson('1', name, '2036-01-07T08:00:00Z', '2036-01-07T08:45:00Z');
    await imported(user, [{ JobID: 'long name', LektionList: [long] }]);
    const { Items } = await user.lessons(`RessourceName=${encodeURIComponent(name)}`);
    expect(Items).toMatchObject([{ LektionId: '1', RessourceName: name }]);
    const longer = await user.importJobs([
      { JobID: 'longer name', LektionList: [{ ...long, RessourceName: `${name}x` }] },
    ]);
    expect(longer.Errors).toMatchObject([{ Field: 'RessourceName', Code: 'InvalidType' }]);
  });

  test('Privat: others see that the room is taken, the sender and Admins see all', async () => {
    const content = {
      Titel: 'Prüfung',
      Fach: 'Chemie',
      Bemerkung: 'geheim',
      Klassen: ['4b'],
      Lehrpersonen: ['M. Curie'],
      KopplungId: 'K-9',
      Ursprung: null,
    };
    const { Ursprung, ...sent } = content;
    await imported(user, [
      {
        JobID: 'private',
        LektionList: [lesson('p', 'R001', '2035-01-01T08:00:00Z', '2035-01-01T09:00:00Z', { ...sent, Privat: true })],
      },
    ]);
    // As an update leaves it.
    await service.context.db
      .updateTable('lesson')
      .set({
        ursprung: JSON.stringify({
          RessourceName: 'R002',
          Lehrpersonen: null,
          Fach: 'Physik',
          Beginn: '2035-01-01T07:00:00Z',
          Ende: '2035-01-01T08:00:00Z',
        }),
      })
      .where('lektion_id', '=', 'p')
      .execute();
    const shown = {
      ...content,
      Ursprung: {
        RessourceName: 'R002',
        Lehrpersonen: null,
        Fach: 'Physik',
        Beginn: '2035-01-01T07:00:00.000Z',
        Ende: '2035-01-01T08:00:00.000Z',
      },
    };
    const read = async (client: LessonClient) => (await client.lessons('JobID=private')).Items[0];
    expect(await read(user)).toMatchObject(shown);
    expect(await read(admin)).toMatchObject(shown);
    const other = await read(await otherUser());
    expect(other).toMatchObject({
      LektionId: 'p',
      JobID: 'private',
      RessourceName: 'R001',
      Status: 'Geplant',
      Privat: true,
      Beginn: '2035-01-01T08:00:00.000Z',
      Ende: '2035-01-01T09:00:00.000Z',
      Titel: 'Belegt',
      Fach: null,
      Bemerkung: null,
      Klassen: null,
      Lehrpersonen: null,
      KopplungId: null,
      Ursprung: null,
    });
    expect(JSON.stringify(other)).not.toMatch(/geheim|Chemie|Physik|Curie|4b|K-9/);
  });

  test.each([false, null])(
    'Privat: %s makes a lesson public if its sender or an Admin sends it, and else fails',
    async (Privat) => {
      const JobID = `secret ${Privat}`;
      const secret = { Titel: 'Prüfung', Lehrpersonen: ['M. Curie'], Privat: true };
      const at = ['2035-01-03T08:00:00Z', '2035-01-03T09:00:00Z'] as const;
      await imported(user, [{ JobID, LektionList: [lesson('1', 'R001', ...at, secret)] }]);
      const other = await otherUser(`curious-${Privat}@school.example`);
      const change = (client: LessonClient, more: object) =>
        client.importJobs([{ JobID, LektionList: [{ LektionId: '1', ...more }] }], 'update');
      const reading = async () => (await other.lessons(`JobID=${encodeURIComponent(JobID)}`)).Items[0];
      expect(await change(other, { Privat })).toMatchObject({
        ImportStatus: 'LessonsImportFailed',
        Errors: [{ Field: 'Privat', Code: 'Forbidden', Pointer: '/0/LektionList/0/Privat' }],
      });
      expect(await change(other, { Bemerkung: 'Lineal' })).toMatchObject({ ImportStatus: 'LessonsCreated' });
      expect(await reading()).toMatchObject({ Titel: 'Belegt', Privat: true });
      for (const client of [user, admin]) {
        expect(await change(client, { Privat })).toMatchObject({ ImportStatus: 'LessonsCreated' });
        expect(await reading()).toMatchObject({ Titel: 'Prüfung', Privat: false });
        await change(user, { Privat: true });
      }
      await user.importJobs([{ JobID }], 'delete');
    },
  );

  test('Privat, coupled with lessons of another: the booking shows it to nobody but its sender and Admins, and no search finds it', async () => {
    const other = await otherUser('coupled@school.example');
    const at = ['R001', '2035-01-02T08:00:00Z', '2035-01-02T09:00:00Z'] as const;
    const send = (client: LessonClient, JobID: string, more: object) =>
      imported(client, [{ JobID, LektionList: [lesson('1', ...at, { KopplungId: 'K', ...more })] }]);
    await send(user, 'coupled-1', { Titel: 'Chor', Klassen: ['1a'] });
    await send(other, 'coupled-2', { Titel: 'Förderung', Klassen: ['9z'], Lehrpersonen: ['M. Curie'], Privat: true });
    const id = (await user.lessons('JobID=coupled-1')).Items[0]?.['BookingId'];
    async function seen(client: LessonClient) {
      const booking = await (await client.call(`/../../v1.0/bookings/${id}`)).json();
      const when = 'From=2035-01-02T00:00:00Z&To=2035-01-03T00:00:00Z';
      const found = await (await client.call(`/../../v1.0/bookings?${when}&Klasse=9z`)).json();
      return [booking.Subject, booking.Lektion?.Klassen, booking.CreatedBy?.DisplayName, found.Items.length];
    }
    expect(await seen(user)).toEqual(['Belegt', undefined, undefined, 0]);
    expect(await seen(other)).toEqual(['Chor', ['1a', '9z'], 'Other', 1]);
    expect(await seen(admin)).toEqual(['Chor', ['1a', '9z'], 'Other', 1]);

    // With private lessons of both, neither sees those of the other.
    await user.importJobs([{ JobID: 'coupled-1', LektionList: [{ LektionId: '1', Privat: true }] }], 'update');
    expect(await seen(user)).toEqual(['Belegt', undefined, undefined, 0]);
    expect(await seen(other)).toEqual(['Belegt', undefined, undefined, 0]);
    expect(await seen(admin)).toEqual(['Chor', ['1a', '9z'], undefined, 1]);
    for (const [client, JobID, Titel] of [
      [user, 'coupled-1', 'Chor'],
      [other, 'coupled-2', 'Förderung'],
    ] as const)
      expect((await client.lessons(`JobID=${JobID}`)).Items).toMatchObject([{ Titel }]);
  });

  test('403: a display', async () => {
    const display = lessonClient(service, await service.signIn(service.tenant, 'Display'));
    expect(await display.lessons()).toMatchObject({ status: 403 });
  });
});
