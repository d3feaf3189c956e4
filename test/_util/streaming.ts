/** A streaming pair of two servers of one test. */
import fs from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { type DatabaseServer, startDatabaseServer } from './database-server.ts';

/** @returns the rows of the last statement */
export async function ask<Row extends pg.QueryResultRow>(url: string, ...statements: string[]): Promise<Row[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    let rows: Row[] = [];
    for (const statement of statements) rows = (await client.query<Row>(statement)).rows;
    return rows;
  } finally {
    await client.end();
  }
}

/** Makes `standby` a copy of `primary` that follows it. */
async function copyPrimary(standby: DatabaseServer, primary: DatabaseServer): Promise<void> {
  if (standby.isRunning()) await standby.stop('SIGQUIT');
  const [from, to] = [primary, standby].map(({ directory }) => path.join(directory, 'postgres')) as [string, string];
  const kept = fs.readFileSync(path.join(to, 'postmaster.opts'));
  const { uid, gid } = fs.statSync(to);
  const { hostname, port, username, password } = new URL(primary.url);
  fs.rmSync(to, { recursive: true });
  const client = new pg.Client(primary.url);
  await client.connect();
  await client.query("select pg_backup_start('standby', true)");
  fs.cpSync(from, to, {
    recursive: true,
    filter: (file) => !/\/(postmaster\.(pid|opts)|pg_wal\/.*|pg_replslot\/.*)$/.test(file),
  });
  const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)');
  await client.end();
  fs.writeFileSync(path.join(to, 'postmaster.opts'), kept);
  fs.writeFileSync(path.join(to, 'backup_label'), rows[0]!.labelfile);
  fs.writeFileSync(path.join(to, 'standby.signal'), '');
  fs.appendFileSync(
    path.join(to, 'postgresql.auto.conf'),
    `\nprimary_conninfo = 'host=${hostname} port=${port} user=${username} password=${password}'\n`,
  );
  for (const file of ['', ...fs.readdirSync(to, { recursive: true, encoding: 'utf8' })])
    fs.lchownSync(path.join(to, file), uid, gid);
  await standby.start();
}

/** A primary, and a hot standby that follows it. */
export async function startStreamingPair() {
  const [primary, other] = [await startDatabaseServer(), await startDatabaseServer()];
  const { password } = new URL(primary.url);
  // The copy has the accounts of the primary.
  const standby: DatabaseServer = { ...other, url: Object.assign(new URL(other.url), { password }).href };
  await copyPrimary(standby, primary);
  return {
    primary,
    standby,
    async remove() {
      await standby.remove();
      await primary.remove();
    },
  };
}
