/** deploy/failover/failover.sh: it does what it says, and refuses whatever could lose a write or make two primaries. */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { serverAccount } from '../../src/db/embedded.ts';
import {
  copying,
  hasPsql,
  killAll,
  type Member,
  openShell,
  script,
  startCommand,
  startMember,
  stopCommand,
} from '../_util/failover.ts';
import { freePort } from '../_util/free-port.ts';
import { until } from '../_util/process.ts';
import { ask } from '../_util/streaming.ts';

const needsPsql = hasPsql ? describe : describe.skip;
const namesOf = async ({ url }: Member) =>
  (await ask<{ names: string }>(url, "select current_setting('synchronous_standby_names') as names"))[0]?.names;

const hasShellcheck = spawnSync('shellcheck', ['--version']).status === 0;
(hasShellcheck ? test : test.skip)(
  `${hasShellcheck ? '' : 'SKIPPED: shellcheck is not installed: '}shellcheck finds nothing`,
  () => {
    expect(spawnSync('shellcheck', [script], { encoding: 'utf8' })).toMatchObject({ status: 0, stdout: '' });
  },
);

needsPsql(`${hasPsql ? '' : 'SKIPPED: psql is not installed: '}a wrong command line`, () => {
  test.each([
    ['', 'failover.sh promote'],
    ['sing', 'sing: there are check, promote, rejoin and alone'],
    ['check', '--standby is missing'],
    ['check --standby a', '--primary is missing'],
    ['check --standby a --primary', '--primary: is unknown, or its value is missing'],
    ['check --standby a --primary b --every soon', 'soon: must be a whole number of seconds'],
    ['check --standby postgres://u:hush@a,b/d --primary c', 'postgres://a,b/d: names several servers; name one'],
    ['check --standby host=a,b --primary c', 'host=a,b: names several servers'],
    ['check --standby postgres:///d?host=a,b --primary c', 'names several servers'],
    ['promote --standby a --primary b', '--fence is missing: without proof that the primary is down'],
    ['promote --standby a --primary b --fence c --primary-is-off', 'one of them'],
    ['promote --standby a --primary b --loud c', '--loud: is unknown'],
    ['rejoin --data a --primary b --name a/b', '--name a/b: letters, digits'],
    ['alone --primary b', '--state is missing: the note of check would still say'],
  ])('%s', (line, text) => {
    const { status, stderr, stdout } = spawnSync(script, line.split(' ').filter(Boolean), { encoding: 'utf8' });
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toContain(text);
    expect(stderr).not.toContain('hush');
  });

  test('--help tells all commands', () => {
    const { status, stdout } = spawnSync(script, ['promote', '--help'], { encoding: 'utf8' });
    expect(status).toBe(0);
    for (const command of ['check', 'promote', 'rejoin', 'alone'])
      expect(stdout).toContain(`\n  failover.sh ${command} `);
  });
});

