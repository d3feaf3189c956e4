/** Tells people why something was refused and what to do, with the trace id to copy. */

import { useRef } from 'preact/hooks';
import { leadingMembers } from '../../../names.ts';
import { minute } from '../../../time/durations.ts';
import type { Refusal } from '../client.ts';
import { dayAt, dayText, momentText, ownZone } from '../clock.ts';
import type { Fault } from '../fault.ts';
import { language } from '../look.ts';
import { conflictTexts } from '../texts/conflicts.ts';
import { labelOf } from '../texts/members.ts';
import { limitTexts, problemTexts } from '../texts/problems.ts';
import { t } from '../texts/shell.ts';
import { copy } from './copy.ts';
import type { RefusedFault } from './field.ts';
import { html } from './html.ts';
import { toast } from './toast.ts';

/** Whether a conflict is about no member of what was sent. */
const isOfState = ({ code, faults }: Pick<Refusal, 'code' | 'faults'>) =>
  code === 'Conflict' && faults.length > 0 && faults.every(({ field }) => field === null);

/** Whether the faults are about members of what was sent. */
const isOfInput = (refusal: Pick<Refusal, 'code' | 'faults'>) =>
  (refusal.code === 'InvalidInput' || refusal.code === 'Conflict') && refusal.faults.length > 0 && !isOfState(refusal);

/** The console's text for the code, or else the server's message, which says more, but in English. */
export function sayRefusal({
  code,
  message,
  faults = [],
  conflicts = [],
  retryAfterSeconds,
}: Pick<Refusal, 'code' | 'message' | 'retryAfterSeconds'> & Partial<Pick<Refusal, 'faults' | 'conflicts'>>): string {
  const isState = isOfState({ code, faults });
  // Faults of the present state say all that there is to say.
  if (isState && conflicts.length === 0)
    return [...faults.map((fault) => sayFault(fault)), retryAfterSeconds && t().retryAfter(retryAfterSeconds)]
      .filter(Boolean)
      .join(' ');
  // The text for this code leads to the faults.
  const leadsToFaults = isOfInput({ code, faults });
  const isVague = code === 'InvalidInput' && !leadsToFaults;
  const told = conflicts.length > 0 ? 'RoomOccupied' : leadsToFaults ? 'InvalidInput' : code;
  const known = isVague ? undefined : problemTexts()[told];
  const more =
    language.value === 'en' && message && !leadsToFaults && code !== 'Offline' && code !== 'PreconditionFailed'
      ? withLabels(message)
      : undefined;
  const wait = retryAfterSeconds ? ` ${t().retryAfter(retryAfterSeconds)}` : '';
  return (more ?? known ?? withLabels(message)) + wait;
}

/** What a limit allows; empty if the fault has no figures. @param timeZone of its room */
function sayLimit({ code, limit }: Fault, timeZone: string): string {
  const say = limitTexts();
  const { policy, minutes, days, bookings, start, earliest, bookableFrom, week, nextWeek } = limit ?? {};
  const most = bookings ? say.bookings(bookings) : days ? say.days(days) : say.minutes(minutes ?? 0);
  const date = (day: string) => dayText(day, 'medium');
  const said = [
    // Rounded up: a form takes whole minutes.
    code === 'TooSoon' &&
      earliest &&
      say.TooSoon(most, momentText(timeZone, Math.ceil(Date.parse(earliest) / minute) * minute)),
    // No time before the start is enough.
    code === 'TooSoon' && limit && !earliest && say.mustAsk,
    code === 'TooFarAhead' &&
      days &&
      start &&
      bookableFrom &&
      say.TooFarAhead(days, date(dayAt(timeZone, Date.parse(start))), date(bookableFrom)),
    code === 'TooLong' && limit && say.TooLong(most),
    code === 'QuotaReached' && week && nextWeek && say.QuotaReached(most, date(week), date(nextWeek)),
    policy && say.policy(policy),
  ];
  return said.filter(Boolean).join(' ');
}

/** The label of a member of the API; its name if no form has it. */
function labelAt(member: string): string {
  const name = member.split(/[.[\]]+/).findLast((part) => /^[a-z]/i.test(part)) ?? member;
  return labelOf(name) ?? name;
}

/** A message with labels in place of the members that it begins with. */
const withLabels = (message: string): string =>
  message.replace(leadingMembers, (_, members: string) => `${members.split(', ').map(labelAt).join(', ')}: `);

/**
 * @param timeZone of the room that the fault is about
 * @param isNamed whether the label of its input is shown beside it
 */
export function sayFault(fault: Fault, timeZone = ownZone, isNamed = true): string {
  const { code, message: whole } = fault;
  const message = isNamed ? whole.replace(leadingMembers, '') : withLabels(whole);
  // Unlike the server's messages, these have no instants in UTC and no nouns of the API.
  const conflict = conflictTexts()[code];
  if (conflict) return conflict;
  const known = problemTexts()[code];
  const figures = sayLimit(fault, timeZone);
  if (known && figures) return `${known} ${figures}`;
  // The message names instants in UTC, while the form says when the room is open.
  if (known && code === 'OutsideOpeningHours') return known;
  if (language.value === 'en' || !known) return message;
  // These codes do not say what would be possible.
  return code === 'InvalidValue' || code === 'InvalidType' ? `${known} (${message.replace(/\.$/, '')}).` : known;
}

/** A refusal as a message, which has no inputs beside which its faults could be shown. @param timeZone as of `sayFault` */
export const toastRefusal = (refusal: Refusal, timeZone?: string): void =>
  toast(refusal.faults.map((fault) => sayFault(fault, timeZone, false)).join(' ') || sayRefusal(refusal), {
    kind: 'fault',
  });

/** The fault of an input, by its name in the API. @param timeZone as of `sayFault` */
export const faultAt = (refusal: Refusal | undefined, field: string, timeZone?: string): RefusedFault | undefined => {
  const found = refusal?.faults.find((fault) => fault.field === field);
  return found && refusal && { text: sayFault(found, timeZone), of: refusal };
};

/** Nothing if the faults are all shown at their fields. @param fields the fields that show their own faults */
export function RefusedBox({ refusal, fields = [] }: { refusal: Refusal | undefined; fields?: readonly string[] }) {
  const trace = useRef<HTMLElement>(null);
  if (!refusal) return null;
  const others = isOfState(refusal)
    ? []
    : refusal.faults.filter(({ field }) => field === null || !fields.includes(field));
  if (isOfInput(refusal) && others.length === 0 && refusal.conflicts.length === 0) return null;
  const { traceId } = refusal;
  return html`
    <div class="refused" role="alert">
      <p>${sayRefusal(refusal)}</p>
      ${others.length > 0 && html`<ul>${others.map((fault) => html`<li>${fault.field ? `${labelAt(fault.field)}: ` : ''}${sayFault(fault)}</li>`)}</ul>`}
      ${traceId && html`<p class="trace">${t().trace} <code ref=${trace}>${traceId}</code> <button type="button" class="quiet" onClick=${() => void copy(traceId, trace.current)}>${t().copy}</button></p>`}
    </div>
  `;
}
