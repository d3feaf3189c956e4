/** Timetables: what was imported and how, and new files. */
import { place } from '../address.ts';
import { type Component, h, html } from '../parts/html.ts';
import { ScreenLink } from '../parts/link.ts';
import { t } from '../texts/timetables.ts';
import { BatchList } from '../timetables/batches.ts';
import { FileScreen } from '../timetables/file.ts';
import { Story } from '../timetables/story.ts';

const name = 'timetables';

export const Screen: Component<object> = () => {
  const { batch, file } = place.value;
  const isList = !batch && !file;
  return html`
    <div class="page">
      ${!isList && html`<p>${h(ScreenLink, { screen: name, children: `← ${t().batches}` })}</p>`}
      <div class="tools">
        <h1>${batch ? t().story : file ? t().dropTitle : t().title}</h1>
        <span class="gap"></span>
        ${isList && html`<span class="button main">${h(ScreenLink, { screen: name, members: { file: 'new' }, children: t().newImport })}</span>`}
      </div>
      ${batch ? h(Story, { id: batch }) : file ? h(FileScreen, {}) : h(BatchList, {})}
    </div>
  `;
};
