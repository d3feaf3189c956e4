import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import { openLog, readableLines } from '../../src/log.ts';
import { until } from '../_util/process.ts';

const pin = 'ABCDE-FGHJK-MNPQR-STVWX';

function written(fields: object, message = ''): string {
  const lines: string[] = [];
  openLog('info', { write: (line) => void lines.push(line) }).info(fields, message);
  return lines.join('');
}

describe('a log line', () => {
  test.each([
    ['a member', { pin: 'p-1' }],
    ['a member in another case', { Authorization: 'p-1' }],
    ['a number', { pin: 4711 }],
    ['a list', { cookie: ['p-1', 'p-2'] }],
    ['a member of a member', { request: { token: 'p-1' } }],
    ['a member far below', { a: { b: { c: [{ secret: 'p-1' }] } } }],
    ['of a client', { ClientSecret: 'p-1', client_secret: 'p-1', access_token: 'p-1' }],
    ['of a subscription', { clientState: 'p-1' }],
    ['a text with quotes', { password: 'p-1"p-2\\' }],
  ])('holds no secret that is %s, and is JSON all the same', (_name, fields) => {
    const line = written(fields);
    expect(line).not.toMatch(/p-[12]|4711/);
    expect(line).toContain('"[secret]"');
    JSON.parse(line);
  });

  test.each([
    pin,
    `rgd_${'eyJ'.padEnd(43, 'x')}`,
    'eyJhbGciOi.eyJzdWIi.c2ln',
    'postgres://user:p-1@host/db',
    'apikey=p-1',
    'https://rooms.example/api/webhooks/mailserver?k=p-1',
    'https://rooms.example/WebServices/SyncNotification.svc?demo&k=p-1&x',
    `{\\"clientState\\":\\"12.${'eyJ'.padEnd(43, 'x')}\\"}`,
    'Authorization: Basic p-1p-1=',
    'Authorization: Bearer p-1.p-1',
  ])('holds no secret of its text: %s', (text) => {
    expect(written({}, `bad ${text}`)).not.toMatch(/ABCDE|eyJ|p-1/);
  });

  test.each(['eyJ..', 'foo.eyJ..', 'eyJ.a..', 'eyJ-eyJ...'])(
    'holds no token behind what only begins as one: %s',
    (begin) => {
      const line = written({}, `bad ${begin}eyJhbGciOi.p-1.p-2`);
      expect(line).not.toMatch(/eyJh|p-[12]/);
      expect(line).toContain(`${begin}[token]`);
    },
  );

  test('has characters that would disturb a terminal as escapes', () => {
    const subject = 'Aula \u202e\u009b2J 1';
    const line = written({ subject });
    expect(line).toMatch(/^[ -~]*\n$/);
    expect(JSON.parse(line)).toMatchObject({ subject });
  });

  test('keeps what only looks like it', () => {
    const fields = { pinId: 7, tokens: 'three', text: 'Basic sign-in or Bearer tokens, 12.5 s' };
    expect(JSON.parse(written(fields))).toMatchObject(fields);
  });
});

describe('at a terminal', () => {
  const request = (status: number) => written({ status, route: '/:mandator/graphql' }, 'request');

  test('a line says when, how bad and what, and then the members', () => {
    expect(readableLines('info')(written({ batchId: 'b-1', pin: 'p-1' }, 'batch ended'))).toMatch(
      /^\[\d\d:\d\d:\d\d\] INFO: batch ended \{"batchId":"b-1","pin":"\[secret\]"\}\n$/,
    );
  });

  test('what it quotes moves and hides nothing beside it', () => {
    expect(readableLines('info')(written({ room: 'a\u202eb' }, 'room \u001b[2Kgone\u200b'))).toMatch(
      /INFO: room \[2Kgone {2}\{"room":"a b"\}\n$/,
    );
  });

  test('requests that went well have no line, unless they are asked for', () => {
    const [info, debug] = [readableLines('info'), readableLines('debug')];
    expect([200, 404].map((status) => info(request(status)))).toEqual(['', '']);
    expect(info(request(500))).toContain('INFO: request {"status":500');
    expect(debug(request(200))).toContain('INFO: request {"status":200');
  });
});

test('a disk that is full ends no process, and its memory is bounded', async () => {
  const full = await open('/dev/full', 'w');
  const program = `
    import { openLog } from ${JSON.stringify(new URL('../../src/log.ts', import.meta.url).href)};
    const log = openLog('info');
    const text = 'x'.repeat(4_000);
    for (let round = 0; round < 500; round++) {
      for (let line = 0; line < 100; line++) log.info(text);
      await new Promise(setImmediate);
    }
    console.log(process.memoryUsage().rss < 250_000_000 ? 'bounded' : process.memoryUsage().rss);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', full.fd] });
  const [told, [code]] = await Promise.all([text(child.stdout as Readable), once(child, 'exit')]);
  await full.close();
  expect([code, told]).toEqual([0, 'bounded\n']);
});

test('a reader that hangs stops no process: lines wait for it, and an end does not', async () => {
  const program = `
    import { once } from 'node:events';
    import { openLog } from ${JSON.stringify(new URL('../../src/log.ts', import.meta.url).href)};
    const log = openLog('info');
    const text = 'x'.repeat(1_000);
    const fill = async () => {
      for (let line = 0; line < 1_000; line++) {
        log.info({ line }, text);
        await new Promise(setImmediate);
      }
    };
    await fill();
    console.log('goes on');
    await once(process.stdin, 'data');
    await fill();
    process.exit();`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program]);
  child.stderr.pause();
  const ended = once(child, 'exit');
  await once(child.stdout, 'data');
  const lines: number[] = [];
  const reading = createInterface(child.stderr).on('line', (line) => lines.push(JSON.parse(line).line));
  await until('the waiting lines are read', () => lines.length === 1_000);
  expect(lines).toEqual(Array.from({ length: 1_000 }, (_, line) => line));
  reading.pause();
  child.stdin.end('\n');
  expect(await ended).toEqual([0, null]);
});

test('a process that ends waits for a reader that takes lines, however slowly', async () => {
  const program = `
    import { openLog } from ${JSON.stringify(new URL('../../src/log.ts', import.meta.url).href)};
    const log = openLog('info');
    for (let line = 0; line < 5_000; line++) log.info({ line }, 'x'.repeat(300));
    process.exit();`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program]);
  let lines = '';
  for await (const chunk of child.stderr.setEncoding('utf8')) {
    lines += chunk;
    await new Promise(setImmediate);
  }
  const numbers = lines
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).line);
  expect(numbers).toEqual(Array.from({ length: 5_000 }, (_, line) => line));
});

test('what libraries and Node.js print are lines of the log, one each and without secrets', async () => {
  const program = `
    import { logPrinted, openLog } from ${JSON.stringify(new URL('../../src/log.ts', import.meta.url).href)};
    logPrinted(openLog('info'));
    console.trace(new Error('of a library'));
    console.error('with a PIN: %s', '${pin}');
    process.emitWarning('of Node.js\\nin two lines');`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const lines = (await text(child.stderr as Readable)).trim().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'warn', printed: expect.stringMatching(/^Error: of a library\n/) },
    { level: 'warn', printed: 'with a PIN: [pin]' },
    { level: 'warn', printed: 'of Node.js\nin two lines' },
  ]);
});
