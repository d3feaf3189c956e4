import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { lessonClient, makeJobs } from '../_util/lessons.ts';
import { type Service, startService } from '../_util/service.ts';

let service: Service;
let token: string;
let examples: string;
let directory: string;
let script: string;
beforeAll(async () => {
  service = await startService({}, ['R001', 'R002', 'Aula', 'HS 101']);
  token = await service.signIn();
  const project = path.join(import.meta.dirname, '..', '..');
  const pages = ['README.md', 'docs/lesson-import.md'];
  examples = pages.map((page) => fs.readFileSync(path.join(project, page), 'utf8')).join('');
  const [, source = ''] = /```js\n(\/\/ follow\.mjs.*?)```/s.exec(examples) ?? [];
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-readme-'));
  script = path.join(directory, 'follow.mjs');
  fs.writeFileSync(script, source);
});
afterAll(async () => {
  fs.rmSync(directory, { recursive: true });
  await service.stop();
});

async function follow(batchId: string, credential = token) {
  const address = `${service.url}/school/api/v2.0/jobs/batches/${batchId}`;
  const child = spawn(process.execPath, [script, address], { env: { ...process.env, TOKEN: credential } });
  const [output, errors, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((resolve) => child.once('exit', resolve)),
  ]);
  return { lines: output.trim().split('\n'), errors, code };
}

test('the lessons of the README can be imported, changed and deleted as it and docs/lesson-import.md say', async () => {
  const client = lessonClient(service, token);
  const calls = [...examples.matchAll(/jobs\/(create|update|delete) .*?-d '(\[.*?\])'/gs)];
  const states = async () =>
    (await client.lessons('JobID=README-1')).Items.map((item) => [
      ...[item['RessourceName'], item['Status'], item['Lehrpersonen']],
    ]);
  const seen: unknown[] = [];
  for (const [, operation, body = ''] of calls) {
    expect(await client.importJobs(body, operation)).toMatchObject({ ImportStatus: 'LessonsCreated' });
    seen.push([operation, await states()]);
  }
  const [before, after] = [['E. Noether'], ['A. Turing']];
  expect(seen).toEqual([
    ['create', Array(2).fill(['Aula', 'Geplant', before])],
    [
      'update',
      [
        ['HS 101', 'Vertretung', after],
        ['Aula', 'Entfaellt', before],
      ],
    ],
    ['delete', []],
  ]);
});

describe('the polling client of docs/lesson-import.md', () => {
  async function send(jobs: unknown): Promise<string> {
    const answer = await lessonClient(service, token).post(jobs);
    return ((await answer.json()) as { BatchId: string }).BatchId;
  }

  test('follows a batch to LessonsCreated and stops', async () => {
    const batchId = await send(makeJobs(300));
    const { lines, code } = await follow(batchId);
    expect(code).toBe(0);
    expect(lines.at(-1)).toContain(`${batchId} LessonsCreated 300 of 300 lessons`);
  });

  test('prints the errors of a batch that failed, and says so by its exit code', async () => {
    const { errors, code } = await follow(await send(makeJobs(300)));
    expect(code).toBe(1);
    expect(errors).toContain('Duplicate JobId: J0');
  });

  test('stops at once where asking again would not help', async () => {
    const { errors, code } = await follow(await send(makeJobs(1, { prefix: 'other' })), 'no.valid.token');
    expect(code).toBe(1);
    expect(errors).toContain('401');
  });
});
