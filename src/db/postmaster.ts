/** The process of the local PostgreSQL: what its pid file says, and why it has ended. */
import fs from 'node:fs';
import path from 'node:path';

export const pidFileOf = (data: string): string => path.join(data, 'postmaster.pid');

/** `pid` is 0 where the file names none: it is empty while a server makes it, and empty or full of zeros after a crash. */
export type PidFile = { pid: number; port: number; ready: boolean; changedAt: number };

export function readPidFile(data: string): PidFile | undefined {
  try {
    const lines = fs.readFileSync(pidFileOf(data), 'utf8').split('\n');
    const { mtimeMs: changedAt } = fs.statSync(pidFileOf(data));
    return { pid: Number(lines[0]) || 0, port: Number(lines[3] ?? 0), ready: lines[7]?.trim() === 'ready', changedAt };
  } catch {
    return undefined;
  }
}

/** Whether a process of this id runs. */
export function isAlive(pid: number): boolean {
  // 0 and below are groups of processes.
  if (pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Whether the process is the server of this cluster. After a crash the system may have reused its id. */
export function isServerOf(pid: number, data: string): boolean {
  if (!isAlive(pid)) return false;
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(data);
  } catch {
    return process.platform !== 'linux';
  }
}

/** A server that starts writes its file at once. */
const namelessForMs = 5_000;

/** Why a file that names no server of ours keeps PostgreSQL from starting; undefined if it does not, or not for long. */
export function faultOf({ pid, changedAt }: PidFile): string | undefined {
  if (pid === 0) return Date.now() - changedAt > namelessForMs ? 'names no process' : undefined;
  return isAlive(pid) ? 'names another program' : undefined;
}

/**
 * Why a server has ended while it started, in its own words.
 * @param from where its part of the log begins
 */
export function lastWords(logFile: string, from: number): string {
  const file = fs.openSync(logFile, 'r');
  const said = Buffer.alloc(65_536);
  const length = fs.readSync(file, said, { position: from });
  fs.closeSync(file);
  const lines = said.toString('utf8', 0, length).trim().split('\n');
  const fatal = lines.findLast((line) => /\b(?:FATAL|PANIC): /.test(line)) ?? lines.at(-1);
  if (fatal) return fatal.replace(/^.*?\b(?:FATAL|PANIC): +/, '');
  // A full disk takes no last words.
  const { bavail } = fs.statfsSync(path.dirname(logFile));
  return bavail === 0 ? 'no space is left on its disk' : 'it says nothing in its log';
}
