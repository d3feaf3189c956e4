/** The mail server of mail-server/main.ts as a process of its own, and what tests may ask of it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Invited, WrittenAppointment, WrittenChange } from '../simulator/admin.ts';
import type { Delivery } from '../simulator/deliveries.ts';
import type { Chances, Once } from '../simulator/faults.ts';
import type { Truth } from '../simulator/ledger.ts';
import type { RoomSettings, SentAnswer } from '../simulator/mailboxes.ts';
import type { Options } from '../simulator/world.ts';

const main = path.join(import.meta.dirname, '..', 'simulator', 'main.ts');

const running = new Set<ChildProcess>();
// Jest may give this process up without running any hook.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

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

export async function startMailServer(options: Partial<Options> = {}) {
  const child = spawn(process.execPath, [main, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  running.add(child);
  const lines = createInterface(child.stdout);
  const ended = once(child, 'exit').then(() => {
    running.delete(child);
    throw new Error('the mail server has ended');
  });
  ended.catch(() => {});
  const [line] = (await Promise.race([once(lines, 'line'), ended])) as [string];
  const addresses = JSON.parse(line) as Addresses;

  async function ask<Result = unknown>(method: string, path: string, body?: object): Promise<Result> {
    const answer = await fetch(`${addresses.url}/admin/${path}`, {
      method,
      ...(body && { body: JSON.stringify(body) }),
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
    /** Ends the process, which keeps what has been compiled of it. */
    async stop(): Promise<void> {
      const exited = once(child, 'exit');
      child.stdin.end();
      await exited;
    },
  };
}

export type MailServer = Awaited<ReturnType<typeof startMailServer>>;
