import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import os from 'node:os';
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { sql } from 'kysely';
import { CommandFailed } from '../../src/cli/command.ts';
import { type Patient, runDoctor } from '../../src/cli/doctor.ts';
import { type Config, ConfigError } from '../../src/config.ts';
import type { Context } from '../../src/context.ts';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { diagnose } from '../../src/db/diagnosis.ts';
import type { Finding } from '../../src/finding.ts';
import { examineBatches, examineSpool } from '../../src/lessons/service.ts';
import { openLog } from '../../src/log.ts';
import { examineWorkers } from '../../src/worker/diagnosis.ts';
import { makeTenant } from '../_util/factories.ts';
import { cancelWaiting } from '../_util/hold.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { until } from '../_util/process.ts';

const log = openLog('silent');
const openTest = (url: string) => openDatabase(url, { max: 2, log, statementTimeout: 5_000 });
const named = (findings: Finding[], check: string) => findings.find((finding) => finding.check === check);

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: Database;

beforeAll(async () => {
  database = await cloneDatabase();
  db = openTest(database.url);
});

afterAll(async () => {
  await db.destroy();
  await database.drop();
});

describe('the database', () => {
  test('a sound one: every check is ok, and only the worker is missing', async () => {
    const findings = await diagnose(database.url, db, examineWorkers);
    expect(findings.map(({ check, level }) => `${check} ${level}`)).toEqual([
      ...['Database ok', 'Extension ok', 'Locale ok', 'Clock ok', 'Writes ok', 'Waits ok'],
      ...['Migrations ok', 'Notifications ok', 'Locks ok'],
      // Whether the zone rules are of one release is the machine's affair.
      ...['Workers warning', 'Queue ok', expect.stringMatching(/^Time zones (ok|warning)$/)],
    ]);
    expect(named(findings, 'Database')?.text).toMatch(/^PostgreSQL \d+ answers$/);
  });

  test('out of reach: one fault that says what to look at', async () => {
    const url = 'postgres://nobody:hush@127.0.0.1:9/nothing';
    const lost = openTest(url);
    const findings = await diagnose(url, lost, examineWorkers);
    await lost.destroy();
    expect(findings).toMatchObject([
      {
        check: 'Database',
        level: 'fault',
        text: expect.stringMatching(/^cannot be reached: .*ECONNREFUSED/),
      },
    ]);
    expect(findings[0]?.remedy).toMatch(/DatabaseUrl/);
  });

  test('a session whose lock others wait for is named, with the statement that ends it', async () => {
    const patient = openDatabase(database.url, { max: 2, log, statementTimeout: 0 });
    await patient.transaction().execute(async (trx) => {
      await sql`lock table booking`.execute(trx);
      const waiting = sql`select count(*) from booking`.execute(patient);
      await until('the doctor names the session', async () => {
        const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(trx);
        const { pid } = rows[0]!;
        const found = named(await diagnose(database.url, db), 'Waits');
        return (
          found?.level === 'warning' &&
          found.text.startsWith(`statements wait for locks of session ${pid} (`) &&
          found.text.includes('): 1, the longest for ') &&
          found.remedy?.endsWith(`(${pid})`)
        );
      });
      await cancelWaiting(db, 1);
      await expect(waiting).rejects.toThrow(/cancel/);
    });
    await patient.destroy();
  });

  test('a role that may have no further connection, or no rights: what to do about it', async () => {
    const role = `weak_${randomUUID().slice(0, 8)}`;
    const weak = new URL(database.url);
    [weak.username, weak.password] = [role, 'weak'];
    const examine = async () => {
      const own = openTest(weak.href);
      const findings = await diagnose(weak.href, own, examineWorkers);
      await own.destroy();
      return findings;
    };
    await sql.raw(`create role ${role} login password 'weak' connection limit 0`).execute(db);
    expect(await examine()).toMatchObject([
      {
        check: 'Database',
        text: expect.stringContaining('too many connections'),
        remedy: expect.stringMatching(/limit/),
      },
    ]);
    await sql.raw(`alter role ${role} connection limit -1`).execute(db);
    const findings = await examine();
    await sql.raw(`drop role ${role}`).execute(db);
    expect(named(findings, 'Migrations')).toMatchObject({
      level: 'fault',
      text: 'the role of DatabaseUrl may not read them: permission denied for table kysely_migration',
      remedy: expect.stringMatching(/^Make it the owner of the database and of all that is in it/),
    });
  });

  test('not migrated: names what is missing, and asks nothing of tables that are not there', async () => {
    const empty = await cloneDatabase();
    const bare = openTest(empty.url);
    await sql`drop table batch cascade`.execute(bare);
    await sql`delete from kysely_migration where name >= '000003'`.execute(bare);
    const findings = await diagnose(empty.url, bare, examineWorkers);
    await bare.destroy();
    await empty.drop();
    expect(named(findings, 'Migrations')).toMatchObject({
      level: 'fault',
      text: expect.stringMatching(/^not applied: 000003_lessons, 0/),
      remedy: 'Run "roomgate migrate".',
    });
    expect(findings.some(({ check }) => check === 'Queue')).toBe(false);
  });

  test('migrated in another order: does not send to "roomgate migrate", which cannot help', async () => {
    const other = await cloneDatabase();
    const bare = openTest(other.url);
    await sql`delete from kysely_migration where name like '000003%'`.execute(bare);
    const found = named(await diagnose(other.url, bare, examineWorkers), 'Migrations');
    await bare.destroy();
    await other.drop();
    expect(found).toMatchObject({
      level: 'fault',
      text: expect.stringMatching(/in another order: it has applied 000004_\S+ before 000003_lessons$/),
      remedy: expect.stringMatching(/^Restore a backup/),
    });
  });

  test.each([
    [
      'only added to it',
      sql`select`,
      { level: 'ok', text: expect.stringContaining('up to 999999_later; this release can use them') },
    ],
    [
      'changed what this one needs',
      sql`update schema_floor set migration = '999999_later'`,
      { level: 'fault', remedy: expect.stringMatching(/^Start that release/) },
    ],
  ])('migrated by a newer release that %s', async (_what, change, expected) => {
    const other = await cloneDatabase();
    const bare = openTest(other.url);
    await sql`insert into kysely_migration values ('999999_later', now()::text)`.execute(bare);
    await change.execute(bare);
    const found = named(await diagnose(other.url, bare, examineWorkers), 'Migrations');
    await bare.destroy();
    await other.drop();
    expect(found).toMatchObject(expected);
  });

  test('a full disk is a fault, and so is a database that is read-only; nothing stays of the attempt', async () => {
    const other = await cloneDatabase();
    const bare = openTest(other.url);
    await sql`create function refuse() returns event_trigger language plpgsql as $$
      begin raise exception 'could not extend file' using errcode = 'disk_full'; end $$`.execute(bare);
    await sql`create event trigger full_disk on ddl_command_start when tag in ('CREATE TABLE AS') execute function refuse()`.execute(
      bare,
    );
    expect(named(await diagnose(other.url, bare), 'Writes')).toEqual({
      check: 'Writes',
      level: 'fault',
      text: 'refused, as its disk is full: could not extend file',
      remedy: expect.stringMatching(/^Make room on the disk/),
    });
    await sql`drop event trigger full_disk`.execute(bare);
    expect(named(await diagnose(other.url, bare), 'Writes')).toMatchObject({ level: 'ok' });
    const { rows } = await sql`select from pg_class where relname = 'doctor_filler'`.execute(bare);
    expect(rows).toEqual([]);
    await bare.destroy();
    const url = new URL(other.url);
    url.searchParams.set('options', '-c default_transaction_read_only=on');
    const readOnly = openTest(url.href);
    expect(named(await diagnose(other.url, readOnly), 'Writes')).toMatchObject({
      level: 'fault',
      text: expect.stringMatching(/^refused, as it is read-only: /),
      remedy: expect.stringContaining('default_transaction_read_only'),
    });
    await readOnly.destroy();
    await other.drop();
  });

  test('a missing extension is a fault', async () => {
    const other = await cloneDatabase();
    const bare = openTest(other.url);
    await sql`drop extension btree_gist cascade`.execute(bare);
    const findings = await diagnose(other.url, bare, examineWorkers);
    await bare.destroy();
    await other.drop();
    expect(named(findings, 'Extension')).toMatchObject({ level: 'fault' });
  });

  test('old jobs, jobs of dead workers and long-open batches are counted; living workers are known by their lock', async () => {
    const { mandatorId, code, person } = await makeTenant(db);
    const id = '01900000-0000-7000-8000-000000000001';
    await db
      .insertInto('batch')
      .values({
        mandator_id: mandatorId,
        id,
        operation: 'Create',
        job_count: 1,
        request_id: 'r',
        created_by: person('User').id,
        created_at: new Date(Date.now() - 3_600_000),
      })
      .execute();
    for (const key of ['waiting', 'dead', 'alive'])
      await sql`select graphile_worker.add_job('t', '{}'::json, run_at => now() - interval '5 minutes', job_key => ${key})`.execute(
        db,
      );
    await sql`
      update graphile_worker._private_jobs set locked_by = key, locked_at = now() - interval '5 minutes'
      where key in ('dead', 'alive')`.execute(db);
    await db.connection().execute(async (session) => {
      await sql`select pg_advisory_lock(7002, hashtext('alive'))`.execute(session);
      const findings = await diagnose(database.url, db, examineWorkers);
      expect(named(findings, 'Workers')).toMatchObject({ level: 'ok', text: '1 alive' });
      expect(named(findings, 'Queue')?.text).toMatch(/^1 jobs are waiting, the oldest for 30\d s$/);
      expect(named(findings, 'Orphans')?.text).toMatch(/^1 jobs have been locked/);
      expect(await examineBatches(db)).toMatchObject([
        { level: 'warning', text: `1 have been open for more than 15 minutes: ${code}/${id}` },
      ]);
    });
  });
});

