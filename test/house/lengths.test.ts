import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import { findLongFiles } from '../_util/lengths.ts';

test('a module of more than 300 lines is a fault', () => {
  const project = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-lengths-'));
  fs.mkdirSync(path.join(project, 'src'));
  fs.writeFileSync(path.join(project, 'src/longest.ts'), '// a line\n'.repeat(300));
  fs.writeFileSync(path.join(project, 'src/longer.ts'), '// a line\n'.repeat(301));
  expect(findLongFiles(project)).toEqual(['src/longer.ts: has 301 lines, and 300 are allowed; split it by noun']);
  fs.rmSync(project, { recursive: true });
});
