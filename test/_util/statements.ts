import { jest } from '@jest/globals';
import pg from 'pg';
import { type Database, poolOf } from '../../src/db/database.ts';

/**
 * The texts of the statements that `work` sends through a pool, without those that this process sends anyway: over connections
 * outside of the pool, to set up a connection before the pool gives it out, and to count the requests of a minute.
 */
export async function statementsOf<Answer>(
  db: Database,
  work: () => Promise<Answer>,
): Promise<{ answer: Answer; texts: string[] }> {
  const pool = poolOf(db);
  const given = new Set<unknown>();
  const give = (client: unknown) => given.add(client);
  const takeBack = (_error: unknown, client: unknown) => given.delete(client);
  const texts: string[] = [];
  const { query } = pg.Client.prototype;
  const spy = jest.spyOn(pg.Client.prototype, 'query');
  spy.mockImplementation(function (this: pg.Client, ...all: unknown[]) {
    const [asked] = all as [string | { text: string }];
    if (given.has(this)) texts.push(typeof asked === 'string' ? asked : asked.text);
    return (query as (...all: unknown[]) => unknown).apply(this, all);
  } as typeof query);
  pool.on('acquire', give).on('release', takeBack);
  try {
    return { answer: await work(), texts: texts.filter((text) => !text.includes('rate_count')) };
  } finally {
    pool.off('acquire', give).off('release', takeBack);
    spy.mockRestore();
  }
}
