/** The pictures: bars, and a heat map of the week, whose cells have their numbers, so that nothing depends on colour alone. */
import type { UsageHoursQuery } from '../generated/graphql.ts';
import { locale } from '../look.ts';
import { type Child, html } from '../parts/html.ts';
import { t } from '../texts/use.ts';

type Hour = NonNullable<NonNullable<UsageHoursQuery['usage']>['hours']>[number];
export type Bar = { name: string; value: number; text: string };

/** @param weekday 1 is Monday */
export const dayName = (weekday: number, style: 'long' | 'short' = 'long'): string =>
  // 1 January 2024 was a Monday.
  new Intl.DateTimeFormat(locale.value, { weekday: style, timeZone: 'UTC' }).format(Date.UTC(2024, 0, weekday));
export const hourName = (hour: number): string => `${String(hour).padStart(2, '0')}:00`;

const rowHeight = 28;
const [nameWidth, barWidth, textWidth] = [200, 420, 90];
const shorten = (name: string) => (name.length > 22 ? `${name.slice(0, 21)}…` : name);

/** @param most the value of a bar of full length */
export function bars(title: string, list: readonly Bar[], most: number): Child {
  const width = nameWidth + barWidth + textWidth;
  const height = list.length * rowHeight;
  return html`
    <svg class="bars" viewBox="0 0 ${width} ${height}" width=${width} height=${height} role="img" aria-label=${title}>
      ${list.map(({ name, value, text }, index) => {
        const length = most > 0 ? (Math.min(value, most) / most) * barWidth : 0;
        const y = index * rowHeight;
        return html`<g key=${name}>
          <text x=${nameWidth - 8} y=${y + 18} text-anchor="end">${shorten(name)}</text>
          <rect class="rail" x=${nameWidth} y=${y + 4} width=${barWidth} height=${rowHeight - 8} rx="3" />
          <rect class="bar" x=${nameWidth} y=${y + 4} width=${length} height=${rowHeight - 8} rx="3" />
          <text x=${nameWidth + barWidth + 8} y=${y + 18}>${text}</text>
        </g>`;
      })}
    </svg>
  `;
}

const [cellWidth, cellHeight, headWidth, headHeight] = [44, 32, 56, 24];

/** A heat map of the hours in which something is open or held on any day. */
export function heatMap(title: string, hours: readonly Hour[]): Child {
  const isUsed = ({ use }: Hour) => use.openMinutes > 0 || use.outsideMinutes > 0;
  const used = hours.filter(isUsed).map(({ hour }) => hour);
  if (used.length === 0) return html`<p class="state">${t().neverOpen}</p>`;
  const [first, last] = [Math.min(...used), Math.max(...used)];
  const width = headWidth + (last - first + 1) * cellWidth;
  const height = headHeight + 7 * cellHeight;
  return html`
    <svg class="heat" viewBox="0 0 ${width} ${height}" width=${width} height=${height} role="img" aria-label=${title}>
      ${Array.from({ length: last - first + 1 }, (_, index) => html`<text x=${headWidth + (index + 0.5) * cellWidth} y="16" text-anchor="middle">${first + index}</text>`)}
      ${Array.from({ length: 7 }, (_, index) => html`<text x=${headWidth - 8} y=${headHeight + index * cellHeight + 21} text-anchor="end">${dayName(index + 1, 'short')}</text>`)}
      ${hours
        .filter(({ hour }) => first <= hour && hour <= last)
        .map(({ weekday, hour, use }) => {
          const [x, y] = [headWidth + (hour - first) * cellWidth, headHeight + (weekday - 1) * cellHeight];
          const percent = use.occupancyPercent;
          const level =
            percent === null || percent === undefined ? 'shut' : `level${Math.min(4, Math.floor(percent / 20))}`;
          return html`<g key="${weekday} ${hour}" class=${level}>
            <title>${t().cell(dayName(weekday), hourName(hour), percent === null ? t().closed : t().percent(percent))}</title>
            <rect x=${x + 1} y=${y + 1} width=${cellWidth - 2} height=${cellHeight - 2} rx="3" />
            <text x=${x + cellWidth / 2} y=${y + 21} text-anchor="middle">${percent ?? '–'}</text>
          </g>`;
        })}
    </svg>
  `;
}
