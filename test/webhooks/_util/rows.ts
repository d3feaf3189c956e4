/** Webhooks straight into the table, for tests that send nothing. */
import type { Database } from '../../../src/db/database.ts';

/** A disabled webhook, at an address that is refused without a request. */
export async function makeWebhook(db: Database, mandatorId: number, name = 'Board'): Promise<number> {
  const { id } = await db
    .insertInto('webhook')
    .values({
      mandator_id: mandatorId,
      name,
      url: 'https://127.0.0.1/',
      kinds: ['BatchEnded'],
      secret: Buffer.alloc(0),
      disabled_at: new Date(),
      disabled_because: 'Admin',
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}
