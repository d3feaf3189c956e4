/** Microsoft Graph's change and lifecycle notifications: one request may have many, for different subscriptions and tenants. */
import { isObject, type SentObject } from './json.ts';
import {
  checkCount,
  dedupeKeyOf,
  type MailNotification,
  nameOf,
  notification,
  type ReadNotifications,
} from './notification.ts';

/** @throws DialectOverflow */
export function readGraph(items: readonly unknown[]): ReadNotifications {
  checkCount(items.length);
  return { dialect: 'Graph', notifications: items.map(readItem) };
}

/** The item to keep, without its clientState: whoever reads that could forge notifications. */
function bodyOf(item: unknown): Buffer {
  const kept = isObject(item) && 'clientState' in item ? { ...item, clientState: '[secret]' } : item;
  return Buffer.from(JSON.stringify(kept));
}

function readItem(item: unknown): MailNotification {
  const body = bodyOf(item);
  if (!isObject(item)) return notification({ body });
  const common = {
    externalId: nameOf(item['subscriptionId']),
    clientState: nameOf(item['clientState']),
    body,
  };
  return 'lifecycleEvent' in item ? readLifecycle(item, common) : readChange(item, common);
}

type Common = Pick<MailNotification, 'externalId' | 'clientState' | 'body'>;

function readChange(item: SentObject, common: Common): MailNotification {
  const data = isObject(item['resourceData']) ? item['resourceData'] : {};
  const changeType = nameOf(item['changeType']);
  const version = nameOf(data['@odata.etag']) ?? nameOf(item['id']);
  // Without a version, two updates of an item cannot be told apart, so the second must not count as a duplicate.
  const isTold = version !== null || changeType === 'created' || changeType === 'deleted';
  return notification({
    ...common,
    kind: 'Change',
    dedupeKey: isTold
      ? dedupeKeyOf(
          common.externalId,
          changeType,
          nameOf(item['resource'])?.toLowerCase() ?? null,
          version ?? nameOf(data['id']),
        )
      : null,
    marks: true,
  });
}

function readLifecycle(item: SentObject, common: Common): MailNotification {
  const event = nameOf(item['lifecycleEvent']);
  const until = nameOf(item['subscriptionExpirationDateTime']);
  const isEnd = event === 'subscriptionRemoved';
  return notification({
    ...common,
    kind: 'Lifecycle',
    // `missed` may come several times for a subscription.
    dedupeKey: event === 'missed' ? null : dedupeKeyOf(common.externalId, event, until),
    marks: event === 'missed' || isEnd,
    renews: event === 'reauthorizationRequired',
    ends: isEnd ? 'The mail server says that it has removed it.' : null,
  });
}
