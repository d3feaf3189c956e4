/** What is shown once and never again, with a button that copies it. */
import { useRef } from 'preact/hooks';
import { t } from '../texts/shell.ts';
import { html } from './html.ts';
import { announce } from './toast.ts';

export function Secret({ label, value, hint }: { label: string; value: string; hint: string }) {
  const self = useRef<HTMLInputElement>(null);
  const copy = async () => {
    self.current?.select();
    // Without https browsers have no clipboard; the text is then selected, to be copied by hand.
    await navigator.clipboard?.writeText(value).then(
      () => announce(t().copied),
      () => undefined,
    );
  };
  return html`
    <div class="secret" role="status">
      <label>${label} <input ref=${self} readonly value=${value} onFocus=${() => self.current?.select()} /></label>
      <button type="button" onClick=${() => void copy()}>${t().copyThis}</button>
      <p class="hint">${hint}</p>
    </div>
  `;
}
