import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Context } from '../../src/context.ts';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { NotFound } from '../../src/errors.ts';
import { openLog } from '../../src/log.ts';
import { addCommands } from '../../src/tenants/cli.ts';
import * as tenants from '../../src/tenants/service.ts';
import { runOne } from '../_util/command-line.ts';
import { cloneDatabase } from '../_util/postgres.ts';

let clone: Awaited<ReturnType<typeof cloneDatabase>>;
let db: Database;

beforeAll(async () => {
  clone = await cloneDatabase();
  db = openDatabase(clone.url, { max: 2, log: openLog('silent'), statementTimeout: 5_000 });
  for (const Mandator of ['school', 'other'])
    await tenants.applyTenantFile(db, tenants.readTenantFile({ Mandator, Name: Mandator }));
});
afterAll(async () => {
  await db.destroy();
  await clone.drop();
});
beforeEach(async () => void (await db.updateTable('mandator').set({ parameters: '{}' }).execute()));

const run = (...args: string[]) => runOne(addCommands, { db } as Context, 'parameter', ...args);

const stored = async (code: string) =>
  (await db.selectFrom('mandator').select('parameters').where('code', '=', code).executeTakeFirst())?.parameters;

describe('parameter get', () => {
  test('without a name lists all, also those that were never set', async () => {
    expect(await run('get', '--mandator', 'School')).toEqual({
      text: [
        'Parameter                 Value',
        'PinAuthenticationAllowed  false',
        'UsersMayImport            false',
        'CalendarWriting           Off',
        'CalendarEdits             PutBack',
        'DeclineConflicts          false',
      ].join('\n'),
      record: {
        PinAuthenticationAllowed: false,
        UsersMayImport: false,
        CalendarWriting: 'Off',
        CalendarEdits: 'PutBack',
        DeclineConflicts: false,
      },
    });
  });

  test('with a name, in any case, prints its value', async () => {
    await run('set', '--mandator', 'school', 'PinAuthenticationAllowed', 'true');
    expect(await run('get', '--mandator', 'school', 'pinauthenticationallowed')).toEqual({
      text: 'true',
      record: { PinAuthenticationAllowed: true },
    });
  });

  test('names what is wrong', async () => {
    await expect(run('get', '--mandator', 'nobody')).rejects.toThrow(NotFound);
    await expect(run('get', '--mandator', 'school', 'Colour')).rejects.toThrow(
      'Colour: there is no such parameter; the parameters are PinAuthenticationAllowed, UsersMayImport, CalendarWriting, CalendarEdits, DeclineConflicts',
    );
  });
});

describe('parameter set', () => {
  test('changes this parameter of this tenant, and nothing else', async () => {
    await db.updateTable('mandator').set({ parameters: '{"Kept": 1}' }).execute();
    expect(await run('set', '--mandator', 'SCHOOL', 'PINAUTHENTICATIONALLOWED', 'true')).toEqual({
      text: 'PinAuthenticationAllowed is true.',
      record: { PinAuthenticationAllowed: true },
    });
    expect(await stored('school')).toEqual({ Kept: 1, PinAuthenticationAllowed: true });
    expect(await stored('other')).toEqual({ Kept: 1 });
    expect((await run('get', '--mandator', 'school')).record).toEqual({
      PinAuthenticationAllowed: true,
      UsersMayImport: false,
      CalendarWriting: 'Off',
      CalendarEdits: 'PutBack',
      DeclineConflicts: false,
    });
  });

  test.each([
    [['PinAuthentificationAllowed', 'true'], 'there is no such parameter; did you mean PinAuthenticationAllowed?'],
    [['__proto__', 'true'], 'there is no such parameter'],
    [['PinAuthenticationAllowed', 'yes'], 'PinAuthenticationAllowed: is "yes"; must be true or false'],
    [['PinAuthenticationAllowed', '1'], 'PinAuthenticationAllowed: is "1"; must be true or false'],
    [['PinAuthenticationAllowed', '"true"'], 'must be true or false'],
    [['PinAuthenticationAllowed'], "missing required argument 'value'"],
  ])('%j is refused and changes nothing', async (args, message) => {
    await expect(run('set', '--mandator', 'school', ...args)).rejects.toThrow(message);
    expect(await stored('school')).toEqual({});
  });

  test('is an act of the operator in the audit, unless it changes nothing', async () => {
    await db.deleteFrom('audit').execute();
    for (const value of ['false', 'true', 'true'])
      await run('set', '--mandator', 'school', 'PinAuthenticationAllowed', value);
    const acts = db.selectFrom('audit').select(['person_id', 'action', 'subject_name', 'changes', 'request_id']);
    expect(await acts.execute()).toEqual([
      {
        person_id: null,
        action: 'change tenant',
        subject_name: 'school',
        changes: [{ member: 'PinAuthenticationAllowed', from: 'false', to: 'true' }],
        request_id: 'roomgate command line',
      },
    ]);
  });

  test('of a tenant that is not there is NotFound', async () => {
    await expect(run('set', '--mandator', 'nobody', 'PinAuthenticationAllowed', 'true')).rejects.toThrow(NotFound);
  });
});
