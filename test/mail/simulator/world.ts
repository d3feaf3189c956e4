/** The parts and options of one mail server. */
import { openClock } from './clock.ts';
import { openDeliveries } from './deliveries.ts';
import { openFaults } from './faults.ts';
import { type Change, openMailboxes } from './mailboxes.ts';

export const defaults = {
  /** EWS: Basic authentication. */
  user: 'service@contoso.test',
  password: 'the password of the service',
  /** Graph: client credentials. */
  tenantId: '11111111-2222-4333-8444-555555555555',
  clientId: 'roomgate',
  clientSecret: 'the secret of the client',
  /** EWS notifications: `soap11`, `soap` or `s`. */
  soapPrefix: 'soap11',
  /** EWS: the first StatusEvent comes before the answer to Subscribe, and is waited for. */
  statusBeforeAnswer: false,
  eventsPerPush: 50,
  /** A listener's time for an answer, really passing; Graph counts longer ones as slow. */
  timeoutMs: 10_000,
  /** Graph: what changes within it shares a POST. */
  batchMs: 20,
  /** Graph: one POST holds notifications of several subscriptions of one host. */
  mixBatches: true,
  /** Graph: notifications of one change. */
  echoes: 2,
  /** Graph: how often the removal of an occurrence is not told, but that its series has changed. */
  silentRemovals: 0.3,
  /** Graph: whether delta lists the masters of series beside their occurrences. */
  deltaMasters: false,
  /** Graph: how many requests of a batch run at a time. */
  batchAtOnce: 4,
  /** Graph: whether If-Match counts, and whether the transactionId of an event is told. */
  heedsIfMatch: true,
  tellsTransactions: true,
  /** How long every request takes, really passing. */
  latencyMs: 0,
};
export type Options = typeof defaults;

export function openWorld(given: Partial<Options> = {}) {
  const options: Options = { ...defaults, ...given };
  const clock = openClock();
  const faults = openFaults();
  const listeners = new Set<(change: Change) => void>();
  const mailboxes = openMailboxes(clock, (change) => {
    for (const listener of listeners) listener(change);
  });
  const deliveries = openDeliveries(clock, faults, () => options.timeoutMs);
  return {
    options,
    clock,
    faults,
    mailboxes,
    deliveries,
    /** Its faces take no requests while it is down. */
    isDown: false,
    /** Tokens and sync states of another generation are lost. */
    generation: 1,
    onChange: (listener: (change: Change) => void) => void listeners.add(listener),
  };
}

export type World = ReturnType<typeof openWorld>;
