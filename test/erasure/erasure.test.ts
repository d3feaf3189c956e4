/** Erasure of a person: what ends, what is deleted where, and what stays. */

import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { CompiledQuery, sql } from 'kysely';
import pg from 'pg';
import { lockTenant } from '../../src/db/row-lock.ts';
import { NotFound } from '../../src/errors.ts';
import { createPin, createPinByOperator, deletePinsOf } from '../../src/identity/service.ts';
import { ahead } from '../_util/ahead.ts';
import { makeDisplay, makeTenant } from '../_util/factories.ts';
import { countWaiting, hold, patiently, releaseAll } from '../_util/hold.ts';
import { lessonClient, makeJobs } from '../_util/lessons.ts';
import { type MasterData, masterData, type Reply } from '../_util/master-data.ts';
import { pepper } from '../_util/pepper.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';
import { statementsOf } from '../_util/statements.ts';

type Tree = Record<string, unknown>;
let service: Service;
let admin: MasterData;
let user: MasterData;

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
  user = masterData(service, await service.signIn());
});
afterAll(async () => {
  await releaseAll();
  await service.stop();
});

let made = 0;
async function makePerson(more: object = {}) {
  const Email = `grace.${++made}@secret.example`;
  const { body } = await admin.post('/persons', {
    Name: `Grace Hopper ${made}`,
    Email,
    TimeZone: 'UTC',
    Role: 'User',
    ...more,
  });
  const person = body as { Id: number; Name: string; Email: string };
  const token = await service.signIn({
    ...service.tenant,
    person: () => ({ id: person.Id, email: '', role: '', name: '' }),
  });
  return { ...person, path: `/persons/${person.Id}`, caller: masterData(service, token) };
}
const erase = (who: { path: string }, body?: object, caller = admin, headers: Record<string, string> = {}) =>
  caller.send('POST', `${who.path}/erasure`, { ...(body && { body }), headers });
const slot = (hours: number) => new Date(Date.parse(ahead('2027-05-03T00:00Z')) + hours * 3_600_000).toISOString();
let hour = 0;
const wish = (more: object = {}) => ({
  ResourceId: service.tenant.resources[0]!.id,
  Subject: 'Sitzung',
  Start: slot(hour),
  End: slot(++hour),
  ...more,
});

/** A lesson as an import has left it: its teachers, and those before its first change. */
async function storeLesson(sender: { Id: number }, hours: number, teachers: string[], former: string[]): Promise<void> {
  const { mandatorId, resources } = service.tenant;
  const room = resources[1]!.id;
  await sql`
    with batch as (
      insert into batch (mandator_id, id, operation, job_count, created_by, request_id)
      values (${mandatorId}, gen_random_uuid(), 'Create', 0, ${sender.Id}, 'r') returning id
    ), job as (
      insert into lesson_job (mandator_id, job_id, batch_id, created_by)
      select ${mandatorId}, ${`J${hours}`}, id, ${sender.Id} from batch returning id
    ), booked as (
      insert into booking (mandator_id, resource_id, kind, status, origin, occupied)
      values (${mandatorId}, ${room}, 'Lesson', 'Confirmed', 'Import', tstzrange(${slot(hours)}, ${slot(hours + 1)})) returning id
    )
    insert into lesson (mandator_id, job, lektion_id, booking_id, resource_id, beginn, ende, status, lehrpersonen, ursprung)
    select ${mandatorId}, job.id, 'L', booked.id, ${room}, ${slot(hours)}, ${slot(hours + 1)}, 'Vertretung', ${teachers},
      jsonb_build_object('RessourceName', 'R', 'Lehrpersonen', ${JSON.stringify(former)}::jsonb,
        'Fach', null, 'Beginn', ${slot(hours)}::text, 'Ende', ${slot(hours + 1)}::text) from job, booked`.execute(
    service.context.db,
  );
}

/** As many lessons of others, which nobody has changed. */
async function storeUnchanged(sender: { Id: number }, count: number): Promise<void> {
  const { mandatorId, resources } = service.tenant;
  const room = resources[1]!.id;
  await sql`
    with job as (
      insert into lesson_job (mandator_id, job_id, batch_id, created_by)
      values (${mandatorId}, 'Unchanged', gen_random_uuid(), ${sender.Id}) returning id
    ), booked as (
      insert into booking (mandator_id, resource_id, kind, status, origin, occupied)
      select ${mandatorId}, ${room}, 'Lesson', 'Confirmed', 'Import', tstzrange(begins, begins + interval '1 hour')
      from generate_series(1, ${count}) as n, lateral (select ${slot(1_000)}::timestamptz + n * interval '1 hour' as begins) as at
      returning id, occupied
    )
    insert into lesson (mandator_id, job, lektion_id, booking_id, resource_id, beginn, ende, status, lehrpersonen)
    select ${mandatorId}, job.id, booked.id, booked.id, ${room}, lower(occupied), upper(occupied), 'Geplant', array['E. Noether']
    from job, booked`.execute(service.context.db);
}

