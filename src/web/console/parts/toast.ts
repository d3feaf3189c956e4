/**
 * Messages at the lower edge. `announce` is only for screen readers; `toast` also shows; `later` delays an action that can be
 * undone: pressing Undo in that time prevents it.
 */
import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { stay } from '../look.ts';
import { t } from '../texts/shell.ts';
import { html } from './html.ts';

type Toast = {
  id: number;
  text: string;
  kind: 'done' | 'fault';
  undo?: (() => void) | undefined;
  /** Called when the message is closed, or goes by itself. */
  gone?: (() => void) | undefined;
  /** The text of its close button. */
  closeText?: string | undefined;
};

const shown = signal<readonly Toast[]>([]);
const said = signal({ text: '' });
let count = 0;

/** Announces a text to screen readers, even if it is the same as before. */
export function announce(text: string): void {
  said.value = { text: said.value.text === text ? `${text}\u00a0` : text };
}

const take = (id: number): Toast | undefined => {
  const found = shown.value.find((toast) => toast.id === id);
  shown.value = shown.value.filter((toast) => toast.id !== id);
  return found;
};

const close = (id: number) => take(id)?.gone?.();
function undo(id: number): void {
  const toast = take(id);
  toast?.undo?.();
  if (toast?.undo) announce(t().undone);
}

const undoSeconds = 8;
const most = 2;
/** The most messages that delay an act. */
const mostDelaying = 5;

export function toast(text: string, more: Partial<Omit<Toast, 'id' | 'text'>> = {}): void {
  const id = (count += 1);
  // Closing a message that delays an act runs the act. So these messages stay beside others, but not without limit.
  const delaying = shown.value.filter(({ gone }) => gone);
  const others = shown.value.filter(({ gone }) => !gone);
  const tooMany = [
    ...others.slice(0, Math.max(0, shown.value.length + 1 - most)),
    ...delaying.slice(0, Math.max(0, delaying.length + 1 - mostDelaying)),
  ];
  for (const { id: old } of tooMany) close(old);
  shown.value = [...shown.value, { id, text, kind: 'done', ...more }];
  announce(text);
  // Somebody who points at a message, or has the focus in it, is reading it.
  const leave = () =>
    document.querySelector('#toasts:is(:hover, :focus-within)') ? setTimeout(leave, 1_000) : close(id);
  if (more.kind !== 'fault' && stay.value === 'while') setTimeout(leave, (more.undo ? undoSeconds : 5) * 1_000);
}

/** Runs `act` unless somebody chooses `back` in time; at once if the page is left or the message closed. */
export function later(text: string, act: () => void, back: () => void): void {
  let isOver = false;
  const once = (run: () => void) => () => {
    if (isOver) return;
    isOver = true;
    removeEventListener('pagehide', leave);
    run();
  };
  const leave = once(act);
  addEventListener('pagehide', leave);
  toast(text, { undo: once(back), gone: leave, closeText: t().now });
}

const list = () => html`
  <section id="toasts" aria-label=${t().messages}>
    ${shown.value.map(
      ({ id, text, kind, undo: canUndo, closeText }) => html`
        <div class="toast ${kind}" key=${id}>
          <p>${text}</p>
          ${canUndo && html`<button type="button" class="quiet" onClick=${() => undo(id)}>${t().undo}</button>`}
          <button type="button" class="quiet icon" aria-label=${closeText ?? t().close} title=${closeText ?? t().close} onClick=${() => close(id)}>×</button>
        </div>
      `,
    )}
  </section>
`;

/**
 * The messages, in the page and in each dialog: a modal dialog makes all that is outside it unreachable.
 * @param isTop whether nothing is open above; the messages are shown there
 */
export function Toasts({ isTop }: { isTop: boolean }) {
  // What was said before is not said again.
  const [before] = useState(said.peek());
  return html`
    ${isTop && list()}
    <p role="status" class="unseen">${said.value !== before && said.value.text}</p>
  `;
}
