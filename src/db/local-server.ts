/** The server on the local PostgreSQL writes its port beside its data, where commands, which are given no address, find it. */
import fs from 'node:fs';
import path from 'node:path';
import { isAlive } from './postmaster.ts';

type LocalServer = { Port: number; Pid: number };

const fileIn = (directory: string) => path.join(directory, 'server.json');

/** @returns a function that withdraws the announcement */
export function announceServer(directory: string, Port: number): () => void {
  const server: LocalServer = { Port, Pid: process.pid };
  fs.writeFileSync(fileIn(directory), JSON.stringify(server));
  return () => {
    if (findServer(directory)?.Pid === process.pid) fs.rmSync(fileIn(directory), { force: true });
  };
}

/** The server that was announced last, unless its process has ended. */
export function findServer(directory: string): LocalServer | undefined {
  try {
    const server = JSON.parse(fs.readFileSync(fileIn(directory), 'utf8')) as LocalServer;
    return isAlive(server.Pid) ? server : undefined;
  } catch {
    // No server has been announced, or its file is just being written.
    return undefined;
  }
}
