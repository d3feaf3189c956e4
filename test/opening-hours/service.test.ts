import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { openLog } from '../../src/log.ts';
import { listOpenIntervals } from '../../src/opening-hours/service.ts';
import * as tenants from '../../src/tenants/service.ts';
import { cloneDatabase } from '../_util/postgres.ts';

let clone: Awaited<ReturnType<typeof cloneDatabase>>;
let db: Database;

beforeAll(async () => {
  clone = await cloneDatabase();
  db = openDatabase(clone.url, { max: 2, log: openLog('silent'), statementTimeout: 5_000 });
});
afterAll(async () => {
  await db.destroy();
  await clone.drop();
});

const everyDay = [1, 2, 3, 4, 5, 6, 7];
const daily = (Opens: string, Closes: string) => ({ Weekdays: everyDay, Opens, Closes });
const closed = (FromDate: string, ToDate = FromDate) => ({ FromDate, ToDate, Closed: true });
const special = (date: string, Opens: string, Closes: string) => ({
  FromDate: date,
  ToDate: date,
  Periods: [{ Opens, Closes }],
});

let tenantNumber = 0;

/** Makes a tenant of these locations, and gives the ids of its resources by their names. */
async function makeSchool(...Locations: object[]) {
  const Mandator = `school-${tenantNumber++}`;
  const file = tenants.readTenantFile({
    Mandator,
    Name: Mandator,
    Locations: Locations.map((location, index) => ({
      Name: `L${index}`,
      TimeZone: 'Europe/Berlin',
      ...location,
    })),
  });
  await tenants.applyTenantFile(db, file);
  const { mandatorId } = await tenants.getMandator(db, Mandator);
  const rows = await db.selectFrom('resource').where('mandator_id', '=', mandatorId).select(['id', 'name']).execute();
  return { mandatorId, ids: Object.fromEntries(rows.map(({ id, name }) => [name, id])) };
}

const open = async (school: Awaited<ReturnType<typeof makeSchool>>, from: string, to: string) => {
  const found = await listOpenIntervals(
    ...([db, school.mandatorId, Object.values(school.ids), new Date(from), new Date(to)] as const),
  );
  const nameOf = (id: number) => Object.keys(school.ids).find((name) => school.ids[name] === id) ?? String(id);
  const show = (instant: Date) => instant.toISOString().slice(5, 16);
  return Object.fromEntries(
    [...found].map(([id, stretches]) => [nameOf(id), stretches.map(({ start, end }) => `${show(start)} ${show(end)}`)]),
  );
};

