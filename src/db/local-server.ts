/** Servers on the local PostgreSQL write their ports beside its data, where commands, which are given no address, find them. */
import fs from 'node:fs';
import path from 'node:path';
import type { Config } from '../config.ts';
import { isAlive } from './postmaster.ts';

type LocalServer = { Port: number; Pid: number; Role: Config['Role']; Since: number };

/** @returns a function that withdraws the announcement */
export function announceServer(directory: string, { Port, Role }: Pick<Config, 'Port' | 'Role'>): () => void {
  for (const { Pid } of listServers(directory)) if (!isAlive(Pid)) fs.rmSync(fileOf(directory, Pid), { force: true });
  const server: LocalServer = { Port, Pid: process.pid, Role, Since: Date.now() };
  fs.writeFileSync(fileOf(directory, process.pid), JSON.stringify(server));
  return () => fs.rmSync(fileOf(directory, process.pid), { force: true });
}

const fileOf = (directory: string, pid: number) => path.join(directory, `server-${pid}.json`);

/** None where there is no folder, and where it is closed to the caller, who may be another user of the machine. */
function listFiles(directory: string): string[] {
  try {
    return fs.readdirSync(directory);
  } catch {
    return [];
  }
}

/** In the order of their announcements, with those whose processes were killed. */
function listServers(directory: string): LocalServer[] {
  const servers = listFiles(directory).flatMap((name) => {
    if (!/^server-\d+\.json$/.test(name)) return [];
    try {
      return JSON.parse(fs.readFileSync(path.join(directory, name), 'utf8')) as LocalServer;
    } catch {
      // It is just being written, or withdrawn.
      return [];
    }
  });
  return servers.sort((one, other) => one.Since - other.Since);
}

/** Of the servers that run, the one that was announced last; one that only has a worker if no other runs. */
export function findServer(directory: string): LocalServer | undefined {
  const running = listServers(directory).filter(({ Pid }) => isAlive(Pid));
  return running.findLast(({ Role }) => Role !== 'Worker') ?? running.at(-1);
}
