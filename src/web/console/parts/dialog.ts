/** A native modal dialog: Esc closes it, and the focus returns to where it was. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import { t } from '../texts/shell.ts';
import { type Child, html } from './html.ts';

type DialogProperties = {
  title: string;
  /** Without it nobody can close it. */
  onClose?: (() => void) | undefined;
  /** What is typed outlives the page: it is left without a question. */
  isKept?: boolean;
  wide?: boolean;
  children?: Child;
};

/** The browser asks whether the page is left. */
const askBefore = (event: BeforeUnloadEvent) => event.preventDefault();

/** The second half of a double click on something that has gone is not meant for what lay below it. */
function swallowSecondClick(): void {
  const swallow = (event: MouseEvent) => {
    if (event.detail < 2) return;
    event.preventDefault();
    event.stopPropagation();
  };
  addEventListener('click', swallow, { capture: true });
  setTimeout(() => removeEventListener('click', swallow, { capture: true }), 500);
}

export function Dialog({ title, onClose, isKept = false, wide = false, children }: DialogProperties) {
  const self = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = self.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      removeEventListener('beforeunload', askBefore);
      swallowSecondClick();
      // What had the focus may have been drawn anew.
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const cancel = (event: Event) => {
    event.preventDefault();
    onClose?.();
  };
  const typed = () => !isKept && addEventListener('beforeunload', askBefore);
  return html`
    <dialog ref=${self} class=${wide ? 'wide' : ''} aria-labelledby="dialog-title" onCancel=${cancel} onInput=${typed}>
      <header>
        <h2 id="dialog-title">${title}</h2>
        ${onClose && html`<button type="button" class="quiet icon" aria-label=${t().close} onClick=${onClose}>×</button>`}
      </header>
      <div class="body">${children}</div>
    </dialog>
  `;
}
