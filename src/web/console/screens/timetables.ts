/** Timetables: what was imported and how, and new files. */
import { place } from '../address.ts';
import { type Component, h, html } from '../parts/html.ts';
import { t } from '../texts/timetables.ts';
import { BatchList } from '../timetables/batches.ts';
import { Story } from '../timetables/story.ts';

export const Screen: Component<object> = () => {
  const { batch } = place.value;
  return html`
    <div class="page">
      <h1>${batch ? t().story : t().title}</h1>
      ${batch ? h(Story, { id: batch }) : h(BatchList, {})}
    </div>
  `;
};
