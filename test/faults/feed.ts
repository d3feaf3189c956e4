/** A program that follows the changes of a tenant by the cursor, from the first one on. */
import { sql } from 'kysely';
import type { Database } from '../../src/db/database.ts';
import type { Client } from './client.ts';
import type { Ledger } from './ledger.ts';

type Page = {
  Items: { Kind: string; Id: number | string; Action: string }[];
  NextCursor: string;
  HasMore: boolean;
};

const mostPerPage = 200;

export function followChanges(client: Client, ledger: Ledger) {
  const counts = new Map<string, number>();
  let cursor = '';
  let isStopped = false;

  /** @returns whether there was anything */
  async function readOn(waitSeconds: number): Promise<boolean> {
    const query = new URLSearchParams({
      Limit: String(mostPerPage),
      WaitSeconds: String(waitSeconds),
      ...(cursor && { Cursor: cursor }),
    });
    const { status, body, text } = await client.send({ method: 'GET', path: `/v1.0/changes?${query}` });
    if (status !== 200)
      throw new Error(`the changes of ${client.mandator} were answered ${status}: ${text.slice(0, 300)}`);
    const page = body as Page;
    cursor = page.NextCursor;
    for (const { Kind, Id, Action } of page.Items) {
      const key = `${Kind} ${Id} ${Action}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return page.Items.length > 0;
  }

  const running = (async () => {
    while (!isStopped) await readOn(5);
  })();
  running.catch(({ message }: Error) => ledger.blame('otherwise wrong', message));

  return {
    /** Reads to the end of the feed, and compares it with what the transactions have recorded. */
    async verify(db: Database, mandatorId: number): Promise<void> {
      isStopped = true;
      await running.catch(() => {});
      while (await readOn(0));
      const { rows } = await sql<{ key: string; n: number }>`
        select concat_ws(' ', kind, subject_id, action) as key, count(*)::int as n from change
        where mandator_id = ${mandatorId} group by 1`.execute(db);
      for (const { key, n } of rows) {
        const read = counts.get(key) ?? 0;
        counts.delete(key);
        if (read !== n)
          ledger.blame(
            read < n ? 'lost' : 'doubled',
            `the changes of ${client.mandator} told ${key} ${read} times instead of ${n}`,
          );
      }
      for (const key of counts.keys())
        ledger.blame('otherwise wrong', `the changes of ${client.mandator} told ${key}, which is none`);
    },
  };
}
