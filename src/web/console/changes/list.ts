/** What has changed, by class, teacher or room. Printed, it is the page for the notice board. */
import { addressWith, go } from '../address.ts';
import { type Child, type Component, html } from '../parts/html.ts';
import { opening } from '../parts/link.ts';
import type { Room } from '../rooms/store.ts';
import { t } from '../texts/changes.ts';
import type { Grouping, Lesson, Line, Told } from './lessons.ts';

/** Marks the former value for screen readers too: most do not announce struck-out text. */
const tell = ({ now, before }: Told): Child =>
  before === undefined
    ? now
    : html`${before && html`<del><span class="unseen">${t().before} </span>${before}</del> `}<ins><span class="unseen">${t().now} </span>${now || '–'}</ins>`;

const struck = (isOff: boolean, { now, before }: Told): Child =>
  isOff ? html`<del>${before ?? now}</del>` : tell({ now, before } as Told);

type GroupProperties = {
  by: Grouping;
  name: string;
  lines: readonly Line[];
  rooms: readonly Room[];
  onEdit: ((lesson: Lesson) => void) | undefined;
};

export const Group: Component<GroupProperties> = ({ by, name, lines, rooms, onEdit }) => {
  const room = by === 'room' ? rooms.find((each) => each.name === name) : undefined;
  const openWeek = opening(() => go({ room: room?.id }));
  const row = (line: Line) => {
    const { lesson, mark, time, subject, classes, teachers, room: place } = line;
    const isOff = mark === 'cancelled';
    const what = [time.now, subject.now, classes].filter(Boolean).join(' ');
    return html`
      <tr key=${lesson.id}>
        <td>${struck(isOff, time)}</td>
        <td>${struck(isOff, subject)}</td>
        ${by !== 'class' && html`<td>${classes}</td>`}
        <td>${struck(isOff, teachers)}</td>
        <td>${struck(isOff, place)}</td>
        <td>${mark && html`<b class="mark">${t().marks[mark]}</b>`} ${lesson.remark}</td>
        ${onEdit && html`<td class="deed"><button type="button" class="quiet" aria-label=${t().edit(what)} onClick=${() => onEdit(lesson)}>✎</button></td>`}
      </tr>
    `;
  };
  return html`
    <section class="group" aria-label=${name}>
      <div class="tools-line">
        <h2>${name}</h2>
        ${room && html`<a class="screen-only" href=${addressWith({ room: room.id })} onClick=${openWeek}>${t().week}</a>`}
      </div>
      <div class="sheet" tabindex="0" role="region" aria-label=${`${t().title}: ${name}`}>
        <table class="day-changes">
          <thead><tr>
            <th scope="col">${t().time}</th><th scope="col">${t().subject}</th>
            ${by !== 'class' && html`<th scope="col">${t().class}</th>`}
            <th scope="col">${t().teacher}</th><th scope="col">${t().room}</th><th scope="col">${t().what}</th>
            ${onEdit && html`<td class="deed"></td>`}
          </tr></thead>
          <tbody>${lines.map(row)}</tbody>
        </table>
      </div>
    </section>
  `;
};
