/** What the columns of a file are, and how its rows become jobs. */
import { Field } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { t } from '../texts/timetables.ts';
import { type FieldName, fields } from './columns.ts';
import type { Draft, Work } from './draft.ts';

type SettingsProperties = {
  draft: Draft;
  locations: readonly { id: string; name: string; timeZone: string }[];
  isLocked: boolean;
  onChange: (change: Partial<Work>) => void;
};

export const Settings: Component<SettingsProperties> = ({ draft, locations, isLocked, onChange }) => {
  const { file, work } = draft;
  const columns = [
    { value: '-1', text: t().noColumn },
    ...file.headers.map((header, column) => ({ value: String(column), text: header || t().column(column + 1) })),
  ];
  const columnField = (field: FieldName) =>
    h(Field, {
      key: field,
      label: t().fields[field] ?? field,
      value: String(work.mapping[field]),
      choices: columns,
      disabled: isLocked,
      onInput: (value) => onChange({ mapping: { ...work.mapping, [field]: Number(value) } }),
    });
  const isOwnKey = work.mapping.jobKey >= 0;
  return html`
    <details class="panel" open=${work.result === undefined && work.faults.length === 0}>
      <summary>${t().settings}</summary>
      <div class="fields">
        ${h(Field, {
          label: t().location,
          hint: t().locationHint,
          value: work.locationId,
          choices: locations.map(({ id, name, timeZone }) => ({ value: id, text: `${name} (${timeZone})` })),
          disabled: isLocked,
          onInput: (locationId) => onChange({ locationId }),
        })}
        ${
          !isOwnKey &&
          h(Field, {
            label: t().jobBy,
            value: work.jobBy,
            choices: [
              { value: 'class', text: t().jobByClass },
              { value: 'file', text: t().jobByFile },
            ],
            hint: t().jobByHint,
            disabled: isLocked,
            onInput: (value) => onChange({ jobBy: value === 'class' ? 'class' : 'file' }),
          })
        }
        ${
          !isOwnKey &&
          h(Field, {
            label: t().jobKey,
            value: work.jobKey,
            maxLength: 128,
            disabled: isLocked,
            onInput: (jobKey) => onChange({ jobKey }),
          })
        }
      </div>
      <h3>${t().columns}</h3>
      <div class="fields">${fields.map(columnField)}</div>
    </details>
  `;
};
