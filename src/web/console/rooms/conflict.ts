/** What is in the way of a booking, and what would be free instead. */
import { line } from '../../bidi.ts';
import type { Alternative, Conflict, Refusal } from '../client.ts';
import { dayAt, dayText, rangeIn, timeText } from '../clock.ts';
import { once } from '../parts/field.ts';
import { type Component, html } from '../parts/html.ts';
import { t } from '../texts/rooms.ts';

type ConflictProperties = {
  refusal: Refusal;
  timeZone: string;
  nameOf: (resourceId: string) => string;
  onTake: (alternative: Alternative) => unknown;
  /** Books a series without the dates that are taken. */
  onSkip?: (() => unknown) | false | undefined;
};

export const ConflictList: Component<ConflictProperties> = ({ refusal, timeZone, nameOf, onTake, onSkip }) => {
  const { conflicts, alternatives } = refusal;
  if (conflicts.length === 0 && alternatives.length === 0) return null;
  const kind = (name: string) => t().kinds[name as keyof ReturnType<typeof t>['kinds']] ?? name;
  const show = ({ start, end, subject, resourceId, kind: of }: Conflict) =>
    html`<li><b>${subject ?? kind(of)}</b> <span>${nameOf(resourceId)}, ${rangeIn(timeZone, start, end)}</span></li>`;
  const dates = new Set(conflicts.map(({ wantedStart }) => wantedStart)).size;
  return html`
    <div class="conflicts">
      ${conflicts.length > 0 && html`<h3>${onSkip ? t().datesTaken(dates) : t().inTheWay}</h3><ul>${conflicts.map(show)}</ul>`}
      ${onSkip && html`<div class="buttons"><button type="button" onClick=${once(onSkip)}>${t().skip(dates)}</button></div>`}
      ${
        alternatives.length > 0
          ? html`<h3>${t().alternatives}</h3>
        <div class="alternatives">${alternatives.map((alternative) => {
          const { resourceName, start, end } = alternative;
          const day = dayText(dayAt(timeZone, Date.parse(start)), 'short');
          const what = line`${resourceName}, ${day} ${timeText(timeZone, Date.parse(start))}–${timeText(timeZone, Date.parse(end))}`;
          return html`<button type="button" aria-label=${t().take(what)} onClick=${once(() => onTake(alternative))}>${what}</button>`;
        })}</div>`
          : html`<p>${t().noAlternatives}</p>`
      }
    </div>
  `;
};
