/** The examples of the help work in the demo as printed: only codes of devices and PINs are filled in. */

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { Command } from 'commander';
import { sql } from 'kysely';
import { createProgram, type Host, runProgram } from '../../src/cli/program.ts';
import { inspectBackup, writeBackup } from '../../src/db/backup.ts';
import { diagnose } from '../../src/db/diagnosis.ts';
import { ensureDemo } from '../../src/demo/service.ts';
import { examineWorkers } from '../../src/worker/diagnosis.ts';
import { removeTenants } from '../_util/factories.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';
import { type Receiver, startReceiver } from '../webhooks/_util/receiver.ts';

let service: Service;
let receiver: Receiver;
let folder: string;
beforeAll(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'examples-'));
  receiver = await startReceiver();
  // The calendars of the demo, on a mail server that is not there.
  service = await startService({
    MailServer__Demo__Kind: 'CalDav',
    MailServer__Demo__Url: 'http://127.0.0.1:9/',
    MailServer__Demo__User: 'rooms',
    MailServer__Demo__Password: 'unused',
    Webhooks__TrustedOrigins: receiver.origin,
  });
  await removeTenants(service.context.db);
  await ensureDemo(service.context);
  await until(async () => {
    const { rows } = await sql`select from mail_calendar where mailbox = 'aula@demo.example'`.execute(
      service.context.db,
    );
    return rows.length > 0;
  });
});
afterAll(async () => {
  await service.stop();
  await receiver.close();
  fs.rmSync(folder, { recursive: true });
});

const host = (): Host => ({
  config: () => service.context.config,
  open: async () => ({ context: service.context, close: async () => {} }),
  serve: () => Promise.reject(new Error('not part of this test')),
  migrate: async () => [],
  rehearse: async () => [],
  backup: async (version, target) => ({
    rows: await writeBackup(service.databaseUrl, version, target),
    pepper: undefined,
    isRight: true,
  }),
  restore: async ({ file }) => ({ ...(await inspectBackup(file)), rows: 1 }),
  diagnose: ({ config, db }) => diagnose(config.DatabaseUrl, db, examineWorkers),
});

