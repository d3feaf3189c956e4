import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, expect, test } from '@jest/globals';
import { announceServer, findServer } from '../../src/db/local-server.ts';

const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-server-'));
const others = new Set<ChildProcess>();
const files = () => fs.readdirSync(directory);
afterEach(async () => {
  await Promise.all([...others].map(kill));
});
afterAll(() => fs.rmSync(directory, { recursive: true }));

/** Another process that is announced after the others. */
function startOther(Port: number, Role = 'All'): ChildProcess {
  const other = spawn('sleep', ['600']);
  others.add(other);
  const announced = { Port, Pid: other.pid, Role, Since: Date.now() + Port };
  fs.writeFileSync(path.join(directory, `server-${other.pid}.json`), JSON.stringify(announced));
  return other;
}
async function kill(other: ChildProcess): Promise<void> {
  others.delete(other);
  other.kill('SIGKILL');
  await once(other, 'exit');
}
const found = () => findServer(directory)?.Port;

test('the server that was announced is found until it takes that back', () => {
  expect(findServer(path.join(directory, 'none'))).toBeUndefined();
  expect(found()).toBeUndefined();
  const withdraw = announceServer(directory, { Port: 18_080, Role: 'All' });
  expect(findServer(directory)).toMatchObject({ Port: 18_080, Pid: process.pid });
  withdraw();
  expect(found()).toBeUndefined();
});

test('of several servers the last one is found that runs: an earlier one when that was killed', async () => {
  const withdraw = announceServer(directory, { Port: 18_080, Role: 'All' });
  const other = startOther(18_081);
  expect(found()).toBe(18_081);
  await kill(other);
  expect(found()).toBe(18_080);
  const last = startOther(18_082);
  withdraw();
  expect(found()).toBe(18_082);
  await kill(last);
  expect(found()).toBeUndefined();
  fs.writeFileSync(path.join(directory, 'server-1.json'), '{"Port":');
  expect(found()).toBeUndefined();
  fs.rmSync(path.join(directory, 'server-1.json'));
  announceServer(directory, { Port: 18_080, Role: 'All' })();
  expect(files()).toEqual([]);
});

test('none is found in what cannot be listed, such as the folder of another user', () => {
  const file = path.join(directory, 'no-folder');
  fs.writeFileSync(file, '');
  expect(findServer(file)).toBeUndefined();
});

test('one that only has a worker, and answers no calls, is found if no other runs', async () => {
  const withdraw = announceServer(directory, { Port: 18_080, Role: 'Web' });
  startOther(18_081, 'Worker');
  expect(found()).toBe(18_080);
  withdraw();
  expect(found()).toBe(18_081);
});
