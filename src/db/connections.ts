/** How many connections a process opens at most. docs/operating.md lists them. */
import type { Config } from '../config.ts';

/** The most connections of each pool. */
export const connections = {
  /** For requests; a worker reads over it too. */
  requests: 10,
  uploads: 8,
  /** To each standby, besides the one that checks it. */
  reads: 10,
  /** Notifications of mail servers. */
  inbox: 3,
  /** Imports and readings, and the lock of the runner. */
  work: 14,
  /** Statements of the queue library, and one LISTEN for each of its lanes. */
  queue: 5 + 4,
} as const;

/** The LISTEN connection of the process, and the one that checks silent statements (answers.ts). */
const [listen, looks] = [1, 1];

/** The most that a process opens to PostgreSQL itself, and through the pooler. While it starts, it may take three more. */
export function mostConnections({ Role, PooledDatabaseUrl }: Pick<Config, 'Role' | 'PooledDatabaseUrl'>) {
  const { requests, uploads, inbox, work, queue } = connections;
  const serving = requests + (Role === 'Worker' ? 0 : uploads + inbox);
  const working = listen + (Role === 'Web' ? 0 : work + queue);
  if (PooledDatabaseUrl === undefined) return { direct: serving + working + looks, pooled: 0 };
  return { direct: working + (Role === 'Web' ? 0 : looks), pooled: serving };
}
