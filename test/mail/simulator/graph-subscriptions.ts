/** Graph: subscriptions with their handshake and expiry, and what is sent to them. */
import { randomUUID } from 'node:crypto';
import type {
  ChangeNotification,
  ChangeType,
  LifecycleEventType,
  Subscription,
} from '@microsoft/microsoft-graph-types';
import type { Answered, Delivery } from './deliveries.ts';
import { etagOf } from './graph-events.ts';
import { refusal } from './graph-replies.ts';
import type { Call, Reply } from './json-calls.ts';
import type { Change, Mailbox } from './mailboxes.ts';
import type { World } from './world.ts';

const [shortest, longest] = [45 * 60_000, 10_080 * 60_000];
const perMailbox = 1_000;
const retriesEnd = 4 * 3_600_000;

export type GraphSubscription = {
  id: string;
  mailbox: string;
  resource: string;
  changeTypes: Set<string>;
  notificationUrl: string;
  lifecycleUrl: string | null;
  clientState: string | null;
  expiresAt: number;
  forgetExpiry: () => void;
};

const judge = ({ status }: Answered) => (status >= 200 && status < 300 ? 'ok' : `status ${status}`);

export function openSubscriptions(world: World) {
  const { clock, deliveries, faults, mailboxes, options } = world;
  const subscriptions = new Map<string, GraphSubscription>();
  let waiting: { url: string; subscriptionId: string; item: ChangeNotification }[] = [];
  let isFlushPlanned = false;
  let told = 0;

  const written = (one: GraphSubscription, origin: string): Subscription & { '@odata.context': string } => ({
    '@odata.context': `${origin}/v1.0/$metadata#subscriptions/$entity`,
    id: one.id,
    resource: one.resource,
    applicationId: options.clientId,
    changeType: [...one.changeTypes].join(','),
    clientState: one.clientState,
    notificationUrl: one.notificationUrl,
    notificationQueryOptions: null,
    lifecycleNotificationUrl: one.lifecycleUrl,
    expirationDateTime: new Date(one.expiresAt).toISOString(),
    creatorId: options.clientId,
    includeResourceData: null,
    latestSupportedTlsVersion: 'v1_2',
    encryptionCertificate: null,
    encryptionCertificateId: null,
    notificationUrlAppId: null,
  });

  function expire(one: GraphSubscription, at: number): void {
    one.forgetExpiry();
    one.expiresAt = at;
    one.forgetExpiry = clock.at(at, () => void subscriptions.delete(one.id));
  }
  const granted = (wanted: number) => Math.min(Math.max(wanted, clock.now() + shortest), clock.now() + longest);

  /** Why an endpoint is none; undefined when it is. */
  async function shakeHands(url: string, subscriptionId: string): Promise<string | undefined> {
    const text = `Validation: Testing client application reachability for subscription Request-Id: ${randomUUID()}`;
    const target = `${url}${url.includes('?') ? '&' : '?'}validationToken=${encodeURIComponent(text)}`;
    const delivery = deliveries.make({
      face: 'Graph',
      kind: 'handshake',
      subscriptionIds: [subscriptionId],
      url: target,
      body: '',
    });
    const outcome = await deliveries.send(delivery, { 'content-type': 'text/plain; charset=utf-8' }, (answer) => {
      if (answer.status !== 200) return 'Notification endpoint must respond with 200 OK to validation request.';
      if (!/^text\/plain\b/i.test(answer.type))
        return 'Notification endpoint must respond with content type text/plain to validation request.';
      return answer.text === text ? 'ok' : 'Notification endpoint must echo the validation token.';
    });
    if (outcome === 'ok') return undefined;
    delivery.state = 'Failed';
    return outcome === 'timeout' ? 'Subscription validation request timed out.' : outcome;
  }

  function mailboxOf(resource: string): Mailbox | undefined {
    const [, user] = /^\/?users(?:\/|\(')([^/']+)(?:'\))?(?:\/calendar)?\/events$/i.exec(resource) ?? [];
    return user === undefined
      ? undefined
      : mailboxes
          .all()
          .find(({ address, userId }) => [address, userId].includes(decodeURIComponent(user).toLowerCase()));
  }

  const invalid = (message: string) => refusal(400, 'ValidationError', message);
  const isEndpoint = (url: unknown): url is string => {
    const parsed = typeof url === 'string' ? URL.parse(url) : null;
    const isHere = parsed !== null && /^(127\.|localhost$|\[::1\]$)/.test(parsed.hostname);
    return parsed !== null && (parsed.protocol === 'https:' || (parsed.protocol === 'http:' && isHere));
  };

  /** What is wrong with what is asked for. */
  function findFault(wanted: Subscription): Reply | undefined {
    if (!isEndpoint(wanted.notificationUrl)) return invalid('The notification URL must be an https URL.');
    if (wanted.lifecycleNotificationUrl != null && !isEndpoint(wanted.lifecycleNotificationUrl))
      return invalid('The lifecycle notification URL must be an https URL.');
    if (!/^(created|updated|deleted)(,(created|updated|deleted))*$/.test(wanted.changeType ?? ''))
      return invalid('The change type is not valid.');
    if ((wanted.clientState ?? '').length > 128) return invalid('The client state is too long.');
    const until = Date.parse(wanted.expirationDateTime ?? '');
    if (!(until > clock.now())) return invalid('Subscription expiration must be in the future.');
    return undefined;
  }

  async function create(call: Call): Promise<Reply> {
    const wanted = JSON.parse(call.body) as Subscription;
    const fault = findFault(wanted);
    if (fault) return fault;
    const mailbox = mailboxOf(wanted.resource ?? '');
    if (!mailbox) return refusal(404, 'ResourceNotFound', 'The resource is not found.');
    if (!mailbox.isAccessible)
      return refusal(403, 'ErrorAccessDenied', 'Access is denied. Check credentials and try again.');
    if ([...subscriptions.values()].filter((one) => one.mailbox === mailbox.address).length >= perMailbox)
      return refusal(403, 'ErrorQuotaExceeded', 'There are too many subscriptions of this mailbox.');
    const one: GraphSubscription = {
      id: randomUUID(),
      mailbox: mailbox.address,
      resource: wanted.resource!,
      changeTypes: new Set(wanted.changeType!.split(',')),
      notificationUrl: wanted.notificationUrl!,
      lifecycleUrl: wanted.lifecycleNotificationUrl ?? null,
      clientState: wanted.clientState ?? null,
      expiresAt: 0,
      forgetExpiry() {},
    };
    for (const url of [one.notificationUrl, ...(one.lifecycleUrl === null ? [] : [one.lifecycleUrl])]) {
      const refused = await shakeHands(url, one.id);
      if (refused) return invalid(`Subscription validation request failed. ${refused}`);
    }
    subscriptions.set(one.id, one);
    expire(one, granted(Date.parse(wanted.expirationDateTime!)));
    return { status: 201, body: written(one, call.origin) };
  }

  function renew(one: GraphSubscription, call: Call): Reply {
    const until = Date.parse((JSON.parse(call.body) as Subscription).expirationDateTime ?? '');
    if (!(until > clock.now())) return invalid('Subscription expiration must be in the future.');
    expire(one, granted(until));
    return { status: 200, body: written(one, call.origin) };
  }

  /** @param path what follows /v1.0/subscriptions */
  async function answer(call: Call, path: string): Promise<Reply> {
    if (path === '') {
      if (call.method === 'POST') return await create(call);
      const value = [...subscriptions.values()].map((one) => written(one, call.origin));
      return {
        status: 200,
        body: { '@odata.context': `${call.origin}/v1.0/$metadata#subscriptions`, value },
      };
    }
    const [, id, isAgain] = /^\/([^/]+)(\/reauthorize)?$/.exec(path) ?? [];
    const one = subscriptions.get(decodeURIComponent(id ?? ''));
    if (!one) return refusal(404, 'ResourceNotFound', 'The object was not found.');
    if (isAgain !== undefined)
      return call.method === 'POST' ? { status: 204 } : refusal(405, 'UnsupportedMethod', 'POST it.');
    if (call.method === 'PATCH') return renew(one, call);
    if (call.method === 'DELETE') {
      remove(one);
      return { status: 204 };
    }
    return { status: 200, body: written(one, call.origin) };
  }

  function remove(one: GraphSubscription): void {
    one.forgetExpiry();
    subscriptions.delete(one.id);
  }

  async function attempt(delivery: Delivery, firstAt: number, waitMs: number): Promise<void> {
    if (world.isDown) return void clock.at(clock.now() + 1_000, () => attempt(delivery, firstAt, waitMs));
    const outcome = await deliveries.send(delivery, { 'content-type': 'application/json; charset=utf-8' }, judge);
    if (outcome === 'ok') return;
    const at = clock.now() + waitMs;
    if (at > firstAt + retriesEnd) delivery.state = 'Failed';
    else clock.at(at, () => attempt(delivery, firstAt, waitMs * 2));
  }

  function post(url: string, kind: 'change' | 'lifecycle', items: ChangeNotification[]): void {
    const body = JSON.stringify({ value: items });
    const subscriptionIds = [...new Set(items.map(({ subscriptionId }) => subscriptionId!))];
    const make = () => deliveries.make({ face: 'Graph', kind, subscriptionIds, url, body });
    const begin = (delivery: Delivery, waitMs: number) =>
      waitMs > 0
        ? void clock.at(clock.now() + waitMs, () => attempt(delivery, clock.now(), 10_000))
        : void attempt(delivery, clock.now(), 10_000);
    const isDropped = faults.ofNotification('drop', 'Graph', kind) || deliveries.slowPart() > 0.15;
    if (isDropped) {
      make().state = 'Dropped';
      return;
    }
    const slowMs = deliveries.slowPart() > 0.1 ? 10_000 : 0;
    const delayed = faults.ofNotification('delay', 'Graph', kind) ? faults.delayMs() : 0;
    // Others overtake it.
    const reordered = faults.ofNotification('reorder', 'Graph', kind) ? Math.round(50 + faults.roll() * 250) : 0;
    begin(make(), slowMs + delayed + reordered);
    if (faults.ofNotification('duplicate', 'Graph', kind)) begin(make(), Math.round(faults.roll() * 100));
  }

  /** Where notifications may share a POST. */
  function hostOf(url: string): string {
    const { origin, pathname } = new URL(url);
    return options.mixBatches ? `${origin}${pathname}` : url;
  }

  function flush(): void {
    isFlushPlanned = false;
    const batches = Map.groupBy(waiting, ({ url }) => hostOf(url));
    waiting = [];
    for (const batch of batches.values())
      for (let from = 0; from < batch.length; from += 100)
        post(
          batch[from]!.url,
          'change',
          batch.slice(from, from + 100).map(({ item }) => item),
        );
  }

  function announce({ what, mailbox, appointment }: Change): void {
    for (const one of subscriptions.values()) {
      if (one.mailbox !== mailbox.address) continue;
      // A new event is told as changed too.
      const kinds = [
        what,
        ...Array.from({ length: options.echoes - 1 }, () => (what === 'deleted' ? what : 'updated')),
      ];
      for (const kind of kinds.filter((name) => one.changeTypes.has(name))) {
        const [user, event] = [mailbox.userId, appointment.id];
        const path = told++ % 2 ? `Users/${user}/Events/${event}` : `Users('${user}')/Events('${event}')`;
        const item: ChangeNotification = {
          subscriptionId: one.id,
          subscriptionExpirationDateTime: new Date(one.expiresAt).toISOString().replace('Z', '+00:00'),
          changeType: kind as ChangeType,
          resource: path,
          resourceData: {
            '@odata.type': '#Microsoft.Graph.Event',
            '@odata.id': path,
            '@odata.etag': etagOf(appointment),
            id: event,
          } as NonNullable<ChangeNotification['resourceData']>,
          clientState: one.clientState,
          tenantId: options.tenantId,
        };
        waiting.push({ url: one.notificationUrl, subscriptionId: one.id, item });
      }
    }
    if (waiting.length === 0 || isFlushPlanned) return;
    isFlushPlanned = true;
    clock.at(clock.now() + options.batchMs, flush);
  }
  world.onChange(announce);

  return {
    answer,
    subscriptions,
    remove,
    /** What Graph tells of a subscription itself. */
    tellLifecycle(one: GraphSubscription, lifecycleEvent: LifecycleEventType): void {
      if (lifecycleEvent === 'subscriptionRemoved') remove(one);
      if (one.lifecycleUrl === null) return;
      post(one.lifecycleUrl, 'lifecycle', [
        {
          subscriptionId: one.id,
          subscriptionExpirationDateTime: new Date(one.expiresAt).toISOString(),
          tenantId: options.tenantId,
          clientState: one.clientState,
          lifecycleEvent,
        },
      ]);
    },
    hasWaiting: () => waiting.length > 0,
  };
}

export type Subscriptions = ReturnType<typeof openSubscriptions>;
