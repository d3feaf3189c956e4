/**
 * The erasure of a person: what it does, and a confirmation that must be typed, because nothing takes it back. Of an erased person,
 * further names can be erased.
 */

import { useState } from 'preact/hooks';
import { act, type Refusal } from '../client.ts';
import { ErasePersonDocument } from '../generated/graphql.ts';
import { Dialog } from '../parts/dialog.ts';
import { Field, submit } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { RefusedBox } from '../parts/refused.ts';
import { toast } from '../parts/toast.ts';
import { personName } from '../person-name.ts';
import { t } from '../texts/persons.ts';
import type { Person } from './data.ts';

export const Erasure: Component<{ person: Person; onDone: () => void; onClose: () => void }> = (properties) => {
  const { person, onDone, onClose } = properties;
  const { id, version, name, email, erasedAt } = person;
  const [typed, setTyped] = useState('');
  const [names, setNames] = useState('');
  const [refusal, setRefusal] = useState<Refusal>();
  const [isBusy, setBusy] = useState(false);
  const alsoKnownAs = names.split(';').flatMap((each) => each.trim() || []);
  const isConfirmed = erasedAt ? alsoKnownAs.length > 0 : typed.trim().toLowerCase() === email.toLowerCase();
  async function erase(): Promise<void> {
    if (!isConfirmed || isBusy) return;
    setBusy(true);
    const { done, refused } = await act(ErasePersonDocument, { id, version, alsoKnownAs });
    setBusy(false);
    setRefusal(refused);
    if (!done) return;
    toast(erasedAt ? t().namesErased : t().isErased);
    onDone();
    onClose();
  }
  const body = html`
    <form onSubmit=${submit(erase)}>
      <p><strong>${t().noWayBack}</strong></p>
      ${erasedAt ? html`<p>${t().eraseMore}</p>` : html`<ul>${t().erasureDoes.map((line) => html`<li>${line}</li>`)}</ul>`}
      ${h(Field, { label: t().alsoKnownAs, value: names, onInput: setNames, hint: t().alsoKnownAsHint })}
      ${!erasedAt && h(Field, { label: t().typeToErase(email), value: typed, onInput: setTyped, autocomplete: 'off' })}
      ${h(RefusedBox, { refusal })}
      <div class="buttons end"><button class="danger" disabled=${!isConfirmed || isBusy}>${t().eraseNow}</button></div>
    </form>
  `;
  return h(Dialog, { title: erasedAt ? personName(name, id) : t().eraseTitle(name), onClose, children: body });
};
