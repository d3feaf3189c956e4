/**
 * Tells organizers, by the means of their mail server, that their item has no room here: the item is declined there. A row of
 * mail_decline is Telling before the mail server is asked; a worker that dies then leaves a row whose outcome is looked up first.
 * How the item stands there is always read before it is declined, so that none is declined twice, nor one that has changed.
 */
import { contain } from '../containment.ts';
import type { Database } from '../db/database.ts';
import type { Turn } from '../flow/turns.ts';
import type { Connector, Invitation } from '../mail-servers/service.ts';
import { markCalendars } from '../mail-subscriptions/service.ts';
import { zoneFor } from '../time/zones.ts';
import {
  type Claim,
  claim,
  countTold,
  type DeclineAnswer,
  forgetTelling,
  type ItemToTell,
  keepAnswer,
  keepUntellable,
  listToTell,
} from './decline-rows.ts';
import { instantsOf } from './items.ts';
import type { WrittenCalendar } from './wanted.ts';

/** Items of a calendar that are declined within a minute, so that somebody may still stop what goes wrong. */
const mostPerMinute = 20;
/** The pauses of items that have changed there, and of those that the mail server refuses to decline. */
const [changedMs, refusedMs] = [5 * 60_000, 3_600_000];

/** Names the room and when it is taken; nothing of what takes it, which may be private. */
function commentOf({ resource, start, end }: Claim, timeZone: string): string {
  const { wallOf } = zoneFor(timeZone);
  const [from, to] = [start, end].map((at) => new Date(wallOf(at.getTime())).toISOString().slice(0, 16).split('T'));
  const [[day, begin], [lastDay, finish]] = [from as [string, string], to as [string, string]];
  const times = `${day} ${begin} – ${lastDay === day ? '' : `${lastDay} `}${finish} (${timeZone})`;
  return `${resource} ist schon belegt: ${times}.\n${resource} is already taken: ${times}.`;
}

type Telling = {
  work: Database;
  calendar: WrittenCalendar;
  invitation: Connector['invitation'];
  turn: Turn;
  signal: AbortSignal;
  /** When no further item is begun, by `performance.now()`. */
  until: number;
};

/** Tells of the nearest items that are due, some at a time; a sweep finds the rest. @returns how many were declined */
export async function tellOrganizers(telling: Telling): Promise<number> {
  const { work, calendar, invitation, turn, signal, until } = telling;
  if (calendar.declines) {
    if (invitation === null) {
      const reason = `Calendars of the kind ${calendar.kind} are only read.`;
      await keepUntellable(work, calendar, 'Impossible', reason);
    } else await keepUntellable(work, calendar, 'Nobody', 'Nobody has invited the room.');
  }
  if (invitation === null) return 0;
  const left = mostPerMinute - (await countTold(work, calendar));
  if (left <= 0) return 0;
  const items = await listToTell(work, calendar, left);
  if (items.length > 0) turn.begin();
  let told = 0;
  for (const item of items) {
    if (performance.now() > until) break;
    const place = { id: item.itemId, group: item.groupId, occurrence: item.occurrence };
    const found = await contain(() => invitation(calendar, place, signal));
    turn.answered();
    told += Number(await tellOne(telling, item, found));
  }
  return told;
}

const changed: DeclineAnswer = {
  state: 'Refused',
  reason: 'It has changed there since it was read.',
  restMs: changedMs,
};

/** @returns whether it was declined */
async function tellOne(telling: Telling, item: ItemToTell, found: Invitation): Promise<boolean> {
  const { work, calendar } = telling;
  const keep = (answer: DeclineAnswer) => keepAnswer(work, calendar, item, answer);
  if (found.is === 'Open' && standsAs(item, found, calendar)) return await decline(telling, item, found);
  if (found.is === 'Declined' || (found.is === 'Gone' && item.isTelling)) await keepTold(work, calendar, item);
  else if (found.is === 'Nobody' || found.is === 'Impossible') await keep({ state: found.is, reason: found.reason });
  else await keep(changed);
  return false;
}

const keepTold = (work: Database, calendar: WrittenCalendar, item: ItemToTell, changeKey: string | null = null) =>
  work.transaction().execute(async (trx) => {
    await keepAnswer(trx, calendar, item, { state: 'Told', changeKey });
    // What has become of it there is read soon.
    await markCalendars(trx, [calendar.calendarId], 'Request');
  });

async function decline(
  { work, calendar, turn, signal }: Telling,
  item: ItemToTell,
  found: Extract<Invitation, { is: 'Open' }>,
): Promise<boolean> {
  const refused = (reason: string) => keepAnswer(work, calendar, item, { state: 'Refused', reason, restMs: refusedMs });
  const { changeKey } = found.item;
  const taken = await claim(work, calendar, item, changeKey);
  if (taken === undefined && item.isTelling) await forgetTelling(work, calendar, item);
  if (taken === 'TooOften') await refused('It was declined several times a day, and is accepted again.');
  if (typeof taken !== 'object') return false;
  const outcome = await contain(() => found.decline(commentOf(taken, calendar.timeZone), signal));
  turn.answered();
  if (outcome.is === 'Refused') await refused(outcome.reason);
  else if (outcome.is === 'Changed') await keepAnswer(work, calendar, item, changed);
  else await keepTold(work, calendar, item, changeKey);
  return outcome.is === 'Done';
}

/** Whether the item has the times there that were read. */
function standsAs(
  item: ItemToTell,
  { item: there }: Extract<Invitation, { is: 'Open' }>,
  { timeZone }: WrittenCalendar,
) {
  const times = instantsOf(there, timeZone);
  return times?.start.getTime() === item.start?.getTime() && times?.end.getTime() === item.end?.getTime();
}
