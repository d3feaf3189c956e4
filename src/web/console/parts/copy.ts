/** Copies to the clipboard. */
import { t } from '../texts/shell.ts';
import { announce } from './toast.ts';

/** @param shown the element that has the text; it is selected, so that it can be copied by hand without https, when there is no clipboard */
export async function copy(text: string, shown: HTMLElement | null): Promise<void> {
  if (shown instanceof HTMLInputElement) shown.select();
  else if (shown) getSelection()?.selectAllChildren(shown);
  await navigator.clipboard?.writeText(text).then(
    () => announce(t().copied),
    () => undefined,
  );
}