needsPsql('a pair', () => {
  const members: Awaited<ReturnType<typeof startMember>>[] = [];
  let [a, b] = [{} as Member, {} as Member];
  let directory = '';
  let state = '';
  let run: ReturnType<typeof openShell>;
  /** The pair as the script is told of it, `b` following `a`. */
  const pair = () => ['--standby', b.url, '--primary', a.url, '--state', state, '--patience', '90'];
  const check = () => run('check', ...pair());
  const promote = (...further: string[]) => run('promote', ...pair(), ...further);
  const join = () =>
    run(
      ...['rejoin', '--data', b.data, '--primary', a.url, '--name', b.name],
      ...['--bin', b.bin, '--start', b.start],
      ...copying(a),
    );
  const isPrimary = async ({ url }: Member) =>
    (await ask<{ is: boolean }>(url, 'select not pg_is_in_recovery() as is'))[0]?.is;
  const waitFor = (names: string) =>
    ask(a.url, `alter system set synchronous_standby_names = '${names}'`, 'select pg_reload_conf()');
  async function waitForB(): Promise<void> {
    await waitFor('ANY 1 (b)');
    await until('it waits for b', async () => (await check()).said.includes('each commit waits for ANY 1 (b)'));
  }
  /** Promotes `b` by what was noted of the primary, as if that were lost. */
  const afterLoss = () =>
    run('promote', '--standby', b.url, '--primary', 'postgres://127.0.0.1:1/d', '--state', state, '--primary-is-off');
  const serverOf = (member: Member) => members.find((one) => one.member === member)!;

  beforeAll(async () => {
    members.push(await startMember('a'), await startMember('b'));
    [a, b] = members.map(({ member }) => member) as [Member, Member];
    // The copy has the accounts of the primary.
    b.url = Object.assign(new URL(b.url), { password: new URL(a.url).password }).href;
    directory = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-failover-'));
    const { uid, gid } = serverAccount();
    if (uid !== undefined && gid !== undefined) fs.chownSync(directory, uid, gid);
    state = path.join(directory, 'state');
    run = openShell(directory);
    await serverOf(b).stop('SIGINT');
    expect(await join()).toMatchObject({ code: 0, said: expect.stringContaining('commits wait for ANY 1 (b)') });
  });
  afterAll(async () => {
    for (const member of members) await member.remove();
    fs.rmSync(directory, { recursive: true });
  });

  test('is checked: whether the primary waits for the standby', async () => {
    expect(await check()).toMatchObject({ code: 0, said: expect.stringContaining('would lose nothing') });
    await waitFor('c');
    await until('it does not wait', async () => (await check()).code === 1);
    expect((await check()).said).toContain('commits do not wait for b (async)');
    expect(await promote('--fence', 'true')).toMatchObject({ code: 1, said: expect.stringContaining('could be lost') });
    await waitForB();
    await ask(a.url, 'alter role roomgate set synchronous_commit = off');
    expect((await check()).said).toContain('commits do not wait: synchronous_commit is off');
    await ask(a.url, 'alter role roomgate reset synchronous_commit');
  });

  test.each([
    ['ANY 1 (b, c)', 1],
    ['FIRST 1 (b, c)', 1],
    ['b, c', 1],
    ['FIRST 2 (b, c, "d")', 1],
    ['1 (b, c, d)', 2],
  ])('of several, %s: all are compared, as any may have the last write', async (names, others) => {
    await waitFor(names);
    await until('it waits for them', async () => (await check()).said.includes(names));
    expect(await afterLoss()).toMatchObject({
      code: 1,
      said: expect.stringContaining(`each commit waits for ${names}; give ${others} other standbys with --peer`),
    });
    await waitForB();
  });

  test('of nobody knows how many: is not promoted', async () => {
    await waitFor('*');
    await until('it waits for any', async () => (await check()).said.includes('*'));
    expect(await afterLoss()).toMatchObject({ code: 1, said: expect.stringContaining('is *: name the standbys') });
    await waitForB();
  });

  test('whose standby is away: the note holds while every commit waits, and not once they no longer do', async () => {
    expect((await check()).code).toBe(0);
    const [{ conninfo = '' } = {}] = await ask<{ conninfo: string }>(
      b.url,
      "select current_setting('primary_conninfo') as conninfo",
    );
    const follow = (where: string) =>
      ask(b.url, `alter system set primary_conninfo = ${pg.escapeLiteral(where)}`, 'select pg_reload_conf()');
    await follow(`host=127.0.0.1 port=1 application_name=${b.name}`);
    await until('every commit hangs', async () => (await check()).said.includes('every commit hangs'));
    expect(fs.readFileSync(state, 'utf8')).toContain('|yes|');

    await ask(a.url, 'set synchronous_commit = local', 'alter role roomgate set synchronous_commit = local');
    expect((await check()).said).toContain('commits do not wait: synchronous_commit is off for a role');
    expect(await promote('--fence', 'true')).toMatchObject({
      code: 1,
      said: expect.stringContaining('could be lost: commits do not wait'),
    });
    await ask(a.url, 'alter role roomgate reset synchronous_commit');
    expect((await check()).said).toContain('every commit hangs');
    expect(await afterLoss()).toMatchObject({ code: 1, said: expect.stringContaining('ago: commits do not wait') });
    await follow(conninfo);
    await until('it waits for b again', async () => (await check()).code === 0);
  });

  test.each([
    ['a wrong host', () => run('check', '--standby', b.url, '--primary', b.url), 'is a standby, too'],
    ['the hosts exchanged', () => run('check', '--standby', a.url, '--primary', b.url), 'are the two exchanged?'],
    [
      'a standby that cannot be reached',
      () => run('check', '--standby', 'postgres://u:hush@127.0.0.1:1/d', '--primary', a.url),
      'the standby cannot be asked',
    ],
    ['a fence that fails', () => promote('--fence', 'exit 7'), 'the fence command failed (exit code 7)'],
    ['a fence of something else', () => promote('--fence', 'true', '--patience', '1'), 'still answers after the fence'],
    ['a primary that is said to be off, and is not', () => promote('--primary-is-off'), 'it answers'],
  ])('is left as it is: %s', async (_, act, text) => {
    await check();
    const { code, said } = await act();
    expect(said).toContain(text);
    expect(said).not.toContain('hush');
    expect([code, await isPrimary(a), await isPrimary(b)]).toEqual([1, true, false]);
  });

  test('whose primary is lost: only what was seen of it before tells whether its writes are here', async () => {
    await check();
    const kept = fs.readFileSync(state, 'utf8');
    await ask(a.url, 'create table written (at int)', 'insert into written values (1)');
    killAll(a);
    expect((await check()).said).toContain('the primary cannot be asked');
    expect(fs.readFileSync(state, 'utf8')).toBe(kept);
    fs.writeFileSync(state, kept.replace(/^\d+/, '1000000000'));
    expect((await promote('--primary-is-off')).said).toContain(
      'if it went on alone since then, its writes are not here',
    );
    fs.writeFileSync(state, kept.replace('|b|', '|c|'));
    expect((await promote('--primary-is-off')).said).toContain('is of another standby');
    fs.rmSync(state);
    expect((await promote('--primary-is-off')).said).toContain('there is no file');
    expect(await isPrimary(b)).toBe(false);

    fs.writeFileSync(state, kept);
    const promoted = await promote('--primary-is-off');
    expect(promoted).toMatchObject({ code: 0, said: expect.stringMatching(/takes writes, \d+\.\d s after/) });
    expect(await ask(b.url, 'select at from written')).toEqual([{ at: 1 }]);
    expect(await namesOf(b)).toBe('');
    expect((await promote('--primary-is-off')).said).toContain('Has this failover been done already?');
  });

  test('both of which take writes: both are named', async () => {
    await serverOf(a).start();
    expect((await check()).said).toContain('BOTH ARE PRIMARY');
    [a, b] = [b, a];
    expect(await join()).toMatchObject({ code: 1, said: expect.stringContaining('runs. Is it still primary') });
  });

  test('is whole again once the old primary has joined, and is exchanged in order', async () => {
    await serverOf(b).stop('SIGQUIT');
    expect(await join()).toMatchObject({ code: 0, said: expect.stringContaining('the pair is whole again') });
    expect(await namesOf(a)).toBe(`ANY 1 (${b.name})`);
    expect(await join()).toMatchObject({ code: 1 });
    const { code, said } = await promote('--fence', stopCommand(a));
    expect([code, said]).toEqual([0, expect.stringContaining('Now:')]);
    [a, b] = [b, a];
    expect(await ask(a.url, 'select at from written')).toEqual([{ at: 1 }]);
    expect((await join()).code).toBe(0);
  });

  test('whose standby is lost: every commit hangs until the primary is told to continue alone', async () => {
    expect((await check()).code).toBe(0);
    killAll(b);
    const written = ask(a.url, 'insert into written values (2)');
    await until('it waits', async () => {
      const waiting = await ask(a.url, "select from pg_stat_activity where wait_event = 'SyncRep'");
      return waiting.length > 0;
    });
    const elsewhere = await run('alone', '--primary', a.url, '--state', path.join(directory, 'elsewhere'));
    expect(elsewhere).toMatchObject({ code: 1, said: expect.stringContaining('Run this where check runs') });
    expect(await namesOf(a)).toBe(`ANY 1 (${b.name})`);
    expect((await run('alone', '--primary', a.url, '--state', state)).said).toContain('must not be promoted now');
    await written;
    await serverOf(b).start();
    killAll(a);
    expect(await promote('--primary-is-off')).toMatchObject({
      code: 1,
      said: expect.stringContaining('was told to go on alone'),
    });
    const forced = await promote('--primary-is-off', '--accept-loss');
    expect(forced).toMatchObject({ code: 0, said: expect.stringContaining('ACKNOWLEDGED WRITES MAY BE LOST') });
  });
});