describe('listOpenIntervals', () => {
  test('takes the rules of the resource before those of its location, each in the zone of its location', async () => {
    const school = await makeSchool(
      {
        OpeningRules: [daily('08:00', '18:00')],
        Resources: [{ Name: 'A' }, { Name: 'B', OpeningRules: [daily('10:00', '24:00')] }],
      },
      { TimeZone: 'Asia/Tokyo', OpeningRules: [daily('08:00', '18:00')], Resources: [{ Name: 'C' }] },
    );
    expect(await open(school, '2026-06-02T00:00Z', '2026-06-02T23:00Z')).toEqual({
      A: ['06-02T06:00 06-02T16:00'],
      B: ['06-02T08:00 06-02T22:00'],
      C: ['06-01T23:00 06-02T09:00', '06-02T23:00 06-03T09:00'],
    });
  });

  test('joins what touches, over midnight too, and what an earlier release has stored overlapping', async () => {
    const school = await makeSchool({
      OpeningRules: [daily('08:00', '12:00'), daily('12:00', '14:00'), daily('15:00', '18:00')],
      Resources: [{ Name: 'A' }, { Name: 'B', OpeningRules: [daily('00:00', '24:00')] }],
    });
    const overlapping = [
      ['13:00', '18:00'],
      ['14:30', '15:00'],
    ].map(([opens, closes]) => ({ opens, closes }));
    await sql`
      insert into opening_rule (mandator_id, location_id, weekdays, opens, closes)
      select distinct mandator_id, location_id, ${everyDay}::smallint[], rule.opens, rule.closes
      from opening_rule, jsonb_to_recordset(${JSON.stringify(overlapping)}) as rule(opens time, closes time)
      where mandator_id = ${school.mandatorId}`.execute(db);
    expect(await open(school, '2026-06-02T10:00Z', '2026-06-02T11:00Z')).toEqual({
      A: ['06-02T06:00 06-02T16:00'],
      B: ['05-31T22:00 06-02T22:00'],
    });
  });

  test('finds the night that began before', async () => {
    const school = await makeSchool({ OpeningRules: [daily('22:00', '06:00')], Resources: [{ Name: 'A' }] });
    expect(await open(school, '2026-06-02T01:00Z', '2026-06-02T02:00Z')).toEqual({
      A: ['06-01T20:00 06-02T04:00'],
    });
  });

  test('finds the night before in the last hour of a day of 25', async () => {
    const school = await makeSchool({ OpeningRules: [daily('23:30', '23:30')], Resources: [{ Name: 'A' }] });
    expect(await open(school, '2026-10-25T22:10Z', '2026-10-25T22:20Z')).toEqual({
      A: ['10-24T21:30 10-26T22:30'],
    });
  });

  test('shows an exception of the location in all its resources, unless they have their own for the date', async () => {
    const own = { OpeningRules: [daily('10:00', '12:00')] };
    const school = await makeSchool({
      OpeningRules: [daily('08:00', '18:00')],
      OpeningExceptions: [special('2026-06-02', '09:00', '10:00'), closed('2026-06-01', '2026-06-03')],
      Resources: [
        { Name: 'A' },
        { Name: 'B', ...own },
        { Name: 'C', ...own, OpeningExceptions: [special('2026-06-03', '14:00', '15:00')] },
        { Name: 'D', OpeningExceptions: [special('2026-06-03', '16:00', '17:00')] },
      ],
    });
    // Of two exceptions for 2 June the shorter one counts.
    expect(await open(school, '2026-06-01T00:00Z', '2026-06-03T23:00Z')).toEqual({
      A: ['06-02T07:00 06-02T08:00'],
      B: ['06-02T07:00 06-02T08:00'],
      C: ['06-02T07:00 06-02T08:00', '06-03T12:00 06-03T13:00'],
      D: ['06-02T07:00 06-02T08:00', '06-03T14:00 06-03T15:00'],
    });
  });

  test('prefers an exception of the resource to a shorter and later one of its location', async () => {
    const exception = {
      FromDate: '2026-06-01',
      ToDate: '2026-06-05',
      Periods: [{ Opens: '16:00', Closes: '17:00' }],
    };
    const Resources = [{ Name: 'A', OpeningExceptions: [exception] }];
    const school = await makeSchool({
      OpeningRules: [daily('08:00', '18:00')],
      OpeningExceptions: [closed('2026-06-03')],
      Resources,
    });
    expect(await open(school, '2026-06-03T00:00Z', '2026-06-03T23:00Z')).toEqual({
      A: ['06-03T14:00 06-03T15:00'],
    });
  });

  test('reads no exceptions of other dates: a resource with such ones shares the hours of its location', async () => {
    const school = await makeSchool({
      OpeningRules: [daily('08:00', '18:00')],
      Resources: [
        { Name: 'A' },
        { Name: 'Before', OpeningExceptions: [closed('2026-05-01', '2026-05-29')] },
        { Name: 'After', OpeningExceptions: [closed('2026-06-06', '2026-07-30')] },
        { Name: 'Around', OpeningExceptions: [closed('2026-05-01', '2026-07-30')] },
      ],
    });
    const { A, Before, After, Around } = school.ids as Record<string, number>;
    const [from, to] = [new Date('2026-06-02'), new Date('2026-06-03')];
    const found = await listOpenIntervals(db, school.mandatorId, Object.values(school.ids), from, to);
    expect(found.get(Before!)).toBe(found.get(A!));
    expect(found.get(After!)).toBe(found.get(A!));
    expect(found.get(Around!)).toEqual([]);
  });

  test('has nothing for a resource whose hours nobody knows, and an empty list for one that is closed', async () => {
    const school = await makeSchool(
      {
        OpeningExceptions: [special('2026-06-02', '09:00', '10:00')],
        Resources: [{ Name: 'A' }, { Name: 'B', OpeningRules: [daily('08:00', '09:00')] }],
      },
      { OpeningRules: [{ ...daily('08:00', '18:00'), ValidTo: '2020-12-31' }], Resources: [{ Name: 'C' }] },
    );
    expect(await open(school, '2026-06-03T00:00Z', '2026-06-03T23:00Z')).toEqual({
      B: ['06-03T06:00 06-03T07:00'],
      C: [],
    });
  });

  test('answers for the resources that are asked for, and for no other tenant', async () => {
    const hours = { OpeningRules: [daily('08:00', '18:00')] };
    const [mine, theirs] = [
      await makeSchool({ ...hours, Resources: [{ Name: 'A' }, { Name: 'B' }] }),
      await makeSchool({ ...hours, Resources: [{ Name: 'C' }] }),
    ];
    const asked = [mine.ids['A']!, theirs.ids['C']!, 2_000_000_000];
    const found = await listOpenIntervals(db, mine.mandatorId, asked, new Date('2026-06-02'), new Date('2026-06-03'));
    expect([...found.keys()]).toEqual([mine.ids['A']]);
    expect(await listOpenIntervals(db, mine.mandatorId, [], new Date('2026-06-02'), new Date('2026-06-03'))).toEqual(
      new Map(),
    );
  });

  test('computes shared hours once, in one query', async () => {
    const school = await makeSchool({
      OpeningRules: [daily('08:00', '18:00')],
      Resources: [
        ...Array.from({ length: 500 }, (_, index) => ({ Name: `R${index}` })),
        ...['Own', 'Like it'].map((Name) => ({ Name, OpeningRules: [daily('08:00', '19:00')] })),
      ],
    });
    const queries: string[] = [];
    const found = await db.transaction().execute((trx) =>
      listOpenIntervals(
        trx.withPlugin({
          transformQuery: ({ node }) => {
            queries.push(node.kind);
            return node;
          },
          transformResult: async ({ result }) => result,
        }),
        ...([school.mandatorId, Object.values(school.ids), new Date('2026-03-01'), new Date('2026-09-01')] as const),
      ),
    );
    expect(queries).toHaveLength(1);
    expect(found.size).toBe(502);
    expect(new Set(found.values()).size).toBe(2);
    expect(found.get(school.ids['R0']!)).toBe(found.get(school.ids['R499']!));
    expect(found.get(school.ids['Own']!)).toBe(found.get(school.ids['Like it']!));
    expect(found.get(school.ids['R0']!)).toHaveLength(184);
  });
});
