/** The resulting hours of the next weeks: rules, exceptions and holidays together, as the server computes them. */
import { addDays } from '../../../time/days.ts';
import { ask } from '../client.ts';
import { clockText, dayAt, dayText, minutesAt, mondayOf } from '../clock.ts';
import { ReallyOpenDocument, RoomHoursDocument } from '../generated/graphql.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { type Component, html } from '../parts/html.ts';
import { present } from '../present.ts';
import { t } from '../texts/hours.ts';

type PreviewProperties = {
  locationId: string;
  /** Undefined for a location: a room without hours of its own is shown. */
  roomId: string | undefined;
  timeZone: string;
};

const weeks = 6;

type Dates = { from: string; to: string };

/** A room of the location without hours of its own: one day shows which. */
async function findRoomOf(locationId: string, from: string, stop: AbortSignal): Promise<string | undefined> {
  const { openingHours } = await ask(RoomHoursDocument, { locationId, from, to: from }, stop);
  return openingHours?.resources.find(({ weekly }) => weekly.every((rule) => rule.resourceId === null))?.resourceId;
}

async function readHours({ locationId, roomId }: PreviewProperties, dates: Dates, stop: AbortSignal) {
  const shown = roomId ?? (await findRoomOf(locationId, dates.from, stop));
  return shown === undefined
    ? { resource: null, holidays: null }
    : await ask(ReallyOpenDocument, { roomId: shown, locationId, ...dates }, stop);
}

export const Preview: Component<PreviewProperties> = (properties) => {
  const { locationId, roomId, timeZone } = properties;
  const from = mondayOf(dayAt(timeZone, present()));
  const to = addDays(from, weeks * 7 - 1);
  const asked = useAsked((stop) => readHours(properties, { from, to }, stop), [locationId, roomId]);
  return html`
    <div class="panel form">
      <h2>${t().preview}</h2>
      ${showAsked(asked, ({ resource, holidays }) => {
        const found = resource?.openingHours;
        if (!found) return html`<p class="hint">${t().noRoomToShow}</p>`;
        if (found.weekly.length === 0 && found.intervals.length === 0) return html`<p>${t().alwaysOpen}</p>`;
        const touches = (date: string) => (span: { fromDate: string; toDate: string }) =>
          span.fromDate <= date && date <= span.toDate;
        // A closed day ends the night before at midnight, whatever time its hours name.
        const endText = (end: number) => clockText(minutesAt(timeZone, end)).replace('00:00', '24:00');
        const cell = (date: string) => {
          const open = found.intervals.filter(({ localDate }) => localDate === date);
          // The first exception for a date applies, also on a holiday.
          const exception = found.exceptions.find(touches(date));
          const why = exception
            ? [exception.reason ?? t().exception]
            : (holidays?.nodes ?? []).filter(touches(date)).map(({ name }) => name);
          return html`<td class=${why.length > 0 ? 'other' : open.length === 0 ? 'shut' : ''}>
            <b>${dayText(date, 'short')}</b><br />
            ${open.length === 0 ? t().closed : open.map(({ opens, end }) => html`<span>${opens}–${endText(Date.parse(end))}</span><br />`)}
            ${why.length > 0 && html`<small>${[...new Set(why)].join(', ')}</small>`}
          </td>`;
        };
        return html`<div class="sheet" tabindex="0" role="region" aria-label=${t().preview}>
          <table class="weeks"><caption class="unseen">${t().preview}</caption><tbody>
            ${Array.from({ length: weeks }, (_, week) => html`<tr>${Array.from({ length: 7 }, (_, day) => cell(addDays(from, week * 7 + day)))}</tr>`)}
          </tbody></table>
        </div>`;
      })}
    </div>
  `;
};
