import type { Subscription } from '@microsoft/microsoft-graph-types';
import { z } from 'zod';
import { dayLength } from '../time/days.ts';
import { type Connector, ServerFault } from './connector.ts';
import type { GraphApi } from './graph-api.ts';
import { readInstant } from './values.ts';

/** Graph grants at most 7 days (10,080 minutes). */
const lifeMs = 6 * dayLength;
/** Graph calls back twice before it answers, and waits 10 s each time. */
const deadlineMs = 30_000;
const pageSize = 100;

const granted = z.object({ id: z.string().min(1).max(1_000), expirationDateTime: z.string() });
const listed = z.object({ id: z.string().min(1).max(1_000), notificationUrl: z.string() });

const addressOf = (externalId: string) => `/subscriptions/${encodeURIComponent(externalId)}`;
const expiry = () => new Date(Date.now() + lifeMs).toISOString();

/** The path of a mailbox. */
export const pathOf = (mailbox: string) => `users/${encodeURIComponent(mailbox).replaceAll('%40', '@')}`;

export function openGraphSubscriptions({ call, readPages, origin }: GraphApi): NonNullable<Connector['subscriptions']> {
  function readGranted(body: unknown): { id: string; expiresAt: Date } {
    const { data } = granted.safeParse(body);
    const expiresAt = readInstant(data?.expirationDateTime);
    if (data && expiresAt) return { id: data.id, expiresAt };
    throw new ServerFault('Unreadable', `${origin} answers with something that is not a subscription.`);
  }

  return {
    heartbeat: false,
    async subscribe({ mailbox }, { callback, clientState }, signal) {
      const body = {
        changeType: 'created,updated,deleted',
        notificationUrl: callback,
        lifecycleNotificationUrl: callback,
        resource: `${pathOf(mailbox)}/events`,
        expirationDateTime: expiry(),
        clientState,
        latestSupportedTlsVersion: 'v1_2',
      } satisfies Subscription;
      const answer = await call({ method: 'POST', address: '/subscriptions', body, deadlineMs }, signal);
      if (answer.status === 404) throw new ServerFault('AccessLost', `${origin} knows no mailbox ${mailbox}.`);
      const { id, expiresAt } = readGranted(answer.body);
      return { externalId: id, expiresAt, watermark: null };
    },
    async renew(externalId, signal) {
      const body = { expirationDateTime: expiry() } satisfies Subscription;
      const answer = await call({ method: 'PATCH', address: addressOf(externalId), body }, signal);
      return answer.status === 404 ? 'Gone' : { expiresAt: readGranted(answer.body).expiresAt };
    },
    async probe(externalId, signal) {
      const { status } = await call({ address: addressOf(externalId) }, signal);
      return status === 404 ? 'Gone' : 'Alive';
    },
    async list(signal) {
      const found: { externalId: string; callback: string }[] = [];
      const take = (values: unknown[]) => {
        for (const value of values) {
          const { data } = listed.safeParse(value);
          if (data) found.push({ externalId: data.id, callback: data.notificationUrl });
        }
        return true;
      };
      await readPages({ address: '/subscriptions', pageSize }, take, signal);
      return found;
    },
    async end(externalId, signal) {
      await call({ method: 'DELETE', address: addressOf(externalId) }, signal);
    },
  };
}
