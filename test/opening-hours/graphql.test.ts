import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import * as tenants from '../../src/tenants/service.ts';
import { makeTenant } from '../_util/factories.ts';
import { type GraphqlService, startGraphql } from '../_util/graphql.ts';
import {
  OpeningHoursDocument,
  OwnHoursDocument,
  OwnHoursOfLocationDocument,
  SetHoursOfLocationDocument,
  SetOpeningExceptionsDocument,
  SetOpeningRulesDocument,
  type TypedDocumentString,
} from '../_util/operations/generated/graphql.ts';
import { type Service, startService } from '../_util/service.ts';

let service: Service;
let graphql: GraphqlService;
let other: Awaited<ReturnType<typeof makeTenant>>;
let room: string;
let locations: Record<string, number>;
let token: string;

beforeAll(async () => {
  service = await startService({ Role: 'Web' }, ['Room']);
  const { tenant, context } = service;
  const rule = { Weekdays: [1, 2, 3, 4, 5, 6, 7], Opens: '22:00', Closes: '06:00' };
  const file = {
    Mandator: 'school',
    Name: 'School',
    Locations: [
      {
        Name: 'Campus',
        TimeZone: 'Europe/Berlin',
        OpeningRules: [rule],
        OpeningExceptions: [
          { FromDate: '2026-03-30', ToDate: '2026-03-30', Periods: [{ Opens: '08:00', Closes: '24:00' }] },
          { FromDate: '2026-04-01', ToDate: '2026-04-02', Closed: true, Reason: 'Cleaning' },
        ],
      },
      { Name: 'Tokyo', TimeZone: 'Asia/Tokyo' },
    ],
  };
  await tenants.applyTenantFile(context.db, tenants.readTenantFile(file));
  other = await makeTenant(context.db, { code: 'other' });
  const found = await context.db
    .selectFrom('location')
    .where('mandator_id', '=', tenant.mandatorId)
    .select(['id', 'name'])
    .execute();
  locations = Object.fromEntries(found.map(({ id, name }) => [name, id]));
  room = String(tenant.resources[0]?.id);
  token = await service.signIn(tenant, 'Admin');
  graphql = await startGraphql(service.databaseUrl);
  for (const role of ['Admin', 'User', 'Display'] as const) graphql.admit(role, tenant, { role });
  graphql.admit('nowhere', tenant, { timeZone: '' });
});
afterAll(async () => {
  await graphql.stop();
  await service.stop();
});

const run = <Data, Variables extends object>(
  document: TypedDocumentString<Data, Variables>,
  variables: Variables,
  who = 'Admin',
) => graphql.run(document, variables, who);

/** What REST answers, in the words of GraphQL: camel case, and ids as texts. */
async function rest(path: string, headers: Record<string, string> = {}): Promise<unknown> {
  const answer = await fetch(`${service.url}/school/api/v1.0/opening-hours${path}`, {
    headers: { Authorization: `Bearer ${token}`, 'X-JsonPropertyFormat': 'camel', ...headers },
  });
  expect(answer.status).toBe(200);
  const idsAsTexts = (name: string, value: unknown) =>
    /^(id|\w+Id)$/.test(name) && typeof value === 'number' ? String(value) : value;
  return JSON.parse(await answer.text(), idsAsTexts);
}

