/** The details of a sign: what it reports of itself, what it shows now, and what can be done with it. */
import { act } from '../client.ts';
import { moment, momentOr } from '../clock.ts';
import { RevokeSignDocument, type SignFragment } from '../generated/graphql.ts';
import { Dialog } from '../parts/dialog.ts';
import { fact } from '../parts/fact.ts';
import { type Component, h, html } from '../parts/html.ts';
import { toastRefusal } from '../parts/refused.ts';
import { later, toast } from '../parts/toast.ts';
import { labelOf, labels } from '../texts/members.ts';
import { t } from '../texts/signs.ts';
import { Preview, type Snapshots } from './preview.ts';

export function stateOf({ revokedAt, silentSince, heardAt }: SignFragment): string {
  if (revokedAt) return t().revokedAt(moment(revokedAt));
  if (silentSince) return t().silentSince(moment(heardAt ?? silentSince));
  return heardAt ? t().well : t().never;
}

export const batteryOf = ({ health }: SignFragment): string =>
  health ? (health.battery === null ? t().mains : t().percent(health.battery)) : '';

type DetailsProperties = {
  sign: SignFragment | undefined;
  snapshots: Snapshots;
  onEdit: () => void;
  onRevoked: (sign: SignFragment) => void;
  onClose: () => void;
};

function revoke({ id, name }: SignFragment, onRevoked: (sign: SignFragment) => void): void {
  const send = async () => {
    const { done, refused } = await act(RevokeSignDocument, { id });
    if (refused) return toastRefusal(refused);
    onRevoked(done);
    toast(t().revoked(name));
  };
  later(
    t().willRevoke(name),
    () => void send(),
    () => undefined,
  );
}

export const Details: Component<DetailsProperties> = ({ sign, snapshots, onEdit, onRevoked, onClose }) => {
  if (!sign) return h(Dialog, { title: t().title, onClose, children: html`<p>${t().gone}</p>` });
  const { health, resources, privacy, mayBook, createdAt, expiresAt, heardAt, revokedAt } = sign;
  const body = html`
    ${h(Preview, { sign, snapshots })}
    <dl class="facts">
      ${fact(t().state, stateOf(sign))}
      ${fact(t().rooms, resources.map(({ name }) => name).join(', '))}
      ${fact(labels().privacy, t().privacies[privacy])}
      ${fact(labelOf('mayBook', 'Display') ?? '', mayBook ? t().yes : t().no)}
      ${fact(t().battery, batteryOf(sign))}
      ${fact(t().program, health?.program)}
      ${fact(t().screen, health?.screen)}
      ${fact(t().clock, health?.clockAheadSeconds == null ? null : t().clockAhead(health.clockAheadSeconds))}
      ${fact(t().reconnects, health?.reconnects)}
      ${fact(t().startedAt, momentOr(health?.startedAt))}
      ${fact(t().note, health?.note)}
      ${fact(t().heardAt, momentOr(heardAt))}
      ${fact(t().createdAt, moment(createdAt))}
      ${!revokedAt && fact(t().expiresAt, moment(expiresAt))}
    </dl>
    ${
      !revokedAt &&
      html`
      <p class="hint" id="revoke-hint">${t().revokeHint}</p>
      <div class="buttons end">
        <button type="button" class="danger" aria-describedby="revoke-hint" onClick=${() => {
          onClose();
          revoke(sign, onRevoked);
        }}>${t().revoke}</button>
        <button type="button" onClick=${onEdit}>${t().edit}</button>
      </div>`
    }
  `;
  return h(Dialog, { title: sign.name, onClose, children: body });
};
