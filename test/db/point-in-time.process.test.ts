/** The commands of docs/recovery.md that restore a PostgreSQL to a point in time, as they are written there. */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { serverAccount } from '../../src/db/embedded.ts';
import { hasPsql, type Member, startCommand, stopCommand } from '../_util/failover.ts';
import { freePort } from '../_util/free-port.ts';
import { until } from '../_util/process.ts';
import { ask } from '../_util/streaming.ts';

const bin = fs
  .globSync('/usr/lib/postgresql/*/bin')
  .filter((folder) => ['postgres', 'pg_basebackup'].every((program) => fs.existsSync(`${folder}/${program}`)))
  .at(-1);
const account = serverAccount();
let directory = '';
let member: Member;

function shell(line: string) {
  const { port } = new URL(member.url);
  const { status, stderr } = spawnSync('sh', ['-ec', line], {
    ...account,
    cwd: directory,
    encoding: 'utf8',
    env: {
      PATH: `${bin}:${process.env['PATH']}`,
      ReplicationUrl: member.url,
      PGHOST: '127.0.0.1',
      PGPORT: port,
      PGUSER: 'postgres',
      PGDATABASE: 'postgres',
    },
  });
  expect([status, stderr]).toEqual([0, expect.anything()]);
}

afterEach(() => {
  if (!directory) return;
  spawnSync('sh', ['-c', stopCommand(member).replace('fast', 'immediate')], account);
  fs.rmSync(directory, { recursive: true });
});

const name = 'the primary of a pair is as it was at that time, follows no time any more, and waits for no standby';
(bin && hasPsql ? test : test.skip)(`${bin && hasPsql ? '' : 'SKIPPED: there is no PostgreSQL: '}${name}`, async () => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-point-'));
  const data = path.join(directory, 'data');
  const port = await freePort();
  const start = startCommand({ bin: bin!, data }, [`-p ${port}`, '-c listen_addresses=127.0.0.1', '-k ""']);
  member = { name: 'a', data, bin: bin!, start, url: `postgres://postgres@127.0.0.1:${port}/postgres` };
  if (account.uid !== undefined && account.gid !== undefined) fs.chownSync(directory, account.uid, account.gid);
  shell(`mkdir -p backup/wal && initdb --pgdata=${data} --username=postgres --auth=trust`);

  const page = fs.readFileSync(path.join(import.meta.dirname, '../../docs/recovery.md'), 'utf8');
  const [section = ''] = /^## To a point in time$.*?(?=^## )/ms.exec(page) ?? [];
  const blocks = [...section.matchAll(/^```(?:sh)?\n(.*?)^```$/gms)].map(([, block = '']) =>
    block.replaceAll('/backup/', `${directory}/backup/`).replaceAll('/var/lib/postgresql/data', data),
  );
  expect(blocks).toHaveLength(4);
  const [archiving, copy, restore, tidy] = blocks as [string, string, string, string];

  fs.appendFileSync(`${data}/postgresql.conf`, archiving);
  shell(start);
  await ask(
    member.url,
    "alter system set synchronous_standby_names = 'ANY 1 (b)'",
    'select pg_reload_conf()',
    'set synchronous_commit = local',
    'create table written (at int)',
  );
  shell(copy);
  const [then] = await ask<{ at: string }>(
    member.url,
    'set synchronous_commit = local',
    'insert into written values (1)',
    'select clock_timestamp()::text as at',
  );
  await ask(member.url, 'set synchronous_commit = local', 'insert into written values (2)', 'select pg_switch_wal()');
  shell(stopCommand(member));

  shell(restore.replace('2027-02-01 09:41:00+01', then!.at));
  shell(start);
  await until('it is primary', async () => {
    const [is] = await ask<{ follows: boolean }>(member.url, 'select pg_is_in_recovery() as follows');
    return !is!.follows;
  });
  shell(tidy);
  expect(fs.readFileSync(`${data}/postgresql.auto.conf`, 'utf8')).not.toMatch(/^(restore_command|recovery_)/m);
  const [names] = await ask(member.url, 'show synchronous_standby_names');
  expect(names).toEqual({ synchronous_standby_names: '' });
  await ask(member.url, 'insert into written values (3)');
  expect(await ask(member.url, 'select at from written order by at')).toEqual([{ at: 1 }, { at: 3 }]);
});
