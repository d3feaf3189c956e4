/**
 * EWS push subscriptions, which are in memory only. One notification at a time: the next is sent when it was answered as
 * the documents want; it is sent again after 30 s, doubling, within the StatusFrequency. Then the subscription is dropped.
 */
import { randomBytes } from 'node:crypto';
import type { Answered, Delivery } from './deliveries.ts';
import { type Change, changeKeyOf, type Mailbox } from './mailboxes.ts';
import type { World } from './world.ts';
import { bothSpaces, child, el, envelope, leaf, messages, parseXml, types } from './xml.ts';

export type PushSubscription = {
  id: string;
  mailbox: string;
  url: string;
  eventTypes: string[];
  statusMinutes: number;
  version: string;
  watermark: string;
  /** Not sent yet, oldest first; each without its element's end. */
  queue: { watermark: string; xml: string }[];
  sending: { delivery: Delivery; firstAt: number; waitMs: number; events: number; watermark: string } | null;
  /** Takes back its next status event. */
  forgetStatus: () => void;
  isDead: boolean;
};

const watermarkLifeMs = 30 * 24 * 3_600_000;

const headers = {
  'content-type': 'text/xml; charset=utf-8',
  soapaction: '"http://schemas.microsoft.com/exchange/services/2006/messages/SendNotification"',
};

/** `ok`, `unsubscribe`, or why the documents call it a failed delivery. */
function judge({ status, type, text }: Answered): string {
  if (status !== 200) return `status ${status}`;
  if (!/^text\/xml\b/i.test(type)) return `content type ${type}`;
  try {
    const root = parseXml(text);
    const result = child(root, 's:Body', 'm:SendNotificationResult');
    const said = root.name === 's:Envelope' ? child(result, 'm:SubscriptionStatus')?.text : undefined;
    if (said === 'OK') return 'ok';
    return said === 'Unsubscribe' ? 'unsubscribe' : 'no SendNotificationResult that says OK or Unsubscribe';
  } catch (error) {
    return `not XML: ${(error as Error).message}`;
  }
}

