/**
 * Values that PostgreSQL cannot store, or that are impossible, are refused as the sender's fault in every place, also without a
 * credential. The places come from the OpenAPI document and the GraphQL schema.
 */
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { buildSchema, type GraphQLArgument, getNamedType, isInputObjectType, isObjectType } from 'graphql';
import { toCursor } from '../../src/db/paging.ts';
import { mostLongId } from '../../src/storable.ts';
import { documentFile } from '../_util/contract.ts';
import { pairDevice } from '../_util/displays.ts';
import { project } from '../_util/generate.ts';
import { masterData } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';

type Operation = { parameters?: { name?: string }[] };
const { paths } = JSON.parse(fs.readFileSync(documentFile, 'utf8')) as {
  paths: Record<string, Record<string, Operation>>;
};
/** Every list, by its path below the tenant, with an id of nothing in the place of each id. */
const lists = Object.entries(paths)
  .filter(([, { get }]) => get?.parameters?.some(({ name }) => name === 'Cursor'))
  .map(([template]) => template.replace('/{mandator}', ''));

let service: Service;
let admin: ReturnType<typeof masterData>;

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
});
afterAll(() => service.stop());

const feed = (mandator: string, resource: string) =>
  fetch(`${service.url}/${mandator}/api/v1.0/resources/${resource}/calendar.ics?token=x`);

test.each([
  ['tenant', 'sch%00ool', '1'],
  ['resource', 'school', '1%00'],
])('U+0000 in the %s of a calendar feed: 401 without a token that counts', async (_of, mandator, resource) => {
  expect((await feed(mandator, resource)).status).toBe(401);
});

describe('a cursor past what ids may be', () => {
  test.each(lists)('%s: the fault of whoever sends it, or the end of the list', async (template) => {
    const id = String(service.tenant.resources[0]!.id);
    const address = `${service.url}/school${template.replaceAll(/\{\w+\}/g, id)}`;
    const headers = { Authorization: `Bearer ${admin.token}` };
    const [name = ''] = /[\w-]+$/.exec(template) ?? [];
    const keys = [2 ** 31, mostLongId, 2 ** 63, -1, ['9'.repeat(18), mostLongId], ['1', mostLongId, '\0']];
    for (const key of keys) {
      const cursor = toCursor({ name, keyOf: () => key }, undefined);
      const { status } = await fetch(`${address}?Cursor=${cursor}`, { headers });
      expect({ key, isFault: status >= 500 }).toEqual({ key, isFault: false });
    }
  });
});

