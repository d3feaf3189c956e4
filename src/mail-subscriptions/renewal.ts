/** Renews subscriptions before they expire, and probes in between whether the mail server still has them. */
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import type { Turn } from '../flow/turns.ts';
import { type Connector, type Fault, hasAnswered } from '../mail-servers/service.ts';
import { endOthersWaits, lookAgain, lookLater } from './due.ts';
import { markCalendars } from './marks.ts';
import { halfOf, notBefore, storedFault } from './provisioning.ts';
import { move, standing, standingStates } from './states.ts';
import type { MailTenant, MailWork } from './work.ts';

/** The most rows that are taken at a time: few enough to ask about all of them within five minutes. */
const mostTaken = 16;

export type DueSubscription = {
  id: number;
  calendarId: number;
  kind: string;
  mailbox: string;
  externalId: string;
  isRenewal: boolean;
  failures: number;
  fault: Fault | null;
};

/** Takes some subscriptions that are due. If this worker dies, another one takes them after five minutes. */
export async function takeDue(db: Database, mandatorId: number): Promise<DueSubscription[]> {
  const { rows } = await sql<DueSubscription>`
    update mail_subscription set due_at = now() + interval '5 minutes'
    where mandator_id = ${mandatorId} and id in (
      select id from mail_subscription
      where mandator_id = ${mandatorId} and state in ${standing} and due_at <= now()
        and heartbeat_minutes is null and calendar_id is not null
      order by due_at limit ${mostTaken} for no key update skip locked)
    returning id, calendar_id as "calendarId", kind, mailbox, external_id as "externalId", renew_at <= now() as "isRenewal", failures, fault`.execute(
    db,
  );
  return rows;
}

/** Renews or probes a subscription. */
export async function lookAfter(
  context: MailWork,
  turn: Turn,
  server: MailTenant,
  { kind, subscriptions }: Connector,
  row: DueSubscription,
): Promise<void> {
  const { work, signal } = context;
  const act = row.isRenewal ? subscriptions?.renew : subscriptions?.probe;
  if (!act || row.kind !== kind) return;
  try {
    turn.begin();
    const answer = await act(row.externalId, AbortSignal.any([signal, turn.signal]));
    turn.answered();
    if (answer === 'Gone') await buryGone(context, server, row);
    else if (answer === 'Alive') await storeLook(work, server, row, null);
    else await storeLook(work, server, row, answer.expiresAt);
  } catch (error) {
    if (hasAnswered(error)) turn.answered();
    if (signal.aborted || turn.signal.aborted) await lookAgain(work, server.mandatorId, row.id);
    else await storeFault(context, server, row, error);
  }
}

async function buryGone(
  { work, log }: MailWork,
  { mandatorId, mandator }: MailTenant,
  row: DueSubscription,
): Promise<void> {
  const isMoved = await work.transaction().execute(async (trx) => {
    const moved = await move(trx, {
      mandatorId,
      from: standingStates,
      to: 'Dead',
      which: sql`id = ${row.id}`,
      text: 'The mail server no longer knows it.',
    });
    if (moved.length > 0) await markCalendars(trx, [row.calendarId], 'Poll');
    return moved.length > 0;
  });
  if (isMoved)
    log.warn({ mandator, mailbox: row.mailbox }, 'mail server has lost a subscription; a new one is requested');
}

/** @param expiresAt null leaves the expiry as it is */
async function storeLook(
  db: Database,
  { mandatorId }: MailTenant,
  { id, calendarId, fault }: DueSubscription,
  expiresAt: Date | null,
): Promise<void> {
  const renewal = expiresAt && sql`, expires_at = ${expiresAt}, renew_at = now() + ${halfOf(expiresAt)}`;
  await db.transaction().execute(async (trx) => {
    await sql`
      update mail_subscription set failures = 0, fault = null,
        fault_text = case when state = 'Suspect' then fault_text end ${renewal ?? sql``}
      where mandator_id = ${mandatorId} and id = ${id} and state in ${standing}`.execute(trx);
    await lookLater(trx, mandatorId, sql`id = ${id} and state in ${standing}`);
    await endOthersWaits(trx, mandatorId, calendarId, fault);
  });
}

const endsSoon = 'It ends within a day, and this was the last answer: ';

/**
 * Stores a failure and retries after 1, 5, 15, 15 … minutes, or a quarter of the time until expiry. It is logged above debug
 * once for each fault, and once more when the subscription ends within a day.
 */
async function storeFault(
  { work, log }: MailWork,
  { mandatorId, mandator }: MailTenant,
  { id, mailbox, fault: before, failures }: DueSubscription,
  error: unknown,
): Promise<void> {
  const { fault, text, retryAt } = storedFault(error);
  if (fault === null) log.error({ err: (error as Error).stack }, 'the renewal or probe of a mail subscription failed');
  const minutes = [1, 5][failures] ?? 15;
  const pause = sql`now() + least(${minutes} * interval '1 minute' * (0.9 + 0.2 * random()),
    greatest((expires_at - now()) / 4, interval '10 seconds'))`;
  const { rows } = await sql<{ endsSoon: boolean; wasSaid: boolean }>`
    with known as materialized (
      select id, coalesce(starts_with(fault_text, ${endsSoon}), false) as was_said,
        expires_at < now() + interval '1 day' as ends_soon
      from mail_subscription where mandator_id = ${mandatorId} and id = ${id} for no key update
    )
    update mail_subscription as tried set
      failures = failures + 1, due_at = least(${notBefore(pause, retryAt)}, expires_at),
      fault = ${fault}, fault_text = case when ends_soon then ${endsSoon}::text || ${text} else ${text} end
    from known where tried.mandator_id = ${mandatorId} and tried.id = known.id and tried.state in ${standing}
    returning ends_soon as "endsSoon", was_said as "wasSaid"`.execute(work);
  const [stored] = rows;
  if (!stored) return;
  const isNews = fault !== before || (stored.endsSoon && !stored.wasSaid);
  const level = !isNews ? 'debug' : fault === 'AccessLost' || stored.endsSoon ? 'error' : 'warn';
  log[level]({ mandator, mailbox, fault, text, endsWithinADay: stored.endsSoon }, 'mail subscription is not renewed');
}
