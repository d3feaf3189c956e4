/**
 * Declines items whose room is taken: the mail server then notifies their organizers. A row of mail_decline is Telling before
 * the mail server is asked, so if the worker dies, the next one looks up the outcome first. The item is always read again before
 * it is declined, so that no item is declined twice, or after it has changed.
 */
import { contain } from '../containment.ts';
import type { Database } from '../db/database.ts';
import type { Turn } from '../flow/turns.ts';
import { type Connector, hasAnswered, type Invitation, mayConcernOneItem } from '../mail-servers/service.ts';
import { type MailWork, markCalendars } from '../mail-subscriptions/service.ts';
import { hour, minute } from '../time/durations.ts';
import { clockTimeOf, localDateOf } from '../time/zones.ts';
import {
  type Claim,
  claim,
  countDeclined,
  type DeclineAnswer,
  forgetAttempt,
  type ItemToDecline,
  listDeclinesDue,
  recordUndeclinable,
  storeAnswer,
  storeFailure,
} from './decline-rows.ts';
import { fewFailing, logFailing, mostFailures, reasonOf, restOfFailing } from './failing.ts';
import { instantsOf } from './items.ts';
import type { WrittenCalendar } from './wanted.ts';

/** The most items of a calendar that are declined in a minute, so that an operator can still stop a mistake. */
const mostPerMinute = 20;
/** The pauses of items that have changed on the mail server, and of those that it refuses to decline. */
const [changedMs, refusedMs] = [5 * minute, hour];

/** Names the room and when it is taken, but not what takes it, as that may be private. */
function commentOf({ resource, start, end }: Claim, timeZone: string): string {
  const [day, lastDay] = [localDateOf(start, timeZone), localDateOf(end, timeZone)];
  const [begin, finish] = [clockTimeOf(start, timeZone), clockTimeOf(end, timeZone)];
  const times = `${day} ${begin} – ${lastDay === day ? '' : `${lastDay} `}${finish} (${timeZone})`;
  return `${resource} ist schon belegt: ${times}.\n${resource} is already taken: ${times}.`;
}

type Declining = {
  context: MailWork;
  calendar: WrittenCalendar;
  invitation: Connector['invitation'];
  turn: Turn;
  signal: AbortSignal;
  /** The time, by `performance.now()`, after which no further item is begun. */
  until: number;
};

/** An item whose lookup or decline has failed. */
type Failing = { item: ItemToDecline; error: unknown };

/**
 * Declines the items that are due, a few at a time; a sweep finds the rest.
 * @param hasWritten whether the mail server has just accepted other items of the calendar
 * @returns how many were declined
 * @throws what failed, if the mail server accepts no item: then the calendar rests
 */
export async function declineItems(declining: Declining, hasWritten: boolean): Promise<number> {
  const { context, calendar, invitation, turn, signal, until } = declining;
  const { work } = context;
  if (calendar.declines) {
    if (invitation === null) {
      const reason = `Calendars of the kind ${calendar.kind} are only read.`;
      await recordUndeclinable(work, calendar, 'Impossible', reason);
    } else await recordUndeclinable(work, calendar, 'Nobody', 'Nobody has invited the room.');
  }
  if (invitation === null) return 0;
  const left = mostPerMinute - (await countDeclined(work, calendar));
  if (left <= 0) return 0;
  const items = await listDeclinesDue(work, calendar, left);
  if (items.length > 0) turn.begin();
  const failing: Failing[] = [];
  let declined = 0;
  for (const item of items) {
    const isServer = !hasWritten && declined === 0 && failing.length >= fewFailing;
    if (isServer || performance.now() > until) break;
    const place = { id: item.itemId, group: item.groupId, occurrence: item.occurrence };
    try {
      const found = await contain(() => invitation(calendar, place, signal));
      turn.answered();
      declined += Number(await declineOne(declining, item, found));
    } catch (error) {
      if (signal.aborted || !mayConcernOneItem(error)) throw error;
      if (hasAnswered(error)) turn.answered();
      failing.push({ item, error });
    }
  }
  if (failing.length > 0) await restFailing(declining, failing, hasWritten || declined > 0);
  return declined;
}

