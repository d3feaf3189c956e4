/** The command line and GraphQL take the same files as REST. */
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runCommand } from '../_util/command-line.ts';
import { type Service, startService } from '../_util/service.ts';
import { enterSchool, fixture, type School } from './_util/school.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const pathOf = (name: string) => path.join(import.meta.dirname, 'fixtures', name);
const small = (['term', 'time-grid', 'rooms'] as const).flatMap((name) => [
  `--${name}`,
  pathOf(`${name.replace('-', '')}.json`),
]);

const run = ({ tenant, token }: School, ...args: string[]) =>
  runCommand(
    service.context,
    ...['import', ...args, '--mandator', tenant.code, '--token', token, '--base-url', service.url],
  );

test('roomgate import: a dry run tells what would change, the import writes it, and faults are listed', async () => {
  const school = await enterSchool(service);
  const files = ['gpu001-small.txt', 'gpu002-small.txt'].map(pathOf);
  const tried = await run(school, ...files, '--format', 'untis', ...small, '--dry-run');
  expect(tried.err).toContain('gpu001-small.txt was read as GPU001, windows-1252, comma, 17 lines.');
  expect([tried.code, tried.err]).toEqual([
    0,
    expect.stringContaining('gpu001-small.txt line 12: Lesson 7 has no room'),
  ]);
  expect(tried.out).toContain('added 31, changed 0, moved 0, removed 0, unchanged 0');
  expect(tried.out.match(/^Added /gm)).toHaveLength(20);
  expect(tried.out).toContain('\n... and 11 more\n');
  expect((await school.stored()).size).toBe(0);
  expect(await run(school, ...files, ...small, '--follow')).toMatchObject({ code: 0 });
  expect((await school.stored()).size).toBe(31);
  const again = await run(school, ...files, ...small, '--dry-run');
  expect(again.out).toContain('added 0, changed 0, moved 0, removed 0, unchanged 31');
  expect(again.out).not.toContain('more');
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), 'roomgate-changed-'));
  const changed = path.join(folder, 'GPU001.TXT');
  // A lesson number without its first line, and with another teacher.
  const lines = (await fs.readFile(files[0] as string, 'latin1')).split('\n');
  const others = lines.slice(1).map((line) => line.replace(/^(1,"[^"]*",")[^"]*/, '$1Neu'));
  await fs.writeFile(changed, others.join('\n'), 'latin1');
  const next = await run(school, changed, ...files.slice(1), ...small, '--follow');
  expect([next.code, next.out]).toEqual([
    0,
    expect.stringMatching(/^Created +0\nChanged +[1-9]\d*\nMoved +0\nRemoved +[1-9]\d*$/m),
  ]);
  // By its content, not by an ending that it does not have.
  const endless = path.join(folder, 'GPU001');
  await fs.copyFile(changed, endless);
  expect((await run(school, endless, ...files.slice(1), ...small, '--dry-run')).out).toMatch(
    /^Lessons: added 0, changed 0/m,
  );
  const jobs = path.join(folder, 'jobs');
  await fs.writeFile(jobs, '\uFEFF [{"JobID": "J", "LektionList": []}]');
  expect((await run(school, jobs, '--validate-only')).err).toMatch(/^Batch \S+ is accepted\.$/m);
  expect((await run(school, jobs, ...small, '--validate-only')).err).toContain('cannot be used with JSON');
  await fs.rm(folder, { recursive: true });

  const wrong = await run(school, pathOf('gpu001-small.txt'), '--term', pathOf('term.json'));
  expect(wrong.code).toBe(1);
  expect(wrong.err).toContain('gpu001-small.txt line 1, column 7 (Stunde): the file has periods but no times');
  expect(wrong.err).toMatch(/\nThe option for the time grid is --time-grid\.\n$/);
  const file = path.join(import.meta.dirname, '..', '..', 'examples', 'timetable.json');
  const unfit = await run(school, file, '--save-profile', 'P', '--time-grid', 'g.json');
  expect([unfit.code, unfit.err]).toEqual([
    1,
    expect.stringContaining('--time-grid, --save-profile: cannot be used with JSON'),
  ]);
  const misused = await run(school, pathOf('gpu001-small.txt'), '--operation', 'delete');
  expect([misused.code, misused.err]).toEqual([1, expect.stringContaining('--operation')]);
});

