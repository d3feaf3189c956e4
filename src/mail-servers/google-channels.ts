/** The channels over which Google Calendar notifies us of changes. They cannot be renewed, listed or queried. */
import { randomUUID } from 'node:crypto';
import type { calendar_v3 } from '@googleapis/calendar';
import { z } from 'zod';
import { dayLength } from '../time/days.ts';
import { minute } from '../time/durations.ts';
import { type Connector, ServerFault } from './connector.ts';
import { type GoogleApi, pathOf } from './google-api.ts';

/** Google grants at most 7 days. */
const lifeMs = 7 * dayLength;
const [shortestLifeMs, longestLifeMs] = [minute, 366 * dayLength];

const granted = z.object({ resourceId: z.string().min(1).max(400), expiration: z.union([z.string(), z.number()]) });

/** Google needs both ids of a channel to end it. */
const externalIdOf = (id: string, resourceId: string) => `${id} ${resourceId}`;

export function openChannels({ call, origin }: GoogleApi): NonNullable<Connector['subscriptions']> {
  return {
    heartbeat: false,
    async subscribe({ mailbox }, { callback, clientState }, signal) {
      const id = randomUUID();
      const body = {
        id,
        type: 'web_hook',
        address: callback,
        token: clientState,
        expiration: `${Date.now() + lifeMs}`,
      } satisfies calendar_v3.Schema$Channel;
      const question = { method: 'POST', path: `${pathOf(mailbox)}/events/watch`, body, what: 'POST watch' } as const;
      const answer = await call(question, signal);
      if (answer.status === 404) throw new ServerFault('AccessLost', `${origin} knows no calendar ${mailbox}.`);
      if (answer.fault) throw answer.fault;
      const { data } = granted.safeParse(answer.body);
      const life = Number(data?.expiration) - Date.now();
      if (!data || !(life > shortestLifeMs && life < longestLifeMs))
        throw new ServerFault('Unreadable', `${origin} answers with something that is not a channel.`);
      const expiresAt = new Date(Date.now() + life);
      return { externalId: externalIdOf(id, data.resourceId), expiresAt, watermark: null };
    },
    renew: null,
    probe: null,
    list: null,
    async end(externalId, signal) {
      const [id = '', resourceId = ''] = externalId.split(' ');
      const body = { id, resourceId } satisfies calendar_v3.Schema$Channel;
      const { status, fault } = await call({ method: 'POST', path: '/channels/stop', body, what: 'POST stop' }, signal);
      if (fault && status !== 404) throw fault;
    },
  };
}
