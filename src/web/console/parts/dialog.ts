/** A native modal dialog: Esc closes it, and the focus returns to where it was. */
import { signal } from '@preact/signals';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { t } from '../texts/shell.ts';
import { type Child, h, html } from './html.ts';
import { Toasts } from './toast.ts';

/** The ids of the titles of the open dialogs, the topmost last. */
export const openDialogs = signal<readonly string[]>([]);

type DialogProperties = {
  title: string;
  /** Without `onClose` the dialog cannot be closed. */
  onClose?: (() => void) | undefined;
  /** The input outlives the page, so that the browser need not ask before it is left. */
  isKept?: boolean;
  wide?: boolean;
  /** Hides everything below it. */
  covering?: boolean;
  children?: Child;
};

/** Makes the browser ask before the page is left. */
const askBefore = (event: BeforeUnloadEvent) => event.preventDefault();

/** Ignores the second click of a double click whose target has gone: it is not meant for what was below. */
function swallowSecondClick(): void {
  const swallow = (event: MouseEvent) => {
    if (event.detail < 2) return;
    event.preventDefault();
    event.stopPropagation();
  };
  addEventListener('click', swallow, { capture: true });
  setTimeout(() => removeEventListener('click', swallow, { capture: true }), 500);
}

export function Dialog({ title, onClose, isKept = false, wide, covering, children }: DialogProperties) {
  const self = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const dialog = self.current;
    const before = document.activeElement;
    dialog?.showModal();
    openDialogs.value = [...openDialogs.value, id];
    return () => {
      dialog?.close();
      openDialogs.value = openDialogs.value.filter((one) => one !== id);
      removeEventListener('beforeunload', askBefore);
      swallowSecondClick();
      // The element that had the focus may have been replaced.
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const cancel = (event: Event) => {
    event.preventDefault();
    onClose?.();
  };
  const typed = () => !isKept && addEventListener('beforeunload', askBefore);
  return html`
    <dialog ref=${self} class=${[wide && 'wide', covering && 'covering'].filter(Boolean).join(' ')} aria-labelledby=${id} onCancel=${cancel} onInput=${typed}>
      <header>
        <h2 id=${id}>${title}</h2>
        ${onClose && html`<button type="button" class="quiet icon" aria-label=${t().close} onClick=${onClose}>×</button>`}
      </header>
      <div class="body">${children}</div>
      ${h(Toasts, { isTop: openDialogs.value.at(-1) === id })}
    </dialog>
  `;
}
