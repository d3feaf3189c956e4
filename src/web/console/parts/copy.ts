/** Copies to the clipboard. */
import { t } from '../texts/shell.ts';
import { announce } from './toast.ts';

/** @param shown the element that has the text; where there is no clipboard, as without https, it is selected to be copied by hand */
export async function copy(text: string, shown: HTMLElement | null): Promise<void> {
  if (shown instanceof HTMLInputElement) shown.select();
  else if (shown) getSelection()?.selectAllChildren(shown);
  await navigator.clipboard?.writeText(text).then(
    () => announce(t().copied),
    () => undefined,
  );
}
