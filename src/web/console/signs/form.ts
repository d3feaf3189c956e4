/** The form that pairs a device by the code that it shows, and that changes what a sign shows and may do. */
import { useState } from 'preact/hooks';
import { longest } from '../../../names.ts';
import { act, type Refusal } from '../client.ts';
import { ChangeSignDocument, type DisplayPrivacy, PairSignDocument, type SignFragment } from '../generated/graphql.ts';
import { Dialog } from '../parts/dialog.ts';
import { Check, Field, submit } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { faultAt, RefusedBox } from '../parts/refused.ts';
import { toast } from '../parts/toast.ts';
import type { Location, Room } from '../rooms/store.ts';
import { labels } from '../texts/members.ts';
import { t } from '../texts/signs.ts';

type FormProperties = {
  /** Undefined for a new sign. */
  sign?: SignFragment | undefined;
  rooms: readonly Room[];
  locations: readonly Location[];
  onSaved: (sign: SignFragment) => void;
  onClose: () => void;
};

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
  const [code, setCode] = useState('');
  const [name, setName] = useState(sign?.name ?? '');
  const [resourceIds, setResourceIds] = useState<readonly string[]>(sign?.resourceIds ?? []);
  const [locationId, setLocationId] = useState(sign?.locationId ?? '');
  const [mayBook, setMayBook] = useState(sign?.mayBook ?? false);
  const [privacy, setPrivacy] = useState<DisplayPrivacy>(sign?.privacy ?? 'Title');
  const [refusal, setRefusal] = useState<Refusal>();
  const [isBusy, setBusy] = useState(false);
  const send = async () => {
    if (isBusy) return;
    setBusy(true);
    const grant = { resourceIds: [...resourceIds], locationId: locationId || null, mayBook, privacy };
    const { done, refused } = sign
      ? await act(ChangeSignDocument, { id: sign.id, version: sign.version, input: { ...grant, name } })
      : await act(PairSignDocument, { input: { ...grant, code, name: name || null } });
    setBusy(false);
    setRefusal(refused);
    if (!done) return;
    toast(sign ? t().changed(done.name) : t().paired(done.name));
    onSaved(done);
    onClose();
  };
  const body = html`
    <form onSubmit=${submit(send)}>
      ${h(RefusedBox, { refusal, fields: ['code', 'name'] })}
      ${!sign && h(Field, { label: labels().code, value: code, onInput: setCode, hint: t().codeHint, fault: faultAt(refusal, 'code'), required: true, autofocus: true, autocomplete: 'off', maxLength: longest.code })}
      ${h(Field, { label: labels().name, value: name, onInput: setName, hint: sign ? undefined : t().nameHint, fault: faultAt(refusal, 'name'), required: Boolean(sign), maxLength: longest.name })}
      ${h(RoomChoice, { rooms, chosen: resourceIds, isAsOpen: !sign && !locationId, onChange: setResourceIds })}
      ${h(Field, { label: t().location, value: locationId, onInput: setLocationId, choices: [{ value: '', text: t().noLocation }, ...locations.map(({ id, name }) => ({ value: id, text: name }))] })}
      ${h(Field, { label: labels().privacy, value: privacy, onInput: (value) => setPrivacy(value as DisplayPrivacy), choices: Object.entries(t().privacies).map(([value, text]) => ({ value, text })) })}
      ${h(Check, { label: t().mayBook, checked: mayBook, onChange: setMayBook })}
      <div class="buttons end"><button class="main" disabled=${isBusy}>${sign ? t().save : t().pair}</button></div>
    </form>
  `;
  return h(Dialog, { title: sign ? t().editTitle(sign.name) : t().pair, onClose, children: body });
};
