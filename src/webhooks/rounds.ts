/**
 * Delivers the events of one webhook in rounds: waiting events and the next ones of the feed are sent, then one transaction
 * records which were taken, which still wait, and the place in the feed. If a worker dies in between nothing is lost: the same
 * events are sent again.
 */

import type { Agent } from 'node:http';
import { sql } from 'kysely';
import pLimit from 'p-limit';
import type { Config } from '../config.ts';
import type { Database, Transaction } from '../db/database.ts';
import { inMs } from '../db/pauses.ts';
import { Conflict } from '../errors.ts';
import { isOutage } from '../flow/database-errors.ts';
import { backOff } from '../flow/retry.ts';
import type { SharedTurn, Shares } from '../flow/shares.ts';
import { keepPublic } from '../http/public-fetch.ts';
import type { Log } from '../log.ts';
import { hour } from '../time/durations.ts';
import { addJob } from '../worker/queue.ts';
import { type MadeAttempt, recordAttempts } from './deliveries.ts';
import { type DueWebhook, disable, readDue, rest } from './due-webhook.ts';
import { readSubject } from './records.ts';
import { sendMessage } from './sending.ts';
import type { DisabledReason } from './stored.ts';
import {
  type FoundEvents,
  readWaiting,
  type StillWaiting,
  type WaitingEvent,
  type WebhookKey,
  writeWaiting,
} from './waiting.ts';

/** The most concurrent messages to one webhook. */
const atOnce = 5;
/** After this many failures of the receiver in a row the webhook pauses; then one message at a time probes it. */
const failuresToRest = 5;
const pauses = { firstMs: 5_000, longestMs: hour };
/** How long a job begins new messages; another job then continues. */
const jobMs = 3_000;
/** The pause of a webhook when the database has not answered for an event. */
const outagePauseMs = 1_000;

export const deliverTask = 'DeliverEvents';
export const jobKeyOf = ({ mandatorId, webhookId }: WebhookKey) => `webhook ${mandatorId} ${webhookId}`;

type Job = { config: Config; log: Log; work: Database; signal: AbortSignal; shares: Shares };

/** A webhook with its connections. */
type Receiver = DueWebhook & { kept: Agent };

/** Sends the due events of a webhook, for some seconds at most; the next job sends the rest. */
export async function deliverEvents(context: Job, key: WebhookKey): Promise<void> {
  const { work, signal, shares } = context;
  // Each webhook has turns as if it were a tenant, because each receiver may be slow; the ids of webhooks are unique.
  const turnWork = { tenant: key.webhookId, name: 'events' };
  const refusal = await shares.take(key.mandatorId, turnWork, async (turn) => {
    const until = performance.now() + jobMs;
    const kept = keepPublic();
    try {
      for (let hasMore = true; hasMore && !signal.aborted; ) {
        const webhook = await readDue(work, key);
        if (!webhook) return;
        hasMore = await runRound(context, turn, { ...webhook, kept }, until);
        if (!hasMore || performance.now() < until) continue;
        await work.transaction().execute((trx) => addJob(trx, deliverTask, key, jobKeyOf(key)));
        return;
      }
    } finally {
      kept.destroy();
    }
  });
  if (refusal) await rest(work, key, refusal.againMs);
}

/** The outcome of a round. */
type Round = {
  attempts: MadeAttempt[];
  taken: WaitingEvent[];
  failed: Map<WaitingEvent, number>;
  failures: number;
  /** Failures of the receiver, without repeated attempts that got an answer: the event itself may be their cause. */
  receiverFailures: number;
  hasSucceeded: boolean;
  pauseMs: number;
  disabled: DisabledReason | null;
};

/** @returns whether there is more to send at once */
async function runRound(context: Job, turn: SharedTurn, webhook: Receiver, until: number): Promise<boolean> {
  let found: FoundEvents;
  try {
    found = await readWaiting(context.work, webhook);
  } catch (error) {
    if (!(error instanceof Conflict)) throw error;
    await context.work.transaction().execute((trx) => disable(trx, context.log, webhook, 'HistoryLost'));
    return false;
  }
  // Events that have failed are sent last: if one of them fails again, that says nothing about the others.
  const hasFailed = ([first]: WaitingEvent[]) => Number((first?.attempts ?? 0) > 0);
  const due = [...Map.groupBy(found.events, ({ subject }) => subject).values()].sort(
    (one, other) => hasFailed(one) - hasFailed(other),
  );
  if (due.length === 0 && found.end?.position === webhook.seen?.position) return false;
  const isProbe = webhook.receiverFailures >= failuresToRest;
  const round: Round = {
    attempts: [],
    taken: [],
    failed: new Map(),
    failures: webhook.failures,
    receiverFailures: webhook.receiverFailures,
    hasSucceeded: false,
    pauseMs: 0,
    disabled: null,
  };
  const isOver = () =>
    performance.now() > until || turn.signal.aborted || context.signal.aborted || round.pauseMs > 0 || round.disabled;
  const place = pLimit(atOnce);
  const chains = isProbe ? due.slice(0, 1).map((events) => events.slice(0, 1)) : due;
  await Promise.all(
    chains.map((events) =>
      place(async () => {
        for (const event of events)
          if (isOver() || (await sendEvent(context, turn, webhook, event, round)) !== 'taken') return;
      }),
    ),
  );
  const hasOnlyFailed = !round.hasSucceeded && round.failures > webhook.failures;
  if (webhook.isSpent && hasOnlyFailed) round.disabled ??= 'Failing';
  const isWritten = await context.work
    .transaction()
    .execute((trx) => writeRound(trx, context.log, webhook, found, round));
  // Events that happened meanwhile have not queued another job, as this one was running.
  const isMore = found.hasMore || due.length > 0;
  return isWritten && isMore && round.pauseMs === 0 && !round.disabled && !turn.signal.aborted;
}

