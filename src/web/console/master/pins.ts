/** The PINs of a person: made, shown once, listed, revoked. */

import { useState } from 'preact/hooks';
import { longest } from '../../../names.ts';
import { addDays } from '../../../time/days.ts';
import { act, ask } from '../client.ts';
import { instantOf, momentOr, ownZone } from '../clock.ts';
import {
  CreatePinDocument,
  type MasterPinFragment,
  MasterPinsDocument,
  RevokePinDocument,
} from '../generated/graphql.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { Dialog } from '../parts/dialog.ts';
import { Field, submit } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { faultAt, RefusedBox } from '../parts/refused.ts';
import { useRevocation } from '../parts/revoke.ts';
import { Secret, useMaking } from '../parts/secret.ts';
import { present } from '../present.ts';
import { labels } from '../texts/members.ts';
import { t } from '../texts/persons.ts';
import type { Person } from './data.ts';

export const Pins: Component<{ person: Person; onClose: () => void }> = ({ person, onClose }) => {
  const personId = person.id;
  const asked = useAsked(async (stop) => (await ask(MasterPinsDocument, { personId }, stop)).pins?.nodes ?? [], []);
  const [label, setLabel] = useState('');
  const [last, setLast] = useState('');
  const { make, made, refusal, isBusy } = useMaking(async (idempotencyKey) => {
    const { done, refused } = await act(CreatePinDocument, {
      personId,
      idempotencyKey,
      ...(label && { label }),
      // The PIN is valid until the end of that day.
      ...(last && { expiresAt: new Date(instantOf(ownZone, addDays(last, 1), 0)).toISOString() }),
    });
    return { secret: done?.pin, refused };
  }, asked.reload);
  const { revoke, isGoing } = useRevocation((which) => act(RevokePinDocument, which), t().willRevoke, asked.reload);
  const stateOf = (pin: MasterPinFragment) =>
    pin.revokedAt
      ? t().revoked
      : pin.expiresAt && Date.parse(pin.expiresAt) <= present()
        ? t().expired
        : html`<button type="button" class="danger" aria-label=${t().revokeThis(pin.label ?? t().pin)} onClick=${() => revoke(pin)}>${t().revoke}</button>`;
  const body = html`
    ${made && h(Secret, { label: t().theNewPin, value: made, hint: t().once })}
    ${showAsked(
      asked,
      (pins) => html`<div class="sheet" tabindex="0" role="region" aria-label=${t().pins}><table>
        <caption class="unseen">${t().pins}</caption>
        <thead><tr><th scope="col">${labels().label}</th><th scope="col">${t().madeAt}</th><th scope="col">${labels().lastUsedAt}</th><th scope="col">${labels().expiresAt}</th><th scope="col">${t().state}</th></tr></thead>
        <tbody>${pins
          .filter((one) => !isGoing(one))
          .map(
            (pin) => html`<tr key=${pin.id}>
              <td>${pin.label ?? '–'}</td><td>${momentOr(pin.createdAt)}</td><td>${momentOr(pin.lastUsedAt, t().never)}</td><td>${momentOr(pin.expiresAt, t().never)}</td><td>${stateOf(pin)}</td>
            </tr>`,
          )}</tbody>
      </table></div>`,
      { when: (pins) => pins.length === 0, text: t().noPins },
    )}
    <form onSubmit=${submit(async () => void ((await make()) && setLabel('')))}>
      <div class="fields">
        ${h(Field, { label: labels().label, value: label, onInput: setLabel, maxLength: longest.label, fault: faultAt(refusal, 'label') })}
        ${h(Field, { label: t().lastDay, type: 'date', value: last, onInput: setLast, fault: faultAt(refusal, 'expiresAt') })}
      </div>
      ${h(RefusedBox, { refusal, fields: ['label', 'expiresAt'] })}
      <div class="buttons end"><button class="main" disabled=${isBusy}>${t().makePin}</button></div>
    </form>
  `;
  return h(Dialog, { title: t().pinsOf(person.name), onClose, wide: true, children: body });
};