type Plan = {
  Filter?: string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
};
const partsOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(partsOf)];

/** The columns that can hold a text: `table.column`. */
async function listTextColumns(): Promise<string[]> {
  const { rows } = await sql<{ place: string }>`
    select table_name || '.' || column_name as place
    from information_schema.columns join information_schema.tables using (table_schema, table_name)
    where table_schema = 'public' and table_type = 'BASE TABLE' and is_generated = 'NEVER'
      and (data_type in ('text', 'json', 'jsonb', 'bytea', 'inet') or udt_name = '_text')
    order by 1`.execute(service.context.db);
  return rows.map(({ place }) => place);
}

/** The columns in which one of the texts is found, in any case. */
async function findEverywhere(texts: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const place of await listTextColumns()) {
    const [table, column] = place.split('.') as [string, string];
    const { rows } = await sql`
      select from ${sql.table(table)} where exists (
        select from unnest(${texts}::text[]) as text
        where position(lower(text) in lower(${sql.ref(column)}::text)) > 0) limit 1`.execute(service.context.db);
    if (rows.length > 0) found.push(place);
  }
  return found;
}

describe('an erased person', () => {
  test('is found nowhere any more by name and address; its bookings stay, and its credentials end', async () => {
    const { db } = service.context;
    const { mandatorId, resources } = service.tenant;
    const grace = await makePerson({ TeacherCode: 'HOPX' });
    const texts = [grace.Name, grace.Email, 'grace s laptop', 'GH-1906', 'HOPX'];
    const room = resources[1]!.id;
    expect((await admin.post(`${grace.path}/pins`, { Label: 'grace s laptop' })).status).toBe(201);
    const calendar = await grace.caller.post(`/resources/${room}/calendar-tokens`, { Label: 'grace s laptop' });
    const feed = new URL(String(calendar.body['Url'])).pathname + new URL(String(calendar.body['Url'])).search;
    const readFeed = async () => (await fetch(`${service.url}${feed}`)).status;
    const own = await grace.caller.post('/bookings', wish(), { 'Idempotency-Key': 'grace' });
    const forUser = await admin.post('/bookings', wish({ OrganizerId: grace.Id }));
    const others = await user.post('/bookings', wish());
    expect([own.status, forUser.status, others.status, await readFeed()]).toEqual([201, 201, 201, 200]);
    // As an import and a mail server have left them.
    await storeLesson(grace, 0, ['E. Noether', grace.Name.toUpperCase(), 'gh-1906', 'HOPX'], [grace.Name, 'A. Turing']);
    await sql`
      with calendar as (
        insert into mail_calendar (mandator_id, resource_id, kind, mailbox)
        values (${mandatorId}, ${room}, 'Graph', 'r@secret.example') returning id
      )
      insert into mail_item (mandator_id, calendar_id, item_id, group_id, occurrence, content_hash, state, organizer_name,
        organizer_email)
      select ${mandatorId}, id, 'I', 'I', '', ''::bytea, 'PassedOver', ${grace.Name}, ${grace.Email.toUpperCase()}
      from calendar`.execute(db);
    await sql`
      insert into booking (mandator_id, resource_id, kind, status, origin, occupied, organizer_name, organizer_email)
      values (${mandatorId}, ${room}, 'MailItem', 'Confirmed', 'Mail', tstzrange(${slot(1)}, ${slot(2)}), ${grace.Name},
        ${grace.Email})`.execute(db);
    expect(await findEverywhere(texts)).toEqual(
      expect.arrayContaining([
        'booking.organizer_email',
        'lesson.lehrpersonen',
        'lesson.ursprung',
        'mail_item.organizer_name',
      ]),
    );
    const feedBefore = (await admin.get('/changes')).body['NextCursor'];
    const read = async () =>
      (await user.get(`/bookings?From=${slot(0)}&To=${slot(23)}&ResourceId=${room}`)).body['Items'] as Tree[];
    const [lessonBefore] = await read();

    const erased = await erase(grace, { AlsoKnownAs: ['GH-1906'] }, admin, { 'X-Request-Id': 'erase-1' });
    expect(erased).toMatchObject({
      status: 200,
      body: {
        Id: grace.Id,
        Name: 'Erased person',
        Email: `erased-${grace.Id}@erased.invalid`,
        Active: false,
        Version: 2,
      },
    });
    expect(erased.body['ErasedAt']).toMatch(/Z$/);
    expect(await findEverywhere(texts)).toEqual([]);

    await until(async () => (await grace.caller.get('/persons/me')).status === 401);
    expect(await readFeed()).toBe(401);
    const kept = (await user.get(`/bookings/${own.body['Id']}`)).body;
    expect(kept).toMatchObject({
      Subject: 'Sitzung',
      Status: 'Confirmed',
      Version: (own.body['Version'] as number) + 1,
      Organizer: { PersonId: grace.Id, DisplayName: 'Erased person', Email: null },
      CreatedBy: { PersonId: grace.Id, DisplayName: 'Erased person' },
    });
    const [lesson, mailItem] = await read();
    expect(lesson).toMatchObject({
      Version: (lessonBefore!['Version'] as number) + 1,
      Lektion: { Lehrpersonen: ['E. Noether'], Ursprung: { Lehrpersonen: ['A. Turing'], RessourceName: 'R' } },
    });
    expect(mailItem).toMatchObject({ Kind: 'MailItem', Organizer: null });
    const told = ((await admin.get(`/changes?Cursor=${feedBefore}`)).body['Items'] as Tree[]).map(({ Id }) => Id);
    expect(told).toEqual(expect.arrayContaining([own.body['Id'], forUser.body['Id'], lesson!['Id'], mailItem!['Id']]));
    expect(told).not.toContain(others.body['Id']);

    const audit = await db.selectFrom('audit').where('request_id', '=', 'erase-1').selectAll().execute();
    expect(audit).toEqual([
      expect.objectContaining({
        action: 'erase person',
        subject_id: grace.Id,
        person_id: service.tenant.person('Admin').id,
      }),
    ]);
    expect(
      (await admin.post('/persons', { Name: 'New', Email: grace.Email, TimeZone: 'UTC', Role: 'User' })).status,
    ).toBe(201);
  });

  test('ends the calendar addresses of others for the timetable of the teacher, as these name it', async () => {
    const grace = await makePerson({ TeacherCode: 'HOPZ' });
    const readFeed = async (lehrperson: string) => {
      const { body } = await user.post('/timetable/calendar-tokens', { Lehrperson: lehrperson });
      const { pathname, search } = new URL(String(body['Url']));
      return async () => (await fetch(`${service.url}${pathname}${search}`)).status;
    };
    const ended = await Promise.all([grace.Name.toUpperCase(), 'hopz', 'GH-1907'].map(readFeed));
    const kept = await readFeed('E. Noether');
    expect(await Promise.all([...ended, kept].map((read) => read()))).toEqual([200, 200, 200, 200]);
    expect((await erase(grace, { AlsoKnownAs: ['GH-1907'] })).status).toBe(200);
    expect(await Promise.all([...ended, kept].map((read) => read()))).toEqual([401, 401, 401, 200]);
    expect(await findEverywhere([grace.Name, 'HOPZ', 'GH-1907'])).toEqual([]);
    const { Items } = (await user.get('/timetable/calendar-tokens')).body;
    expect(Items).toEqual([expect.objectContaining({ Lehrperson: 'E. Noether' })]);
  });

  test('leaves the lessons of a teacher whose code is the name of the person', async () => {
    const { db } = service.context;
    const teacher = await makePerson({ TeacherCode: 'Anna Keller' });
    const anna = await makePerson({ Name: 'Anna KELLER' });
    await storeLesson(teacher, 100, ['Anna Keller', 'AK'], ['AK']);
    const teachers = async () =>
      (
        await db
          .selectFrom('lesson')
          .where('beginn', '=', new Date(slot(100)))
          .select('lehrpersonen')
          .execute()
      )[0]?.lehrpersonen;
    const refused = await erase(anna, { AlsoKnownAs: ['AK', 'anna keller'] });
    expect([refused.status, refused.body]).toEqual([
      422,
      expect.objectContaining({
        Errors: [expect.objectContaining({ Pointer: '/AlsoKnownAs/1', Code: 'OfAnotherPerson' })],
      }),
    ]);
    expect((await admin.get(anna.path)).body).toMatchObject({ Name: 'Anna KELLER', ErasedAt: null });
    expect((await erase(anna, { AlsoKnownAs: ['AK'] })).status).toBe(200);
    expect(await teachers()).toEqual(['Anna Keller']);
    expect((await erase(teacher)).status).toBe(200);
    expect(await teachers()).toEqual([]);
  });

  test('stays so: erasing again changes nothing, and it cannot be changed or get a PIN', async () => {
    const grace = await makePerson();
    const first = await erase(grace, undefined, admin, { 'If-Match': '"1"', 'X-Request-Id': 'again' });
    expect(first.status).toBe(200);
    expect((await erase(grace, {}, admin, { 'If-Match': '"1"', 'X-Request-Id': 'again' })).body).toEqual(first.body);
    expect((await service.context.db.selectFrom('audit').where('request_id', '=', 'again').execute()).length).toBe(1);
    for (const change of [{ Active: true }, { Name: 'Back' }, {}])
      expect((await admin.patch(grace.path, change)).status).toBe(409);
    expect((await admin.post(`${grace.path}/pins`, {})).status).toBe(409);
    const back = sql`update person set active = true where id = ${grace.Id}`.execute(service.context.db);
    await expect(back).rejects.toThrow('person_erased');
  });

  test('is no member of a group any more, not even of one that is made at the same time', async () => {
    const { db } = service.context;
    const grace = await makePerson();
    const join = async (group: string) => {
      const { status, body } = await admin.post('/groups', { Name: group, AddMembers: [grace.Id] });
      return [status, (body['Errors'] as Tree[] | undefined)?.map(({ Code, Pointer }) => `${Code} ${Pointer}`)];
    };
    const refused = [422, ['ErasedPerson /AddMembers/0']];
    expect(await join('Before')).toEqual([201, undefined]);
    const release = await hold(db, (trx) =>
      sql`update person set active = false, erased_at = now() where id = ${grace.Id}`.execute(trx),
    );
    const meanwhile = await patiently(async () => {
      const joining = join('Meanwhile');
      await until(async () => (await countWaiting(db)) > 0);
      await release();
      return await joining;
    });
    expect(meanwhile).toEqual(refused);
    expect(await join('Afterwards')).toEqual(refused);
  });

  test('gets no PIN and no calendar address that was asked for during its erasure', async () => {
    const { context, tenant } = service;
    const { db } = context;
    const { mandatorId } = tenant;
    const grace = await makePerson();
    const holder = { mandatorId, personId: grace.Id };
    const stored = async () => {
      const of = (table: 'pin' | 'calendar_token') =>
        db.selectFrom(table).where('person_id', '=', grace.Id).select('label').execute();
      return [...(await of('pin')), ...(await of('calendar_token'))];
    };
    // As an erasure does that has not ended.
    const release = await hold(db, async (trx) => {
      await sql`update person set active = false, erased_at = now() where id = ${grace.Id}`.execute(trx);
      await deletePinsOf(trx, mandatorId, grace.Id);
    });
    const [pin, token, ofOperator] = await patiently(async () => {
      const meanwhile = Promise.all([
        admin.post(`${grace.path}/pins`, { Label: 'late' }),
        grace.caller.post('/timetable/calendar-tokens', { Lehrperson: 'Hopper', Label: 'late' }),
        createPinByOperator(context, holder, 'late').catch((error: Error) => error),
      ]);
      await until(async () => (await countWaiting(db)) >= 3);
      await release();
      return await meanwhile;
    });
    expect([pin.status, token.status, ofOperator]).toEqual([409, 401, expect.any(NotFound)]);
    expect(await stored()).toEqual([]);
    // What an older release has left.
    const { pinId } = await createPin(db, pepper, { ...holder, label: 'left' });
    await sql`
      insert into calendar_token (mandator_id, person_id, teacher, hash, label)
      values (${mandatorId}, ${grace.Id}, 'Hopper', sha256(${`${pinId}`}::bytea), 'left')`.execute(db);
    const again = () => erase(grace, undefined, admin, { 'X-Request-Id': 'left over' });
    expect([(await again()).status, await stored(), (await again()).status]).toEqual([200, [], 200]);
    expect(await db.selectFrom('audit').where('request_id', '=', 'left over').select('subject_id').execute()).toEqual([
      { subject_id: grace.Id },
    ]);
  });

  test('holds up others for a second at most while its erasure goes on: they are told to send the same again', async () => {
    const { context, tenant } = service;
    const { db } = context;
    const grace = await makePerson();
    const release = await hold(db, async (trx) => {
      await lockTenant(trx, tenant.mandatorId);
      await sql`update person set time_zone = 'Europe/Zurich' where id = ${grace.Id}`.execute(trx);
    });
    const profile = { Name: 'Held up' };
    const keyed = { 'Idempotency-Key': 'held-up' };
    const feed = { Lehrperson: 'Hopper', Label: 'held up' };
    const requests: [what: string, made: number, send: () => Promise<Reply>][] = [
      ['The person', 201, () => grace.caller.post('/timetable/calendar-tokens', feed, keyed)],
      ['The person', 201, () => admin.post(`${grace.path}/pins`, { Label: 'held up' }, keyed)],
      ['The person', 200, () => admin.patch(grace.path, { Role: 'Importer' })],
      ['The group or one of its persons', 201, () => admin.post('/groups', { ...profile, AddMembers: [grace.Id] })],
      [
        'The tenant',
        201,
        () => admin.post('/webhooks', { ...profile, Url: 'https://e.example', Kinds: ['BatchEnded'] }),
      ],
      ['The tenant', 201, () => admin.post('/timetable-profiles', profile)],
      [
        'The tenant',
        201,
        () => admin.post('/holiday-calendars', { ...profile, Ics: 'BEGIN:VCALENDAR\r\nEND:VCALENDAR' }),
      ],
      ['The tenant', 200, () => admin.patch('/tenant', { Name: 'Held up' })],
    ];
    const answers = await Promise.all(requests.map(([, , send]) => send()));
    expect(answers.map(({ status, body }) => [status, String(body['detail']).split(' is locked by ')[0]])).toEqual(
      requests.map(([what]) => [503, what]),
    );
    await release();
    for (const [, made, send] of requests) expect((await send()).status).toBe(made);
  });

  test('is removed from lessons by a name with the mark that parts search terms', async () => {
    const { db } = service.context;
    const ada = await makePerson();
    await storeLesson(ada, 700, ['E. Noether', 'Ada\u001fL', 'Ada'], []);
    expect((await erase(ada, { AlsoKnownAs: ['ada\u001fL'] })).status).toBe(200);
    const lessons = db
      .selectFrom('lesson')
      .where('beginn', '=', new Date(slot(700)))
      .select('lehrpersonen');
    expect(await lessons.execute()).toEqual([{ lehrpersonen: ['E. Noether', 'Ada'] }]);
  });

  test('is erased again by names that the first erasure did not know: they are removed too', async () => {
    const { db } = service.context;
    const grace = await makePerson();
    const own = await grace.caller.post('/bookings', wish());
    await storeLesson(grace, 200, ['E. Noether', 'gh-1908'], ['GH-1908', 'A. Turing']);
    await user.post('/timetable/calendar-tokens', { Lehrperson: 'GH-1908' });
    const first = await erase(grace);
    expect(await findEverywhere(['GH-1908'])).toEqual([
      'calendar_token.teacher',
      'lesson.lehrpersonen',
      'lesson.ursprung',
    ]);
    const { body: kept } = await admin.get(`/bookings/${own.body['Id']}`);
    for (const round of ['removed', 'nothing left']) {
      const again = await erase(grace, { AlsoKnownAs: ['GH-1908'] }, admin, {
        'If-Match': '"1"',
        'X-Request-Id': round,
      });
      expect([again.status, again.body]).toEqual([200, first.body]);
      expect(await findEverywhere(['GH-1908'])).toEqual([]);
    }
    expect((await admin.get(`/bookings/${own.body['Id']}`)).body).toEqual(kept);
    const acts = await db
      .selectFrom('audit')
      .where('request_id', 'in', ['removed', 'nothing left'])
      .selectAll()
      .execute();
    expect(acts).toEqual([
      expect.objectContaining({ request_id: 'removed', action: 'erase person', subject_id: grace.Id }),
    ]);
  });

  test('is found by indexes: names are compared in no lessons but the changed ones, and in no bookings of lessons', async () => {
    const { db } = service.context;
    const grace = await makePerson({ TeacherCode: 'HOPI' });
    await storeLesson(grace, 600, ['hopi'], []);
    const others = 500;
    await storeUnchanged(grace, others);
    await sql`analyze lesson, booking`.execute(db);
    const sent = jest.spyOn(pg.Client.prototype, 'query');
    expect((await erase(grace)).status).toBe(200);
    const statements = sent.mock.calls.flatMap(([text, values]) =>
      /\bname_key\b/.test(String(text)) && /\b(from|join|update) (lesson|booking)\b/.test(String(text))
        ? [CompiledQuery.raw(`explain (analyze, format json) ${text}`, values as unknown as unknown[])]
        : [],
    );
    sent.mockRestore();
    expect(statements).toHaveLength(3);
    const trx = await db.startTransaction().execute();
    await sql`set local enable_seqscan = off`.execute(trx);
    const parts: Plan[] = [];
    for (const statement of statements) {
      const { rows } = await trx.executeQuery<{ 'QUERY PLAN': [{ Plan: Plan }] }>(statement);
      parts.push(...partsOf(rows[0]!['QUERY PLAN'][0].Plan));
    }
    await trx.rollback().execute();
    const comparing = parts.filter(({ Filter = '' }) => /normalize/i.test(Filter));
    expect(comparing.length).toBeGreaterThan(1);
    const compared = comparing.map(
      ({
        'Actual Rows': found,
        'Rows Removed by Filter': removed = 0,
        'Actual Loops': loops,
        'Relation Name': table,
      }) => (table ? (found + removed) * loops : loops),
    );
    expect(Math.max(...compared)).toBeLessThan(others);
  });

  test('is erased by statements that may take a minute, over both fronts', async () => {
    const { uploads } = service.context;
    const { rows } = await sql<{ timeout: string }>`
      select current_setting('statement_timeout') as timeout`.execute(uploads);
    expect(rows).toEqual([{ timeout: '1min' }]);
    const statements = async (work: () => Promise<{ status: number }>) => {
      const { answer, texts } = await statementsOf(uploads, work);
      return [answer.status, texts.some((text) => text.includes('update lesson set'))];
    };
    const [one, other] = [await makePerson(), await makePerson()];
    expect(await statements(() => erase(one))).toEqual([200, true]);
    const { ask } = admin;
    const overGraphql = async () => {
      const { data } = await ask(`mutation { erasePerson(id: "${other.Id}") { __typename } }`);
      return { status: data ? 200 : 500 };
    };
    expect(await statements(overGraphql)).toEqual([200, true]);
  });

  test.each(['at once', 'later'])(
    'is no organizer of mail items by a former address, or by a name without an address: erased %s',
    async (when) => {
      const { db } = service.context;
      const { mandatorId, resources } = service.tenant;
      const room = resources[1]!.id;
      const grace = await makePerson();
      const former = `g.murray.${when.length}@secret.example`;
      const begin = 300 + when.length * 10;
      await sql`
        with organizer (name, email, hours) as (values
          ('Grace Murray', ${former.toUpperCase()}, 0), (${grace.Name}, null, 1), (${grace.Name}, 'namesake@school.example', 2)
        ), calendar as (
          insert into mail_calendar (mandator_id, resource_id, kind, mailbox)
          values (${mandatorId}, ${room}, 'Graph', 'r@secret.example')
          on conflict (mandator_id, resource_id) do update set mailbox = excluded.mailbox returning id
        ), item as (
          insert into mail_item (mandator_id, calendar_id, item_id, group_id, occurrence, content_hash, state, organizer_name,
            organizer_email)
          select ${mandatorId}, id, ${when} || hours, ${when} || hours, '', ''::bytea, 'PassedOver', name, email
          from calendar, organizer
        )
        insert into booking (mandator_id, resource_id, kind, status, origin, occupied, organizer_name, organizer_email)
        select ${mandatorId}, ${room}, 'MailItem', 'Confirmed', 'Mail',
          tstzrange(${slot(begin)}::timestamptz + hours * interval '1 hour', ${slot(begin + 1)}::timestamptz + hours * interval '1 hour'),
          name, email from organizer`.execute(db);
      const names = { AlsoKnownAs: [former, ...(when === 'later' ? [grace.Name] : [])] };
      if (when === 'later') expect((await erase(grace)).status).toBe(200);
      expect((await erase(grace, names)).status).toBe(200);
      const { body } = await admin.get(`/bookings?From=${slot(begin)}&To=${slot(begin + 3)}&ResourceId=${room}`);
      expect((body['Items'] as Tree[]).map(({ Organizer }) => Organizer)).toEqual([
        null,
        null,
        { PersonId: null, DisplayName: grace.Name, Email: 'namesake@school.example' },
      ]);
      expect(await findEverywhere([former, 'Grace Murray'])).toEqual([]);
      const items = await db.selectFrom('mail_item').where('organizer_name', '=', grace.Name).selectAll().execute();
      expect(items).toEqual([expect.objectContaining({ organizer_email: 'namesake@school.example' })]);
      const theirs = { AlsoKnownAs: [service.tenant.person('User').email.toUpperCase()] };
      expect((await erase(grace, theirs)).body).toMatchObject({
        Errors: [{ Pointer: '/AlsoKnownAs/0', Code: 'OfAnotherPerson' }],
      });
    },
  );

  test('gets another address where a living person has its usual one', async () => {
    const grace = await makePerson();
    const usual = `erased-${grace.Id}@erased.invalid`;
    const other = await makePerson({ Email: usual.toUpperCase() });
    const erased = await erase(grace);
    expect(erased).toMatchObject({
      status: 200,
      body: { Email: expect.stringMatching(/^erased-.+@erased\.invalid$/) },
    });
    expect(erased.body['Email']).not.toBe(usual);
    expect((await admin.get(other.path)).body).toMatchObject({ Email: usual.toUpperCase(), ErasedAt: null });
  });

  test('is known by addresses that are as long as that of a person may be', async () => {
    const grace = await makePerson();
    const longest = `g@${'m'.repeat(244)}.example`;
    expect((await erase(grace, { AlsoKnownAs: [longest] })).status).toBe(200);
    expect((await erase(grace, { AlsoKnownAs: [`g${longest}`] })).status).toBe(422);
  });

  test('leaves lessons and calendar addresses by a name that another person has too, unless it was a code or is given', async () => {
    const { db } = service.context;
    const name = 'Anna Doppler';
    const namesake = await makePerson({ Name: name.toUpperCase(), TeacherCode: 'DOP2' });
    await storeLesson(namesake, 500, [name, 'DOP1'], [name]);
    const { body } = await user.post('/timetable/calendar-tokens', { Lehrperson: name });
    const { pathname, search } = new URL(String(body['Url']));
    const namedIn = async (hours: number) => {
      const lessons = db.selectFrom('lesson').where('beginn', '=', new Date(slot(hours)));
      const { lehrpersonen, ursprung } = await lessons.select(['lehrpersonen', 'ursprung']).executeTakeFirstOrThrow();
      return [lehrpersonen, (ursprung as Tree)['Lehrpersonen']];
    };
    const left = async () => [...(await namedIn(500)), (await fetch(`${service.url}${pathname}${search}`)).status];
    const anna = await makePerson({ Name: name, TeacherCode: 'DOP1' });
    expect([(await erase(anna)).status, await left()]).toEqual([200, [[name], [name], 200]]);
    expect((await erase(anna, { AlsoKnownAs: [name] })).status).toBe(200);
    expect(await left()).toEqual([[], [], 401]);
    await storeLesson(namesake, 501, [name], []);
    expect((await erase(await makePerson({ Name: name, TeacherCode: name }))).status).toBe(200);
    expect(await namedIn(501)).toEqual([[], []]);
  });

  test('leaves the organizer without an address whose name another person has too, unless that name is given', async () => {
    const { db } = service.context;
    const { mandatorId, resources } = service.tenant;
    const names = { Name: 'Thomas Namesake' };
    const [thomas, other] = [await makePerson(names), await makePerson({ Name: 'thomas namesake' })];
    await sql`
      insert into booking (mandator_id, resource_id, kind, status, origin, occupied, organizer_name)
      values (${mandatorId}, ${resources[1]!.id}, 'MailItem', 'Confirmed', 'Mail', tstzrange(${slot(400)}, ${slot(401)}), ${names.Name})`.execute(
      db,
    );
    const organizers = async () =>
      (await db.selectFrom('booking').where('organizer_name', '=', names.Name).select('id').execute()).length;
    expect([(await erase(thomas)).status, await organizers()]).toEqual([200, 1]);
    expect([(await erase(thomas, { AlsoKnownAs: [names.Name] })).status, await organizers()]).toEqual([200, 0]);
    expect((await admin.get(other.path)).body).toMatchObject({ Name: 'thomas namesake', ErasedAt: null });
  });

  test('403, 404, 412, 422', async () => {
    const grace = await makePerson();
    expect((await erase(grace, {}, user)).status).toBe(403);
    expect((await erase(grace, {}, admin, { 'If-Match': '"7"' })).status).toBe(412);
    expect((await erase({ path: '/persons/2000000000' })).status).toBe(404);
    const foreign = await makeTenant(service.context.db, { code: 'others' });
    expect((await erase({ path: `/persons/${foreign.person('User').id}` })).status).toBe(404);
    for (const body of [
      { AlsoKnownAs: 'GH' },
      { AlsoKnownAs: [''] },
      { AlsoKnownAs: Array(11).fill('x') },
      { Name: 'x' },
    ])
      expect((await erase(grace, body)).status).toBe(422);
    expect((await admin.get(grace.path)).body).toMatchObject({ Name: grace.Name, ErasedAt: null, Version: 1 });
  });

  test('is not the person of a display: 409', async () => {
    const { personId, displayId } = await makeDisplay(service.context.db, service.tenant);
    const { status, body } = await erase({ path: `/persons/${personId}` });
    expect([status, body['detail']]).toEqual([409, expect.stringContaining(`the display ${displayId}`)]);
  });

  test('503 while an import holds one of its lessons; nothing is erased then', async () => {
    const grace = await makePerson();
    const { body } = await grace.caller.post('/bookings', wish());
    const release = await hold(service.context.db, (trx) =>
      sql`select from booking where id = ${body['Id']} for no key update`.execute(trx),
    );
    expect((await erase(grace)).status).toBe(503);
    expect((await grace.caller.get('/persons/me')).body).toMatchObject({ Name: grace.Name, Active: true });
    await release();
    expect((await erase(grace)).status).toBe(200);
  });

  test('503 while an import is at work, which would write the name back', async () => {
    const importing = await startService({}, ['A']);
    const { db } = importing.context;
    const chief = masterData(importing, await importing.signIn(importing.tenant, 'Admin'));
    const { id, name } = importing.tenant.person('Importer');
    const { importJobs, send, end, lessons } = lessonClient(importing, await importing.signIn());
    const [job] = makeJobs(1, { rooms: ['A'] });
    Object.assign(job!.LektionList[0]!, { Lehrpersonen: [name, 'E. Noether'] });
    await importJobs([job]);
    const release = await hold(db, (trx) => sql`select from resource for no key update`.execute(trx));
    const sent = await send('update', [{ ...job, LektionList: [{ LektionId: '0-0', Titel: 'Algebra' }] }]);
    await until(async () => (await countWaiting(db)) > 0);
    expect((await erase({ path: `/persons/${id}` }, {}, chief)).status).toBe(503);
    await release();
    await end(((await sent.json()) as { BatchId: string }).BatchId);
    expect((await erase({ path: `/persons/${id}` }, {}, chief)).status).toBe(200);
    expect((await lessons()).Items).toEqual([
      expect.objectContaining({ Titel: 'Algebra', Lehrpersonen: ['E. Noether'] }),
    ]);
    await importing.stop();
  });
});

