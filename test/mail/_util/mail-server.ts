/** The mail servers of simulator/main.ts, and what tests may ask of them. */
import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fetchWhole } from '../../_util/fetch-whole.ts';
import type { Invited, WrittenAppointment, WrittenChange } from '../simulator/admin.ts';
import type { Delivery } from '../simulator/deliveries.ts';
import type { Chances, Once } from '../simulator/faults.ts';
import type { Truth } from '../simulator/ledger.ts';
import type { RoomSettings, SentAnswer } from '../simulator/mailboxes.ts';
import type { Options } from '../simulator/world.ts';

const main = path.join(import.meta.dirname, '..', 'simulator', 'main.ts');

export type RemoteSubscription = {
  face: 'Ews' | 'Graph' | 'Google';
  id: string;
  mailbox: string;
  url: string;
  /** Ews. */
  statusMinutes?: number;
  watermark?: string;
  queued?: number;
  attempts?: number;
  /** Graph. */
  lifecycleUrl?: string | null;
  expiresAt?: string;
};
type Addresses = Options & {
  url: string;
  ews: string;
  graph: string;
  token: string;
  google: string;
  googleToken: string;
};

type Host = { start(options: Partial<Options>): Promise<Addresses> };
let host: Host | undefined;

/** The process of all mail servers of this one, as long as this one: to start one takes longer than most tests. */
function openHost(): Host {
  const child = spawn(process.execPath, [main], { stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting: PromiseWithResolvers<Addresses>[] = [];
  createInterface(child.stdout).on('line', (line) => waiting.shift()?.resolve(JSON.parse(line)));
  child.on('exit', () => {
    host = undefined;
    for (const { reject } of waiting) reject(new Error('the mail server has ended'));
  });
  // Only while somebody waits for it does it keep this process alive.
  for (const end of [child.stdin, child.stdout] as unknown as Socket[]) end.unref();
  return {
    async start(options) {
      const started = Promise.withResolvers<Addresses>();
      waiting.push(started);
      child.ref();
      child.stdin.write(`${JSON.stringify(options)}\n`);
      return await started.promise.finally(() => {
        if (waiting.length === 0) child.unref();
      });
    },
  };
}

export async function startMailServer(options: Partial<Options> = {}) {
  const addresses = await (host ??= openHost()).start(options);

  async function ask<Result = unknown>(method: string, path: string, body?: object): Promise<Result> {
    const answer = await fetchWhole(`${addresses.url}/admin/${path}`, {
      method,
      body: body ? JSON.stringify(body) : null,
    });
    const result = (await answer.json()) as Result & { error?: string };
    if (!answer.ok) throw new Error(`${method} /admin/${path}: ${result.error}`);
    return result;
  }
  const named = (id: string, act = '') => `appointments/${encodeURIComponent(id)}${act}`;

  return {
    ...addresses,
    ask,
    addRoom: (address: string, settings: RoomSettings = {}) =>
      ask<{ address: string; userId: string; calendarId: string }>('POST', 'mailboxes', {
        address,
        ...settings,
      }),
    setRoom: (address: string, settings: RoomSettings & { isAccessible?: boolean; isReadOnly?: boolean }) =>
      ask('PATCH', `mailboxes/${address}`, settings),
    /** In one room, as somebody from outside unless it is said who. */
    async appoint(room: string, written: WrittenAppointment & { uid?: string }): Promise<Invited> {
      const organizer = { name: 'Erika Mustermann', email: 'erika@contoso.test' };
      const [invited] = await ask<Invited[]>('POST', 'appointments', {
        organizer,
        ...written,
        rooms: [room],
      });
      return invited!;
    },
    change: (id: string, change: WrittenChange) => ask<Invited[]>('PATCH', named(id), change),
    cancel: (id: string, originalStart?: string) => ask('POST', named(id, '/cancel'), { originalStart }),
    remove: (id: string, originalStart?: string, soft = false) =>
      ask('POST', named(id, '/delete'), { originalStart, soft }),
    move: (id: string, room: string) => ask<Invited[]>('POST', named(id, '/move'), { room }),
    /** What organizers were answered for a room by its client. */
    answers: (room: string) => ask<SentAnswer[]>('GET', `answers/${room}`),
    truth: (room: string, from?: Date, to?: Date) =>
      ask<Truth[]>(
        'GET',
        `ledger/${room}?${new URLSearchParams({ ...(from && { from: from.toISOString() }), ...(to && { to: to.toISOString() }) })}`,
      ),
    deliveries: (filter: Partial<Pick<Delivery, 'kind' | 'state' | 'face'>> & { subscriptionId?: string } = {}) =>
      ask<Delivery[]>('GET', `deliveries?${new URLSearchParams(filter as Record<string, string>)}`),
    subscriptions: () => ask<RemoteSubscription[]>('GET', 'subscriptions'),
    failSubscription: (id: string) => ask('POST', 'subscriptions/fail', { id }),
    removeSubscription: (id?: string) => ask('POST', 'subscriptions/remove', { id }),
    lifecycle: (event: 'reauthorizationRequired' | 'subscriptionRemoved' | 'missed', id?: string) =>
      ask('POST', 'subscriptions/lifecycle', { event, id }),
    chances: (chances: Chances) => ask('PUT', 'faults', chances),
    googleKey: () => ask<{ client_email: string; private_key: string }>('GET', 'google-key'),
    fault: (once: Once) => ask('POST', 'faults', once),
    clearFaults: () => ask('DELETE', 'faults'),
    advance: (time: { minutes?: number; seconds?: number; ms?: number }) =>
      ask<{ now: string }>('POST', 'clock/advance', time),
    quiesce: (options: { advance?: boolean; timeoutMs?: number } = {}) =>
      ask<{ pending: number }>('POST', 'quiesce', options),
    restart: () => ask('POST', 'restart'),
    goDown: () => ask('POST', 'stop'),
    comeBack: () => ask('POST', 'start'),
    loseState: () => ask('POST', 'state-lost'),
    options: (options: Partial<Options>) => ask('PATCH', 'options', options),
    async stop(): Promise<void> {
      await ask('POST', 'end');
    },
  };
}

export type MailServer = Awaited<ReturnType<typeof startMailServer>>;