test('roomgate import: what is wrong with its own files is told with the file and the remedy', async () => {
  const school = await enterSchool(service);
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), 'roomgate-options-'));
  const told = async (name: string, text: string, ...options: string[]) => {
    const file = path.join(folder, name);
    await fs.writeFile(file, text);
    const { code, err } = await run(school, pathOf('gpu001-small.txt'), ...options, file);
    return [code, err.replace(folder, '')];
  };
  const wrong: [name: string, option: string, text: string, message: string][] = [
    ['grid.json', '--time-grid', '{"Days": {"Mo": [{"Period": 1, "Begin": "08:00", "End": "08:45"}]}}', 'Days.Mo:'],
    ['grid.json', '--time-grid', '{"Standard": []}', 'Standard:'],
    ['grid.json', '--time-grid', '{}', 'Default: is missing.'],
    ['grid.json', '--time-grid', '{"Default": []}', 'Default: has no periods, and Days has none.'],
    ['term.json', '--term', '{"From": "2027-03-15", "To": "2027-04-02"}', 'Id: is missing'],
    ['term.json', '--term', '[]', 'term.json:'],
  ];
  for (const [name, option, text, message] of wrong) {
    const [code, err] = await told(name, text, option);
    expect([text, code, err]).toEqual([text, 1, expect.stringContaining(message)]);
    expect(err).toMatch(new RegExp(`/${name}: .* Write it as docs/timetables\\.md says\\.`));
  }
  expect(await told('term.json', '{"Id": secret}', '--term')).toEqual([
    1,
    "/term.json: is not JSON: Unexpected token 's' in JSON at position 7 (line 1 column 8)\n",
  ]);
  const missing = await run(school, path.join(folder, 'GPU001.TXT'), ...small);
  expect([missing.code, missing.err]).toEqual([1, expect.stringContaining('GPU001.TXT cannot be read: there is no')]);
  await fs.rm(folder, { recursive: true });
});

test('roomgate import --shared-room: lessons meet in a gym; elsewhere they are told by file and line', async () => {
  const school = await enterSchool(service, ['TH', 'R1']);
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), 'roomgate-gym-'));
  const file = path.join(folder, 'GPU001.TXT');
  await fs.writeFile(file, '1,"5a","A","Sp","TH",1,1,,\n2,"5b","B","Sp","TH",1,1,,\n');
  const refused = await run(school, file, ...small, '--follow');
  expect([refused.code, refused.out]).toEqual([
    1,
    expect.stringMatching(/Line .*\n(.*\n)*GPU001\.TXT:[12] .*ResourceConflict/),
  ]);
  const shared = await run(school, file, ...small, '--shared-room', 'R1', '--shared-room', 'TH', '--follow');
  expect([shared.code, shared.err]).toEqual([0, expect.any(String)]);
  expect((await school.stored()).size).toBeGreaterThan(0);
  await fs.rm(folder, { recursive: true });
});

test('roomgate import --save-profile keeps how files are read, and --profile reads them so', async () => {
  const school = await enterSchool(service, ['R101']);
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), 'roomgate-profile-'));
  const write = async (name: string, text: string) => {
    await fs.writeFile(path.join(folder, name), text);
    return path.join(folder, name);
  };
  const csv = await write('ag.csv', '[Tag];Von;Bis;Saal;Fach\n01.03.2031;8:00;8:45;101;M');
  const mapping = await write('mapping.json', '{"Date": "[Tag]", "Room": "Saal"}');
  const rooms = await write('rooms.json', '{"101": "R101"}');
  const faulty = await run(school, csv, '--profile', 'AGs');
  expect([faulty.code, faulty.err]).toEqual([1, expect.stringContaining('there is no timetable profile AGs')]);
  const options = ['--mapping', mapping, '--rooms', rooms, '--save-profile', 'AGs'];
  expect(await run(school, csv, ...options, '--dry-run')).toMatchObject({ code: 0 });
  expect(
    await run(school, csv, '--profile', 'AGs', '--source', 'ag', '--save-profile', 'AGs', '--follow'),
  ).toMatchObject({
    code: 0,
  });
  const again = await run(school, csv, '--profile', 'AGs', '--dry-run');
  expect([again.code, again.out]).toEqual([0, expect.stringContaining('added 0, changed 0, moved 0, removed 0')]);
  expect(await school.jobs()).toMatchObject([{ JobID: 'ag-M' }]);
  await fs.rm(folder, { recursive: true });
});

