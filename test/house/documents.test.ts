import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { findDocumentFaults } from '../_util/documents.ts';

/** A small project in which every reference leads somewhere. */
const sound: Record<string, string> = {
  'README.md':
    '# Project\n\n[Rooms](docs/rooms.md#big-rooms), [contract](docs/contract/jobs.md), [order](docs/specification.md)\n',
  'docs/rooms.md':
    '# Rooms\n\nSee `src/main.ts` and src/*.ts.\n\n## Big *rooms*\n\n[Up](../README.md) ![a](sign.svg)\n',
  'docs/sign.svg': '<svg/>',
  'docs/contract/jobs.md': '# Jobs\n\n## 4 Jobs\n\n### 4.2 Accepting\n',
  'docs/specification.md': '# Order\n\n## 8 Limits\n',
  'src/main.ts': "/** Contract 4.2; the specification's sections 8 (docs/rooms.md#big-rooms). */\n",
};

let project: string;
beforeEach(() => {
  project = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-documents-'));
});
afterEach(() => fs.rmSync(project, { recursive: true }));

function faultsOf(changes: Record<string, string>): string[] {
  for (const [file, text] of Object.entries({ ...sound, ...changes })) {
    fs.mkdirSync(path.dirname(path.join(project, file)), { recursive: true });
    fs.writeFileSync(path.join(project, file), text);
  }
  return findDocumentFaults(project);
}

test('a project whose references all lead somewhere has no fault', () => {
  expect(faultsOf({})).toEqual([]);
});

describe('the check of documents finds', () => {
  const readme = sound['README.md'] ?? '';
  test.each<[what: string, file: string, text: string, fault: string]>([
    ['a link to no file', 'README.md', `${readme}[x](docs/none.md)\n`, 'README.md:4: there is no docs/none.md'],
    ['a picture that is not there', 'README.md', `${readme}![x](docs/x.svg)\n`, 'README.md:4: there is no docs/x.svg'],
    [
      'a dead anchor',
      'README.md',
      `${readme}[x](docs/rooms.md#small-rooms)\n`,
      'README.md:4: there is no docs/rooms.md#small-rooms',
    ],
    ['a file of ours that is gone', 'README.md', `${readme}\`src/gone.ts\`\n`, 'README.md:4: there is no src/gone.ts'],
    [
      'a page that a comment names and nobody has',
      'src/main.ts',
      '// See docs/rooms.md#gone.\n',
      'src/main.ts:1: there is no docs/rooms.md#gone',
    ],
    [
      'a citation of no section, over a line break',
      'src/main.ts',
      '/**\n * As said (contract 4 and\n * 4.9).\n */\n',
      'src/main.ts: cites contract 4.9, which docs/ does not have ("contract 4 and 4.9")',
    ],
    [
      'a citation of the other source',
      'src/main.ts',
      '// specification 8, contract 8\n',
      'src/main.ts: cites contract 8, which docs/ does not have ("specification 8, contract 8")',
    ],
    ['a page that nobody links to', 'docs/alone.md', '# Alone\n', 'docs/alone.md: no other page links to it'],
    [
      'a page that is too long',
      'docs/specification.md',
      `${sound['docs/specification.md']}${'\n'.repeat(250)}`,
      'docs/specification.md: has 253 lines; 250 are allowed, so split it by subject',
    ],
  ])('%s', (_what, file, text, fault) => {
    expect(faultsOf({ [file]: text })).toEqual([fault]);
  });
});