describe('the last Admin', () => {
  test('409 for its erasure', async () => {
    const path = `/persons/${service.tenant.person('Admin').id}`;
    expect(await erase({ path })).toMatchObject({ status: 409, body: { Code: 'Conflict' } });
    expect((await admin.get('/persons/me')).status).toBe(200);
  });

  test.each(['erase each other', 'demote and erase each other'])(
    'stays when the last two %s at one time',
    async (what) => {
      const tenant = await makeTenant(service.context.db, { code: `rivals-${what.length}` });
      const first = tenant.person('Admin').id;
      const as = async (id: number) =>
        masterData(
          service,
          await service.signIn({ ...tenant, person: () => ({ id, email: '', role: '', name: '' }) }),
          tenant.code,
        );
      const one = await as(first);
      for (let round = 0; round < 3; round++) {
        const rival = { Name: 'Rival', Email: `rival${round}@r.example`, TimeZone: 'UTC', Role: 'Admin' };
        const second = (await one.post('/persons', rival)).body['Id'] as number;
        if (!second) break;
        const other = await as(second);
        const answers = await Promise.all([
          erase({ path: `/persons/${second}` }, {}, one),
          what === 'erase each other'
            ? erase({ path: `/persons/${first}` }, {}, other)
            : other.patch(`/persons/${first}`, { Role: 'User' }),
        ]);
        expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      }
      const { rows } = await sql<{ left: number }>`select count(*)::int as left from person
      where mandator_id = ${tenant.mandatorId} and role = 'Admin' and active`.execute(service.context.db);
      expect(rows[0]?.left).toBeGreaterThan(0);
    },
  );
});

