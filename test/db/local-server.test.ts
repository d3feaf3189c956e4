import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { announceServer, findServer } from '../../src/db/local-server.ts';

const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-server-'));
afterAll(() => fs.rmSync(directory, { recursive: true }));

test('the server that was announced is found until it takes that back', () => {
  expect(findServer(directory)).toBeUndefined();
  const withdraw = announceServer(directory, 18_080);
  expect(findServer(directory)).toEqual({ Port: 18_080, Pid: process.pid });
  withdraw();
  expect(findServer(directory)).toBeUndefined();
});

test('one that was killed is not found; another one that came later is not taken back', async () => {
  const withdraw = announceServer(directory, 18_080);
  const other = spawn('sleep', ['60']);
  const file = path.join(directory, 'server.json');
  fs.writeFileSync(file, JSON.stringify({ Port: 18_081, Pid: other.pid }));
  withdraw();
  expect(findServer(directory)).toEqual({ Port: 18_081, Pid: other.pid });
  other.kill('SIGKILL');
  await once(other, 'exit');
  expect(findServer(directory)).toBeUndefined();
  fs.writeFileSync(file, '{"Port":');
  expect(findServer(directory)).toBeUndefined();
});