describe('openingHours', () => {
  const days = { from: '2026-03-27', to: '2026-04-03' };
  const query = `From=${days.from}&To=${days.to}`;

  test('gives every value of REST, with and without a location for the zone', async () => {
    const locationId = String(locations['Campus']);
    const plain = await run(OpeningHoursDocument, { locationId, ...days });
    expect(plain.errors).toBeUndefined();
    expect(plain.data?.openingHours).toEqual(await rest(`/all/${locationId}?${query}`));
    expect(plain.data?.openingHours?.resources[0]?.intervals).toHaveLength(6);

    const timezoneLocationId = String(locations['Tokyo']);
    const named = await run(OpeningHoursDocument, { locationId, timezoneLocationId, ...days });
    expect(named.data?.openingHours).toEqual(
      await rest(`/all/${locationId}?${query}`, { 'X-timezone-locationId': timezoneLocationId }),
    );
    expect(named.data?.openingHours).toMatchObject({ timeZone: 'Asia/Tokyo', timeZoneSource: 'Location' });
  });

  test('today and six days, when no dates are given', async () => {
    const { data } = await run(OpeningHoursDocument, { locationId: String(locations['Campus']) });
    const { from = '', to = '' } = data?.openingHours ?? {};
    expect(Date.parse(to) - Date.parse(from)).toBe(6 * 86_400_000);
  });

  test("the location's own zone for a person without one", async () => {
    const { data } = await run(OpeningHoursDocument, { locationId: String(locations['Tokyo']) }, 'nowhere');
    expect(data?.openingHours).toMatchObject({ timeZone: 'Asia/Tokyo', timeZoneSource: 'Location' });
  });

  test('NOT_FOUND in the same words for a foreign location, an unknown one, and what is no id', async () => {
    const answers = await Promise.all(
      [String(other.locationId), '999999', 'Campus', '0'].map((locationId) =>
        run(OpeningHoursDocument, { locationId }),
      ),
    );
    for (const { data, errors } of answers)
      expect([data, errors]).toEqual([
        { openingHours: null },
        [
          expect.objectContaining({
            message: answers[0]?.errors?.[0]?.message,
            extensions: expect.objectContaining({ code: 'NOT_FOUND' }),
          }),
        ],
      ]);
  });

  test('BAD_USER_INPUT in the same words for a foreign timezoneLocationId and an unknown one', async () => {
    const locationId = String(locations['Campus']);
    const answers = await Promise.all(
      [String(other.locationId), '999999', 'Tokyo', ''].map((timezoneLocationId) =>
        run(OpeningHoursDocument, { locationId, timezoneLocationId }),
      ),
    );
    const message = 'timezoneLocationId: there is no location of this id.';
    const fault = { field: 'timezoneLocationId', pointer: '/timezoneLocationId', code: 'InvalidValue', message };
    for (const { errors } of answers)
      expect(errors).toMatchObject([{ message, extensions: { code: 'BAD_USER_INPUT', errors: [fault] } }]);
  });

  test.each([
    [{ from: '2026-02-30' }],
    [{ from: '2026-03-28T00:00:00Z' }],
    [{ from: '2026-01-02', to: '2026-01-01' }],
    [{ from: '2026-01-01', to: '2027-01-02' }],
  ])('BAD_USER_INPUT for %j', async (dates) => {
    const { errors } = await run(OpeningHoursDocument, { locationId: String(locations['Campus']), ...dates });
    expect(errors?.[0]?.extensions['code']).toBe('BAD_USER_INPUT');
  });

  test('of a display are those of its own rooms; elsewhere there is no such location for it', async () => {
    const asked = { locationId: String(locations['Campus']) };
    const { errors } = await run(OpeningHoursDocument, asked, 'Display');
    expect(errors?.[0]?.extensions['code']).toBe('NOT_FOUND');
    const grant = { displayId: 1, mayBook: false, privacy: 'BusyOnly', resourceIds: [Number(room)] } as const;
    graphql.admit('sign', service.tenant, { role: 'Display', display: grant });
    const { data } = await run(OpeningHoursDocument, asked, 'sign');
    expect(data?.openingHours?.resources.map(({ resourceId }) => resourceId)).toEqual([room]);
    const elsewhere = await run(OpeningHoursDocument, { locationId: String(locations['Tokyo']) }, 'sign');
    expect(elsewhere.errors?.[0]?.extensions['code']).toBe('NOT_FOUND');
    const inZoneOf = (timezoneLocationId: string) =>
      run(OpeningHoursDocument, { ...asked, timezoneLocationId }, 'sign');
    expect((await inZoneOf(asked.locationId)).data?.openingHours?.timeZoneSource).toBe('Location');
    expect((await inZoneOf(String(locations['Tokyo']))).errors?.[0]?.extensions['code']).toBe('BAD_USER_INPUT');
  });
});