test('a folder for temporary files that takes none is a fault', async () => {
  expect(await examineSpool()).toEqual({
    check: 'Temporary files',
    level: 'ok',
    text: `can be written in ${os.tmpdir()}`,
  });
  const folder = jest.spyOn(os, 'tmpdir').mockReturnValue('/nowhere');
  const finding = await examineSpool();
  folder.mockRestore();
  expect(finding).toMatchObject({ level: 'fault', text: expect.stringMatching(/ENOENT.*\/nowhere/) });
  expect(finding.remedy).toMatch(/TMPDIR/);
});

describe('roomgate doctor', () => {
  let server: Server;
  let own: string;
  let readiness: { status: number; body: unknown };
  /** Keeps /readyz to itself, with the answer of this status and text; passes what `behind` it answers to /healthz. */
  let proxy: Server;
  let refusal: [status: number, text: string];
  let behind: [status: number, headers: Record<string, string>];
  let config: Config;

  const started = async (listener: RequestListener) => {
    const one = createServer(listener).listen(0, '127.0.0.1');
    await once(one, 'listening');
    return one;
  };
  const portOf = (one: Server) => (one.address() as AddressInfo).port;

  beforeAll(async () => {
    server = await started((_request, response) => {
      response.writeHead(readiness.status).end(JSON.stringify(readiness.body));
    });
    proxy = await started(({ url }, response) => {
      if (url === '/readyz') response.writeHead(refusal[0]).end(refusal[1]);
      else response.writeHead(...behind).end();
    });
    own = `http://127.0.0.1:${portOf(server)}`;
    config = {
      warnings: [],
      Host: '127.0.0.1',
      Port: portOf(server),
      IdpUrl: `http://127.0.0.1:${portOf(proxy)}`,
      DatabaseUrl: 'postgres://somewhere',
      Pepper: 'x'.repeat(32),
      IdentityProvider: { Mode: 'Embedded' },
    } as unknown as Config;
    readiness = {
      status: 200,
      body: { Status: 'Healthy', Checks: { Database: 'Healthy', Worker: 'Healthy' } },
    };
  });

  beforeEach(() => {
    [refusal, behind] = [
      [404, ''],
      [200, { 'Roomgate-Version': '1.2.3' }],
    ];
  });

  afterAll(async () => {
    for (const one of [server, proxy]) {
      one.closeAllConnections();
      await new Promise((resolve) => one.close(resolve));
    }
  });

  async function examine(parts: Partial<Patient>) {
    const patient: Patient = {
      config: () => config,
      open: async () => ({ context: {} as Context, close: async () => {} }),
      diagnose: async () => [{ check: 'Database', level: 'ok', text: 'answers' }],
      ...parts,
    };
    let text = '';
    let findings: Finding[] = [];
    const output = {
      json: false,
      print(said: string, record: unknown) {
        text = said;
        findings = (record as Record<'Check' | 'Level' | 'Text' | 'Remedy', string>[]).map(
          ({ Check, Level, Text, Remedy }) =>
            ({ check: Check, level: Level, text: Text, ...(Remedy ? { remedy: Remedy } : {}) }) as Finding,
        );
      },
    };
    const error = await runDoctor(patient, output).catch((thrown: unknown) => thrown);
    return { text, findings, error };
  }

  test('all is well: a line each, and no error', async () => {
    const { text, error } = await examine({});
    expect(error).toBeUndefined();
    expect(text.split('\n')).toEqual([
      'ok       Settings       read',
      'ok       Pepper         set',
      'ok       Database       answers',
      `ok       Server         ready at ${own}, and its worker runs`,
    ]);
  });

  test('a fault is an error, with its remedy below its line', async () => {
    const finding = {
      check: 'Locks',
      level: 'fault',
      text: 'do not hold',
      remedy: 'Connect directly.',
    } as const;
    const { text, error } = await examine({ diagnose: async () => [finding] });
    expect(error).toEqual(new CommandFailed('1 fault found.'));
    expect(text).toContain('fault    Locks          do not hold\n                        -> Connect directly.');
  });

  test('what a finding quotes stays in its line, and turns nothing around', async () => {
    const finding = {
      check: 'Mail servers',
      level: 'fault',
      text: 'the room \u202eAula\nok       Database       answers',
      remedy: 'Ask \u001b[2Kits\u200b owner.',
    } as const;
    const { text } = await examine({ diagnose: async () => [finding] });
    expect(text.split('\n').slice(2, 4)).toEqual([
      'fault    Mail servers   the room  Aula ok       Database       answers',
      '                        -> Ask  [2Kits  owner.',
    ]);
  });

  test('members of the files that are no settings are a warning that names them', async () => {
    const warnings = ['appsettings.json: Logging: there is no such setting; it is ignored'];
    const { findings, error } = await examine({ config: () => ({ ...config, warnings }) as Config });
    expect(named(findings, 'Settings')).toMatchObject({ level: 'warning', text: warnings[0] });
    expect(error).toBeUndefined();
  });

  test('a database of our own without a Pepper is a fault', async () => {
    const { findings, error } = await examine({ config: () => ({ ...config, Pepper: undefined }) as Config });
    expect(named(findings, 'Pepper')).toMatchObject({ level: 'fault' });
    expect(error).toBeInstanceOf(CommandFailed);
  });

  test('the local PostgreSQL is a warning, its Pepper is not', async () => {
    const { findings, error } = await examine({
      config: () => ({ ...config, Pepper: undefined, DatabaseUrl: '' }) as Config,
    });
    expect(named(findings, 'Pepper')).toMatchObject({ level: 'ok' });
    expect(named(findings, 'DatabaseUrl')).toMatchObject({ level: 'warning' });
    expect(error).toBeUndefined();
  });

  test('faulty settings: each of them a fault, and nothing is opened', async () => {
    const { findings } = await examine({
      config: () => {
        throw new ConfigError('Port: is 0\nHots: there is no such setting');
      },
      open: () => Promise.reject(new Error('must not be called')),
    });
    const remedy = expect.stringContaining('docs/settings.md');
    expect(findings).toEqual([
      { check: 'Settings', level: 'fault', text: 'Port: is 0', remedy },
      { check: 'Settings', level: 'fault', text: 'Hots: there is no such setting', remedy },
    ]);
  });

  test('a server that is ready, but whose writes are refused, is a fault', async () => {
    const sound = readiness;
    readiness = { status: 200, body: { Status: 'Degraded', Checks: { Database: 'Healthy', Writes: 'Degraded' } } };
    const { findings } = await examine({});
    readiness = sound;
    expect(named(findings, 'Server')).toMatchObject({
      level: 'fault',
      text: expect.stringMatching(/^ready at .*PostgreSQL has refused/),
    });
  });

  test('a server that is not ready is a fault that names what is not', async () => {
    const sound = readiness;
    readiness = { status: 503, body: { Status: 'Unhealthy', Checks: { Database: 'Healthy', Worker: 'Unhealthy' } } };
    const { findings } = await examine({});
    readiness = sound;
    expect(named(findings, 'Server')).toMatchObject({
      level: 'fault',
      text: `${own}/readyz answers 503: Worker`,
    });
  });

  test.each([
    ['Caddy', 404, ''],
    ['nginx', 404, '<html><head><title>404 Not Found</title></head></html>'],
    ['an ingress', 503, '<html><head><title>503 Service Temporarily Unavailable</title></head></html>'],
    ['another program', 200, '{}'],
  ])('a server behind %s that does not publish /readyz is not taken for none', async (_what, ...answer) => {
    refusal = answer;
    const { findings, error } = await examine({ config: () => ({ ...config, Port: 9 }) });
    expect(named(findings, 'Server')).toEqual({
      check: 'Server',
      level: 'warning',
      text: `answers at ${config.IdpUrl}, which does not publish /readyz: its state is unknown`,
      remedy: 'Run the doctor beside a server, with the Host and Port of that server.',
    });
    expect(error).toBeUndefined();
  });

  test('without one at its own port, the public address is asked, if it publishes /readyz', async () => {
    refusal = [200, JSON.stringify(readiness.body)];
    const { findings } = await examine({ config: () => ({ ...config, Port: 9 }) });
    expect(named(findings, 'Server')).toMatchObject({
      level: 'ok',
      text: `ready at ${config.IdpUrl}, and its worker runs; no server answers at http://127.0.0.1:9`,
    });
  });

  test.each([
    ['nothing listens', { IdpUrl: 'http://127.0.0.1:9', Port: 9 }, 'http://127.0.0.1:9'],
    ['a proxy has no server behind it', { Port: 9 }, undefined],
  ])('no server is a warning, whose remedy changes no public address: %s', async (_what, settings, place) => {
    behind = [502, {}];
    const { findings, error } = await examine({ config: () => ({ ...config, ...settings }) });
    expect(named(findings, 'Server')).toEqual({
      check: 'Server',
      level: 'warning',
      text: `no roomgate server answers at ${place ?? `http://127.0.0.1:9 or ${config.IdpUrl}`}`,
      remedy: expect.not.stringContaining('IdpUrl'),
    });
    expect(error).toBeUndefined();
  });

  test.each<[string, [number, string]]>([
    ['the public address does not publish /readyz', [404, '']],
    [
      'the public address is ready, as it leads to other servers',
      [200, JSON.stringify({ Status: 'Healthy', Checks: {} })],
    ],
  ])(
    'a server that closes connections without an answer is a fault, and not taken for none: %s',
    async (_what, answer) => {
      refusal = answer;
      const closing = net.createServer((socket) => socket.resetAndDestroy()).listen(0, '127.0.0.1');
      await once(closing, 'listening');
      const { port } = closing.address() as AddressInfo;
      const { findings, error } = await examine({ config: () => ({ ...config, Port: port }) });
      closing.close();
      expect(named(findings, 'Server')).toEqual({
        check: 'Server',
        level: 'fault',
        text: `http://127.0.0.1:${port} accepts connections, but does not answer`,
        remedy: expect.stringContaining('file descriptors'),
      });
      expect(error).toMatchObject({ message: '1 fault found.' });
    },
  );

  test.each([
    ['has no answer in time', 'fault', /^http:\/\/127.0.0.1:\d+ accepts connections, but does not answer$/],
    ['is not accepted either, as at another machine', 'warning', /^answers at .*, which does not publish \/readyz/],
  ])('a request that %s is a %s', async (_what, level, text) => {
    const silent = net.createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    // Time-outs end at once where there is nothing to wait for, and nowhere else.
    let latest = new AbortController();
    const timing = jest.spyOn(AbortSignal, 'timeout').mockImplementation(() => (latest = new AbortController()).signal);
    const endWait = () => {
      const waiting = latest;
      setImmediate(() => waiting.abort(new DOMException('too late', 'TimeoutError')));
    };
    const isDropped = level === 'warning';
    const { connect } = net.Socket.prototype;
    const connecting = jest.spyOn(net.Socket.prototype, 'connect');
    connecting.mockImplementation(function (this: net.Socket, ...all: unknown[]) {
      const [{ port: asked }] = all.flat() as [{ port: number }];
      if (Number(asked) !== port || !isDropped) return Reflect.apply(connect, this, all);
      endWait();
      return Object.assign(this, { connecting: true });
    } as typeof connect);
    silent.on('connection', (socket) => socket.once('data', endWait));
    try {
      const { findings } = await examine({ config: () => ({ ...config, Port: port }) });
      expect(named(findings, 'Server')).toMatchObject({ level, text: expect.stringMatching(text) });
    } finally {
      timing.mockRestore();
      connecting.mockRestore();
      silent.close();
    }
  });

  test('an outside identity provider is asked for its issuer', async () => {
    let issuer: string | undefined;
    const provider = createServer((_request, response) => response.end(JSON.stringify({ issuer })));
    await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
    const Authority = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
    const look = async () => {
      const IdentityProvider = { Mode: 'External', Authority };
      const { findings } = await examine({ config: () => ({ ...config, IdentityProvider }) as Config });
      return named(findings, 'Provider');
    };
    issuer = Authority;
    expect(await look()).toMatchObject({ level: 'ok', text: `answers at ${Authority}` });
    issuer = `${Authority}/`;
    expect(await look()).toMatchObject({
      level: 'fault',
      remedy: expect.stringContaining('as the provider'),
    });
    provider.closeAllConnections();
    await new Promise((resolve) => provider.close(resolve));
    expect(await look()).toMatchObject({
      level: 'fault',
      text: `no discovery document at ${Authority}/.well-known/openid-configuration`,
    });
    expect((await examine({})).findings.some(({ check }) => check === 'Provider')).toBe(false);
  });

  test('a local PostgreSQL that does not start is a fault', async () => {
    const { findings } = await examine({ open: () => Promise.reject(new Error('initdb failed')) });
    expect(named(findings, 'Database')).toMatchObject({
      level: 'fault',
      text: 'cannot be opened: initdb failed',
      remedy: expect.stringMatching(/^Correct what it names/),
    });
  });
});
