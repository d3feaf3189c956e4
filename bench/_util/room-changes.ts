/** Rooms in which something changes, as door signs are to show it. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Bench } from './harness.ts';

/**
 * Changes bookings that `storeMeetings` has stored, each by one UPDATE; its subject says the number of the change and when it
 * was sent, as sign-readers.ts reads them.
 */
export function openChanges({ databaseUrl, tenant: { mandatorId, resources } }: Bench) {
  const writers = new pg.Pool({ connectionString: databaseUrl, max: 8 });
  let isClosed = false;
  // By room: one of tomorrow's bookings, and how often it has changed.
  const changing = new Map(
    resources.map(({ id }, at) => [id, { bookingId: 5 * resources.length + at + 1, changes: 0 }]),
  );

  async function change(room: number): Promise<void> {
    const one = changing.get(room) as { bookingId: number; changes: number };
    const writer = await writers.connect();
    try {
      const subject = `Meeting #${++one.changes}@${process.hrtime.bigint() / 1_000n}#`;
      const values = [subject, mandatorId, one.bookingId];
      const text = 'update booking set subject = $1 where mandator_id = $2 and id = $3';
      await writer.query({ name: 'change', text, values });
    } finally {
      writer.release();
    }
  }

  return {
    /** Changes all of these rooms so often a second, evenly spread, for so many seconds. */
    async changeRooms(rooms: number[], lasting: number, perSecond = 1): Promise<void> {
      const started = performance.now();
      const pending = new Set<Promise<void>>();
      const total = Math.round(rooms.length * lasting * perSecond);
      for (let done = 0; done < total && !isClosed; ) {
        const due = Math.min(total, ((performance.now() - started) / 1_000) * perSecond * rooms.length);
        for (; done < due; done++) {
          const one = change(rooms[done % rooms.length] as number).finally(() => pending.delete(one));
          pending.add(one);
        }
        await sleep(1);
      }
      await Promise.all(pending);
    },
    /** How often each room has changed, as the order `check` of sign-readers.ts wants it. */
    made: () => ({
      rooms: [...changing.keys()],
      changes: [...changing.values()].map(({ changes }) => changes),
    }),
    /** Ends what is still changing, too, so that a bench which fails can close the rest. */
    async close(): Promise<void> {
      isClosed = true;
      await writers.end();
    },
  };
}