describe('setOpeningRules and setOpeningExceptions', () => {
  const rules = [{ weekdays: [1], opens: '08:00', closes: '24:00' }];
  const exceptions = [{ fromDate: '2027-01-01', toDate: '2027-01-01', periods: [{ opens: '10:00', closes: '12:00' }] }];
  const versions = async () => {
    const { data } = await run(OwnHoursDocument, { resourceId: room });
    return {
      rules: data?.openingRules?.version ?? -1,
      exceptions: data?.openingExceptions?.version ?? -1,
    };
  };

  test('replace the lists; what they give, the queries give, and REST', async () => {
    const before = await versions();
    const set = await run(SetOpeningRulesDocument, {
      resourceId: room,
      version: before.rules,
      items: rules,
    });
    const also = await run(SetOpeningExceptionsDocument, {
      resourceId: room,
      version: before.exceptions,
      items: exceptions,
    });
    const { data } = await run(OwnHoursDocument, { resourceId: room });
    expect(set.data?.result).toEqual({ __typename: 'OpeningRuleList', ...data?.openingRules });
    expect(also.data?.result).toEqual({ __typename: 'OpeningExceptionList', ...data?.openingExceptions });
    expect(data?.openingRules).toEqual(await rest(`/${room}/rules`));
    expect(data?.openingExceptions).toEqual(await rest(`/${room}/exceptions`));
    expect(data?.openingRules?.items).toMatchObject([{ ...rules[0], validFrom: null, validTo: null }]);
    expect(data?.openingExceptions?.items).toMatchObject([{ ...exceptions[0], closed: false, reason: null }]);
  });

  test('and those of a location', async () => {
    const locationId = String(locations['Tokyo']);
    const own = { locationId, rulesVersion: 0, rules, exceptionsVersion: 0, exceptions };
    const set = await run(SetHoursOfLocationDocument, own);
    const { data } = await run(OwnHoursOfLocationDocument, { locationId });
    expect(set.data?.rules).toEqual({ __typename: 'OpeningRuleList', ...data?.rules });
    expect(set.data?.exceptions).toEqual({ __typename: 'OpeningExceptionList', ...data?.exceptions });
    expect(data?.rules).toEqual(await rest(`/locations/${locationId}/rules`));
    expect(data?.exceptions).toEqual(await rest(`/locations/${locationId}/exceptions`));
    const problemsOf = async (change: object, who = 'Admin') => {
      const { data: refused } = await run(SetHoursOfLocationDocument, { ...own, ...change }, who);
      return [refused?.rules.__typename, refused?.exceptions.__typename];
    };
    expect(await problemsOf({})).toEqual(['VersionProblem', 'VersionProblem']);
    expect(await problemsOf({ locationId: String(other.locationId) })).toEqual(['NotFoundProblem', 'NotFoundProblem']);
    expect(await problemsOf({}, 'User')).toEqual(['ForbiddenProblem', 'ForbiddenProblem']);
  });

  const cases = [
    ['VersionProblem', { version: 2_000_000_000 }, 'Admin'],
    ['NotFoundProblem', { resourceId: '999999' }, 'Admin'],
    ['NotFoundProblem', { resourceId: 'Room' }, 'Admin'],
    ['ForbiddenProblem', {}, 'User'],
    ['ForbiddenProblem', {}, 'Display'],
  ] as const;

  test.each(cases)('%s for %j of a %s', async (problem, change, who) => {
    const variables = { resourceId: room, version: (await versions()).rules, items: rules, ...change };
    expect((await run(SetOpeningRulesDocument, variables, who)).data?.result.__typename).toBe(problem);
    const others = { ...variables, items: exceptions };
    expect((await run(SetOpeningExceptionsDocument, others, who)).data?.result.__typename).toBe(problem);
  });

  test("NotFoundProblem for another tenant's resource", async () => {
    const resourceId = String(other.resources[0]?.id);
    const { data } = await run(SetOpeningRulesDocument, { resourceId, version: 0, items: rules });
    expect(data?.result.__typename).toBe('NotFoundProblem');
  });

  test('ValidationProblem with every fault, as REST tells them', async () => {
    const version = (await versions()).exceptions;
    const { data } = await run(SetOpeningExceptionsDocument, {
      resourceId: room,
      version,
      items: [
        {
          fromDate: '1899-12-31',
          toDate: '2027-01-01',
          reason: 'x'.repeat(501),
          periods: [{ opens: '24:00', closes: '25:00' }],
        },
        { fromDate: '2027-01-02', toDate: '2027-01-01', closed: true },
      ],
    });
    expect(data?.result).toMatchObject({
      __typename: 'ValidationProblem',
      errors: [
        { field: 'fromDate', pointer: '/items/0/fromDate', code: 'InvalidValue' },
        { field: 'opens', pointer: '/items/0/periods/0/opens', code: 'InvalidValue' },
        { field: 'closes', pointer: '/items/0/periods/0/closes', code: 'InvalidValue' },
        { field: 'reason', pointer: '/items/0/reason', code: 'InvalidValue' },
        { field: 'toDate', pointer: '/items/1/toDate', code: 'InvalidValue' },
      ].map((fault) => expect.objectContaining(fault)),
    });
  });

  test('ValidationProblem for hours that overlap names both places', async () => {
    const { rules: version, exceptions } = await versions();
    const hours = { opens: '08:00', closes: '12:00' };
    const rules = [1, 2, 2].map((weekday) => ({ weekdays: [weekday], ...hours }));
    const { data: week } = await run(SetOpeningRulesDocument, { resourceId: room, version, items: rules });
    expect(week?.result).toMatchObject({
      errors: [{ pointer: '/items/2', otherPointer: '/items/1', code: 'OverlappingPeriods' }],
    });
    const items = [{ fromDate: '2027-01-02', toDate: '2027-01-02', periods: [hours, hours] }];
    const { data: date } = await run(SetOpeningExceptionsDocument, { resourceId: room, version: exceptions, items });
    expect(date?.result).toMatchObject({
      errors: [{ pointer: '/items/0/periods/1', otherPointer: '/items/0/periods/0', code: 'OverlappingPeriods' }],
    });
  });

  test('ValidationProblem for a text that no database takes', async () => {
    const items = [{ fromDate: '2027-01-01', toDate: '2027-01-01', closed: true, reason: 'a\0b' }];
    const variables = { resourceId: room, version: 0, items };
    const { data } = await run(SetOpeningExceptionsDocument, variables);
    expect(data?.result.__typename).toBe('ValidationProblem');
  });

  test('their lists are for Admins: FORBIDDEN', async () => {
    const { errors } = await run(OwnHoursDocument, { resourceId: room }, 'User');
    expect(errors?.[0]?.extensions['code']).toBe('FORBIDDEN');
  });
});
