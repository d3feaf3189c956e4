/** Google: channels that tell of changes by their headers alone. */
import { randomBytes } from 'node:crypto';
import type { calendar_v3 } from '@googleapis/calendar';
import type { Answered, Delivery } from './deliveries.ts';
import { refusal } from './google-replies.ts';
import type { Reply } from './json-calls.ts';
import type { Mailbox } from './mailboxes.ts';
import type { World } from './world.ts';

const longest = 604_800_000;
const retriesEnd = 3_600_000;
const accepted = [200, 201, 202, 204, 102];
const repeated = [500, 502, 503, 504];

export type Channel = {
  id: string;
  resourceId: string;
  mailbox: string;
  address: string;
  token: string | null;
  expiresAt: number;
  messages: number;
  forgetExpiry: () => void;
};

const isEndpoint = (text: string | null | undefined): text is string => {
  const url = URL.parse(text ?? '');
  const isHere = url !== null && /^(127\.|localhost$)/.test(url.hostname);
  return url !== null && (url.protocol === 'https:' || (url.protocol === 'http:' && isHere));
};

export function openChannels(world: World) {
  const { clock, deliveries, faults } = world;
  const channels = new Map<string, Channel>();
  const resources = new Map<string, string>();

  const judge = ({ status }: Answered) => (accepted.includes(status) ? 'ok' : `status ${status}`);

  async function attempt(
    delivery: Delivery,
    headers: Record<string, string>,
    firstAt: number,
    waitMs: number,
  ): Promise<void> {
    if (world.isDown) return void clock.at(clock.now() + 1_000, () => attempt(delivery, headers, firstAt, waitMs));
    const outcome = await deliveries.send(delivery, headers, judge);
    if (outcome === 'ok') return;
    const status = Number(/\d+/.exec(outcome)?.[0] ?? 500);
    const at = clock.now() + waitMs;
    if (!repeated.includes(status) || at > firstAt + retriesEnd) delivery.state = 'Failed';
    else clock.at(at, () => attempt(delivery, headers, firstAt, waitMs * 2));
  }

  function post(one: Channel, state: 'sync' | 'exists'): void {
    // Numbers rise, and not by one.
    one.messages += state === 'sync' ? 1 : 1 + Math.round(faults.roll() * 3);
    const headers = {
      'content-type': 'application/json; charset=UTF-8',
      'user-agent': 'APIs-Google; (+https://developers.google.com/webmasters/APIs-Google.html)',
      'x-goog-channel-id': one.id,
      'x-goog-channel-expiration': new Date(one.expiresAt).toUTCString(),
      'x-goog-resource-state': state,
      'x-goog-message-number': String(one.messages),
      'x-goog-resource-id': one.resourceId,
      'x-goog-resource-uri': `https://www.googleapis.com/calendar/v3/calendars/${one.mailbox}/events?alt=json`,
      ...(one.token !== null && { 'x-goog-channel-token': one.token }),
    };
    const kind = state === 'sync' ? 'handshake' : 'change';
    const make = () => deliveries.make({ face: 'Google', kind, subscriptionIds: [one.id], url: one.address, body: '' });
    if (state === 'exists' && faults.ofNotification('drop', 'Google', kind)) {
      make().state = 'Dropped';
      return;
    }
    const wait = faults.ofNotification('delay', 'Google', kind) ? faults.delayMs() : 0;
    const begin = (delivery: Delivery) =>
      clock.at(clock.now() + wait, () => attempt(delivery, headers, clock.now(), 5_000));
    begin(make());
    if (faults.ofNotification('duplicate', 'Google', kind)) begin(make());
  }

  world.onChange(({ mailbox }) => {
    for (const one of channels.values()) if (one.mailbox === mailbox.address) post(one, 'exists');
  });

  function remove(one: Channel): void {
    one.forgetExpiry();
    channels.delete(one.id);
  }

  return {
    channels,
    remove,
    watch(mailbox: Mailbox, body: string): Reply {
      const wanted = JSON.parse(body) as calendar_v3.Schema$Channel;
      if (wanted.type !== 'web_hook') return refusal(400, 'channelTypeInvalid', 'Unknown channel type');
      if (!/^[\w\-+/=]{1,64}$/.test(wanted.id ?? ''))
        return refusal(400, 'channelIdInvalid', 'The channel id is not valid');
      if (channels.has(wanted.id!)) return refusal(400, 'channelIdNotUnique', 'Channel id not unique');
      if (!isEndpoint(wanted.address))
        return refusal(400, 'push.webhookUrlNotHttps', `WebHook callback must be HTTPS: ${wanted.address}`);
      if ((wanted.token ?? '').length > 256) return refusal(400, 'invalid', 'The token is too long');
      const resourceId = resources.get(mailbox.address) ?? randomBytes(20).toString('base64url');
      resources.set(mailbox.address, resourceId);
      const until = Math.min(Number(wanted.expiration ?? clock.now() + longest), clock.now() + longest);
      const one: Channel = {
        id: wanted.id!,
        resourceId,
        mailbox: mailbox.address,
        address: wanted.address,
        token: wanted.token ?? null,
        expiresAt: until,
        messages: 0,
        forgetExpiry: clock.at(until, () => void channels.delete(wanted.id!)),
      };
      channels.set(one.id, one);
      post(one, 'sync');
      const answer: calendar_v3.Schema$Channel = {
        kind: 'api#channel',
        id: one.id,
        resourceId,
        token: one.token,
        expiration: String(until),
        resourceUri: `https://www.googleapis.com/calendar/v3/calendars/${mailbox.address}/events?alt=json`,
      };
      return { status: 200, body: answer };
    },
    stop(body: string): Reply {
      const wanted = JSON.parse(body) as calendar_v3.Schema$Channel;
      const one = channels.get(wanted.id ?? '');
      if (!one || one.resourceId !== wanted.resourceId)
        return refusal(404, 'notFound', `Channel '${wanted.id}' not found for project 'roomgate'`);
      remove(one);
      return { status: 204 };
    },
  };
}

export type Channels = ReturnType<typeof openChannels>;
