/** The meaning of a file's columns, and how the file is read. */

import { useEffect, useState } from 'preact/hooks';
import { type ColumnName, columnNames } from '../../../timetable-files/headings.ts';
import { line } from '../../bidi.ts';
import { Check, Field } from '../parts/field.ts';
import { type Child, type Component, h, html } from '../parts/html.ts';
import { t as files } from '../texts/timetable-files.ts';
import type { Draft, Work } from './draft.ts';
import { Profiles } from './profiles.ts';
import { type ListName, type Reading, wrongLine, wrongLists } from './reading.ts';

type SettingsProperties = {
  draft: Draft;
  locations: readonly { id: string; name: string; timeZone: string }[];
  isLocked: boolean;
  isRefused: boolean;
  onChange: (change: Partial<Work>) => void;
};

/** Opens when it is needed; closes by hand, or with the next `result` that does not need it, but never while somebody types in it. */
const Fold: Component<{
  title: string;
  isNeeded: boolean;
  isPanel?: boolean;
  result?: object | undefined;
  children: Child;
}> = ({ title, isNeeded, isPanel, result, children }) => {
  const [isOpen, setOpen] = useState(isNeeded);
  useEffect(() => setOpen(isNeeded), [result]);
  useEffect(() => {
    if (isNeeded) setOpen(true);
  }, [isNeeded]);
  const toggled = (event: Event) => setOpen((event.currentTarget as HTMLDetailsElement).open);
  return html`<details class=${isPanel ? 'panel' : ''} open=${isOpen} onToggle=${toggled}><summary>${title}</summary>${children}</details>`;
};

const termLists = ['grid', 'holidays', 'weeks', 'groups'] as const satisfies readonly ListName[];

export const Settings: Component<SettingsProperties> = ({ draft, locations, isLocked, isRefused, onChange }) => {
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
  const isBackwards = reading.to !== '' && reading.to < reading.from;
  const text = (name: 'source' | 'term' | 'from' | 'to' | 'since', type: 'text' | 'date') =>
    h(Field, {
      label: files().how[name] ?? name,
      hint: files().howHints[name],
      value: reading[name],
      type,
      fault: name === 'to' && isBackwards ? files().endsBeforeStart : undefined,
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
  const wrong = wrongLists(reading).map(({ name }) => name);
  const isMissing = (work.result?.missing?.length ?? 0) > 0;
  const hasDays = format === 'Untis' || (format === 'Csv' && mapping.Date < 0);
  const needsTerm = hasDays || isMissing || isBackwards || termLists.some((name) => wrong.includes(name));
  const isFirst = work.result === undefined && work.faults.length === 0;
  if (format === 'Json') return null;
  const children = html`
    ${h(Profiles, { draft, locations, isLocked, onChange })}
    <div class="fields">
      ${h(Field, {
        label: files().location,
        hint: files().locationHint,
        value: work.locationId,
        choices: locations.map(({ id, name, timeZone }) => ({ value: id, text: line`${name} (${timeZone})` })),
        disabled: isLocked,
        onInput: (locationId) => onChange({ locationId }),
      })}
      ${text('source', 'text')}
      ${text('since', 'date')}
    </div>
    ${h(Check, { label: files().how['allowRemoval'] ?? '', hint: files().howHints['allowRemoval'] ?? '', checked: reading.allowRemoval, disabled: isLocked, onChange: (allowRemoval) => set({ allowRemoval }) })}
    ${format === 'Csv' && html`<h3>${files().columns}</h3><div class="fields">${columnNames.map(columnField)}</div>`}
    <h3>${files().roomNames}</h3>
    <div class="fields">${list('rooms')}${list('sharedRooms')}</div>
    ${h(Fold, {
      title: files().termAndGrid,
      isNeeded: needsTerm,
      children: html`
        <div class="fields">${text('term', 'text')}${text('from', 'date')}${text('to', 'date')}</div>
        <div class="fields">${termLists.map(list)}</div>
      `,
    })}
  `;
  return h(Fold, {
    title: files().settings,
    isPanel: true,
    isNeeded: isFirst || isMissing || isRefused || wrong.length > 0,
    result: work.result,
    children,
  });
};
