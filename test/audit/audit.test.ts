import fs from 'node:fs';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { CompiledQuery, sql } from 'kysely';
import pg from 'pg';
import { auditSubjects } from '../../src/acts.ts';
import { forgetOldActs } from '../../src/audit/service.ts';
import { makeTenant } from '../_util/factories.ts';
import { hold, releaseAll } from '../_util/hold.ts';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';

type Act = { Id: number; At: string; Action: string; SubjectId: number; SubjectName: string; Changes: object[] };

let service: Service;
let admin: MasterData;
let user: MasterData;
let adminId: number;

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
  user = masterData(service, await service.signIn());
  adminId = service.tenant.person('Admin').id;
});
afterAll(async () => {
  await releaseAll();
  await service.stop();
});

test('contract 5.2 lists what acts are about', () => {
  const row = fs
    .readFileSync('docs/contract/bookings.md', 'utf8')
    .split('\n')
    .find((line) => line.startsWith('| Act |'));
  const [, listed = ''] = /`Subject` \(([^)]*)\)/.exec(row ?? '') ?? [];
  expect([...listed.matchAll(/`(\w+)`/g)].map(([, subject]) => subject)).toEqual([...auditSubjects]);
});

const read = async (query = '') => (await admin.get(`/audit?${query}`)).body['Items'] as Act[];
const change = (Member: string, From: string | null, To: string | null) => ({ Member, From, To });
const document = `query ($filter: ActFilter, $first: Int, $after: String) {
  audit(filter: $filter, first: $first, after: $after) {
    nodes {
      id at action subject subjectId subjectName requestId
      person { personId displayName } changes { member from to }
    }
    pageInfo { hasNextPage endCursor }
  }
}`;

test('an act says who did what to which record, with the values before and after, over both fronts', async () => {
  const site = await admin.post('/locations', { Name: 'Old site', TimeZone: 'Europe/Berlin' });
  const LocationId = Number(site.body['Id']);
  await admin.patch(`/locations/${LocationId}`, { Name: 'Site', TimeZone: 'Europe/Zurich' });
  // Nothing changes, so nothing is recorded.
  await admin.patch(`/locations/${LocationId}`, {});
  const room = await admin.post('/resources', { LocationId, Name: 'HS 1', Capacity: 30, Equipment: ['Beamer'] });
  const id = Number(room.body['Id']);
  await admin.patch(`/resources/${id}`, { Capacity: null, Equipment: ['Beamer', 'Tafel'] });
  const rules = { Items: [{ Weekdays: [1], Opens: '08:00', Closes: '18:00' }] };
  await admin.send('PUT', `/opening-hours/${id}/rules`, { body: rules, headers: { 'If-Match': '*' } });

  const acts = await read('Limit=5');
  const rule = '[{"weekdays":[1],"opens":"08:00","closes":"18:00","validFrom":null,"validTo":null}]';
  const subject = { Subject: 'Resource', SubjectId: id, SubjectName: 'HS 1' };
  expect(acts).toMatchObject([
    { ...subject, Action: 'replace opening rules', Changes: [change('OpeningRules', '', rule)] },
    {
      ...subject,
      Action: 'change resource',
      Person: { PersonId: adminId, DisplayName: 'Admin of school' },
      Changes: [change('Capacity', '30', null), change('Equipment', 'Beamer', 'Beamer, Tafel')],
    },
    { ...subject, Action: 'create resource' },
    {
      Action: 'change location',
      Subject: 'Location',
      SubjectId: LocationId,
      SubjectName: 'Site',
      Changes: [change('Name', 'Old site', 'Site'), change('TimeZone', 'Europe/Berlin', 'Europe/Zurich')],
    },
    { Action: 'create location', SubjectName: 'Old site' },
  ]);
  expect(acts[2]!.Changes).toEqual([
    change('LocationId', null, String(LocationId)),
    ...[change('Name', null, 'HS 1'), change('Kind', null, 'Room'), change('Capacity', null, '30')],
    ...[change('Equipment', null, 'Beamer'), change('Active', null, 'true')],
  ]);

  const { data } = await admin.ask(document, { first: 5 });
  const lower = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(lower)
      : typeof value === 'object' && value !== null
        ? Object.fromEntries(
            Object.entries(value).map(([name, one]) => [
              name.charAt(0).toLowerCase() + name.slice(1),
              // Ids of GraphQL are texts.
              typeof one === 'number' ? String(one) : lower(one),
            ]),
          )
        : value;
  expect(data?.['audit']).toMatchObject({ nodes: lower(acts) as object[] });
});

