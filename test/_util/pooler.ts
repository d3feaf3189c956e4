import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { serverAccount } from '../../src/db/embedded.ts';
import { freePort } from './free-port.ts';
import { until } from './process.ts';

export const hasPgBouncer = spawnSync('pgbouncer', ['--version']).status === 0;

/**
 * PgBouncer in transaction mode, in front of the server of a URL, for all of its databases.
 * @param places sessions of each database: by default so few that callers share them
 */
export async function startPooler(databaseUrl: string, places = 5) {
  const to = new URL(databaseUrl);
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-pgbouncer-'));
  const port = await freePort();
  const file = path.join(directory, 'pgbouncer.ini');
  fs.writeFileSync(
    file,
    `[databases]
* = host=${to.hostname} port=${to.port} user=${to.username} password=${decodeURIComponent(to.password)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${places}
max_client_conn = 500
`,
  );
  const account = serverAccount();
  if (account.uid !== undefined && account.gid !== undefined)
    for (const name of [directory, file]) fs.chownSync(name, account.uid, account.gid);
  const child = spawn('pgbouncer', ['-q', file], { ...account, cwd: '/', stdio: 'ignore' });
  const kill = () => child.kill('SIGKILL');
  process.on('exit', kill);
  await until('PgBouncer listens', async () => {
    const socket = net.connect(port, '127.0.0.1');
    const connected = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false);
    socket.destroy();
    return connected;
  });
  return {
    /** A URL of the same server, through PgBouncer. */
    through(url: string): string {
      const pooled = new URL(url);
      pooled.host = `127.0.0.1:${port}`;
      return pooled.href;
    },
    async stop() {
      const exited = once(child, 'exit');
      kill();
      await exited;
      process.off('exit', kill);
      fs.rmSync(directory, { recursive: true });
    },
  };
}
