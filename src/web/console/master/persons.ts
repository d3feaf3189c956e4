/** The persons: a table, and the form of the one that the address names, with its PINs and its erasure. */

import { useState } from 'preact/hooks';
import { longest } from '../../../names.ts';
import { go, leave, place } from '../address.ts';
import { act, ask } from '../client.ts';
import { ownZone } from '../clock.ts';
import { ChangePersonDocument, CreatePersonDocument, MasterPersonDocument, type Role } from '../generated/graphql.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { Check, Field, type FieldProperties } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { useOpened } from '../parts/opened.ts';
import { table } from '../parts/table.ts';
import { personName } from '../person-name.ts';
import { t as shared } from '../texts/master.ts';
import { labelOf, labels } from '../texts/members.ts';
import { t } from '../texts/persons.ts';
import { choicesOf, type Named, type Person, readGroups, readSomePersons } from './data.ts';
import { Erasure } from './erase.ts';
import { memberField } from './list.ts';
import { Pins } from './pins.ts';
import { RecordDialog, useRecord } from './record.ts';

type Values = { name: string; email: string; role: Role; teacherCode: string; timeZone: string; active: boolean };
type FormProperties = { person: Person | null; onSaved: () => void; onClose: () => void };

/** Without `Display`: displays are managed on another screen. */
const roles = ['User', 'Importer', 'Admin'] as const satisfies readonly Role[];
const zones = Intl.supportedValuesOf('timeZone');
const codeOf = (text: string) => text.trim() || null;

const PersonForm: Component<FormProperties> = ({ person, onSaved, onClose }) => {
  const { opened: within, show, close } = useOpened<'pins' | 'erasure'>('within');
  const closeAll = () => {
    close();
    onClose();
  };
  const draft = useRecord<Values, Person>({
    record: person,
    subject: 'Person',
    valuesOf: (read) => ({
      name: read?.name ?? '',
      email: read?.email ?? '',
      role: read?.role ?? 'User',
      teacherCode: read?.teacherCode ?? '',
      timeZone: read?.timeZone ?? ownZone,
      active: read?.active ?? true,
    }),
    read: async (id) => (await ask(MasterPersonDocument, { id })).person,
    create: ({ name, email, role, timeZone, teacherCode }) =>
      act(CreatePersonDocument, { input: { name, email, role, timeZone, teacherCode: codeOf(teacherCode) } }),
    change: ({ id, version }, { teacherCode, ...plain }) =>
      act(ChangePersonDocument, {
        id,
        version,
        input: { ...plain, ...(teacherCode !== undefined && { teacherCode: codeOf(teacherCode) }) },
      }),
    onSaved,
  });
  const { base, values, set } = draft;
  if (base && within === 'pins') return h(Pins, { person: base, onClose: closeAll });
  if (base && within === 'erasure') return h(Erasure, { person: base, onDone: onSaved, onClose: closeAll });
  const input = (member: Exclude<keyof Values, 'active'>, more: Partial<FieldProperties> = {}) =>
    memberField(draft, member, more);
  const known = roles.find((role) => role === values.role);
  return h(RecordDialog, {
    title: base?.name ?? t().newPerson,
    draft,
    fields: ['name', 'email', 'role', 'teacherCode', 'timeZone', 'active'],
    onClose,
    children: html`
      ${input('name', { required: true, autofocus: true, maxLength: longest.name })}
      ${input('email', { required: true, type: 'email' })}
      ${input('role', { choices: roles.map((role) => ({ value: role, text: t().roles[role] })), hint: known && t().roleMay[known] })}
      ${input('teacherCode', { hint: t().codeHint })}
      ${input('timeZone', { required: true, suggestions: zones })}
      ${base && h(Check, { label: labelOf('active', 'Person') ?? '', checked: values.active, onChange: (active) => set({ active }), hint: t().activeHint })}
    `,
    more:
      base &&
      html`
        <button type="button" onClick=${() => show('pins')}>${t().pins} …</button>
        <button type="button" class="danger" onClick=${() => show('erasure')}>${t().erase} …</button>
      `,
  });
};

const stateOf = ({ active, erasedAt }: Person) => (erasedAt ? t().erased : active ? t().isActive : t().inactive);

export const Screen: Component<object> = () => {
  const { role = '', active = '', group = '', filter = '', record } = place.value;
  const wish = [role, active, group, filter];
  const [shown, setShown] = useState({ of: '', pages: 1 });
  const pages = shown.of === wish.join('\n') ? shown.pages : 1;
  const groups = useAsked(readGroups, []);
  const asked = useAsked(
    (stop) =>
      readSomePersons(
        {
          ...(role && { role: role as Role }),
          ...(active && { active: active === 'yes' }),
          ...(group && { groupId: group }),
          ...(filter.trim() && { search: filter.trim() }),
        },
        pages,
        stop,
      ),
    [...wish, pages],
  );
  const pick = (member: string) => (value: string) => go({ [member]: value, page: undefined }, 'replace');
  // A person that has just been erased is no longer in the form whose dialog is open.
  const close = () => leave('dialog', 'record');
  const named: readonly Named[] = groups.data ?? [];
  const listed = asked.data?.persons.find(({ id }) => id === record);
  // The address may name a person of a later page.
  const other = useAsked(
    async (stop) =>
      record && record !== 'new' && asked.data && !listed
        ? (await ask(MasterPersonDocument, { id: record }, stop)).person
        : null,
    [record, asked.data === undefined, listed === undefined],
  );
  const found = listed ?? (other.data?.id === record ? other.data : undefined);
  return html`
    <div class="form">
      <div class="tools">
        ${h(Field, { label: labels().role, hideLabel: true, value: role, onInput: pick('role'), choices: [{ value: '', text: t().everyRole }, ...roles.map((each) => ({ value: each, text: t().roles[each] }))] })}
        ${h(Field, { label: t().state, hideLabel: true, value: active, onInput: pick('active'), choices: Object.entries(t().states).map(([value, text]) => ({ value, text })) })}
        ${named.length > 0 && h(Field, { label: t().group, hideLabel: true, value: group, onInput: pick('group'), choices: [{ value: '', text: t().everyGroup }, ...choicesOf(named)] })}
        <span class="gap"></span>
        <button type="button" class="main" onClick=${() => go({ record: 'new' })}>${t().newPerson}</button>
      </div>
      ${showAsked(
        asked,
        ({ persons, hasMore }) =>
          table({
            caption: shared().parts.persons,
            name: 'persons',
            rows: persons,
            isSearched: true,
            more: hasMore ? () => setShown({ of: wish.join('\n'), pages: pages + 1 }) : undefined,
            id: ({ id }) => id,
            columns: [
              {
                key: 'name',
                title: labels().name,
                value: ({ id, name }) => personName(name, id),
                show: ({ id, name }) =>
                  html`<button type="button" class="link" onClick=${() => go({ record: id })}>${personName(name, id)}</button>`,
              },
              { key: 'email', title: labels().email, value: ({ email }) => email },
              { key: 'role', title: labels().role, value: (person) => t().roles[person.role] },
              { key: 'code', title: labels().teacherCode, value: ({ teacherCode }) => teacherCode },
              { key: 'state', title: t().state, value: stateOf },
            ],
          }),
        { when: ({ persons }) => persons.length === 0 && filter === '', text: t().nobody },
      )}
      ${found?.erasedAt && h(Erasure, { key: found.id, person: found, onDone: asked.reload, onClose: close })}
      ${(record === 'new' || (found && !found.erasedAt)) && h(PersonForm, { key: record ?? '', person: found ?? null, onSaved: asked.reload, onClose: close })}
    </div>
  `;
};