test('a very long value is cut, also within an emoji', async () => {
  const site = await admin.post('/locations', { Name: 'Lab', TimeZone: 'Europe/Berlin' });
  // The thousandth UTF-16 unit of the joined text is the first half of an emoji.
  const Equipment = Array.from({ length: 12 }, () => '🔭'.repeat(50));
  const room = await admin.post('/resources', { LocationId: site.body['Id'], Name: 'Observatory', Equipment });
  expect(room.status).toBe(201);
  const [act] = (await read('Limit=1')) as [Act];
  const whole = Equipment.join(', ');
  expect(act.Changes).toContainEqual(change('Equipment', null, `${whole.slice(0, 998)}\uFFFD…`));
  await admin.patch(`/resources/${room.body['Id']}`, { Equipment: [...Equipment, 'Beamer'] });
  const [more] = (await read('Limit=1')) as [Act];
  expect(more).toMatchObject({ Action: 'change resource', Changes: [{ Member: 'Equipment' }] });
});

test('of a long list it has the entries that differ, and no more than fit', async () => {
  const site = await admin.post('/locations', { Name: 'Gym', TimeZone: 'Europe/Berlin' });
  const path = `/opening-hours/locations/${site.body['Id']}/exceptions`;
  const closed = (day: number, Reason = 'Day off') => {
    const date = `2031-01-${String(day).padStart(2, '0')}`;
    return { FromDate: date, ToDate: date, Closed: true, Periods: [], Reason };
  };
  const days = Array.from({ length: 28 }, (_, index) => closed(index + 1));
  const put = async (Items: object[]) => {
    const { status, body } = await admin.send('PUT', path, { body: { Items }, headers: { 'If-Match': '*' } });
    expect({ status, body }).toMatchObject({ status: 200 });
    const [act] = (await read('Limit=1')) as [Act];
    const [{ From, To }] = act.Changes as [{ From: string; To: string }];
    const entries = (text: string) => [
      ...(JSON.parse(text.replace(/…$/, '') || '[]') as { fromDate: string; reason: string }[]),
      ...(text.endsWith('…') ? ['…'] : []),
    ];
    return [entries(From), entries(To)];
  };
  const told = (day: number, reason = 'Day off') => expect.objectContaining({ fromDate: closed(day).FromDate, reason });

  const [none, first] = await put(days.slice(0, 27));
  expect(none).toEqual([]);
  expect(first!.slice(0, 2)).toEqual([told(1), told(2)]);
  expect(first!.at(-1)).toBe('…');
  expect(await put(days)).toEqual([['…'], [told(28), '…']]);
  expect(await put([...days.slice(0, 26), closed(27, 'Carnival'), closed(28)])).toEqual([
    [told(27), '…'],
    [told(27, 'Carnival'), '…'],
  ]);
  const [gone, left] = await put([closed(28)]);
  expect(gone!.slice(0, 2)).toEqual([told(1), told(2)]);
  expect(gone!.at(-1)).toBe('…');
  expect(left).toEqual(['…']);
});