test('importTimetable: the batch, how files were read, and faults by line', async () => {
  const school = await enterSchool(service, ['R101']);
  const query = `mutation ($input: TimetableFilesInput!) { made: importTimetable(input: $input) { __typename
    ... on TimetableAccepted { lessonCount files { name format lines } notices { line code } batch { id } }
    ... on ValidationProblem { message errors { line column code pointer } } } }`;
  const ask = async (text: string | Buffer, members: object = {}) => {
    const files = [{ name: 'a.csv', content: Buffer.from(text).toString('base64') }];
    const answer = await fetch(`${service.url}/${school.tenant.code}/graphql`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${school.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ query, variables: { input: { files, ...members } } }),
    });
    return (await answer.json()).data.made;
  };
  const head = 'Datum;Beginn;Ende;Raum;Fach;Klasse';
  const made = await ask(`${head}\n01.03.2031;8:00;8:45;101;M;5a`, { rooms: [{ name: '101', resourceName: 'R101' }] });
  expect(made).toMatchObject({
    __typename: 'TimetableAccepted',
    lessonCount: 1,
    notices: [],
    files: [{ name: 'a.csv', format: 'CSV', lines: 2 }],
  });
  await school.client.end(made.batch.id.replace(/^batch_/, ''));
  expect(await school.jobs()).toMatchObject([{ JobID: 'csv-M-5a', LektionList: [{ LektionId: '20310301-0800' }] }]);
  expect(await ask(`${head}\n01.03.2031;8:00;8:99;R101;M;5a`)).toMatchObject({
    errors: [{ line: 2, column: 3, code: 'InvalidTime', pointer: '/input/files/0' }],
  });
  const twice = await ask(`${head}\n02.03.2031;8:00;8:45;R101;D;5a\n02.03.2031;8:00;8:45;R101;E;5b`, {
    allowRemoval: true,
  });
  await school.client.end(twice.batch.id.replace(/^batch_/, ''));
  const told = await fetch(`${service.url}/${school.tenant.code}/graphql`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${school.token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ query: `{ batch(id: "${twice.batch.id}") { errors { nodes { line pointer } } } }` }),
  });
  expect((await told.json()).data.batch.errors.nodes).toEqual([
    { line: expect.any(Number), pointer: '/input/files/0' },
  ]);
  expect(await ask(fixture('gpu014-small.txt'))).toMatchObject({ __typename: 'ValidationProblem' });
});

test('of many faults the first thousand are listed, and all are counted, over both fronts', async () => {
  const school = await enterSchool(service);
  const line = '01.03.2031;8:00;8:99;R101;M;5a';
  const send = async (count: number) => {
    const text = ['Datum;Beginn;Ende;Raum;Fach;Klasse', ...Array<string>(count).fill(line)].join('\n');
    const [Name, Content] = ['a.csv', Buffer.from(text).toString('base64')];
    const post = async (path: string, body: object) => {
      const answer = await fetch(`${service.url}/${school.tenant.code}/${path}`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${school.token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
      return await answer.json();
    };
    const rest = await post('api/v2.0/timetables', { Files: [{ Name, Content }] });
    const query = `mutation ($input: TimetableFilesInput!) { made: importTimetable(input: $input) {
      ... on ValidationProblem { faultCount errors { code } } } }`;
    const { made } = (
      await post('graphql', { query, variables: { input: { files: [{ name: Name, content: Content }] } } })
    ).data;
    return [rest.Errors.length, rest.FaultCount, made.errors.length, made.faultCount];
  };
  expect(await send(1_001)).toEqual([1_000, 1_001, 1_000, 1_001]);
  expect(await send(1_000)).toEqual([1_000, undefined, 1_000, 1_000]);
});
