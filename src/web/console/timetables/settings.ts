/** What the columns of a file are, and how it is read. */
import { Check, Field } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { t as files } from '../texts/timetable-files.ts';
import { type ColumnName, columnNames } from './columns.ts';
import type { Draft, Work } from './draft.ts';
import { Profiles } from './profiles.ts';
import { type ListName, type Reading, wrongLine } from './reading.ts';

type SettingsProperties = {
  draft: Draft;
  locations: readonly { id: string; name: string; timeZone: string }[];
  isLocked: boolean;
  onChange: (change: Partial<Work>) => void;
};

const termLists = ['grid', 'holidays', 'weeks', 'groups'] as const satisfies readonly ListName[];

export const Settings: Component<SettingsProperties> = ({ draft, locations, isLocked, onChange }) => {
  const { format, sheets, work } = draft;
  const { reading, mapping } = work;
  const columns = [
    { value: '-1', text: files().noColumn },
    ...(sheets[0]?.headers ?? []).flatMap((header, column) =>
      header ? [{ value: String(column), text: header }] : [],
    ),
  ];
  const set = (change: Partial<Reading>) => onChange({ reading: { ...reading, ...change } });
  const columnField = (name: ColumnName) =>
    h(Field, {
      key: name,
      label: files().columnNames[name] ?? name,
      value: String(mapping[name]),
      choices: columns,
      disabled: isLocked,
      onInput: (value) => onChange({ mapping: { ...mapping, [name]: Number(value) } }),
    });
  const text = (name: 'source' | 'term' | 'from' | 'to' | 'since', type: 'text' | 'date') =>
    h(Field, {
      label: files().how[name] ?? name,
      hint: files().howHints[name],
      value: reading[name],
      type,
      maxLength: 40,
      disabled: isLocked,
      onInput: (value) => set({ [name]: value }),
    });
  const list = (name: ListName) => {
    const wrong = wrongLine(name, reading[name]);
    return h(Field, {
      key: name,
      label: files().how[name] ?? name,
      hint: files().howHints[name],
      value: reading[name],
      type: 'textarea',
      fault: wrong === undefined ? undefined : files().wrongLine(wrong),
      disabled: isLocked,
      onInput: (value) => set({ [name]: value }),
    });
  };
  const needsTerm = format === 'Untis' || (format === 'Csv' && mapping.Date < 0);
  return html`
    <details class="panel" open=${work.result === undefined && work.faults.length === 0}>
      <summary>${files().settings}</summary>
      ${format !== 'Json' && h(Profiles, { draft, locations, isLocked, onChange })}
      <div class="fields">
        ${
          format !== 'Json' &&
          h(Field, {
            label: files().location,
            hint: files().locationHint,
            value: work.locationId,
            choices: locations.map(({ id, name, timeZone }) => ({ value: id, text: `${name} (${timeZone})` })),
            disabled: isLocked,
            onInput: (locationId) => onChange({ locationId }),
          })
        }
        ${format !== 'Json' && text('source', 'text')}
        ${format !== 'Json' && text('since', 'date')}
      </div>
      ${format !== 'Json' && h(Check, { label: files().how['allowRemoval'] ?? '', hint: files().howHints['allowRemoval'] ?? '', checked: reading.allowRemoval, disabled: isLocked, onChange: (allowRemoval) => set({ allowRemoval }) })}
      ${format === 'Csv' && html`<h3>${files().columns}</h3><div class="fields">${columnNames.map(columnField)}</div>`}
      ${
        format !== 'Json' &&
        html`<details open=${needsTerm}>
          <summary>${files().termAndGrid}</summary>
          <div class="fields">${text('term', 'text')}${text('from', 'date')}${text('to', 'date')}</div>
          <div class="fields">${termLists.map(list)}${list('rooms')}</div>
        </details>`
      }
    </details>
  `;
};
