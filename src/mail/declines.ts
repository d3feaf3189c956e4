/**
 * Declines items whose room is taken: the mail server then notifies their organizers. A row of mail_decline is Telling before
 * the mail server is asked, so if the worker dies, the next one looks up the outcome first. The item is always read again before
 * it is declined, so that no item is declined twice, or after it has changed.
 */
import { contain } from '../containment.ts';
import type { Database } from '../db/database.ts';
import type { Turn } from '../flow/turns.ts';
import type { Connector, Invitation } from '../mail-servers/service.ts';
import { markCalendars } from '../mail-subscriptions/service.ts';
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
} from './decline-rows.ts';
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
  work: Database;
  calendar: WrittenCalendar;
  invitation: Connector['invitation'];
  turn: Turn;
  signal: AbortSignal;
  /** The time, by `performance.now()`, after which no further item is begun. */
  until: number;
};

/** Declines the items that are due, a few at a time; a sweep finds the rest. @returns how many were declined */
export async function declineItems(declining: Declining): Promise<number> {
  const { work, calendar, invitation, turn, signal, until } = declining;
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
  let declined = 0;
  for (const item of items) {
    if (performance.now() > until) break;
    const place = { id: item.itemId, group: item.groupId, occurrence: item.occurrence };
    const found = await contain(() => invitation(calendar, place, signal));
    turn.answered();
    declined += Number(await declineOne(declining, item, found));
  }
  return declined;
}

const changed: DeclineAnswer = {
  state: 'Refused',
  reason: 'It has changed there since it was read.',
  restMs: changedMs,
};

/** @returns whether it was declined */
async function declineOne(declining: Declining, item: ItemToDecline, found: Invitation): Promise<boolean> {
  const { work, calendar } = declining;
  const keep = (answer: DeclineAnswer) => storeAnswer(work, calendar, item, answer);
  if (found.is === 'Open' && standsAs(item, found, calendar)) return await decline(declining, item, found);
  if (found.is === 'Declined' || (found.is === 'Gone' && item.isTelling)) await storeTold(work, calendar, item);
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
  { work, calendar, turn, signal }: Declining,
  item: ItemToDecline,
  found: Extract<Invitation, { is: 'Open' }>,
): Promise<boolean> {
  const refused = (reason: string) =>
    storeAnswer(work, calendar, item, { state: 'Refused', reason, restMs: refusedMs });
  const { changeKey } = found.item;
  const taken = await claim(work, calendar, item, changeKey);
  if (taken === undefined && item.isTelling) await forgetAttempt(work, calendar, item);
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