describe('a period that ends before it begins, or is too long, is refused, also where it would find nothing', () => {
  const periods = Object.entries(paths).flatMap(([template, { get }]) => {
    const names = get?.parameters?.map(({ name }) => name) ?? [];
    return names.includes('From') && names.includes('To') ? [template.replace('/{mandator}', '')] : [];
  });
  const days = (text: string) => (text.includes('DateTime') ? ['T01:00:00Z', 'T00:00:00Z'] : ['', '']);
  const [later, earlier] = ['2031-03-04', '2031-03-03'];

  test.each(periods)('GET %s', async (template) => {
    const isOfDates = /usage|holidays|opening-hours/.test(template);
    const [from, to] = isOfDates ? [later, earlier] : [`${later}T00:00:00Z`, `${earlier}T00:00:00Z`];
    const address = template.replaceAll(/\{\w+\}/g, String(service.tenant.locationId));
    const headers = { Authorization: `Bearer ${admin.token}` };
    const answer = await fetch(`${service.url}/school${address}?From=${from}&To=${to}`, { headers });
    expect([answer.status, await answer.json()]).toEqual([
      400,
      expect.objectContaining({ Errors: [expect.objectContaining({ Field: 'To', Code: 'InvalidValue' })] }),
    ]);
  });

  test.each([
    ['bookings', '2031-03-03T00:00:00Z', '2032-03-03T00:00:01Z'],
    ['availability', '2031-03-03T00:00:00Z', '2031-06-03T00:00:01Z'],
    ['usage/resources', '2031-03-03', '2032-03-03'],
    ['opening-hours/all/:locationId', '2031-03-03', '2032-03-03'],
  ])('GET %s from %s to %s is too long', async (template, from, to) => {
    const address = template.replace(':locationId', String(service.tenant.locationId));
    const answer = await admin.get(`/${address}?From=${from}&To=${to}`);
    expect(answer).toMatchObject({ status: 400, body: { Errors: [{ Field: 'To', Code: 'InvalidValue' }] } });
  });

  const schema = buildSchema(fs.readFileSync(path.join(project, 'src/graphql/schema.graphql'), 'utf8'));
  /** The arguments of a period, as they are written; none where the field takes no period. */
  function periodOf(args: readonly GraphQLArgument[]): string[] {
    const members = (of: readonly { name: string; type: unknown }[]) => {
      const [from, to] = ['from', 'to'].map((name) => of.find((one) => one.name === name));
      if (!from || !to) return [];
      const [begin = '', end = ''] = days(String(from.type));
      return [`from: "${later}${begin}", to: "${earlier}${end}"`];
    };
    const within = args.flatMap(({ name, type }) => {
      const named = getNamedType(type);
      const [found] = isInputObjectType(named) ? members(Object.values(named.getFields())) : [];
      return found ? [`${name}: { ${found} }`] : [];
    });
    return [...members(args), ...within];
  }
  const fields = Object.values(schema.getTypeMap()).flatMap((type) =>
    isObjectType(type) && type.name !== 'Mutation'
      ? Object.values(type.getFields()).flatMap(({ name, args }) => {
          const needsPlace = args.some((one) => one.name === 'locationId');
          return periodOf(args).map((period) => [type.name, name, `${needsPlace ? 'locationId: 1, ' : ''}${period}`]);
        })
      : [],
  );
  const parents: Record<string, () => string> = {
    Person: () => `person(id: ${service.tenant.person('User').id})`,
    Resource: () => `resource(id: ${service.tenant.resources[0]!.id})`,
  };

  test('the fields of GraphQL with a period are lists, edges and streams', () => {
    const named = fields.map(([type, name]) => `${type}.${name}`);
    expect(named).toEqual(
      expect.arrayContaining(['Query.lessons', 'Query.holidays', 'Subscription.bookings', 'Resource.bookings']),
    );
  });

  test.each(fields)('%s.%s', async (type, name, args) => {
    const field = `${name}(${args}) { __typename ${name === 'usage' ? 'resources { __typename }' : ''} }`;
    const isRoot = ['Query', 'Subscription'].includes(type!);
    const query = isRoot ? `${type!.toLowerCase()} { ${field} }` : `{ ${parents[type!]!()} { ${field} } }`;
    const answer = await fetch(`${service.url}/school/graphql`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${admin.token}`,
        'Content-Type': 'application/json',
        Accept: type === 'Subscription' ? 'text/event-stream' : 'application/json',
      },
      body: JSON.stringify({ query }),
    });
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      text += next.value;
      if (/^data: .+\n\n/m.test(text)) break;
    }
    await reader.cancel();
    expect(text).toContain('BAD_USER_INPUT');
  });
});

test('a version beyond the highest possible matches nothing: 412, also for an extension by a display', async () => {
  const sign = await pairDevice(service, admin, { MayBook: true });
  const start = Math.floor(Date.now() / 60_000) * 60_000;
  const { body: booking } = await sign.post('/bookings', {
    ResourceId: service.tenant.resources[0]!.id,
    Subject: 'Now',
    Start: new Date(start).toISOString(),
    End: new Date(start + 1_800_000).toISOString(),
  });
  const extend = (version: unknown) =>
    sign.post(`/bookings/${booking['Id']}/extend`, { Minutes: 15 }, { 'If-Match': `"${version}"` });
  expect((await extend(9_999_999_999)).status).toBe(412);
  expect((await extend(booking['Version'])).status).toBe(200);
});