test('of a person it stores no name, address or label: it shows the present name', async () => {
  const body = { Name: 'Grace', Email: 'grace@school.example', TimeZone: 'Europe/Berlin', Role: 'User' };
  const id = (await admin.post('/persons', body)).body['Id'];
  await admin.patch(`/persons/${id}`, { Name: 'Grace Hopper', Role: 'Importer' });
  const { Pin, PinId } = (await admin.post(`/persons/${id}/pins`, { Label: 'Timetable' })).body;
  await admin.send('DELETE', `/persons/${id}/pins/${PinId}`);
  const [revoked, pin, changed, created] = await read('Limit=4');
  const about = { Subject: 'Person', SubjectId: id, SubjectName: 'Grace Hopper' };
  expect(revoked).toMatchObject({ Action: 'revoke PIN', Subject: 'Pin', SubjectId: PinId, Changes: [] });
  expect(pin).toMatchObject({ Action: 'create PIN', SubjectName: 'Grace Hopper' });
  expect(pin!.Changes).toContainEqual(change('Label', null, null));
  expect(changed).toMatchObject({
    ...about,
    Changes: [change('Name', null, null), change('Role', 'User', 'Importer')],
  });
  expect(created).toMatchObject({ ...about, Action: 'create person' });

  const { rows } = await sql<{ text: string }>`
    select string_agg(to_jsonb(audit)::text, ' ') as text from audit`.execute(service.context.db);
  expect(rows[0]!.text).not.toMatch(/grace/i);
  const [secret] = String(Pin).split('-');
  expect(rows[0]!.text).not.toContain(secret);
});

test('filters by person, action, subject and time; page by page', async () => {
  const other = await admin.post('/persons', {
    Name: 'Deputy',
    Email: 'deputy@school.example',
    TimeZone: 'UTC',
    Role: 'Admin',
  });
  const deputy = masterData(
    service,
    await service.signIn({
      ...service.tenant,
      person: () => ({ ...service.tenant.person('Admin'), id: Number(other.body['Id']) }),
    }),
  );
  const before = await read();
  const made = await deputy.post('/locations', { Name: 'By the deputy', TimeZone: 'UTC' });
  const idsOf = async (query: string) => (await read(query)).map(({ Id }) => Id);
  const [latest] = await idsOf('Limit=1');
  expect(await idsOf(`PersonId=${other.body['Id']}`)).toEqual([latest]);
  expect(await idsOf(`Subject=Location&SubjectId=${made.body['Id']}`)).toEqual([latest]);
  expect(new Set((await read('Action=CREATE%20location')).map(({ Action }) => Action))).toEqual(
    new Set(['create location']),
  );
  expect(new Set((await read('Subject=Person')).map(({ Action }) => Action))).toContain('create person');
  const [{ At }] = (await read('Limit=1')) as [Act];
  expect(await idsOf(`From=${At}`)).toEqual([latest]);
  expect(await idsOf(`To=${At}`)).toEqual(before.map(({ Id }) => Id));

  const first = await admin.get('/audit?Limit=1');
  expect(await idsOf(`Cursor=${first.body['NextCursor']}`)).toEqual(before.map(({ Id }) => Id));
  const filter = { personId: other.body['Id'], action: 'create location', subject: 'Location', from: At };
  const { data } = await admin.ask(document, { filter: { ...filter, subjectId: made.body['Id'] } });
  expect(data).toMatchObject({ audit: { nodes: [{ id: String(latest) }] } });
});

test.each([
  ['Subject=Nonsense', 'Subject'],
  ['SubjectId=x', 'SubjectId'],
  ['From=now', 'From'],
  ['From=2027-01-02T00:00:00Z&To=2027-01-01T00:00:00Z', 'To'],
  ['Action=', 'Action'],
])('%s is refused', async (query, Field) => {
  expect(await admin.get(`/audit?${query}`)).toMatchObject({ status: 400, body: { Errors: [{ Field }] } });
});

