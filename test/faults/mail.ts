/** Appointments in the calendars of a simulated mail server, which tells of them, and what must be booked and stored of it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from '../../src/db/database.ts';
import type { Dice } from '../_util/dice.ts';
import type { MailServer } from '../mail/_util/mail-server.ts';
import type { Truth } from '../mail/simulator/ledger.ts';
import type { Ledger } from './ledger.ts';

type Room = { address: string; resourceId: number };

/** What the processes are told of the server, for the tenant `mandator`. */
export const settingsFor = (mandator: string, server: MailServer): Record<string, string> => ({
  [`MailServer__${mandator}__Kind`]: 'Graph',
  [`MailServer__${mandator}__Url`]: server.graph,
  [`MailServer__${mandator}__TokenUrl`]: server.token,
  [`MailServer__${mandator}__ClientId`]: server.clientId,
  [`MailServer__${mandator}__ClientSecret`]: server.clientSecret,
});

const hour = 3_600_000;
const hours = 300;

export function startAppointments(
  server: MailServer,
  rooms: readonly Room[],
  dice: Dice,
  ledger: Ledger,
  pause: number,
) {
  // Of each room, by the hour from now on.
  const made = new Map<string, string>();
  const first = Math.ceil(Date.now() / hour) * hour + 24 * hour;
  let isStopped = false;

  async function act(): Promise<void> {
    const room = dice.oneOf(rooms);
    const at = first + dice.below(hours) * hour;
    const place = `${room.address} ${at}`;
    const there = made.get(place);
    if (there !== undefined) {
      made.delete(place);
      await server.remove(there);
    } else {
      const { itemId } = await server.appoint(room.address, {
        start: new Date(at).toISOString(),
        end: new Date(at + hour / 2).toISOString(),
        subject: `at ${at}`,
      });
      if (itemId !== null) made.set(place, itemId);
    }
  }
  const running = (async () => {
    while (!isStopped) {
      await act();
      await sleep(pause * (0.5 + dice.roll()));
    }
  })();
  running.catch(({ message }: Error) => ledger.blame('otherwise wrong', `the mail server of the harness: ${message}`));

  /** What is wrong with a room, and what is known of its calendar. */
  async function differencesOf({ address, resourceId }: Room, db: Database): Promise<string[]> {
    const { rows } = await sql<{ uid: string; start: Date }>`
      select mail_item_id as uid, lower(occupied) as start from booking
      where resource_id = ${resourceId} and kind = 'MailItem' and status in ('Confirmed', 'Tentative')`.execute(db);
    const booked = rows.map(({ uid, start }) => `${uid} ${start.toISOString()}`);
    const wanted = new Set(
      (await server.truth(address))
        .filter(({ isCancelled, answer }: Truth) => !isCancelled && answer !== 'declined')
        .map(({ uid, start }) => `${uid} ${new Date(start).toISOString()}`),
    );
    const twice = booked.filter((word, at) => booked.indexOf(word) !== at);
    const surplus = booked.filter((word) => !wanted.delete(word) && !twice.includes(word));
    if (twice.length + surplus.length + wanted.size === 0) return [];
    const { rows: states } = await sql<{ state: string }>`
      select concat(to_jsonb(mail_calendar) - 'cursor', ' ', (
        select jsonb_agg(to_jsonb(job) - 'payload' || coalesce(to_jsonb(queue), '{}')) from graphile_worker._private_jobs as job
        left join graphile_worker._private_job_queues as queue on queue.id = job_queue_id
        where key = 'mail calendar ' || mail_calendar.id)) as state
      from mail_calendar where resource_id = ${resourceId}`.execute(db);
    return [
      `${address}: booked twice: ${twice.length}, booked and not there: ${surplus.length}, there and not booked: ${wanted.size}; ${states.map(({ state }) => state).join(' ')}`,
    ];
  }
  const differences = async (db: Database) => (await Promise.all(rooms.map((room) => differencesOf(room, db)))).flat();

  return {
    async stop(): Promise<void> {
      isStopped = true;
      await running;
    },
    differences,
    /** Retries what could not be delivered, and has every calendar read once more: what was missed is known from then on. */
    async settle(db: Database): Promise<void> {
      await server.quiesce({ advance: true });
      await sql`update mail_calendar set not_before = null where retired_at is null`.execute(db);
      await sql`select mark_mail_calendars(array_agg(id), 'Poll', 0) from mail_calendar where retired_at is null`.execute(
        db,
      );
    },
    async verify(db: Database): Promise<void> {
      for (const text of await differences(db))
        ledger.blame(text.includes('twice: 0') ? 'stuck' : 'doubled', `mail: ${text}`);
      const withoutSecret = (text: string) => JSON.stringify({ ...JSON.parse(text), clientState: null });
      const { rows } = await sql<{
        body: Buffer;
      }>`select body from mail_notification where kind <> 'Handshake'`.execute(db);
      const stored = new Map<string, number>();
      for (const { body } of rows) {
        const key = withoutSecret(body.toString());
        stored.set(key, (stored.get(key) ?? 0) + 1);
      }
      for (const { kind, body, madeAt } of await server.deliveries({ state: 'Acknowledged' })) {
        if (kind === 'handshake') continue;
        for (const item of (JSON.parse(body) as { value: object[] }).value) {
          const key = withoutSecret(JSON.stringify(item));
          const left = stored.get(key) ?? 0;
          stored.set(key, left - 1);
          if (left < 1) ledger.blame('lost', `a notification of ${madeAt} was acknowledged, and is not in the inbox`);
        }
      }
    },
    get count() {
      return made.size;
    },
  };
}
