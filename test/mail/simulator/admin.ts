/** The operations for tests; main.ts documents their requests. */
import type { LifecycleEventType } from '@microsoft/microsoft-graph-types';
import type { Push } from './ews-push.ts';
import type { Chances, Once } from './faults.ts';
import type { Google } from './google.ts';
import type { Channels } from './google-channels.ts';
import type { GraphSubscription, Subscriptions } from './graph-subscriptions.ts';
import { truthOf } from './ledger.ts';
import {
  type Appointment,
  type Draft,
  type Facts,
  type Mailbox,
  type Person,
  type RoomSettings,
  reshape,
} from './mailboxes.ts';
import type { Repeat } from './series.ts';
import type { Options, World } from './world.ts';
import { toInstant } from './zones.ts';

/** Of an appointment, as tests write it: times are instants, or by the clock of its zone. */
export type WrittenAppointment = Partial<Omit<Facts, 'start' | 'end'>> & {
  start: string;
  end: string;
  organizer?: Person | null;
  zone?: string;
  /** `start` and `end` are dates then, `end` not included. */
  isWholeDay?: boolean;
  repeat?: Repeat;
  /** Extended properties as EWS writes them, by set and name. */
  extended?: Record<string, string>;
};
/** `originalStart`: of the occurrence that begins then alone. */
export type WrittenChange = Partial<WrittenAppointment> & { originalStart?: string };
/** The result of an invitation in a room. */
export type Invited = { room: string; itemId: string | null; uid: string | null; isDeclined: boolean };

/** A request that cannot be understood. */
export class Misunderstood extends Error {}

type Ask = { parts: string[]; query: URLSearchParams; body: never };