test('others than Admins are refused, and no tenant reads of another', async () => {
  expect(await user.get('/audit')).toMatchObject({ status: 403 });
  expect((await user.ask(document)).errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
  const stranger = await makeTenant(service.context.db, { code: 'stranger' });
  const foreign = masterData(service, await service.signIn(stranger, 'Admin'), 'stranger');
  expect((await foreign.get('/audit')).body['Items']).toEqual([]);
});

test('an act is forgotten after the days of the setting', async () => {
  const { db } = service.context;
  const [latest] = (await read('Limit=1')) as [Act];
  await sql`update audit set at = now() - interval '731 days' where id < ${latest.Id}`.execute(db);
  await sql`update audit set at = now() - interval '729 days' where id = ${latest.Id}`.execute(db);
  await forgetOldActs(db, service.context.config.Limits.AuditDays);
  expect((await read()).map(({ Id }) => Id)).toEqual([latest.Id]);
});

test('all old acts are forgotten at once, however many there are, unless the process must stop', async () => {
  const { db } = service.context;
  await sql`
    insert into audit (mandator_id, request_id, action, subject, subject_id, subject_name, changes, at)
    select ${service.tenant.mandatorId}, 'many', 'change location', 'Location', 1, 'Site', '[]', now() - interval '731 days'
    from generate_series(1, 5001)`.execute(db);
  const forget = async (signal?: AbortSignal) => {
    await forgetOldActs(db, service.context.config.Limits.AuditDays, signal);
    const { rows } = await sql`select from audit where request_id = 'many'`.execute(db);
    return rows.length;
  };
  expect(await forget(AbortSignal.abort())).toBe(5_001);
  expect(await forget()).toBe(0);
});

test('old acts are found by the index of their age: no portion reads again what those before it have deleted', async () => {
  const { db } = service.context;
  const sent = jest.spyOn(pg.Client.prototype, 'query');
  await forgetOldActs(db, service.context.config.Limits.AuditDays);
  const statements = sent.mock.calls.flatMap(([text, values]) =>
    String(text).includes('delete from audit')
      ? [CompiledQuery.raw(`explain ${text}`, values as unknown as unknown[])]
      : [],
  );
  sent.mockRestore();
  expect(statements.length).toBeGreaterThan(0);
  const plans: string[] = [];
  const release = await hold(db, async (trx) => {
    await sql`select set_config(name, 'off', true) from unnest(array['enable_bitmapscan', 'enable_seqscan']) as name`.execute(
      trx,
    );
    for (const statement of statements) {
      const { rows } = await trx.executeQuery<{ 'QUERY PLAN': string }>(statement);
      plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
    }
  });
  await release();
  for (const plan of plans) {
    expect(plan).toMatch(/using audit_at on audit\b.*\n +Index Cond: \(\(mandator_id = \d+\) AND \(at < /);
    expect(plan).not.toContain('Sort');
  }
});

test('an old act that a transaction holds delays no others, and is forgotten later; those of a resting tenant stay', async () => {
  const { db } = service.context;
  const resting = await makeTenant(db, { code: 'resting' });
  for (const [mandatorId, name] of [
    [service.tenant.mandatorId, 'held'],
    [service.tenant.mandatorId, 'free'],
    [resting.mandatorId, 'resting'],
  ])
    await sql`
      insert into audit (mandator_id, request_id, action, subject, subject_id, subject_name, changes, at)
      values (${mandatorId}, 'old', 'change location', 'Location', 1, ${name}, '[]', now() - interval '731 days')`.execute(
      db,
    );
  await sql`
    insert into resting_tenant (mandator_id, code, state, until)
    values (${resting.mandatorId}, 'resting', 'Frozen', now() + interval '1 hour')`.execute(db);
  const forget = async () => {
    await forgetOldActs(db, service.context.config.Limits.AuditDays);
    const { rows } = await sql<{ name: string }>`
      select subject_name as name from audit where request_id = 'old' order by id`.execute(db);
    return rows.map(({ name }) => name);
  };
  const release = await hold(db, (trx) => sql`select from audit where subject_name = 'held' for update`.execute(trx));
  expect(await forget()).toEqual(['held', 'resting']);
  await release();
  expect(await forget()).toEqual(['resting']);
  await sql`delete from resting_tenant`.execute(db);
  expect(await forget()).toEqual([]);
});
