/** The rows of a file: to filter, and to correct in place. One cell is in the tab order; arrow keys move from there. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { lessonLimits } from '../../../names.ts';
import { withLocalTimes } from '../clock.ts';
import { Field } from '../parts/field.ts';
import { type Child, type Component, h, html } from '../parts/html.ts';
import { useKeys } from '../parts/keys.ts';
import { openSlices } from '../parts/slices.ts';
import { t as shared } from '../texts/shell.ts';
import { t as files } from '../texts/timetable-files.ts';
import { messageOf } from '../texts/timetables.ts';
import { cellAt, type Draft, type RowFault, type Work } from './draft.ts';
import { untisFileOf } from './untis.ts';

type GridProperties = {
  draft: Draft;
  /** The IANA zone of the location of the lessons. */
  timeZone: string;
  isLocked: boolean;
  onCorrect: (sheet: number, row: number, column: number, text: string) => void;
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
  // The input also loses the focus when it is removed.
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
  return html`<input ref=${self} aria-label=${label} value=${value} maxlength=${lessonLimits.text} onKeyDown=${key} onBlur=${() => end(self.current?.value)} />`;
}

/** The rows that contain a text, searched in slices, since there may be a hundred thousand; undefined while searching. */
function useFound(draft: Draft, sheet: number, all: readonly number[], text: string): readonly number[] | undefined {
  const wanted = text.toLocaleLowerCase();
  const [found, setFound] = useState<{ of: string; rows: readonly number[] }>();
  const of = `${sheet} ${draft.work.version} ${all.length} ${wanted}`;
  useEffect(() => {
    if (!wanted) return undefined;
    let isOver = false;
    const look = async () => {
      const giveWay = openSlices();
      const rows: number[] = [];
      for (const row of all) {
        const cells = draft.sheets[sheet]?.rows[row] ?? [];
        if (cells.some((_, column) => cellAt(draft, sheet, row, column).toLocaleLowerCase().includes(wanted)))
          rows.push(row);
        await giveWay();
        if (isOver) return;
      }
      setFound({ of, rows });
    };
    void look();
    return () => {
      isOver = true;
    };
  }, [of]);
  if (!wanted) return all;
  return found?.of === of ? found.rows : undefined;
}

/** The first file with faults or with corrections of them. */
function firstSheetOf({ faults, touched }: Work): number {
  const found = [...touched.map((key) => Number(key.split(' ')[0])), ...faults.map(({ sheet }) => sheet)];
  return found.length === 0 ? 0 : found.reduce((least, sheet) => Math.min(least, sheet));
}

/** The rows of a file that are shown, by the filters. */
function useRows(draft: Draft) {
  const { sheets, work } = draft;
  const [chosenSheet, setSheet] = useState<number>();
  const [isAll, setAll] = useState(false);
  const [text, setText] = useState('');
  const [page, setPage] = useState(1);
  const sheet = Math.min(chosenSheet ?? firstSheetOf(work), sheets.length - 1);
  const byRow = new Map<number, RowFault[]>();
  for (const fault of work.faults) {
    if (fault.sheet !== sheet) continue;
    const others = byRow.get(fault.row);
    if (others) others.push(fault);
    else byRow.set(fault.row, [fault]);
  }
  const touched = work.touched.flatMap((key) => (key.startsWith(`${sheet} `) ? [Number(key.split(' ')[1])] : []));
  const hasFaults = byRow.size > 0 || touched.length > 0;
  const all =
    isAll || !hasFaults
      ? (sheets[sheet]?.rows ?? []).map((_, row) => row)
      : [...new Set([...byRow.keys(), ...touched])].sort((one, other) => one - other);
  const found = useFound(draft, sheet, all, text);
  const pages = Math.max(1, Math.ceil((found?.length ?? 0) / pageSize));
  const number = Math.min(page, pages);
  const fromFirst =
    <Value>(set: (value: Value) => void) =>
    (value: Value) => {
      set(value);
      setPage(1);
    };
  return {
    sheet,
    byRow,
    hasFaults,
    isAll,
    text,
    found,
    pages,
    number,
    setPage,
    setSheet: fromFirst(setSheet),
    setAll: fromFirst(setAll),
    setText: fromFirst(setText),
    shown: (found ?? []).slice((number - 1) * pageSize, number * pageSize),
  };
}

