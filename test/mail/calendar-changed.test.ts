/** `deploy/calendar-changed`, which the calendar server runs at each change of its users. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type ScriptedServer, startScriptedServer } from '../_util/scripted-server.ts';
import { installForwarder } from './_util/real-servers.ts';

let server: ScriptedServer;
let directory: string;
let script: string;

beforeAll(async () => {
  server = await startScriptedServer();
  directory = fs.mkdtempSync(path.join(tmpdir(), 'calendar-changed-'));
  ({ script } = installForwarder(directory, {}));
});
beforeEach(() => {
  server.answer(() => ({ status: 202 }));
  fs.rmSync(path.join(directory, 'callback'), { force: true });
});
afterAll(async () => {
  fs.rmSync(directory, { recursive: true });
  await server.close();
});

const write = (content: string) => fs.writeFileSync(path.join(directory, 'callback'), content);

async function run(args: string[] = [], event = '') {
  const child = spawn(script, args);
  // It may end before it has read the event.
  child.stdin.on('error', () => {});
  child.stdin.end(event);
  const [err, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  return { code, err };
}

const cyrus = JSON.stringify({
  uri: 'imap://cal.lab.example/user/ada/%23calendars/Default',
  jmapStates: { CalendarEvent: '17' },
});

test.each([
  ['with a newline', '\n'],
  ['without a newline', ''],
  ['with the words that "roomgate mail callback" prints below it', '\nWhoever has it ...\n'],
])('the callback URL %s: the change is told', async (_, end) => {
  write(`${server.origin}/api/webhooks/mailserver?k=secret${end}`);
  expect(await run(['ada'])).toEqual({ code: 0, err: '' });
  expect(await run([], cyrus)).toEqual({ code: 0, err: '' });
  expect(server.asked.map(({ path, body }) => [path, Object.keys(JSON.parse(body).changed)])).toEqual(
    Array(2).fill(['/api/webhooks/mailserver?k=secret', ['ada']]),
  );
});

test.each([
  ['missing', null],
  ['empty', ''],
  ['without a URL', 'Tenant lab has no mail server\n'],
])('a callback file that is %s: the calendar server continues, and is told why', async (_, content) => {
  if (content !== null) write(content);
  for (const [args, event] of [[['ada'], ''] as const, [[], cyrus] as const]) {
    const { code, err } = await run([...args], event);
    expect(code).toBe(0);
    expect(err).toMatch(/^calendar-changed: \S+callback is missing, cannot be read, or does not begin with/);
  }
  expect(server.asked).toEqual([]);
});

test('roomgate that refuses or is down: the calendar server continues, and is told without the secret', async () => {
  server.answer(() => ({ status: 404 }));
  for (const origin of [server.origin, 'http://127.0.0.1:1']) {
    write(`${origin}/api/webhooks/mailserver?k=secret\n`);
    const { code, err } = await run(['ada']);
    expect(code).toBe(0);
    expect(err).toMatch(/calendar-changed: the URL was not reached or refused the change/);
    expect(err).not.toMatch(/secret/);
  }
});