test('over GraphQL: the person, or why not', async () => {
  const mutation = `mutation ($id: ID!, $version: Int, $names: [String!]) {
    erasePerson(id: $id, version: $version, alsoKnownAs: $names) {
      __typename ... on Person { name email active erasedAt version } ... on Problem { code } } }`;
  const grace = await makePerson();
  const outcome = async (variables: object, caller = admin) =>
    (await caller.ask(mutation, { id: String(grace.Id), ...variables })).data?.['erasePerson'];
  expect(await outcome({}, user)).toMatchObject({ __typename: 'ForbiddenProblem' });
  expect(await outcome({ version: 9 })).toMatchObject({ __typename: 'VersionProblem' });
  expect(await outcome({ id: '2000000000' })).toMatchObject({ __typename: 'NotFoundProblem' });
  expect(await outcome({ names: [''] })).toMatchObject({ __typename: 'ValidationProblem' });
  expect(await outcome({ id: String(service.tenant.person('Admin').id) })).toMatchObject({
    __typename: 'ConflictProblem',
  });
  expect(await outcome({ version: 1, names: ['GH'] })).toMatchObject({
    __typename: 'Person',
    name: 'Erased person',
    active: false,
    version: 2,
    erasedAt: expect.any(String),
  });
});

test('the page on personal data says what becomes of each column that can hold a text', async () => {
  const page = fs.readFileSync(path.join(import.meta.dirname, '../../docs/personal-data.md'), 'utf8');
  const places = await listTextColumns();
  const told = new Set([...page.matchAll(/`([a-z_]+\.[a-z_]+)`/g)].map(([, place]) => place));
  expect(places.filter((place) => !told.has(place))).toEqual([]);
  expect([...told].filter((place) => !places.includes(place as string))).toEqual([]);
});
