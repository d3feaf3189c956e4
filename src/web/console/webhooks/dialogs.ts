/** The dialogs for a secret that is shown once, for its rotation, and for the events that are sent again. */

import { useState } from 'preact/hooks';
import { line } from '../../bidi.ts';
import { act, type Refusal } from '../client.ts';
import { ReplayHookDocument, RotateHookSecretDocument } from '../generated/graphql.ts';
import { Dialog } from '../parts/dialog.ts';
import { Field, submit } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { faultAt, RefusedBox } from '../parts/refused.ts';
import { Secret } from '../parts/secret.ts';
import { toast } from '../parts/toast.ts';
import { t } from '../texts/webhooks.ts';
import type { Hook } from './data.ts';

export const SecretDialog: Component<{ name: string; secret: string; onClose: () => void }> = (properties) => {
  const { name, secret, onClose } = properties;
  const body = html`
    ${h(Secret, { label: t().secret, value: secret, hint: t().once })}
    <div class="buttons end"><button type="button" class="main" onClick=${onClose}>${t().done}</button></div>
  `;
  return h(Dialog, { title: t().secretOf(name), onClose, children: body });
};

type ActProperties = { hook: Hook; onDone: (hook: Hook) => void; onClose: () => void };

export const RotateDialog: Component<ActProperties & { onSecret: (hook: Hook, secret: string) => void }> = ({
  hook: { id, name, version },
  onDone,
  onSecret,
  onClose,
}) => {
  const [overlap, setOverlap] = useState('24');
  const [refusal, setRefusal] = useState<Refusal>();
  const send = async () => {
    const { done, refused } = await act(RotateHookSecretDocument, {
      id,
      version,
      input: { overlapHours: Number(overlap) },
    });
    setRefusal(refused);
    if (!done) return;
    onDone(done.webhook);
    onClose();
    onSecret(done.webhook, done.secret);
  };
  const choices = ['24', '168', '0'].map((value) => ({ value, text: t().overlaps[value] ?? value }));
  const body = html`
    <form onSubmit=${submit(send)}>
      <p>${t().rotateWhat}</p>
      ${h(Field, { label: t().overlap, value: overlap, onInput: setOverlap, choices, autofocus: true })}
      ${h(RefusedBox, { refusal })}
      <div class="buttons end"><button class="main">${t().rotate}</button></div>
    </form>
  `;
  return h(Dialog, { title: line`${name}: ${t().rotate}`, onClose, children: body });
};

export const ReplayDialog: Component<ActProperties & { cursor: string }> = ({
  hook,
  cursor: given,
  onDone,
  onClose,
}) => {
  const { id, name, version } = hook;
  const [from, setFrom] = useState('after');
  const [cursor, setCursor] = useState(given);
  const [refusal, setRefusal] = useState<Refusal>();
  const send = async () => {
    const place = { all: null, now: 'now' }[from];
    const input = { cursor: place === undefined ? cursor.trim() : place };
    const { done, refused } = await act(ReplayHookDocument, { id, version, input });
    setRefusal(refused);
    if (!done) return;
    toast(t().replayed(name));
    onDone(done);
    onClose();
  };
  const choices = ['after', 'all', 'now'].map((value) => ({ value, text: t().replays[value] ?? value }));
  const fault = faultAt(refusal, 'cursor');
  const body = html`
    <form onSubmit=${submit(send)}>
      ${h(Field, { label: t().replayFrom, value: from, onInput: setFrom, choices, autofocus: true })}
      ${from === 'after' && h(Field, { label: t().cursor, value: cursor, onInput: setCursor, hint: t().cursorHint, fault, required: true, autocomplete: 'off' })}
      <p class="hint">${t().replayHint}</p>
      ${h(RefusedBox, { refusal, fields: from === 'after' ? ['cursor'] : [] })}
      <div class="buttons end"><button class="main">${t().send}</button></div>
    </form>
  `;
  return h(Dialog, { title: line`${name}: ${t().replay}`, onClose, children: body });
};
