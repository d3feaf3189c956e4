/** The rows of a file: to filter, and to correct in place. One cell is in the order of tabs; arrows walk from there. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Field } from '../parts/field.ts';
import { type Child, type Component, h, html } from '../parts/html.ts';
import { useKeys } from '../parts/keys.ts';
import { t as shared } from '../texts/shell.ts';
import { t } from '../texts/timetables.ts';
import { type FieldName, fields } from './columns.ts';
import type { Draft, RowFault } from './draft.ts';
import { cellAt } from './jobs.ts';
import { messageOf } from './story.ts';

type GridProperties = {
  draft: Draft;
  isLocked: boolean;
  onCorrect: (row: number, column: number, text: string) => void;
};

const pageSize = 50;
type Cursor = { line: number; place: number };

function CellInput({
  label,
  value,
  onEnd,
}: {
  label: string;
  value: string;
  onEnd: (text: string | undefined) => void;
}) {
  const self = useRef<HTMLInputElement>(null);
  const isOver = useRef(false);
  useLayoutEffect(() => {
    self.current?.focus();
    self.current?.select();
  }, []);
  // It loses the focus when it goes, too.
  const end = (text: string | undefined) => {
    if (isOver.current) return;
    isOver.current = true;
    onEnd(text);
  };
  const key = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.key === 'Enter') end(self.current?.value);
    else if (event.key === 'Escape') end(undefined);
  };
  return html`<input ref=${self} aria-label=${label} value=${value} maxlength="4000" onKeyDown=${key} onBlur=${() => end(self.current?.value)} />`;
}

/** The rows that are shown, by the filters. */
function useRows(draft: Draft) {
  const { file, work } = draft;
  const [isAll, setAll] = useState(false);
  const [text, setText] = useState('');
  const [page, setPage] = useState(1);
  const byRow = new Map<number, RowFault[]>();
  for (const fault of work.faults) byRow.set(fault.row, [...(byRow.get(fault.row) ?? []), fault]);
  const hasFaults = byRow.size > 0 || work.touched.length > 0;
  const all =
    isAll || !hasFaults
      ? file.rows.map((_, row) => row)
      : [...new Set([...byRow.keys(), ...work.touched])].sort((one, other) => one - other);
  const wanted = text.toLocaleLowerCase();
  const isFound = (row: number) =>
    file.headers.some((_, column) => cellAt(draft, row, column).toLocaleLowerCase().includes(wanted));
  const found = wanted ? all.filter(isFound) : all;
  const pages = Math.max(1, Math.ceil(found.length / pageSize));
  const number = Math.min(page, pages);
  return {
    byRow,
    hasFaults,
    isAll,
    text,
    found,
    pages,
    number,
    setPage,
    setAll: (all: boolean) => {
      setAll(all);
      setPage(1);
    },
    setText: (next: string) => {
      setText(next);
      setPage(1);
    },
    shown: found.slice((number - 1) * pageSize, number * pageSize),
  };
}

/** The columns that are something, in the order of the file. */
function columnsOf({ file, work }: Draft): { column: number; title: string }[] {
  const used = new Map<number, FieldName>();
  for (const field of fields) if (work.mapping[field] >= 0) used.set(work.mapping[field], field);
  return [...used.keys()]
    .sort((one, other) => one - other)
    .map((column) => ({ column, title: file.headers[column] || t().column(column + 1) }));
}

