/** The command line as a process of its own, whose output nobody reads or no disk takes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';

const program = path.join(import.meta.dirname, '..', '..', 'src', 'main.js');

test('a reader that stops reading changes nothing: exit code 0, and no word of it', async () => {
  const reader = spawn(process.execPath, [program, '--help']);
  reader.stdout.destroy();
  const [complaints, [code]] = await Promise.all([text(reader.stderr), once(reader, 'exit')]);
  expect([code, complaints]).toEqual([0, '']);
});

test.each([
  [[], 'Standard output cannot be written: no space left on device.\n'],
  [['--json'], '{"Error":{"Code":"Failed","Message":"Standard output cannot be written: no space left on device."}}\n'],
])('an output that cannot be written: exit code 1, and one line %j', async (args, told) => {
  const full = await open('/dev/full', 'w');
  const writer = spawn(process.execPath, [program, '--help', ...args], { stdio: ['ignore', full.fd, 'pipe'] });
  const [complaints, [code]] = await Promise.all([text(writer.stderr as Readable), once(writer, 'exit')]);
  await full.close();
  expect([code, complaints]).toEqual([1, told]);
});