/** The columns with content, in the order of the file. */
function columnsOf({ format, sheets, work }: Draft, at: number): { column: number; title: string }[] {
  const { headers, rows } = sheets[at] ?? { headers: [], rows: [] };
  const used = new Set(Object.values(work.mapping));
  const count = headers.length || (rows[0]?.length ?? 1);
  const untis = files().untis[untisFileOf(rows[0] ?? [])];
  const titleOf = (column: number) =>
    format === 'ICalendar' ? files().line : headers[column] || untis[column] || files().column(column + 1);
  return Array.from({ length: count }, (_, column) => ({ column, title: titleOf(column) })).filter(
    ({ column }) => format !== 'Csv' || at > 0 || used.has(column),
  );
}

export const Grid: Component<GridProperties> = ({ draft, timeZone, isLocked, onCorrect }) => {
  // The API's JSON has instants, and rooms of any location.
  const says = (fault: RowFault) =>
    draft.format === 'Json' ? messageOf(fault) : withLocalTimes(timeZone, messageOf(fault));
  const rows = useRows(draft);
  const { sheet, byRow, shown, found, hasFaults, isAll, text, pages, number } = rows;
  const { rows: all, lines } = draft.sheets[sheet] ?? { rows: [], lines: [] };
  const columns = columnsOf(draft, sheet);
  const lineOf = (row: number) => lines[row] ?? row + 1;
  const [cursor, setCursor] = useState<Cursor>({ line: 0, place: 0 });
  const [isEditing, setEditing] = useState(false);
  const self = useRef<HTMLTableElement>(null);
  const takesFocus = useRef(false);
  useKeys(() => files().keys);
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
    const value = cellAt(draft, sheet, row, column);
    const isHere = line === at.line && place === at.place;
    const wrong = (byRow.get(row) ?? []).filter((fault) => fault.column === column);
    const isCorrected = `${sheet} ${row} ${column}` in draft.work.corrected;
    const end = (next: string | undefined) => {
      takesFocus.current = true;
      setEditing(false);
      if (next !== undefined && next !== value) onCorrect(sheet, row, column, next);
    };
    const open = () => {
      setCursor({ line, place });
      edit();
    };
    return html`
      <td key=${column} role="gridcell" tabindex=${isHere ? 0 : -1} class=${[wrong.length > 0 && 'wrong', isCorrected && 'corrected'].filter(Boolean).join(' ')}
        aria-invalid=${wrong.length > 0 ? 'true' : undefined} aria-readonly=${isLocked ? 'true' : undefined}
        onFocus=${() => setCursor({ line, place })} onDblClick=${open}>
        ${isHere && isEditing ? h(CellInput, { label: files().cellOf(title, lineOf(row)), value, onEnd: end }) : value}
        ${isCorrected && html`<span class="mark"> ${files().correctedMark}</span>`}
        ${wrong.map((fault) => html`<span class="fault">${says(fault)}</span>`)}
      </td>
    `;
  }

  return html`
    <section aria-label=${files().rows} class="table">
      <div class="tools">
        ${
          draft.sheets.length > 1 &&
          h(Field, {
            label: files().file,
            value: String(sheet),
            choices: draft.sheets.map(({ name }, at) => ({ value: String(at), text: name })),
            onInput: (value) => rows.setSheet(Number(value)),
          })
        }
        ${h(Field, {
          label: files().shownRows,
          value: isAll || !hasFaults ? 'all' : 'faults',
          choices: [
            { value: 'faults', text: files().rowsWithFaults },
            { value: 'all', text: files().allRows },
          ],
          disabled: !hasFaults,
          onInput: (value) => rows.setAll(value === 'all'),
        })}
        ${h(Field, { label: shared().table.filter, type: 'search', value: text, onInput: rows.setText })}
        <span role="status" class="count">${found ? files().rowCount(found.length, all.length, byRow.size) : files().searching}</span>
      </div>
      <div class="sheet">
        <table role="grid" aria-label=${files().rows} aria-rowcount=${(found?.length ?? 0) + 1} ref=${self} onKeyDown=${press}>
          <thead><tr role="row">
            <th scope="col" role="columnheader">${lines.length > 0 ? files().line : files().row}</th>
            ${columns.map(({ column, title }) => html`<th key=${column} scope="col" role="columnheader">${title}</th>`)}
          </tr></thead>
          <tbody>
            ${shown.map((row, line) => {
              const others = (byRow.get(row) ?? []).filter(
                (fault) => !columns.some(({ column }) => column === fault.column),
              );
              return html`<tr key=${row} role="row" aria-rowindex=${(number - 1) * pageSize + line + 2}>
                <th scope="row" role="rowheader">${lineOf(row)}${others.map((fault) => html`<span class="fault">${says(fault)}</span>`)}</th>
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