export function openAdmin(parts: {
  world: World;
  push: Push;
  subscriptions: Subscriptions;
  channels: Channels;
  google: Google;
  cutConnections: () => void;
}) {
  const { world, push, subscriptions, channels, google, cutConnections } = parts;
  const { clock, deliveries, faults, mailboxes, options } = world;

  function room(address: string | undefined): Mailbox {
    const found = mailboxes.find(decodeURIComponent(address ?? ''));
    if (!found) throw new Misunderstood(`there is no mailbox ${address}`);
    return found;
  }
  /** All copies of a meeting by its UID, or one by its id. */
  function copies(name: string | undefined): { mailbox: Mailbox; item: Appointment }[] {
    const wanted = decodeURIComponent(name ?? '');
    const found = mailboxes
      .all()
      .flatMap((mailbox) =>
        [...mailbox.items.values()]
          .filter(({ id, uid }) => id === wanted || uid === wanted)
          .map((item) => ({ mailbox, item })),
      );
    if (found.length === 0) throw new Misunderstood(`there is no appointment ${wanted}`);
    return found;
  }
  const instant = (text: string, zone: string) => {
    const at = /(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : toInstant(text, zone);
    if (Number.isNaN(at)) throw new Misunderstood(`${text} is no time`);
    return at;
  };
  const originalOf = (text: string | null | undefined, zone: string) => (text ? instant(text, zone) : null);

  const invited = (mailbox: Mailbox, item: Appointment | undefined): Invited => ({
    room: mailbox.address,
    itemId: item?.id ?? null,
    uid: item?.uid ?? null,
    isDeclined: item === undefined,
  });

  function appoint({ rooms, ...written }: WrittenAppointment & { rooms: string[]; uid?: string }): Invited[] {
    let { uid } = written;
    return rooms.map((address) => {
      const mailbox = room(address);
      const zone = written.zone ?? mailbox.zone;
      const { start, end, ...others } = written;
      const draft: Draft = { ...others, zone, start: instant(start, zone), end: instant(end, zone) };
      if (draft.end < draft.start) throw new Misunderstood('the end is before the start');
      const item = mailboxes.invite(mailbox, { ...draft, ...(uid !== undefined && { uid }) });
      uid ??= item?.uid;
      return invited(mailbox, item);
    });
  }

  function change(name: string | undefined, { originalStart, ...written }: WrittenChange): Invited[] {
    return copies(name).map(({ mailbox, item }) => {
      const { start, end, zone: _, organizer: __, repeat, isWholeDay, extended: ___, ...facts } = written;
      reshape(item, { ...(repeat !== undefined && { repeat }), ...(isWholeDay !== undefined && { isWholeDay }) });
      const own: Partial<Facts> = {
        ...facts,
        ...(start !== undefined && { start: instant(start, item.zone) }),
        ...(end !== undefined && { end: instant(end, item.zone) }),
      };
      const isKept = mailboxes.change(mailbox, item, own, originalOf(originalStart, item.zone));
      return { room: mailbox.address, itemId: item.id, uid: item.uid, isDeclined: !isKept };
    });
  }

  /** To another room: an invitation there, and none here any more. */
  function move(name: string | undefined, to: string): Invited[] {
    const { mailbox, item } = copies(name)[0]!;
    const { start, end, subject, shownAs, sensitivity, organizer, zone, isWholeDay, repeat, uid } = item;
    mailboxes.remove(mailbox, item);
    const target = room(to);
    const draft = { start, end, subject, shownAs, sensitivity, organizer, zone, isWholeDay, repeat, uid };
    return [invited(target, mailboxes.invite(target, draft))];
  }

  async function settle(): Promise<void> {
    // What a change makes is sent after it.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    while (subscriptions.hasWaiting()) await new Promise((resolve) => setTimeout(resolve, 5));
    await deliveries.settle();
    if (subscriptions.hasWaiting()) await settle();
  }

  async function quiesce({ advance = false, timeoutMs = 20_000 }: { advance?: boolean; timeoutMs?: number }) {
    const end = performance.now() + timeoutMs;
    for (;;) {
      await settle();
      if (deliveries.pending() === 0) return { pending: 0 };
      if (performance.now() > end) return { pending: deliveries.pending() };
      const due = clock.due();
      if (advance && due !== undefined) await clock.advance(Math.max(0, due - clock.now()), settle);
      else await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  const allSubscriptions = () => [
    ...[...push.subscriptions.values()].map(({ id, mailbox, url, statusMinutes, watermark, queue, sending }) => ({
      face: 'Ews',
      id,
      mailbox,
      url,
      statusMinutes,
      watermark,
      queued: queue.length,
      attempts: sending?.delivery.attempts.length ?? 0,
    })),
    ...[...subscriptions.subscriptions.values()].map((one) => ({
      face: 'Graph',
      id: one.id,
      mailbox: one.mailbox,
      url: one.notificationUrl,
      lifecycleUrl: one.lifecycleUrl,
      expiresAt: new Date(one.expiresAt).toISOString(),
    })),
    ...[...channels.channels.values()].map(({ id, mailbox, address, expiresAt }) => ({
      face: 'Google',
      id,
      mailbox,
      url: address,
      expiresAt: new Date(expiresAt).toISOString(),
    })),
  ];
  function graphSubscriptions(id: string | undefined): GraphSubscription[] {
    return [...subscriptions.subscriptions.values()].filter((one) => id === undefined || one.id === id);
  }

  const routes: Record<string, (ask: Ask) => unknown> = {
    'GET options': () => options,
    'PATCH options': ({ body }) => Object.assign(options, body as Partial<Options>),
    'GET mailboxes': () =>
      mailboxes
        .all()
        .map(({ items, log, answers: _, ...mailbox }) => ({ ...mailbox, items: items.size, changes: log.length })),
    'POST mailboxes': ({ body }) => {
      const { address, ...settings } = body as RoomSettings & { address: string };
      const { items: _, log: __, answers: ___, ...mailbox } = mailboxes.add(address, settings);
      return mailbox;
    },
    'PATCH mailboxes/:': ({ parts: [address], body }) => {
      Object.assign(room(address), body as Partial<Mailbox>);
      return {};
    },
    'POST appointments': ({ body }) => appoint(body),
    'PATCH appointments/:': ({ parts: [name], body }) => change(name, body),
    'POST appointments/:/cancel': ({ parts: [name], body }) => {
      const { originalStart } = body as WrittenChange;
      for (const { mailbox, item } of copies(name))
        mailboxes.cancel(mailbox, item, originalOf(originalStart, item.zone));
      return {};
    },
    'POST appointments/:/delete': ({ parts: [name], body }) => {
      const { originalStart, soft = false } = body as WrittenChange & { soft?: boolean };
      for (const { mailbox, item } of copies(name))
        mailboxes.remove(mailbox, item, originalOf(originalStart, item.zone), soft);
      return {};
    },
    'POST appointments/:/move': ({ parts: [name], body }) => move(name, (body as { room: string }).room),
    'GET answers/:': ({ parts: [address] }) => room(address).answers,
    'GET ledger/:': ({ parts: [address], query }) => {
      const time = (name: string, otherwise: number) => (query.has(name) ? Date.parse(query.get(name)!) : otherwise);
      return truthOf(room(address), time('from', 0), time('to', 8.64e15));
    },
    'GET deliveries': ({ query }) => {
      const wanted = (['subscriptionId', 'kind', 'state', 'face'] as const).map(
        (name) => [name, query.get(name)] as const,
      );
      return deliveries.all.filter((delivery) =>
        wanted.every(
          ([name, value]) =>
            value === null ||
            (name === 'subscriptionId' ? delivery.subscriptionIds.includes(value) : delivery[name] === value),
        ),
      );
    },
    'DELETE deliveries': () => deliveries.forget(),
    'GET subscriptions': allSubscriptions,
    'POST subscriptions/fail': async ({ body }) => {
      const { id } = body as { id: string };
      const one = push.subscriptions.get(id);
      if (!one) throw new Misunderstood(`there is no EWS subscription ${id}`);
      await push.fail(one);
      return {};
    },
    'POST subscriptions/remove': ({ body }) => {
      const { id } = body as { id?: string };
      for (const one of graphSubscriptions(id)) subscriptions.remove(one);
      for (const one of channels.channels.values()) if (id === undefined || one.id === id) channels.remove(one);
      return {};
    },
    'POST subscriptions/lifecycle': ({ body }) => {
      const { id, event } = body as { id?: string; event: LifecycleEventType };
      for (const one of graphSubscriptions(id)) subscriptions.tellLifecycle(one, event);
      return {};
    },
    'GET google-key': () => google.key(),
    'GET faults': () => ({}),
    'PUT faults': ({ body }) => faults.set(body as Chances),
    'POST faults': ({ body }) => faults.plan(body as Once),
    'DELETE faults': () => faults.clear(),
    'GET clock': () => ({ now: new Date(clock.now()).toISOString() }),
    'POST clock/advance': async ({ body }) => {
      const { minutes = 0, seconds = 0, ms = 0 } = body as Record<string, number>;
      await clock.advance(minutes * 60_000 + seconds * 1_000 + ms, settle);
      return { now: new Date(clock.now()).toISOString() };
    },
    'POST quiesce': ({ body }) => quiesce(body),
    'POST restart': () => {
      push.forgetAll();
      cutConnections();
      world.isDown = false;
      return {};
    },
    'POST stop': () => {
      push.forgetAll();
      cutConnections();
      world.isDown = true;
      return {};
    },
    'POST start': () => {
      world.isDown = false;
      return {};
    },
    'POST state-lost': () => ({ generation: ++world.generation }),
  };

  /** @param path what follows /admin/ @throws Misunderstood */
  return async function answer(method: string, path: string, query: URLSearchParams, text: string): Promise<unknown> {
    for (const [name, act] of Object.entries(routes)) {
      const [verb, template = ''] = name.split(' ');
      const match = new RegExp(`^${template.replaceAll(':', '([^/]+)')}$`).exec(path);
      if (verb !== method || !match) continue;
      return (await act({ parts: match.slice(1), query, body: JSON.parse(text || '{}') as never })) ?? {};
    }
    throw new Misunderstood(`there is no ${method} /admin/${path}`);
  };
}
