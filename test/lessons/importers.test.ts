import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  applyTenantFile,
  getMandator,
  listPersonsOf,
  readTenantFile,
  setParameter,
} from '../../src/tenants/service.ts';
import { makeTenant } from '../_util/factories.ts';
import { lessonClient } from '../_util/lessons.ts';
import { masterData } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';

type Role = 'Admin' | 'Importer' | 'User' | 'Display';
const roles = ['Admin', 'Importer', 'User', 'Display'] as const;

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

let tenants = 0;

/** A tenant of its own, with the parameter or without it, and what its people do. */
async function enter(usersMayImport?: boolean) {
  const { db } = service.context;
  const tenant = await makeTenant(db, { code: `rights-${++tenants}` });
  await db
    .updateTable('mandator')
    .set({ parameters: JSON.stringify({ PinAuthenticationAllowed: true, UsersMayImport: usersMayImport }) })
    .where('id', '=', tenant.mandatorId)
    .execute();
  const tokens = Object.fromEntries(
    await Promise.all(roles.map(async (role) => [role, await service.signIn(tenant, role)])),
  ) as Record<Role, string>;
  const clients = new Map(roles.map((role) => [role, lessonClient({ url: service.url, tenant }, tokens[role])]));
  const send = async (role: Role, operation: string, body: unknown) => {
    const answer = await clients.get(role)!.send(operation, body);
    return {
      status: answer.status,
      body: (await answer.json()) as { BatchId: string; Code?: string; detail?: string },
    };
  };
  const ask = async (role: Role, query: string, variables: object = {}) => {
    const answer = await fetch(`${service.url}/${tenant.code}/graphql`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${tokens[role]}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ query, variables }),
    });
    return (await answer.json()) as { data: Record<string, { __typename: string; message?: string }> | null };
  };
  return { tenant, tokens, clients, send, ask };
}

const lesson = { LektionId: '1', RessourceName: 'R001', Beginn: '2027-02-01T08:00:00Z', Ende: '2027-02-01T09:00:00Z' };
const jobs = [{ JobID: 'J', LektionList: [lesson] }];
const operations = ['create', 'create?ValidateOnly=true', 'update', 'delete'];
const mutations = {
  createLessonJobs: 'LessonJobInput',
  updateLessonJobs: 'LessonJobChangeInput',
  deleteLessonJobs: 'LessonJobDeletionInput',
};
const mutationOf = (name: string, type: string) =>
  `mutation ($jobs: [${type}!]!, $options: BatchOptions) { ${name}(jobs: $jobs, options: $options) {
    __typename ... on Problem { message } } }`;
const key = [{ jobKey: 'J', lessons: [] }];
const remedy = /ask an Admin for the role Importer, or to let all Users import\.$/;

describe.each([undefined, false])('with UsersMayImport %s', (usersMayImport) => {
  test('Importers and Admins send, change and delete lessons; Users may not, and are told the remedy', async () => {
    const { send } = await enter(usersMayImport);
    for (const operation of operations) {
      for (const role of ['Importer', 'Admin'] as const) expect((await send(role, operation, jobs)).status).toBe(202);
      const refused = await send('User', operation, jobs);
      expect([refused.status, refused.body.Code]).toEqual([403, 'Forbidden']);
      expect(refused.body.detail).toMatch(remedy);
      expect((await send('Display', operation, jobs)).body.detail).toMatch(/A display may not use lesson batches/);
    }
  });

  test('the same over GraphQL, as a member of the union', async () => {
    const { ask } = await enter(usersMayImport);
    for (const [name, type] of Object.entries(mutations)) {
      const told = await ask('User', mutationOf(name, type), { jobs: key });
      expect(told.data?.[name]).toEqual({ __typename: 'ForbiddenProblem', message: expect.stringMatching(remedy) });
      const { data } = await ask('Importer', mutationOf(name, type), { jobs: key });
      expect(data?.[name]).toEqual({ __typename: 'BatchAccepted' });
    }
  });

  test('a User reads batches, jobs and lessons, and cancels none', async () => {
    const { send, clients, ask } = await enter(usersMayImport);
    const { BatchId } = (await send('Importer', 'create', jobs)).body;
    const user = clients.get('User')!;
    for (const path of ['', '/batches', `/batches/${BatchId}`, `/batches/${BatchId}/errors`])
      expect((await user.call(path)).status).toBe(200);
    // Also of one that there is not: who may not cancel learns nothing of it.
    for (const id of [BatchId, '01a1f8da-707e-77b2-927f-0b8eb9707a33']) {
      expect((await user.call(`/batches/${id}/cancel`, { method: 'POST' })).status).toBe(403);
      const told = await ask('User', 'mutation ($id: ID!) { cancelBatch(id: $id) { __typename } }', { id });
      expect(told.data?.['cancelBatch']).toEqual({ __typename: 'ForbiddenProblem' });
    }
    const importer = clients.get('Importer')!;
    expect([200, 409]).toContain((await importer.call(`/batches/${BatchId}/cancel`, { method: 'POST' })).status);
  });
});