type Outcome = 'taken' | 'failed' | 'ended';

/** Sends an event. If it cannot be made into a message, it waits and is tried again: the others go on, and the receiver has not failed. */
async function sendEvent(
  context: Job,
  turn: SharedTurn,
  webhook: Receiver,
  event: WaitingEvent,
  round: Round,
): Promise<Outcome> {
  try {
    return await trySend(context, turn, webhook, event, round);
  } catch (error) {
    if (context.signal.aborted) return 'ended';
    if (isOutage(error)) {
      round.pauseMs = Math.max(round.pauseMs, outagePauseMs);
      return 'ended';
    }
    const { mandator, name } = webhook;
    const { subject, attempts } = event;
    context.log.error({ err: (error as Error).stack, mandator, webhook: name, subject }, 'an event could not be sent');
    round.failed.set(event, backOff(attempts, pauses));
    return 'failed';
  }
}

async function trySend(
  { config, work, signal }: Job,
  turn: SharedTurn,
  webhook: Receiver,
  event: WaitingEvent,
  round: Round,
): Promise<Outcome> {
  const data = await readSubject(work, webhook, event.subject);
  const id = `evt_${webhook.mandator}_${event.position}_${event.micros.toString(36)}`;
  const message = { id, kind: event.kind, at: event.at, data };
  turn.begin();
  const at = new Date();
  const answer = await sendMessage(config, webhook, message, AbortSignal.any([signal, turn.signal])).finally(
    turn.ended,
  );
  if (!answer) return 'ended';
  const { position, micros, subject } = event;
  round.attempts.push({ message, event: { position, micros, subject }, attempt: event.attempts + 1, at, answer });
  if (answer.status !== null) turn.answered();
  if (answer.fault === null) {
    round.taken.push(event);
    round.failures = 0;
    round.receiverFailures = 0;
    round.hasSucceeded = true;
    return 'taken';
  }
  round.failures += 1;
  // Messages that were under way together are one probe: they begin the pauses, and do not lengthen them.
  const mostFailures = Math.max(failuresToRest, webhook.receiverFailures + 1);
  if (event.attempts === 0 || answer.status === null)
    round.receiverFailures = Math.min(round.receiverFailures + 1, mostFailures);
  round.failed.set(event, answer.pauseMs ?? backOff(event.attempts, pauses));
  if (answer.status === 410) round.disabled = 'Gone';
  else if (event.isSpent) round.disabled ??= 'Failing';
  const tooMany = round.receiverFailures - failuresToRest;
  const pauseMs = answer.pauseMs ?? (tooMany < 0 ? 0 : backOff(tooMany, pauses));
  round.pauseMs = Math.max(round.pauseMs, pauseMs);
  return 'failed';
}

/** @returns whether the round counts: not if the webhook was changed meanwhile, or another worker was faster */
async function writeRound(
  trx: Transaction,
  log: Log,
  webhook: DueWebhook,
  { events, behind, end }: FoundEvents,
  round: Round,
): Promise<boolean> {
  const { failures, receiverFailures, hasSucceeded, pauseMs, disabled } = round;
  const current = await trx
    .selectFrom('webhook')
    .where('mandator_id', '=', webhook.mandatorId)
    .where('id', '=', webhook.webhookId)
    .select('rounds')
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!current) return false;
  await recordAttempts(trx, webhook, round.attempts);
  if (Number(current.rounds) !== webhook.rounds) return false;
  await trx
    .updateTable('webhook')
    .set({
      rounds: webhook.rounds + 1,
      seen_position: end?.position ?? null,
      seen_micros: end?.micros ?? null,
      failures,
      receiver_failures: receiverFailures,
      failing_since:
        failures === 0 ? null : hasSucceeded ? sql<Date>`now()` : sql<Date>`coalesce(failing_since, now())`,
      ...(hasSucceeded && { succeeded_at: sql<Date>`now()` }),
      ...(pauseMs > 0 && { due_at: inMs(pauseMs) }),
    })
    .where('mandator_id', '=', webhook.mandatorId)
    .where('id', '=', webhook.webhookId)
    .execute();
  const taken = new Set(round.taken);
  const waiting = [...events, ...behind]
    .filter((event) => !taken.has(event))
    .map((event): StillWaiting => {
      const againMs = round.failed.get(event) ?? null;
      return { ...event, attempts: event.attempts + (againMs === null ? 0 : 1), againMs };
    });
  await writeWaiting(trx, webhook, round.taken, waiting);
  if (disabled) await disable(trx, log, webhook, disabled);
  return true;
}
