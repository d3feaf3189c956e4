/** Says what others have changed while something was in a form, whose input stays. */
import { type Refusal, Refused } from '../client.ts';
import { dayAt, dayText, ownZone, timeText } from '../clock.ts';
import { present } from '../present.ts';
import { t } from '../texts/shell.ts';
import { html } from './html.ts';

/** One change. `who` and `at` are undefined where nobody has recorded them. */
export type Told = { who?: string | undefined; at?: string | undefined; changes: readonly string[] };

export type Stale = {
  isGone: boolean;
  /** Whether there were more changes before those that are told. */
  hasEarlier?: boolean;
  /** The changes in the present language, the first one first. */
  tell: () => readonly Told[];
};

export const gone: Stale = { isGone: true, tell: () => [] };

/** Why the new state, or what was changed, cannot be read. */
export function refusalIn(error: unknown): Refusal {
  if (error instanceof Refused) return error.refusal;
  throw error;
}

function tellOne({ who = t().stale.somebody, at, changes }: Told) {
  const instant = at === undefined ? present() : Date.parse(at);
  const day = dayAt(ownZone, instant);
  const isToday = day === dayAt(ownZone, present());
  const said = t().stale.changed(who, isToday ? '' : dayText(day, 'medium'), at ? timeText(ownZone, instant) : '');
  return html`
    <p>${said}${changes.length > 0 ? ':' : '.'}</p>
    ${changes.length > 0 && html`<ul>${changes.map((change) => html`<li>${change}</li>`)}</ul>`}
  `;
}

export function StaleBox({ stale: { isGone, hasEarlier, tell } }: { stale: Stale }) {
  if (isGone) return html`<p class="stale" role="alert">${t().stale.isGone}</p>`;
  return html`
    <div class="stale" role="alert">
      ${hasEarlier && html`<p>${t().stale.earlier}</p>`}
      ${tell().map(tellOne)}
      <p>${t().stale.typedStays}</p>
    </div>
  `;
}
