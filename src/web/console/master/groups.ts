/** Groups of persons, which policies name: a table, and the form with the members. */
import { useState } from 'preact/hooks';
import { place } from '../address.ts';
import { act, ask } from '../client.ts';
import {
  ChangeGroupDocument,
  CreateGroupDocument,
  DeleteGroupDocument,
  MasterGroupDocument,
  type MasterGroupFragment,
} from '../generated/graphql.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { Field } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { nameColumn } from '../parts/table.ts';
import { t as shared } from '../texts/master.ts';
import { t } from '../texts/persons.ts';
import { choicesOf, groupLists, nameIn, namesOf, type Person, readGroups, readPersons, readPolicies } from './data.ts';
import { type Deletable, useDeletion } from './delete.ts';
import { deleteButton, listTools, nameField, recordTable } from './list.ts';
import { RecordDialog, useRecord } from './record.ts';

type Group = MasterGroupFragment & { members: readonly string[] };
type Values = { name: string; members: readonly string[] };

/** The input of the API, which takes the members to add and those to remove. */
function inputOf(before: readonly string[], { name, members = before }: Partial<Values>) {
  const [added, gone] = [members.filter((id) => !before.includes(id)), before.filter((id) => !members.includes(id))];
  return { ...(name !== undefined && { name }), addMembers: added, removeMembers: gone };
}
const membersOf = async (groupId: string) => (await readPersons({ groupId })).map(({ id }) => id);

type FormProperties = {
  group: Group | null;
  persons: readonly Person[];
  onSaved: () => void;
  onDelete: (group: Group) => unknown;
  onClose: () => void;
};

const GroupForm: Component<FormProperties> = ({ group, persons, onSaved, onDelete, onClose }) => {
  const [chosen, setChosen] = useState('');
  const draft = useRecord<Values, Group>({
    record: group,
    subject: 'Group',
    valuesOf: (read) => ({ name: read?.name ?? '', members: read?.members ?? [] }),
    async read(id) {
      const [found, members] = await Promise.all([ask(MasterGroupDocument, { id }), membersOf(id)]);
      return found.group && { ...found.group, members };
    },
    async create({ name, members }) {
      const { done, refused } = await act(CreateGroupDocument, { input: { name, addMembers: [...members] } });
      return refused ? { refused } : { done: { ...done, members } };
    },
    async change({ id, version, members }, changes) {
      const { done, refused } = await act(ChangeGroupDocument, { id, version, input: inputOf(members, changes) });
      return refused ? { refused } : { done: { ...done, members: changes.members ?? members } };
    },
    onSaved,
  });
  const { base, values, set } = draft;
  const others = persons.filter(({ id, active }) => active && !values.members.includes(id));
  const add = (id: string) => {
    set({ members: [...values.members, id] });
    setChosen('');
  };
  return h(RecordDialog, {
    title: base?.name ?? t().newGroup,
    draft,
    fields: ['name'],
    onClose,
    children: html`
      ${nameField(draft)}
      <h3 id="members">${t().members(values.members.length)}</h3>
      <ul class="members" aria-labelledby="members">
        ${values.members.map((id) => {
          const name = nameIn(persons, id) || id;
          return html`<li key=${id}>${name} <button type="button" class="quiet icon" aria-label=${t().removeMember(name)} onClick=${() => set({ members: values.members.filter((each) => each !== id) })}>×</button></li>`;
        })}
      </ul>
      ${others.length > 0 && h(Field, { label: t().addMember, value: chosen, onInput: (id) => id && add(id), choices: [{ value: '', text: t().choose }, ...choicesOf(others)] })}
    `,
    more: deleteButton(base, onDelete),
  });
};

/** Policies that name a group keep it. */
async function sayUse({ id, name }: Deletable): Promise<string | undefined> {
  const naming = (await readPolicies()).filter((policy) => groupLists.some((list) => policy[list].includes(id)));
  return naming.length > 0 ? t().groupStays(name, namesOf(naming), naming.length) : undefined;
}

export const Screen: Component<object> = () => {
  const { record } = place.value;
  const asked = useAsked(readGroups, []);
  const isForm = record !== undefined;
  // The persons to choose from are read only for the form.
  const choice = useAsked(async (stop) => (isForm ? await readPersons({}, stop) : []), [isForm]);
  const isOpened = record !== undefined && record !== 'new';
  const opened = useAsked(async () => (isOpened ? await membersOf(record) : []), [record]);
  const { hidden, remove, close } = useDeletion((which) => act(DeleteGroupDocument, which), asked.reload, sayUse);
  return html`
    <div class="form">
      ${listTools(t().newGroup, t().groupsHint)}
      ${showAsked(asked, (groups) => {
        const group = groups.find(({ id }) => id === record);
        const hasPersons = choice.data !== undefined && !choice.isLoading;
        const isReady = hasPersons && (record === 'new' || (group && opened.data && !opened.isLoading));
        const state = { persons: choice.data ?? [], onSaved: asked.reload, onDelete: remove, onClose: close };
        return html`
          ${recordTable({
            caption: shared().parts.groups,
            name: 'groups',
            rows: groups,
            none: t().noGroups,
            hidden,
            columns: [nameColumn(t().group)],
          })}
          ${isReady && h(GroupForm, { key: record ?? '', group: group ? { ...group, members: opened.data ?? [] } : null, ...state })}
        `;
      })}
    </div>
  `;
};
