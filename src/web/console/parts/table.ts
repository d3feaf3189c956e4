/** A table with filter, sorting, pages, CSV and a print sheet. Filter and sorting are kept in the address. */
import { useEffect, useState } from 'preact/hooks';
import { go, place } from '../address.ts';
import { t } from '../texts/shell.ts';
import { type Cell, download, toCsv } from './csv.ts';
import { Field } from './field.ts';
import { type Child, h, html } from './html.ts';

export type Column<Row> = {
  key: string;
  title: string;
  /** The value that is sorted, filtered and written to CSV. */
  value: (row: Row) => Cell;
  /** The content of the cell, if that is more than the value. */
  show?: (row: Row) => Child;
  align?: 'end';
};

/** The column of the name, which opens the record. */
export const nameColumn = <Row extends { id: string; name: string }>(
  title: string,
  open: (id: string) => () => void = (record) => () => go({ record }),
): Column<Row> => ({
  key: 'name',
  title,
  value: ({ name }) => name,
  show: ({ id, name }) => html`<button type="button" class="link" onClick=${open(id)}>${name}</button>`,
});

export type TableProperties<Row> = {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  id: (row: Row) => string;
  /** The name of the CSV file, without its extension. */
  name: string;
  /** Loads more of a list that the server pages. */
  more?: (() => void) | undefined;
  /** Whether the server searches all pages for the text in the filter. */
  isSearched?: boolean;
  pageSize?: number;
};

const words = (text: string) => text.toLocaleLowerCase().split(/\s+/).filter(Boolean);

function compare(one: Cell, other: Cell): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  return String(one ?? '').localeCompare(String(other ?? ''), undefined, { numeric: true, sensitivity: 'base' });
}

/** Whether the page is being printed: then all rows are shown, not only those of one page. */
function usePrinting(): boolean {
  const [isPrinting, setPrinting] = useState(false);
  useEffect(() => {
    const [before, after] = [() => setPrinting(true), () => setPrinting(false)];
    addEventListener('beforeprint', before);
    addEventListener('afterprint', after);
    return () => {
      removeEventListener('beforeprint', before);
      removeEventListener('afterprint', after);
    };
  }, []);
  return isPrinting;
}

export function Table<Row>({
  caption,
  columns,
  rows,
  id,
  name,
  more,
  isSearched = false,
  pageSize = 50,
}: TableProperties<Row>) {
  const { filter = '', sort = '', page = '1' } = place.value;
  const isPrinting = usePrinting();
  const wanted = isSearched ? [] : words(filter);
  const found = rows.filter((row) => {
    if (wanted.length === 0) return true;
    const text = columns
      .map(({ value }) => value(row) ?? '')
      .join(' ')
      .toLocaleLowerCase();
    return wanted.every((word) => text.includes(word));
  });
  const isDown = sort.startsWith('-');
  const sortColumn = columns.find(({ key }) => key === sort.replace('-', ''));
  const sorted = sortColumn
    ? found.toSorted((one, other) => compare(sortColumn.value(one), sortColumn.value(other)) * (isDown ? -1 : 1))
    : found;
  const pageCount = Math.max(1, Math.ceil(sorted.length / pageSize));
  const number = Math.min(pageCount, Math.max(1, Number(page) || 1));
  const shown = isPrinting ? sorted : sorted.slice((number - 1) * pageSize, number * pageSize);
  const toPage = (n: number) => () => go({ page: n === 1 ? undefined : String(n) });
  const sortBy = (key: string) => () => go({ sort: sort === key ? `-${key}` : key, page: undefined }, 'replace');
  const csv = () =>
    download(
      `${name}.csv`,
      toCsv([columns.map(({ title }) => title), ...sorted.map((row) => columns.map(({ value }) => value(row)))]),
    );

  return html`
    <div class="table">
      <div class="tools">
        ${h(Field, {
          label: t().table.filter,
          type: 'search',
          value: filter,
          hideLabel: true,
          placeholder: t().table.filter,
          onInput: (value) => go({ filter: value, page: undefined }, 'replace'),
        })}
        <span role="status" class="count">${found.length === rows.length ? t().table.rows(rows.length) : t().table.shown(found.length, rows.length)}</span>
        <span class="gap"></span>
        <button type="button" onClick=${csv}>${t().table.csv}</button>
        <button type="button" onClick=${() => print()}>${t().table.print}</button>
      </div>
      <div class="sheet" tabindex="0" role="region" aria-label=${caption}>
        <table>
          <caption class="unseen">${caption}</caption>
          <thead><tr>
            ${columns.map(
              ({ key, title, align }) => html`
                <th scope="col" class=${align ?? ''} aria-sort=${sortColumn?.key === key ? (isDown ? 'descending' : 'ascending') : undefined}>
                  <button type="button" class="sort" title=${t().table.sortBy(title)} onClick=${sortBy(key)}>${title}</button>
                </th>
              `,
            )}
          </tr></thead>
          <tbody>
            ${shown.map(
              (row) =>
                html`<tr key=${id(row)}>${columns.map(({ value, show, align }) => html`<td class=${align ?? ''}>${show ? show(row) : value(row)}</td>`)}</tr>`,
            )}
          </tbody>
        </table>
        ${found.length === 0 && (isSearched || rows.length > 0) && html`<p class="state">${t().table.none}</p>`}
      </div>
      ${
        (pageCount > 1 || more) &&
        html`
        <div class="tools paging">
          ${
            pageCount > 1 &&
            html`
            <button type="button" disabled=${number === 1} onClick=${toPage(number - 1)}>${t().table.earlier}</button>
            <span>${t().table.page(number, pageCount)}</span>
            <button type="button" disabled=${number === pageCount} onClick=${toPage(number + 1)}>${t().table.later}</button>
          `
          }
          ${more && html`<button type="button" onClick=${more}>${t().table.more}</button>`}
        </div>
      `
      }
    </div>
  `;
}

/** `h(Table, …)` for rows of any type. */
export const table = <Row>(properties: TableProperties<Row>) => h(Table<Row>, properties);