async function run(line: string) {
  const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);
  const said: string[] = [];
  const take = (text: unknown) => said.push(String(text)) > 0;
  const spies = [process.stdout, process.stderr].map((stream) => jest.spyOn(stream, 'write').mockImplementation(take));
  try {
    const code = await runProgram(createProgram(host()), ['node', ...words]);
    return { line, code, said: said.join('') };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

function examplesOf(command: Command): string[] {
  const texts: string[] = [];
  command.configureOutput({ writeOut: (text) => void texts.push(text) });
  command.outputHelp();
  const own = [...texts.join('').matchAll(/^ {2}\$ (roomgate .*)$/gm)].map(([, line]) => line!);
  return [...own, ...command.commands.flatMap(examplesOf)];
}

async function askForPairing(): Promise<string> {
  const answer = await fetch(`${service.url}/demo/api/v1.0/displays/pairings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  return ((await answer.json()) as { Code: string }).Code;
}

test('without a tenant and a person: the only tenant, and its first Admin', async () => {
  for (const line of ['pin create', 'pin list', 'persons list', 'parameter get', 'display list'])
    expect(await run(`roomgate ${line}`)).toMatchObject({ line: `roomgate ${line}`, code: 0 });
  expect((await run('roomgate pin create')).said).toContain('PIN of stundenplan@demo.example: ');
  expect((await run('roomgate batches --base-url http://127.0.0.1:9')).said).toContain(
    'http://127.0.0.1:9 cannot be reached: ECONNREFUSED',
  );
  expect((await run(`roomgate batches --base-url ${service.url}`)).said).toContain('Name the tenant with --mandator');
});

test('where PINs do not count, who makes one or needs one is told so, with the remedy', async () => {
  const told = 'roomgate parameter set --mandator demo PinAuthenticationAllowed true';
  await run('roomgate parameter set PinAuthenticationAllowed false');
  expect(await run('roomgate pin create')).toMatchObject({
    code: 0,
    said: expect.stringContaining(`It is not valid yet: PINs are not accepted for the tenant demo; "${told}"`),
  });
  expect(await run('roomgate batches')).toMatchObject({ code: 1, said: expect.stringContaining(told) });
  await run(told);
  expect(await run('roomgate batches')).toMatchObject({ code: 0 });
  expect((await run('roomgate pin create')).said).not.toContain('not valid');
});

test.each([
  ['webhooks delete', 'webhook; see webhooks list'],
  ['display revoke', 'display; see display list'],
  ['pin revoke', 'PIN; see pin list'],
])('%s: an id is digits without leading zeros, up to the greatest that a record may have', async (command, told) => {
  for (const wrong of ['007', '0x7', '0', '2147483648'])
    expect((await run(`roomgate ${command} ${wrong}`)).said).toBe(`${wrong} is not the id of a ${told}.\n`);
  const { code, said } = await run(`roomgate ${command} 2147483647`);
  expect([code, said]).toEqual([1, expect.not.stringContaining('is not the id')]);
});

test('a webhook is changed, disabled, enabled and deleted, and the list says so', async () => {
  const { said } = await run(`roomgate webhooks add ${receiver.origin} --name Sign --kinds BatchEnded`);
  const id = /^Sign \((\d+)\)/.exec(said)?.[1];
  const list = async () => (await run('roomgate webhooks list')).said;
  expect(await run(`roomgate webhooks disable ${id}`)).toMatchObject({ code: 0, said: `Sign (${id}) is disabled.\n` });
  expect(await list()).toMatch(/Sign .* disabled: Admin /);
  expect(await run(`roomgate webhooks enable ${id}`)).toMatchObject({ code: 0, said: `Sign (${id}) is enabled.\n` });
  expect(await list()).toMatch(/Sign .* ok /);
  const change = (what: string) => run(`roomgate webhooks change ${id} ${what}`);
  expect(await change('--name Gong --kinds BatchEnded,BookingCreated')).toMatchObject({
    code: 0,
    said: `Gong (${id}) is changed.\n`,
  });
  expect(await list()).toMatch(/Gong +\S+ +BatchEnded BookingCreated +ok/);
  expect(await change('')).toMatchObject({ code: 1, said: expect.stringContaining('--url, --name or --kinds') });
  expect(await change('--name ""')).toMatchObject({
    code: 1,
    said: expect.stringContaining('Name: must not be empty'),
  });
  expect(await change('--kinds Lunch')).toMatchObject({ code: 1, said: expect.stringContaining('BatchEnded') });
  await change('--name Sign');
  expect(await run(`roomgate webhooks delete ${id}`)).toMatchObject({ code: 0, said: `Sign (${id}) is deleted.\n` });
  expect(await list()).not.toContain('Sign');
  expect(await run(`roomgate webhooks enable ${id}`)).toMatchObject({ code: 1 });
  const acts = await service.context.db
    .selectFrom('audit')
    .where('subject', '=', 'Webhook')
    .where('subject_id', '=', Number(id))
    .select('person_id')
    .execute();
  // Those of the operator.
  expect(acts).toEqual(Array.from({ length: 6 }, () => ({ person_id: null })));
});

test('each example of the help', async () => {
  const examples = examplesOf(createProgram(host())).filter((line) => !/ (serve|tenant move .*)$/.test(line));
  expect(examples.length).toBeGreaterThan(15);
  // Another tenant comes last, since until then the demo is the only one; then the demo is removed, and comes back.
  const last = [' apply ', ' tenant delete ', ' tenant import '];
  const rank = (example: string) => last.findIndex((command) => example.includes(command));
  examples.sort((one, other) => rank(one) - rank(other));
  let lastId = 0;
  let webhookId = 0;
  const results: Awaited<ReturnType<typeof run>>[] = [];
  for (const example of examples) {
    let line = example;
    if (line.includes(' pair ')) line = line.replace('K7QM-4D2X', await askForPairing());
    line = line
      .replace('https://board.example/hooks', receiver.origin)
      .replace('demo.tenant.gz', path.join(folder, 'demo.tenant.gz'))
      .replace(' roomgate.backup', ` ${path.join(folder, 'roomgate.backup')}`)
      .replace(/ revoke \d+/, ` revoke ${lastId}`)
      .replace(
        / webhooks (change|rotate|test|replay|enable|disable|deliveries|delete) \d+/,
        ` webhooks $1 ${webhookId}`,
      );
    const result = await run(line);
    webhookId = Number(/^Board \((\d+)\) gets events/.exec(result.said)?.[1] ?? webhookId);
    lastId = Number(/Its id, to revoke it, is (\d+)/.exec(result.said)?.[1] ?? lastId);
    results.push(result);
  }
  // The doctor is right that the mail server is not there.
  expect(receiver.messages().map(({ type }) => type)).toContain('webhook.test');
  expect(results.filter(({ line, code }) => code !== 0 && !line.endsWith(' doctor'))).toEqual([]);
});

test('where there are several tenants they are named', async () => {
  expect(await run('roomgate pin create')).toMatchObject({
    code: 1,
    said: 'There are several tenants (demo, muni): name one with --mandator CODE.\n',
  });
  expect((await run('roomgate tenants list')).said).toMatch(/^Mandator .*\ndemo .*\nmuni .*\n$/);
});