export const Grid: Component<GridProperties> = ({ draft, isLocked, onCorrect }) => {
  const rows = useRows(draft);
  const { byRow, shown, found, hasFaults, isAll, text, pages, number } = rows;
  const columns = columnsOf(draft);
  const [cursor, setCursor] = useState<Cursor>({ line: 0, place: 0 });
  const [isEditing, setEditing] = useState(false);
  const self = useRef<HTMLTableElement>(null);
  const takesFocus = useRef(false);
  useKeys(() => t().keys);
  const at = {
    line: Math.min(cursor.line, Math.max(0, shown.length - 1)),
    place: Math.min(cursor.place, Math.max(0, columns.length - 1)),
  };
  useLayoutEffect(() => {
    if (!takesFocus.current || isEditing) return;
    takesFocus.current = false;
    self.current?.querySelector<HTMLElement>('td[tabindex="0"]')?.focus();
  });

  function walk(line: number, place: number): void {
    takesFocus.current = true;
    setCursor({
      line: Math.max(0, Math.min(shown.length - 1, line)),
      place: Math.max(0, Math.min(columns.length - 1, place)),
    });
  }
  const edit = () => !isLocked && setEditing(true);
  function press(event: KeyboardEvent): void {
    const steps: Record<string, () => void> = {
      ArrowDown: () => walk(at.line + 1, at.place),
      ArrowUp: () => walk(at.line - 1, at.place),
      ArrowRight: () => walk(at.line, at.place + 1),
      ArrowLeft: () => walk(at.line, at.place - 1),
      Home: () => walk(at.line, 0),
      End: () => walk(at.line, columns.length - 1),
      PageDown: () => walk(at.line + 10, at.place),
      PageUp: () => walk(at.line - 10, at.place),
      Enter: edit,
      F2: edit,
    };
    const step = steps[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    step();
  }

  function cell(row: number, line: number, { column, title }: (typeof columns)[number], place: number): Child {
    const value = cellAt(draft, row, column);
    const isHere = line === at.line && place === at.place;
    const wrong = (byRow.get(row) ?? []).filter((fault) => fault.column === column);
    const isCorrected = `${row} ${column}` in draft.work.corrected;
    const end = (next: string | undefined) => {
      takesFocus.current = true;
      setEditing(false);
      if (next !== undefined && next !== value) onCorrect(row, column, next);
    };
    const open = () => {
      setCursor({ line, place });
      edit();
    };
    return html`
      <td key=${column} role="gridcell" tabindex=${isHere ? 0 : -1} class=${[wrong.length > 0 && 'wrong', isCorrected && 'corrected'].filter(Boolean).join(' ')}
        aria-invalid=${wrong.length > 0 ? 'true' : undefined} aria-readonly=${isLocked ? 'true' : undefined}
        onFocus=${() => setCursor({ line, place })} onDblClick=${open}>
        ${isHere && isEditing ? h(CellInput, { label: t().cellOf(title, row + 1), value, onEnd: end }) : value}
        ${isCorrected && html`<span class="mark"> ${t().correctedMark}</span>`}
        ${wrong.map((fault) => html`<span class="fault">${messageOf(fault)}</span>`)}
      </td>
    `;
  }

  return html`
    <section aria-label=${t().rows} class="table">
      <div class="tools">
        ${h(Field, {
          label: t().shownRows,
          value: isAll || !hasFaults ? 'all' : 'faults',
          choices: [
            { value: 'faults', text: t().rowsWithFaults },
            { value: 'all', text: t().allRows },
          ],
          disabled: !hasFaults,
          onInput: (value) => rows.setAll(value === 'all'),
        })}
        ${h(Field, { label: shared().table.filter, type: 'search', value: text, onInput: rows.setText })}
        <span role="status" class="count">${t().rowCount(found.length, draft.file.rows.length, byRow.size)}</span>
      </div>
      <div class="sheet">
        <table role="grid" aria-label=${t().rows} aria-rowcount=${found.length + 1} ref=${self} onKeyDown=${press}>
          <thead><tr role="row">
            <th scope="col" role="columnheader">${t().row}</th>
            ${columns.map(({ column, title }) => html`<th key=${column} scope="col" role="columnheader">${title}</th>`)}
          </tr></thead>
          <tbody>
            ${shown.map((row, line) => {
              const others = (byRow.get(row) ?? []).filter(
                (fault) => !columns.some(({ column }) => column === fault.column),
              );
              return html`<tr key=${row} role="row" aria-rowindex=${(number - 1) * pageSize + line + 2}>
                <th scope="row" role="rowheader">${row + 1}${others.map((fault) => html`<span class="fault">${messageOf(fault)}</span>`)}</th>
                ${columns.map((column, place) => cell(row, line, column, place))}
              </tr>`;
            })}
          </tbody>
        </table>
      </div>
      ${
        pages > 1 &&
        html`<div class="tools paging">
          <button type="button" disabled=${number === 1} onClick=${() => rows.setPage(number - 1)}>${shared().table.earlier}</button>
          <span>${shared().table.page(number, pages)}</span>
          <button type="button" disabled=${number === pages} onClick=${() => rows.setPage(number + 1)}>${shared().table.later}</button>
        </div>`
      }
    </section>
  `;
};