const whole = fs
  .globSync('/usr/lib/postgresql/*/bin')
  .filter((bin) => fs.existsSync(`${bin}/pg_rewind`) && fs.existsSync(`${bin}/postgres`))
  .at(-1);
describe.each(['pg_rewind', 'pg_basebackup'])('with a whole PostgreSQL', (program) => {
  const directories: string[] = [];
  const members: Member[] = [];
  const account = serverAccount();
  afterAll(() => {
    for (const member of members) spawnSync('sh', ['-c', stopCommand(member).replace('fast', 'immediate')], account);
    for (const one of directories) fs.rmSync(one, { recursive: true, force: true });
  });

  const name = `${whole ? '' : 'SKIPPED: none is installed: '}what only the dead primary had is gone after ${program}`;
  (whole && hasPsql ? test : test.skip)(name, async () => {
    const bin = whole as string;
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-failover-'));
    directories.push(directory);
    if (account.uid !== undefined && account.gid !== undefined) fs.chownSync(directory, account.uid, account.gid);
    const command = (line: string) => {
      const { status, stderr } = spawnSync('sh', ['-c', line], { ...account, cwd: directory, encoding: 'utf8' });
      expect([status, stderr]).toEqual([0, expect.anything()]);
    };
    for (const name of ['a', 'b']) {
      const data = path.join(directory, name);
      const port = await freePort();
      const start = startCommand({ bin, data }, [
        `-p ${port}`,
        '-c wal_keep_size=256MB',
        '-c listen_addresses=127.0.0.1',
        '-k ""',
      ]);
      members.push({ name, data, bin, start, url: `postgres://postgres@127.0.0.1:${port}/postgres` });
    }
    const [a, b] = members as [Member, Member];
    command(`${bin}/initdb --pgdata=${a.data} --username=postgres --auth=trust --data-checksums`);
    // pg_rewind lets the server recover first, which must not take away what it reads then.
    fs.appendFileSync(`${a.data}/postgresql.conf`, 'wal_keep_size = 256MB\n');
    command(a.start);
    fs.mkdirSync(b.data, { mode: 0o700 });
    fs.copyFileSync(`${a.data}/PG_VERSION`, `${b.data}/PG_VERSION`);
    if (account.uid !== undefined && account.gid !== undefined) fs.chownSync(b.data, account.uid, account.gid);
    const run = openShell(directory);
    const join = (member: Member, to: Member, ...further: string[]) =>
      run(
        ...['rejoin', '--data', member.data, '--primary', to.url, '--name', member.name, '--bin', bin],
        ...['--start', member.start, ...further],
      );
    expect(await join(b, a, '--copy')).toMatchObject({ code: 0 });

    await ask(a.url, 'create table written (at int)', 'insert into written values (1)');
    const state = path.join(directory, 'state');
    const pair = ['--standby', b.url, '--primary', a.url, '--state', state];
    expect(await run('check', ...pair)).toMatchObject({ code: 0 });
    // What nobody was told: it waits for a standby that does not get it.
    const receiver = await ask<{ pid: number }>(b.url, 'select pid from pg_stat_wal_receiver');
    process.kill(receiver[0]!.pid, 'SIGSTOP');
    const unheard = new pg.Client(a.url);
    unheard.on('error', () => {});
    await unheard.connect();
    const lost = unheard.query('insert into written values (2)').catch(({ message }: Error) => message);
    await until('it waits', async () => {
      const waiting = await ask(a.url, "select from pg_stat_activity where wait_event = 'SyncRep'");
      return waiting.length > 0;
    });
    killAll(a);
    expect(await lost).toContain('Connection terminated');
    // With what has arrived, and nobody has read.
    killAll(b);
    command(b.start);
    const promoted = await run('promote', ...pair, '--primary-is-off');
    expect(promoted).toMatchObject({ code: 0, said: expect.stringContaining('takes writes') });
    await ask(b.url, 'insert into written values (3)');
    expect(await join(a, b, ...(program === 'pg_basebackup' ? ['--copy'] : []))).toMatchObject({
      code: 0,
      said: expect.stringContaining('the pair is whole again'),
    });
    await ask(b.url, 'insert into written values (4)');
    await until('it follows', async () => (await ask(a.url, 'select from written where at = 4')).length > 0);
    const found = await ask<{ at: number }>(a.url, 'select at from written order by at');
    expect(found.map(({ at }) => at)).toEqual([1, 3, 4]);
  });
});