export function openPush(world: World) {
  const { clock, deliveries, faults, options } = world;
  const subscriptions = new Map<string, PushSubscription>();
  let watermarks = 0;
  const nextWatermark = () => {
    const bytes = Buffer.alloc(24);
    bytes.writeUInt32LE(++watermarks, 0);
    bytes.writeDoubleLE(clock.now(), 8);
    bytes.writeUInt32LE(world.generation, 16);
    bytes[23] = 1;
    return bytes.toString('base64');
  };
  /** One of this server, which has not forgotten it. */
  function isWatermark(text: string): boolean {
    const bytes = Buffer.from(text, 'base64');
    if (bytes.length !== 24 || bytes.readUInt32LE(16) !== world.generation) return false;
    return bytes.readUInt32LE(0) <= watermarks && bytes.readDoubleLE(8) > clock.now() - watermarkLifeMs;
  }

  function bury(subscription: PushSubscription): void {
    subscription.isDead = true;
    subscription.forgetStatus();
    subscription.queue = [];
    if (subscription.sending?.delivery.state === 'Pending') subscription.sending.delivery.state = 'Failed';
    subscriptions.delete(subscription.id);
  }

  function notification({ version }: PushSubscription, responseClass: string, ...content: string[]): string {
    return envelope(
      options.soapPrefix,
      el('t:RequestServerVersion', { Version: version, 'xmlns:t': types, 'xmlns:m': messages }),
      el(
        'm:SendNotification',
        bothSpaces,
        el(
          'm:ResponseMessages',
          {},
          el('m:SendNotificationResponseMessage', { ResponseClass: responseClass }, ...content),
        ),
      ),
    );
  }

  /** The next notification: a status event when there is nothing else to tell. */
  function compose(subscription: PushSubscription) {
    const { queue } = subscription;
    const events = queue.slice(0, options.eventsPerPush);
    const watermark = events.at(-1)?.watermark ?? nextWatermark();
    const told =
      events.length > 0 ? events.map(({ xml }) => xml) : [el('t:StatusEvent', {}, leaf('t:Watermark', watermark))];
    const body = notification(
      subscription,
      'Success',
      leaf('m:ResponseCode', 'NoError'),
      el(
        'm:Notification',
        {},
        leaf('t:SubscriptionId', subscription.id),
        leaf('t:PreviousWatermark', subscription.watermark),
        leaf('t:MoreEvents', queue.length > events.length),
        ...told,
      ),
    );
    return { body, watermark, events: events.length };
  }

  async function attempt(subscription: PushSubscription): Promise<void> {
    const { sending } = subscription;
    if (!sending || subscription.isDead) return;
    const outcome = await deliveries.send(sending.delivery, headers, judge);
    if (subscription.isDead) return;
    if (outcome === 'unsubscribe') bury(subscription);
    else if (outcome === 'ok') acknowledged(subscription);
    else retry(subscription);
  }

  function acknowledged(subscription: PushSubscription): void {
    const { delivery, events, watermark } = subscription.sending!;
    if (faults.ofNotification('duplicate', 'Ews')) {
      const copy = deliveries.make(delivery);
      void deliveries.send(copy, headers, judge).then(() => {
        if (copy.state === 'Pending') copy.state = 'Failed';
      });
    }
    subscription.queue.splice(0, events);
    subscription.watermark = watermark;
    subscription.sending = null;
    scheduleStatus(subscription);
    if (subscription.queue.length > 0) void send(subscription);
  }

  function retry(subscription: PushSubscription): void {
    const sending = subscription.sending!;
    const at = clock.now() + sending.waitMs;
    sending.waitMs *= 2;
    // Nobody is told of it.
    if (at > sending.firstAt + subscription.statusMinutes * 60_000) bury(subscription);
    else clock.at(at, () => attempt(subscription));
  }

  /** Sends what is next, unless something is on its way. */
  async function send(subscription: PushSubscription): Promise<void> {
    if (subscription.sending || subscription.isDead || world.isDown) return;
    const { body, watermark, events } = compose(subscription);
    const kind = events > 0 ? 'change' : 'status';
    const { id, url } = subscription;
    const delivery = deliveries.make({ face: 'Ews', kind, subscriptionIds: [id], url, body });
    subscription.sending = { delivery, firstAt: clock.now(), waitMs: 30_000, events, watermark };
    if (faults.ofNotification('delay', 'Ews', kind))
      clock.at(clock.now() + faults.delayMs(), () => attempt(subscription));
    else await attempt(subscription);
  }

  function scheduleStatus(subscription: PushSubscription): void {
    subscription.forgetStatus();
    const at = clock.now() + subscription.statusMinutes * 60_000;
    subscription.forgetStatus = clock.at(at, () => send(subscription));
  }

  function tell(subscription: PushSubscription, name: string, ...content: string[]): void {
    if (!subscription.eventTypes.includes(name)) return;
    const watermark = nextWatermark();
    const stamp = new Date(clock.now()).toISOString().replace(/\.\d+/, '');
    subscription.queue.push({
      watermark,
      xml: el(`t:${name}`, {}, leaf('t:Watermark', watermark), leaf('t:TimeStamp', stamp), ...content),
    });
  }

  function announce({ what, mailbox, appointment, toDeletedItems }: Change): void {
    const key = changeKeyOf(appointment.revision);
    const item = (name: string) => el(name, { Id: appointment.id, ChangeKey: key });
    const folder = (name: string, id = mailbox.calendarId) => el(name, { Id: id, ChangeKey: 'AgAAAA==' });
    for (const subscription of subscriptions.values()) {
      if (subscription.mailbox !== mailbox.address) continue;
      if (faults.ofNotification('drop', 'Ews', 'change')) continue;
      if (what === 'created') tell(subscription, 'CreatedEvent', item('t:ItemId'), folder('t:ParentFolderId'));
      else if (what === 'updated') tell(subscription, 'ModifiedEvent', item('t:ItemId'), folder('t:ParentFolderId'));
      else if (toDeletedItems)
        tell(
          subscription,
          'MovedEvent',
          ...[item('t:ItemId'), folder('t:ParentFolderId', mailbox.deletedItemsId)],
          ...[el('t:OldItemId', { Id: appointment.id, ChangeKey: key }), folder('t:OldParentFolderId')],
        );
      else tell(subscription, 'DeletedEvent', item('t:ItemId'), folder('t:ParentFolderId'));
      // Of each change the folder's own event comes too.
      tell(subscription, 'ModifiedEvent', folder('t:FolderId'), folder('t:ParentFolderId', `${mailbox.calendarId}R`));
      // What changes in the same moment goes together.
      setImmediate(() => void send(subscription));
    }
  }
  world.onChange(announce);

  return {
    subscriptions,
    isWatermark,
    /** Begins to send as soon as `sendFirst` is called: the listener must be there by then. */
    add(mailbox: Mailbox, wanted: Pick<PushSubscription, 'url' | 'eventTypes' | 'statusMinutes' | 'version'>) {
      const subscription: PushSubscription = {
        id: randomBytes(40).toString('base64'),
        mailbox: mailbox.address,
        ...wanted,
        watermark: nextWatermark(),
        queue: [],
        sending: null,
        forgetStatus() {},
        isDead: false,
      };
      subscriptions.set(subscription.id, subscription);
      return { subscription, sendFirst: () => send(subscription) };
    },
    /** A notification of class Error, which names its subscription in MessageXml only, after which it is gone. */
    async fail(subscription: PushSubscription): Promise<void> {
      const body = notification(
        subscription,
        'Error',
        leaf('m:MessageText', 'The events could not be read.'),
        leaf('m:ResponseCode', 'ErrorReadEventsFailed'),
        leaf('m:DescriptiveLinkKey', 0),
        el('m:MessageXml', {}, el('t:Value', { Name: 'SubscriptionId' }, subscription.id)),
      );
      const { id, url } = subscription;
      bury(subscription);
      const delivery = deliveries.make({ face: 'Ews', kind: 'error', subscriptionIds: [id], url, body });
      await deliveries.send(delivery, headers, judge);
      if (delivery.state === 'Pending') delivery.state = 'Failed';
    },
    /** Memory is lost: nobody is told. */
    forgetAll(): void {
      for (const subscription of [...subscriptions.values()]) bury(subscription);
    },
  };
}

export type Push = ReturnType<typeof openPush>;
