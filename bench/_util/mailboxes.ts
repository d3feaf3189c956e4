/** Rooms with mailboxes on an Exchange server, which notifies of what changes there. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../src/config.ts';
import { openSecrets } from '../../src/mail-subscriptions/secrets.ts';
import { ewsBody, webhookPath } from '../../test/_util/notifications.ts';
import { pepper } from '../../test/_util/pepper.ts';
import type { startMailServer } from '../../test/mail/_util/mail-server.ts';
import type { Bench } from './harness.ts';

type MailServer = Awaited<ReturnType<typeof startMailServer>>;

/** Part of a notification that the load generator replaces with a unique number. */
export const numbered = '##########';

/** The notification of Exchange about a change: the item, and its folder. */
export const notification = ewsBody({ watermark: `AQAAA${numbered}`, events: ['ModifiedEvent', 'ModifiedEvent'] });

export function postOf(address: string, body: string): string {
  return `POST ${address} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/xml; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Settings with which a process reads these mailboxes and accepts any number of notifications. */
export const mailSettings = ({ ews, user, password }: MailServer) => ({
  Limits__NotificationsPerMinute: '10000000',
  MailServer__school__Kind: 'Ews',
  MailServer__school__Url: ews,
  MailServer__school__User: user,
  MailServer__school__Password: password,
  MailServer__school__FutureDays: '14',
});

export function openMailboxes({ client, tenant }: Bench, mailServer: MailServer) {
  async function countOf(from: string): Promise<number> {
    const { rows } = await client.query<{ n: number }>(`select count(*)::int as n from ${from}`);
    return rows[0]?.n ?? 0;
  }
  async function until(reached: () => Promise<boolean>, seconds: number, what: string): Promise<void> {
    for (const deadline = Date.now() + seconds * 1_000; !(await reached()); await sleep(50))
      if (Date.now() > deadline) throw new Error(`after ${seconds} s ${what}`);
  }
  /** Waits until nothing is left to be read. */
  const settle = () =>
    until(
      async () =>
        (await countOf('mail_calendar where dirty_since is not null')) +
          (await countOf(`graphile_worker._private_jobs where key like 'mail calendar %'`)) ===
        0,
      60,
      'calendars are still to be read',
    );

  return {
    countOf,
    settle,
    /** Each room's mailbox with its subscription, as the worker has got them. */
    async subscribe(): Promise<{ id: number; calendarId: number }[]> {
      const mailboxOf = (index: number) => `room${index}@rooms.test`;
      for (const [index] of tenant.resources.entries()) await mailServer.addRoom(mailboxOf(index));
      await client.query(
        `update resource set mailbox = 'room' || (position - 1) || '@rooms.test'
         from unnest($1::integer[]) with ordinality as room(id, position) where resource.id = room.id`,
        [tenant.resources.map(({ id }) => id)],
      );
      const active = `mail_subscription where state = 'Active'`;
      const wanted = tenant.resources.length;
      await until(async () => (await countOf(active)) === wanted, 60, 'not every mailbox has a subscription');
      await settle();
      const { rows } = await client.query(`select id, calendar_id as "calendarId" from ${active} order by calendar_id`);
      return rows;
    },
    /** A notification for each of these subscriptions. */
    requestsOf: (subscriptions: readonly { id: number }[]) =>
      subscriptions.map(({ id }) =>
        postOf(`${webhookPath}?k=${openSecrets({ Pepper: pepper } as Config).make('callback', id)}`, notification),
      ),
  };
}
