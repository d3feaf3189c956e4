/** A picture with its table and its CSV. The table has the same figures, and is accessible to everybody. */
import type { FiguresFragment } from '../generated/graphql.ts';
import { type Cell, download, toCsv } from '../parts/csv.ts';
import { type Child, html } from '../parts/html.ts';
import { t } from '../texts/use.ts';

export const headOfUse = (): string[] => [
  `${t().occupancy} %`,
  t().open,
  t().occupied,
  t().outside,
  t().unused,
  t().bookings,
  t().noShows,
  t().releasedEarly,
];
export const cellsOfUse = (use: FiguresFragment): Cell[] => [
  use.occupancyPercent,
  use.openMinutes,
  use.occupiedMinutes,
  use.outsideMinutes,
  use.unusedMinutes,
  use.bookings,
  use.noShows,
  use.releasedEarly,
];

type Figure = {
  title: string;
  /** The name of the CSV file. */
  name: string;
  picture: Child;
  head: readonly string[];
  rows: readonly (readonly Cell[])[];
};

export const figure = ({ title, name, picture, head, rows }: Figure) => html`
  <section class="panel figure">
    <div class="tools">
      <h2>${title}</h2><span class="gap"></span>
      <button type="button" aria-label="${t().csv}: ${title}" onClick=${() => download(`${name}.csv`, toCsv([head, ...rows]))}>${t().csv}</button>
    </div>
    <div class="scroll" tabindex="0" role="group" aria-label=${title}>${picture}</div>
    <details>
      <summary>${t().table}</summary>
      <div class="sheet" tabindex="0" role="region" aria-label="${t().table}: ${title}">
        <table>
          <caption class="unseen">${title}</caption>
          <thead><tr>${head.map((text) => html`<th scope="col">${text}</th>`)}</tr></thead>
          <tbody>${rows.map(([first, ...others]) => html`<tr><th scope="row">${first}</th>${others.map((cell) => html`<td class="end">${cell ?? '–'}</td>`)}</tr>`)}</tbody>
        </table>
      </div>
    </details>
  </section>
`;