describe('with UsersMayImport true', () => {
  test('Users do all of it, but displace no bookings', async () => {
    const { send, ask } = await enter(true);
    for (const operation of [...operations, 'create?OnConflict=Skip', 'update?OnConflict=Fail'])
      expect((await send('User', operation, jobs)).status).toBe(202);
    for (const operation of ['create', 'update', 'create?ValidateOnly=true'].map(
      (path) => `${path}${path.includes('?') ? '&' : '?'}OnConflict=Displace`,
    )) {
      const refused = await send('User', operation, jobs);
      expect([refused.status, refused.body.detail]).toEqual([403, expect.stringMatching(/OnConflict=Fail or Skip/)]);
      expect((await send('Importer', operation, jobs)).status).toBe(202);
    }
    const [name, type] = Object.entries(mutations)[0]!;
    const told = await ask('User', mutationOf(name, type), { jobs: key, options: { onConflict: 'Displace' } });
    expect(told.data?.[name]).toMatchObject({ __typename: 'ForbiddenProblem' });
  });

  test('it counts at once, and so does its end', async () => {
    const { tenant, send } = await enter();
    const set = (value: string) => setParameter(service.context.db, tenant.code, 'UsersMayImport', value);
    const until = async (status: number) => {
      while ((await send('User', 'delete', jobs)).status !== status);
    };
    await until(403);
    await set('true');
    await until(202);
    await set('false');
    await until(403);
  });
});

describe('the role Importer', () => {
  test('and the parameter stand in tenant files, which apply to the same state', async () => {
    const { db } = service.context;
    const person = { Name: 'Units', Email: 'units@applied.example', TimeZone: 'UTC', Role: 'Importer' };
    const file = readTenantFile({
      Mandator: 'applied',
      Name: 'Applied',
      Persons: [person],
      Parameters: { PinAuthenticationAllowed: true, UsersMayImport: true },
    });
    expect(await applyTenantFile(db, file)).toMatchObject({ created: 2 });
    expect(await applyTenantFile(db, file)).toMatchObject({ created: 0, changed: 0 });
    const { parameters } = await getMandator(db, 'applied');
    expect(parameters.UsersMayImport).toBe(true);
    expect(await listPersonsOf(db, 'applied')).toMatchObject([{ role: 'Importer' }]);
  });

  test('is granted and withdrawn by Admins, and takes effect at once', async () => {
    const { tenant, tokens, send } = await enter();
    const admin = masterData(service, tokens.Admin, tenant.code);
    const { id } = tenant.person('User');
    const read = await admin.get(`/persons/${id}`);
    expect(read.body).toMatchObject({ Role: 'User' });
    expect((await send('User', 'delete', jobs)).status).toBe(403);
    const change = (role: string) => admin.patch(`/persons/${id}`, { Role: role });
    const made = await change('Importer');
    expect([made.status, made.body]).toMatchObject([200, { Role: 'Importer' }]);
    while ((await send('User', 'delete', jobs)).status !== 202);
    expect((await change('Owner')).status).toBe(422);
  });

  test('may of bookings no more than a User: not for others, not those of others, no blocks', async () => {
    const { tenant, tokens } = await enter();
    const importer = masterData(service, tokens.Importer, tenant.code);
    const admin = masterData(service, tokens.Admin, tenant.code);
    const at = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
    const booking = (more: object = {}) => ({
      ResourceId: tenant.resources[0]!.id,
      Subject: 'x',
      Start: at(24),
      End: at(25),
      ...more,
    });
    expect((await importer.post('/bookings', booking({ Kind: 'Block' }))).status).toBe(403);
    expect((await importer.post('/bookings', booking({ OrganizerId: tenant.person('User').id }))).status).toBe(403);
    const foreign = (await admin.post('/bookings', booking())).body as { Id: number };
    expect((await importer.patch(`/bookings/${foreign.Id}`, { Subject: 'y' })).status).toBe(403);
    expect((await importer.post('/bookings', booking({ Start: at(48), End: at(49) }))).status).toBe(201);
    expect((await importer.get('/persons')).status).toBe(403);
  });
});
