/** The form that pairs a device by the code that it shows, and that changes what a sign shows and may do. */
import { useState } from 'preact/hooks';
import { longest } from '../../../names.ts';
import { act, ask } from '../client.ts';
import {
  type ChangeDisplayInput,
  ChangeSignDocument,
  type DisplayPrivacy,
  OneSignDocument,
  PairSignDocument,
  type SignFragment,
} from '../generated/graphql.ts';
import { memberField } from '../master/list.ts';
import { RecordDialog, useRecord } from '../master/record.ts';
import { Check, Field } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import type { Location, Room } from '../rooms/store.ts';
import { t } from '../texts/signs.ts';

type FormProperties = {
  /** Undefined for a new sign. */
  sign?: SignFragment | undefined;
  rooms: readonly Room[];
  locations: readonly Location[];
  onSaved: (sign: SignFragment) => void;
  onClose: () => void;
};

type Values = {
  /** Only of a new sign. */
  code: string;
  name: string;
  resourceIds: readonly string[];
  locationId: string;
  mayBook: boolean;
  privacy: DisplayPrivacy;
};

const inputOf = ({ resourceIds, locationId, ...plain }: Partial<Omit<Values, 'code'>>): ChangeDisplayInput => ({
  ...plain,
  ...(resourceIds && { resourceIds: [...resourceIds] }),
  ...(locationId !== undefined && { locationId: locationId || null }),
});

/** The most rooms in the list; a filter finds the others. */
const mostListed = 100;

function RoomChoice({
  rooms,
  chosen,
  isAsOpen,
  onChange,
}: {
  rooms: readonly Room[];
  chosen: readonly string[];
  /** Whether the device decides what is shown if nothing is chosen. */
  isAsOpen: boolean;
  onChange: (ids: string[]) => void;
}) {
  const [find, setFind] = useState('');
  const isFound = ({ id, name }: Room) => chosen.includes(id) || name.toLowerCase().includes(find.trim().toLowerCase());
  const toggle = (id: string) => (is: boolean) => onChange(is ? [...chosen, id] : chosen.filter((one) => one !== id));
  return html`
    <fieldset class="choice">
      <legend>${t().rooms}</legend>
      ${h(Field, { label: t().findRoom, type: 'search', hideLabel: true, placeholder: t().findRoom, value: find, onInput: setFind })}
      <div class="options" tabindex="0" role="group" aria-label=${t().rooms}>
        ${rooms
          .filter(isFound)
          .slice(0, mostListed)
          .map(({ id, name }) =>
            h(Check, { key: id, label: name, checked: chosen.includes(id), onChange: toggle(id) }),
          )}
      </div>
      <p class="hint" role="status">${isAsOpen && chosen.length === 0 ? t().asOpen : t().chosen(chosen.length)}</p>
    </fieldset>
  `;
}

export const SignForm: Component<FormProperties> = ({ sign, rooms, locations, onSaved, onClose }) => {
  const draft = useRecord<Values, SignFragment>({
    record: sign ?? null,
    subject: 'Display',
    valuesOf: (read) => ({
      code: '',
      name: read?.name ?? '',
      // A retired room cannot be shown, and leaves with the next change of the rooms.
      resourceIds: read?.resourceIds.filter((id) => rooms.some((room) => room.id === id)) ?? [],
      locationId: read?.locationId ?? '',
      mayBook: read?.mayBook ?? false,
      privacy: read?.privacy ?? 'Title',
    }),
    read: async (id) => (await ask(OneSignDocument, { id })).displayDevice,
    create: ({ code, name, ...grant }) =>
      act(PairSignDocument, { input: { ...inputOf(grant), code, name: name || null } }),
    change: ({ id, version }, { code: _, ...changes }) =>
      act(ChangeSignDocument, { id, version, input: inputOf(changes) }),
    made: t().paired,
    onSaved,
  });
  const { base, values, set } = draft;
  const { resourceIds, locationId, mayBook } = values;
  return h(RecordDialog, {
    title: base ? t().editTitle(base.name) : t().pair,
    draft,
    fields: ['code', 'name'],
    make: t().pair,
    onClose,
    children: html`
      ${!base && memberField(draft, 'code', { hint: t().codeHint, required: true, autofocus: true, autocomplete: 'off', maxLength: longest.code })}
      ${memberField(draft, 'name', { hint: base ? undefined : t().nameHint, required: Boolean(base), maxLength: longest.name })}
      ${h(RoomChoice, { rooms, chosen: resourceIds, isAsOpen: !base && !locationId, onChange: (ids) => set({ resourceIds: ids }) })}
      ${h(Field, { label: t().location, value: locationId, onInput: (id) => set({ locationId: id }), choices: [{ value: '', text: t().noLocation }, ...locations.map(({ id, name }) => ({ value: id, text: name }))] })}
      ${memberField(draft, 'privacy', { choices: Object.entries(t().privacies).map(([value, text]) => ({ value, text })) })}
      ${h(Check, { label: t().mayBook, checked: mayBook, onChange: (is) => set({ mayBook: is }) })}
    `,
  });
};
