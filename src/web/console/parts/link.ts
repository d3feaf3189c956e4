/** Links that open without loading the page; with a modifier key the browser's default applies. */
import { addressWith, goToScreen } from '../address.ts';
import { type Child, html } from './html.ts';

type LinkProperties = {
  screen: string;
  /** The members of its address. */
  members?: Readonly<Record<string, string>>;
  isCurrent?: boolean;
  /** In a cell of a grid, which the keys of the grid open. */
  inGrid?: boolean;
  children?: Child;
};

/** The handler of a click on a link. */
export const opening = (open: () => void) => (event: MouseEvent) => {
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  open();
};

/** A link to another screen. */
export function ScreenLink({ screen, members = {}, isCurrent = false, inGrid = false, children }: LinkProperties) {
  const open = opening(() => goToScreen(screen, members));
  return html`<a href=${addressWith(members, { screen })} aria-current=${isCurrent ? 'page' : undefined} tabindex=${inGrid ? -1 : undefined} onClick=${open}>${children}</a>`;
}
