/** A native modal dialog: Esc closes it, and the focus returns to where it was. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import { t } from '../texts/shell.ts';
import { type Child, html } from './html.ts';

type DialogProperties = {
  title: string;
  /** Without it nobody can close it. */
  onClose?: (() => void) | undefined;
  wide?: boolean;
  children?: Child;
};

export function Dialog({ title, onClose, wide = false, children }: DialogProperties) {
  const self = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = self.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      // What had the focus may have been drawn anew.
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const cancel = (event: Event) => {
    event.preventDefault();
    onClose?.();
  };
  return html`
    <dialog ref=${self} class=${wide ? 'wide' : ''} aria-labelledby="dialog-title" onCancel=${cancel}>
      <header>
        <h2 id="dialog-title">${title}</h2>
        ${onClose && html`<button type="button" class="quiet icon" aria-label=${t().close} onClick=${onClose}>×</button>`}
      </header>
      <div class="body">${children}</div>
    </dialog>
  `;
}
