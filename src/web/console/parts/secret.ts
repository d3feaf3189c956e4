/** A secret that is shown only once, with a button that copies it. It is made once even if the answer is lost. */
import { useRef, useState } from 'preact/hooks';
import { randomKey } from '../../random-key.ts';
import { hasFault, type Refusal } from '../client.ts';
import { t } from '../texts/shell.ts';
import { copy } from './copy.ts';
import { html } from './html.ts';

export function Secret({ label, value, hint }: { label: string; value: string; hint: string }) {
  const self = useRef<HTMLInputElement>(null);
  return html`
    <div class="secret" role="status">
      <label>${label} <input ref=${self} readonly value=${value} onFocus=${() => self.current?.select()} /></label>
      <button type="button" onClick=${() => void copy(value, self.current)}>${t().copyThis}</button>
      <p class="hint">${hint}</p>
    </div>
  `;
}

type Made = { secret?: string | undefined; refused?: Refusal | undefined };

/**
 * Makes a secret. A call that is repeated after a lost answer does not make a second one; the first can no longer be shown.
 * @param send sends the call with an Idempotency-Key
 * @param reload reads the list again, which then has the secret's record
 */
export function useMaking(send: (idempotencyKey: string) => Promise<Made>, reload: () => void) {
  const [key, setKey] = useState(randomKey);
  const [made, setMade] = useState<string>();
  const [refusal, setRefusal] = useState<Refusal>();
  const [isBusy, setBusy] = useState(false);
  /** @returns whether the secret was made */
  async function make(): Promise<boolean> {
    if (isBusy) return false;
    setBusy(true);
    const { secret, refused } = await send(key);
    setBusy(false);
    // A refused call leaves the key unused, so an earlier one whose answer is lost has made the secret.
    const wasMade = hasFault(refused, 'KeyUsed');
    setRefusal(refused && wasMade ? { ...refused, code: 'WasMade', message: '', faults: [] } : refused);
    if (!refused || wasMade) setKey(randomKey());
    if (secret !== undefined) setMade(secret);
    if (secret !== undefined || wasMade) reload();
    return secret !== undefined;
  }
  return { make, made, refusal, isBusy };
}
