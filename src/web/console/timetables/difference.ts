/** What a dry run would change. */
import { line } from '../../bidi.ts';
import { moment, ownZone } from '../clock.ts';
import type { BatchDetailsQuery } from '../generated/graphql.ts';
import { type Component, html } from '../parts/html.ts';
import { table } from '../parts/table.ts';
import { t } from '../texts/timetables.ts';

type Found = NonNullable<NonNullable<BatchDetailsQuery['batch']>['difference']>;
type Changed = Found['lessons'][number];

const placeText = (place: Changed['before'], timeZone: string): string => {
  if (!place) return '';
  const at = moment(place.start, timeZone);
  return place.resourceName === null ? at : line`${at}, ${place.resourceName}`;
};

export const Difference: Component<{ difference: Found; timeZone?: string }> = ({ difference, timeZone = ownZone }) => {
  const { added, changed, moved, removed, unchanged, lessons } = difference;
  const sum = added + changed + moved + removed;
  return html`
    <div>
      <h2>${t().difference}</h2>
      <p role="status">${t().changes(added, changed, moved, removed, unchanged)}</p>
      ${sum > lessons.length && html`<p>${t().firstOf(lessons.length, sum)}</p>`}
      ${
        lessons.length > 0 &&
        table<Changed>({
          caption: t().difference,
          name: 'difference',
          rows: lessons,
          id: ({ jobKey, lessonKey }) => `${jobKey} ${lessonKey}`,
          columns: [
            { key: 'kind', title: t().severity, value: ({ kind }) => t().kinds[kind] },
            { key: 'job', title: t().jobKey, value: ({ jobKey }) => jobKey },
            { key: 'lesson', title: t().lesson, value: ({ lessonKey }) => lessonKey },
            { key: 'before', title: t().before, value: ({ before }) => placeText(before, timeZone) },
            { key: 'after', title: t().after, value: ({ after }) => placeText(after, timeZone) },
            {
              key: 'fields',
              title: t().field,
              value: ({ fields }) => fields.map((name) => t().fields[name] ?? name).join(', '),
            },
          ],
        })
      }
    </div>
  `;
};
