/** What the lists of records share, and their forms: the button for a new one, the table, the name, and the button that deletes. */
import { longest } from '../../../names.ts';
import { go } from '../address.ts';
import { addressOf, type Refusal } from '../client.ts';
import { Field, type FieldProperties, once } from '../parts/field.ts';
import { h, html } from '../parts/html.ts';
import { faultAt } from '../parts/refused.ts';
import { type TableProperties, table } from '../parts/table.ts';
import { t } from '../texts/master.ts';
import { labelOf } from '../texts/members.ts';

/** The line above a list. */
export const listTools = (create: string, hint?: string) => html`
  <div class="tools">
    ${hint && html`<p class="hint">${hint}</p>`}
    <span class="gap"></span>
    <button type="button" class="main" onClick=${() => go({ record: 'new' })}>${create}</button>
  </div>
`;

/** Where a page for devices is, which people type there. */
export function addressHint(label: string, path: string) {
  const { href } = addressOf(path);
  return html`<p class="hint">${label} <a href=${href} target="_blank" rel="noreferrer">${href}</a></p>`;
}

type RecordTable<Row> = Omit<TableProperties<Row>, 'id'> & {
  /** Shown instead of a table without rows. */
  none: string;
  /** The id of a row that is being deleted. */
  hidden?: string;
};

export const recordTable = <Row extends { id: string }>({ none, hidden, rows, ...properties }: RecordTable<Row>) =>
  rows.length === 0
    ? html`<p class="state">${none}</p>`
    : table({ ...properties, rows: rows.filter(({ id }) => id !== hidden), id: ({ id }) => id });

type TypedDraft<Values extends object> = {
  values: Values;
  set: (changes: Partial<Values>) => void;
  refusal: Refusal | undefined;
};

/** The field of a member that is typed or chosen. */
export const memberField = <Values extends object>(
  { values, set, refusal }: TypedDraft<Values>,
  member: keyof Values & string,
  more: Partial<FieldProperties> = {},
) =>
  h(Field, {
    label: labelOf(member) ?? member,
    value: values[member] as string,
    onInput: (text) => set({ [member]: text } as Partial<Values>),
    fault: faultAt(refusal, member),
    ...more,
  });

/** The first field of a form. */
export const nameField = (draft: TypedDraft<{ name: string }>) =>
  memberField(draft, 'name', { required: true, autofocus: true, maxLength: longest.name });

/** Nothing for a record that is new. */
export const deleteButton = <Read>(record: Read | null, onDelete: (record: Read) => unknown) =>
  record && html`<button type="button" class="danger" onClick=${once(() => onDelete(record))}>${t().delete}</button>`;
