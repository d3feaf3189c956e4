/** deploy/failover/failover.sh and the servers that it is tried with. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { serverAccount } from '../../src/db/embedded.ts';
import { startDatabaseServer } from './database-server.ts';

export const script = path.join(import.meta.dirname, '../../deploy/failover/failover.sh');

export const hasPsql = spawnSync('psql', ['--version']).status === 0;

/** A server as the script is told of it. */
export type Member = {
  name: string;
  url: string;
  data: string;
  /** The folder of pg_ctl. */
  bin: string;
  /** A command that starts it. */
  start: string;
};

/** An operator's shell at the servers' machine. `directory`: one that the account of the servers may write. */
export function openShell(directory: string) {
  const account = serverAccount();
  // That account may have no right to read the project.
  const here = path.join(directory, 'failover.sh');
  fs.copyFileSync(script, here);
  return async (...args: string[]): Promise<{ code: number | null; said: string }> => {
    const child = spawn('bash', [here, ...args], {
      ...account,
      cwd: directory,
      env: { PATH: process.env['PATH'], LC_ALL: 'C' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const said: string[] = [];
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => said.push(String(chunk)));
    const [code] = await once(child, 'close');
    return { code, said: said.join('') };
  };
}

/** Stands in for pg_basebackup, which the bundled PostgreSQL does not have. */
const copy = `set -e
psql --no-psqlrc --quiet --no-align --tuples-only --set ON_ERROR_STOP=1 --dbname "$2" <<END
select pg_backup_start('copy', true) \\g /dev/null
\\! tar -C "$1" --exclude='./pg_wal/*' --exclude=./postmaster.pid --exclude=./postmaster.opts -cf - . | tar -C "$PGDATA" -xf -
\\o $PGDATA/backup_label
select labelfile from pg_backup_stop(false);
END
`;

/** The options of `rejoin` with which the data of `from` are copied. */
export function copying(from: Member): string[] {
  const file = path.join(path.dirname(from.data), 'copy.sh');
  fs.writeFileSync(file, copy);
  return ['--copy-with', `sh ${file} ${from.data} '${from.url}' 2>/dev/null`];
}

export const startCommand = ({ bin, data }: Pick<Member, 'bin' | 'data'>, options: readonly string[]) =>
  `${bin}/pg_ctl start --silent --wait --pgdata=${data} --log=${data}.log --options='${options.join(' ')}'`;

/** Ends the server in order, as a fence may. */
export const stopCommand = ({ bin, data }: Member) => `${bin}/pg_ctl stop --silent --mode=fast --pgdata=${data}`;

/** The bundled PostgreSQL. */
export async function startMember(name: string) {
  const server = await startDatabaseServer();
  const { uid, gid } = serverAccount();
  if (uid !== undefined && gid !== undefined) fs.chownSync(server.directory, uid, gid);
  const data = path.join(server.directory, 'postgres');
  const words = fs.readFileSync(path.join(data, 'postmaster.opts'), 'utf8').matchAll(/"([^"]*)"|[^\s"]+/g);
  const [program = '', , , ...options] = [...words].map(([word, quoted]) => quoted ?? word);
  const bin = path.dirname(program);
  const member: Member = { name, url: server.url, data, bin, start: startCommand({ bin, data }, options) };
  return { ...server, member };
}

/** As if the machine had lost its power, but for what its disk has not written yet, and was started again. */
export function killAll({ data }: Member): void {
  const pidFile = path.join(data, 'postmaster.pid');
  const postmaster = Number(fs.readFileSync(pidFile, 'utf8').split('\n')[0]);
  process.kill(postmaster, 'SIGSTOP');
  const children = fs.readdirSync('/proc').flatMap((pid) => {
    try {
      const [, parent] = / ([0-9]+)/.exec(fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1] ?? '') ?? [];
      return Number(parent) === postmaster ? [Number(pid)] : [];
    } catch {
      return [];
    }
  });
  for (const pid of [postmaster, ...children]) process.kill(pid, 'SIGKILL');
  // Until they are reaped their ids are those of somebody.
  fs.rmSync(pidFile);
}
