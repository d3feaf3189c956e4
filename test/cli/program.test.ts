import { rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { Command } from 'commander';
import { CommandFailed } from '../../src/cli/command.ts';
import { createProgram, type Host, runProgram } from '../../src/cli/program.ts';
import { type Config, ConfigError } from '../../src/config.ts';
import { type Context, openContext } from '../../src/context.ts';
import { NotFound } from '../../src/errors.ts';
import { openLog } from '../../src/log.ts';
import { makeTenant } from '../_util/factories.ts';
import { pepper } from '../_util/pepper.ts';
import { cloneDatabase } from '../_util/postgres.ts';

const pin = '7Q2MX-K4H9D-ZR3TB-W8VNC';
const unused = () => Promise.reject(new Error('not part of this test'));
const host = (parts: Partial<Host> = {}): Host => ({
  config: () => ({}) as Config,
  open: unused,
  serve: unused,
  migrate: unused,
  rehearse: unused,
  backup: unused,
  restore: unused,
  diagnose: unused,
  ...parts,
});

async function run(parts: Partial<Host>, ...args: string[]) {
  const [out, err]: string[][] = [[], []];
  const spies = [
    jest.spyOn(process.stdout, 'write').mockImplementation((text) => out!.push(String(text)) > 0),
    jest.spyOn(process.stderr, 'write').mockImplementation((text) => err!.push(String(text)) > 0),
  ];
  try {
    const code = await runProgram(createProgram(host(parts)), ['node', 'roomgate', ...args]);
    return { code, out: out!.join(''), err: err!.join('') };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

const failing = (error: unknown) => ({ migrate: () => Promise.reject(error) });

describe('--help', () => {
  const leaves = (command: Command): Command[] =>
    command.commands.length > 0 ? command.commands.flatMap(leaves) : [command];

  test('lists every command', async () => {
    const { code, out } = await run({}, '--help');
    expect(code).toBe(0);
    for (const name of [
      'serve',
      'migrate',
      'apply',
      'tenants',
      'persons',
      'parameter',
      'pin',
      'import',
      'batches',
      'doctor',
    ])
      expect(out).toMatch(new RegExp(`^  ${name}\\b`, 'm'));
  });

  test('each command says what it does, how it is called, and that it takes --json', async () => {
    const program = createProgram(host());
    const texts: string[] = [];
    for (const command of [program, ...leaves(program)]) {
      command.configureOutput({ getOutHelpWidth: () => 80, writeOut: (text) => texts.push(text) });
      command.outputHelp();
    }
    const text = texts.join('\n');
    expect(text.match(/Example:\n {2}\$ (\w+=\w+ )?roomgate/g)).toHaveLength(leaves(program).length + 1);
    expect(text.match(/--json/g)?.length).toBeGreaterThanOrEqual(leaves(program).length + 1);
    expect(text).toMatchSnapshot();
  });
});

test('--version: that of the package', async () => {
  expect(await run({}, '--version')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
  });
});

describe('exit code 0', () => {
  test('migrate names what it has applied', async () => {
    const migrate = async () => ['000001_tenants', '000002_identity'];
    expect(await run({ migrate }, 'migrate')).toEqual({
      code: 0,
      out: 'Applied 000001_tenants, 000002_identity.\n',
      err: '',
    });
    expect((await run({ migrate: async () => [] }, 'migrate')).out).toBe('Already current.\n');
  });

  test.each([
    ['--json', 'migrate'],
    ['migrate', '--json'],
  ])('%s %s: one line of JSON', async (...args) => {
    const { out } = await run({ migrate: async () => ['000001_tenants'] }, ...args);
    expect(out).toBe('{"Applied":["000001_tenants"]}\n');
  });

  test('serve says where it is once it can be used', async () => {
    const config = { BaseUrl: 'http://rooms.example', IdpUrl: 'http://id.example' };
    const own = { Host: '127.0.0.1', Port: 8081, IdentityProvider: { Mode: 'Embedded' } };
    const started = { config: { ...config, ...own } } as Context;
    const serve: Host['serve'] = (tell) => tell(started, false);
    const { code, out } = await run({ serve }, 'serve');
    expect(code).toBe(0);
    expect(out).toMatch(/^The console is at http:\/\/rooms\.example\/\nroomgate is ready at http:\/\/rooms\.example\n/);
    expect(out).toMatch(/^ {2}Health {4}http:\/\/127\.0\.0\.1:8081\/healthz,/m);
    expect((await run({ serve }, 'serve', '--json')).out).toBe(
      '{"BaseUrl":"http://rooms.example","IdpUrl":"http://id.example"}\n',
    );
  });

  test('serve of a worker names the only addresses that it serves', async () => {
    const config = { Role: 'Worker', Host: '127.0.0.1', Port: 8081, BaseUrl: 'http://rooms.example' };
    const serve: Host['serve'] = (tell) => tell({ config } as Context, true);
    expect((await run({ serve }, 'serve')).out).toBe(
      'roomgate is ready at http://127.0.0.1:8081\n  Health    http://127.0.0.1:8081/healthz, /readyz, /metrics\n',
    );
  });
});

describe('exit code 1', () => {
  test.each([
    ['Failed', 'It did not work.', new CommandFailed('It did not work.')],
    ['NotFound', 'There is no person x@y.example.', new NotFound('There is no person x@y.example.')],
    ['InternalError', 'bad [pin]', new Error(`bad ${pin}`)],
    [
      'Unavailable',
      'The database does not answer (ECONNREFUSED); is it running, and is DatabaseUrl right?',
      Object.assign(new AggregateError([], ''), { code: 'ECONNREFUSED' }),
    ],
    [
      'Unavailable',
      'The database answers, but does not accept writes (No space left on device): free space on its disk, or name the primary in DatabaseUrl if this is a standby.',
      Object.assign(new Error('No space left on device'), { code: '53100' }),
    ],
  ])('%s: one line on standard error, without secrets', async (Code, Message, error) => {
    expect(await run(failing(error), 'migrate')).toEqual({ code: 1, out: '', err: `${Message}\n` });
    expect(await run(failing(error), 'migrate', '--json')).toEqual({
      code: 1,
      out: '',
      err: `${JSON.stringify({ Error: { Code, Message } })}\n`,
    });
  });
});

describe('exit code 2', () => {
  test('no command: the help, on standard error, and nothing else', async () => {
    const { code, out, err } = await run({});
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(/^Usage: roomgate/);
    expect(err).not.toContain('outputHelp');
  });

  test.each([
    ['unknown command', ['imprt'], "unknown command 'imprt'"],
    ['help of an unknown command', ['imprt', '--help'], "unknown command 'imprt'"],
    ['unknown command of a group', ['mail', 'lst', '--help'], "unknown command 'lst'"],
    ['command help with an unknown one', ['help', 'imprt'], "unknown command 'imprt'"],
    ['unknown option', ['migrate', '--fast'], "unknown option '--fast'"],
    ['missing argument', ['import', '--mandator', 'm'], "missing required argument 'files'"],
    ['no address of a database', ['tenant', 'move', '--to', 'b.example'], "option '--to <url>' argument 'b.example'"],
    ['no number of seconds', ['tenant', 'freeze', '--seconds', '0'], 'must be a whole number from 1 to 3600'],
    ['wrong value', ['import', 'x.json', '--mandator', 'm', '--operation', 'drop'], 'Allowed choices are create'],
  ])('%s', async (_what, args, message) => {
    const { code, out, err } = await run({}, ...args);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(message);
    expect(err.trim().split('\n').length).toBeLessThanOrEqual(2);
    const json = await run({}, ...args, '--json');
    expect(JSON.parse(json.err)).toEqual({
      Error: { Code: 'Usage', Message: expect.stringContaining(message) },
    });
  });
});

describe('exit code 78', () => {
  test('faults of the settings, as they are', async () => {
    const lines = 'appsettings.json: Port: is "x"; must be a number\nappsettings.json: Hots: there is no such setting';
    expect(await run(failing(new ConfigError(lines)), 'migrate')).toEqual({
      code: 78,
      out: '',
      err: `${lines}\n`,
    });
  });
});

describe('import', () => {
  const file = path.join(tmpdir(), `roomgate-${process.pid}-import.json`);
  let server: Server;
  let config: Config;
  let tokenRequests: URLSearchParams[];
  let posted: string[];
  let whileSignedIn = async () => {};
  let sentHeaders: IncomingHttpHeaders | undefined;
  let batch: Record<string, unknown>;
  let errors: Record<string, unknown>[];

  beforeEach(async () => {
    tokenRequests = [];
    posted = [];
    errors = [];
    batch = {
      BatchId: 'b-1',
      Operation: 'Create',
      ImportStatus: 'LessonsCreated',
      FailureKind: null,
      JobCount: 1,
      LessonCount: 2,
      ProcessedCount: 2,
      CreatedCount: 2,
      ErrorCount: 0,
      WarningCount: 0,
      CreatedAt: '2026-11-20T10:00:00.000Z',
      FinishedAt: '2026-11-20T10:00:01.500Z',
    };
    server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      const url = request.url ?? '';
      const answer = (status: number, record: unknown) => response.writeHead(status).end(JSON.stringify(record));
      sentHeaders = request.headers;
      if (url === '/healthz') return answer(200, { Status: 'Healthy' });
      if (url === '/connect/token') {
        tokenRequests.push(new URLSearchParams(body));
        await whileSignedIn();
        return answer(200, { access_token: 'token' });
      }
      if (request.method === 'POST' && posted.push(url))
        return answer(202, { BatchId: 'b-1', ImportStatus: 'AwaitingLessonCreation' });
      if (url.startsWith('/muni/api/v2.0/jobs/batches/b-1/errors'))
        return answer(200, { Items: errors, NextCursor: null });
      if (url.startsWith('/muni/api/v2.0/jobs/batches/b-1')) return answer(200, batch);
      if (url.startsWith('/muni/api/v2.0/jobs/batches?'))
        return answer(200, { Items: url.includes('All') ? [batch] : [], NextCursor: null });
      return answer(404, { detail: `nothing at ${url}` });
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = {
      Enabled: true,
      ClientId: 'open',
      AllowedGrantTypes: ['apikey'],
      RequireClientSecret: false,
    };
    const Clients = [{ ...client, ClientId: 'secret', RequireClientSecret: true }, client];
    const IdentityProvider = { Mode: 'Embedded' };
    config = { BaseUrl: url, IdpUrl: url, Clients, IdentityProvider } as unknown as Config;
    await writeFile(file, '[{"JobID":"J-1"}]');
  });

  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(file, { force: true });
  });

  const send = (...args: string[]) =>
    run({ config: () => config }, 'import', file, '--mandator', 'muni', '--pin', pin, ...args);

  test('without --follow: prints the BatchId', async () => {
    expect(await send()).toEqual({ code: 0, out: 'b-1\n', err: 'Batch b-1 is accepted.\n' });
    expect(Object.fromEntries(tokenRequests[0] ?? [])).toEqual({
      grant_type: 'apikey',
      scope: 'service_api',
      client_id: 'open',
      apikey: pin,
    });
    expect((await send('--json')).out).toBe('{"BatchId":"b-1","ImportStatus":"AwaitingLessonCreation"}\n');
  });

  test('--follow: states as plain lines, then the counts', async () => {
    expect(await send('--follow')).toEqual({
      code: 0,
      err: 'Batch b-1 is accepted.\nLessonsCreated\n',
      out: [
        'Batch     b-1',
        'Status    LessonsCreated',
        'Jobs      1',
        'Lessons   2',
        'Created   2',
        'Errors    0',
        'Warnings  0',
        'Seconds   1.5',
        'Success: 2 of 2 lessons are in the timetable.\n',
      ].join('\n'),
    });
    expect(JSON.parse((await send('--follow', '--json')).out)).toEqual(batch);
  });

  test.each([
    [['--operation', 'update', '--on-conflict', 'displace'], 'update?OnConflict=Displace'],
    [['--on-conflict', 'skip', '--validate-only'], 'create?ValidateOnly=true&OnConflict=Skip'],
    [['--operation', 'delete'], 'delete'],
  ])('%j asks for %s', async (args, asked) => {
    expect((await send(...args)).code).toBe(0);
    expect(posted).toEqual([`/muni/api/v2.0/jobs/${asked}`]);
  });

  test('--on-conflict of a deletion is refused before anything is sent', async () => {
    const { code, err } = await send('--operation', 'delete', '--on-conflict', 'skip');
    expect([code, posted]).toEqual([1, []]);
    expect(err).toContain('a deletion has no conflicts');
  });

  test.each([
    [{ Operation: 'Update' }, 'Success: the changes are in the timetable.'],
    [{ Operation: 'Delete', WarningCount: 2 }, 'Success: what the file names is deleted; there are 2 warnings.'],
    [{ ValidateOnly: true }, 'Success: nothing is wrong, and nothing was written.'],
    [
      { ValidateOnly: true, WarningCount: 1 },
      'Success: there is no error, and nothing was written; there is 1 warning.',
    ],
    [
      { CreatedCount: 1, WarningCount: 1 },
      'Done: 1 of 2 lessons are in the timetable; 1 was left out; there is 1 warning.',
    ],
  ])('--follow of %j ends with what came of it', async (changes, line) => {
    batch = { ...batch, ...changes };
    expect((await send('--follow')).out.trim().split('\n').at(-1)).toBe(line);
  });

  test('--follow, lessons left out: none is called a success, and each warning is listed', async () => {
    batch = { ...batch, CreatedCount: 0, WarningCount: 2 };
    errors = ['1', '2'].map((LektionId, Index) => ({
      Severity: 'Warning',
      Index,
      JobID: 'J-1',
      LektionId,
      Field: 'RessourceName',
      Code: 'ResourceConflict',
      Message: 'A is occupied; the lesson was left out',
    }));
    const { code, out } = await send('--follow', '--on-conflict', 'skip');
    expect(code).toBe(0);
    expect(out.split('\n').slice(8)).toEqual([
      '',
      'Index  JobID  LektionId  Field          Code              Message',
      '0      J-1    1          RessourceName  ResourceConflict  A is occupied; the lesson was left out',
      '1      J-1    2          RessourceName  ResourceConflict  A is occupied; the lesson was left out',
      '',
      'Done: 0 of 2 lessons are in the timetable; 2 were left out; there are 2 warnings.',
      '',
    ]);
    expect(JSON.parse((await send('--follow', '--json')).out)).toEqual(batch);
    batch = { ...batch, Operation: 'Update' };
    expect((await send('--follow', '--operation', 'update', '--on-conflict', 'skip')).out).toContain(
      'Done: the changes are in the timetable, without those that a warning says were left out; there are 2 warnings.',
    );
  });

  test('--follow, failed: exit code 1, the first 100 errors as a table, then how many more', async () => {
    batch = {
      ...batch,
      ImportStatus: 'LessonsImportFailed',
      FailureKind: 'Data',
      CreatedCount: 0,
      ErrorCount: 130,
    };
    const error = {
      Severity: 'Error',
      JobID: 'J-17',
      LektionId: null,
      Field: 'JobID',
      Code: 'DuplicateJobId',
    };
    errors = Array.from({ length: 130 }, (_, Index) => ({
      ...error,
      Index,
      Message: 'Duplicate\u001b[31m JobId:\nJ-17',
    }));
    errors.unshift({ Severity: 'Warning', Index: 0, Code: 'AssumedUtc', Message: 'UTC' });
    const { code, out, err } = await send('--follow');
    expect(code).toBe(1);
    const table = out.split('\n').slice(9);
    expect(table.slice(0, 2)).toEqual([
      'Index  JobID  LektionId  Field  Code            Message',
      '0      J-17              JobID  DuplicateJobId  Duplicate [31m JobId: J-17',
    ]);
    expect(table[100]).toMatch(/^99 /);
    expect(table[101]).toBe('... and 30 more');
    expect(err).toContain('Batch b-1 has failed (Data)');
    const json = await send('--follow', '--json');
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toEqual(batch);
    expect(JSON.parse(json.err)).toMatchObject({ Error: { Code: 'Failed' } });
    batch = {
      ...batch,
      ErrorCount: 10_230,
      OmittedErrors: [
        { Severity: 'Error', Code: 'InvalidTime', Count: 30 },
        { Severity: 'Error', Code: 'MissingField', Count: 200 },
        { Severity: 'Warning', Code: 'AssumedUtc', Count: 7 },
      ],
    };
    expect((await send('--follow')).out).toContain(
      '... and 10130 more, of which the server has counted and not kept 30 InvalidTime, 200 MissingField\n',
    );
  });

  test.each([
    ['there is none', '/nowhere/x.json', undefined, 'cannot be read: there is no such file'],
    ['a folder', tmpdir(), undefined, 'is a folder'],
    ['empty', file, '', 'is empty'],
    ['not JSON', file, 'JobID;Beginn\n', 'is not a JSON array of jobs'],
    ['an object', file, '{"JobID":"J-1"}', 'is not a JSON array of jobs'],
  ])('a file that cannot be sent: %s', async (_what, name, content, message) => {
    if (content !== undefined) await writeFile(file, content);
    const { code, err } = await run({ config: () => config }, 'import', name, '--mandator', 'm', '--pin', pin);
    expect(code).toBe(1);
    expect(err).toContain(message);
    expect(err.trim().split('\n')).toHaveLength(1);
    expect(tokenRequests).toEqual([]);
  });

  test('no server: names the URL and how to start one, before a PIN is made', async () => {
    const { code, err } = await run(
      { config: () => config },
      ...['import', file, '--mandator', 'muni', '--base-url', 'http://127.0.0.1:9'],
    );
    expect(code).toBe(1);
    expect(err).toMatch(/^http:\/\/127\.0\.0\.1:9 .* Start the server with "\.\/roomgate serve"/);
  });

  describe('by IdentityProvider.Mode', () => {
    const sign = (mode: object, ...args: string[]) =>
      run({ config: () => ({ ...config, ...mode }) }, 'import', file, '--mandator', 'muni', ...args);
    const none = { IdentityProvider: { Mode: 'None' } };
    const external = { IdentityProvider: { Mode: 'External', Authority: 'https://idp.example' } };

    test.each<[string, object, string[], object]>([
      ['None: the PIN goes with each call', none, ['--pin', pin], { apikey: pin }],
      [
        'External with LegacyApiKeyEnabled: likewise',
        { ...external, LegacyApiKeyEnabled: true },
        ['--pin', pin],
        { apikey: pin },
      ],
      ['External: the given token does', external, ['--token', 'a.b.c'], { authorization: 'Bearer a.b.c' }],
      ['Embedded: a given token needs no PIN', {}, ['--token', 'a.b.c'], { authorization: 'Bearer a.b.c' }],
    ])('%s', async (_what, mode, args, credential) => {
      expect(await sign(mode, ...args)).toMatchObject({ code: 0, out: 'b-1\n' });
      expect(tokenRequests).toEqual([]);
      const { apikey, authorization } = sentHeaders!;
      expect({ apikey, authorization }).toEqual({
        apikey: undefined,
        authorization: undefined,
        ...credential,
      });
    });

    test.each([[[]], [['--pin', pin]]])('External without a token, %j: says where to get one', async (args) => {
      const { code, err } = await sign(external, ...args);
      expect(code).toBe(1);
      expect(err).toBe(
        'PINs are not accepted here: get a token from https://idp.example and pass it with --token or in ROOMGATE_TOKEN.\n',
      );
    });
  });

  test('batches: the running ones, or with --all the ended ones too', async () => {
    const list = (...args: string[]) =>
      run({ config: () => config }, 'batches', '--mandator', 'muni', '--pin', pin, ...args);
    expect((await list()).out).toBe('No batch is running.\n');
    expect((await list('--all')).out).toBe(
      [
        'BatchId  Operation  ImportStatus    Lessons  Errors  CreatedAt',
        'b-1      Create     LessonsCreated  2/2      0       2026-11-20T10:00:00.000Z\n',
      ].join('\n'),
    );
    expect((await list('--all', '--json')).out).toBe(`${JSON.stringify([batch])}\n`);
  });

  describe('without a PIN', () => {
    let database: Awaited<ReturnType<typeof cloneDatabase>>;
    let context: Context & { close(): Promise<void> };
    const close = jest.fn(async () => {});
    const open = async () => ({ context, close });
    const state = () => context.db.selectFrom('pin').selectAll().orderBy('id').execute();

    beforeAll(async () => {
      database = await cloneDatabase();
      context = await openContext({ DatabaseUrl: database.url, Pepper: pepper } as Config, openLog('silent'));
      await makeTenant(context.db, { code: 'muni' });
    });

    afterAll(async () => {
      await context.close();
      await database.drop();
    });

    test("one of the tenant's first Admin is made for an hour, and removed afterwards", async () => {
      const held: Awaited<ReturnType<typeof state>>[] = [];
      whileSignedIn = async () => void held.push(await state());
      const done = await run({ config: () => config, open }, 'import', file, '--mandator', 'muni', '--follow');
      expect(done.code).toBe(0);
      expect(held).toHaveLength(1);
      const made = held.at(-1)![0]!;
      expect(made.label).toBe('roomgate command line');
      expect(made.expires_at!.getTime() - made.created_at.getTime()).toBeLessThanOrEqual(3_601_000);
      expect(await state()).toEqual([]);
      const sent = tokenRequests.at(-1)?.get('apikey') ?? '';
      expect(sent).toMatch(/^\w{5}(-\w{5}){3}$/);
      expect(done.out + done.err).not.toContain(sent);
      expect(close).toHaveBeenCalledTimes(1);
    });

    test('a tenant is named in any case, to commands on its data and to those that send requests', async () => {
      const parts = { config: () => config, open };
      const archive = path.join(tmpdir(), `roomgate-${process.pid}.tenant.gz`);
      try {
        expect(await run(parts, 'tenant', 'export', archive, '--mandator', 'MUNI')).toMatchObject({ code: 0, err: '' });
      } finally {
        await rm(archive, { force: true });
      }
      expect(await run(parts, 'import', file, '--mandator', 'Muni')).toMatchObject({ code: 0, out: 'b-1\n' });
    });

    test('an empty variable is none, and the only tenant need not be named', async () => {
      process.env['ROOMGATE_PIN'] = process.env['ROOMGATE_TOKEN'] = '';
      try {
        const done = await run({ config: () => config, open }, 'import', file);
        expect(done).toMatchObject({ code: 0, out: 'b-1\n' });
      } finally {
        delete process.env['ROOMGATE_PIN'];
        delete process.env['ROOMGATE_TOKEN'];
      }
      expect(tokenRequests[0]?.get('apikey')).toMatch(/^\w{5}(-\w{5}){3}$/);
    });

    test.each([
      ['--pin', pin],
      ['--token', 'a.b.c'],
    ])('the only tenant need not be named with %s, either, where the database can be asked', async (...given) => {
      const parts = { config: () => config, open };
      expect(await run(parts, 'import', file, ...given)).toMatchObject({ code: 0, out: 'b-1\n' });
      expect((await run(parts, 'batches', ...given)).out).toBe('No batch is running.\n');
      expect(await state()).toEqual([]);
      const away = { ...parts, open: () => Promise.reject(new ConfigError('Pepper: is missing')) };
      expect(await run(away, 'batches', ...given)).toEqual({
        code: 1,
        out: '',
        err: 'Name the tenant with --mandator CODE, or make sure that it can be looked up: Pepper: is missing\n',
      });
      expect((await run(parts, 'batches', ...given, '--base-url', config.BaseUrl)).err).toBe(
        'Name the tenant with --mandator CODE: the database of this machine may not be that of --base-url.\n',
      );
    });

    test('an unknown tenant is named, with the ways out', async () => {
      const { code, err } = await run({ config: () => config, open }, 'import', file, '--mandator', 'nobody');
      expect(code).toBe(1);
      expect(err).toMatch(/^There is no tenant nobody with an active Admin; .*give a PIN/);
    });
  });
});