/** Has failing items rest by themselves; or their calendar, at first, if it accepts nothing else. */
async function restFailing(
  { context, calendar }: Declining,
  failing: readonly Failing[],
  hasSucceeded: boolean,
): Promise<void> {
  const { mandator, mailbox, calendarId } = calendar;
  const isServer = !hasSucceeded && failing.length >= fewFailing;
  const doRest = hasSucceeded || isServer || calendar.failures + 1 >= mostFailures;
  const resting = failing.filter(({ item }) => doRest || item.failures > 0);
  await context.work.transaction().execute(async (trx) => {
    for (const { item, error } of resting)
      await storeFailure(trx, calendar, item, { fault: reasonOf(error), restMs: restOfFailing(item.failures) });
    // A reading finds out which of the items still stand.
    if (resting.length > 0) await markCalendars(trx, [calendarId], 'Request');
  });
  for (const { item, error } of resting)
    logFailing(context, { mandator, mailbox, itemId: item.itemId }, error, 'item not declined');
  const first = failing.find(({ item }) => item.failures === 0);
  if (first && (isServer || !doRest)) throw first.error;
}

const changed: DeclineAnswer = {
  state: 'Refused',
  reason: 'It has changed there since it was read.',
  restMs: changedMs,
};

/** @returns whether it was declined */
async function declineOne(declining: Declining, item: ItemToDecline, found: Invitation): Promise<boolean> {
  const { calendar, context } = declining;
  const { work } = context;
  const keep = (answer: DeclineAnswer) => storeAnswer(work, calendar, item, answer);
  if (found.is === 'Open' && standsAs(item, found, calendar)) return await decline(declining, item, found);
  if (found.is === 'Declined' || (found.is === 'Gone' && item.mayBeTold)) await storeTold(work, calendar, item);
  else if (found.is === 'Nobody' || found.is === 'Impossible') await keep({ state: found.is, reason: found.reason });
  else await keep(changed);
  return false;
}

const storeTold = (work: Database, calendar: WrittenCalendar, item: ItemToDecline, changeKey: string | null = null) =>
  work.transaction().execute(async (trx) => {
    await storeAnswer(trx, calendar, item, { state: 'Told', changeKey });
    // A reading finds out what became of the item on the mail server.
    await markCalendars(trx, [calendar.calendarId], 'Request');
  });

async function decline(
  { context: { work }, calendar, turn, signal }: Declining,
  item: ItemToDecline,
  found: Extract<Invitation, { is: 'Open' }>,
): Promise<boolean> {
  const refused = (reason: string) =>
    storeAnswer(work, calendar, item, { state: 'Refused', reason, restMs: refusedMs });
  const { changeKey } = found.item;
  const taken = await claim(work, calendar, item, changeKey);
  if (taken === undefined && item.mayBeTold) await forgetAttempt(work, calendar, item);
  if (taken === 'TooOften') await refused('It was declined several times a day, and was accepted again each time.');
  if (typeof taken !== 'object') return false;
  const outcome = await contain(() => found.decline(commentOf(taken, calendar.timeZone), signal));
  turn.answered();
  if (outcome.is === 'Refused') await refused(outcome.reason);
  else if (outcome.is === 'Changed') await storeAnswer(work, calendar, item, changed);
  else await storeTold(work, calendar, item, changeKey);
  return outcome.is === 'Done';
}

/** Whether the item on the mail server still has the times that were read. */
function standsAs(
  item: ItemToDecline,
  { item: there }: Extract<Invitation, { is: 'Open' }>,
  { timeZone }: WrittenCalendar,
) {
  const times = instantsOf(there, timeZone);
  return times?.start.getTime() === item.start?.getTime() && times?.end.getTime() === item.end?.getTime();
}
