/** A link to another screen, which opens without loading the page; with a modifier key the browser's default applies. */
import { addressWith, goToScreen } from '../address.ts';
import { type Child, html } from './html.ts';

type LinkProperties = {
  screen: string;
  /** The members of its address. */
  members?: Readonly<Record<string, string>>;
  isCurrent?: boolean;
  children?: Child;
};

const isPlain = (event: MouseEvent) => event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey;

export function ScreenLink({ screen, members = {}, isCurrent = false, children }: LinkProperties) {
  const open = (event: MouseEvent) => {
    if (!isPlain(event)) return;
    event.preventDefault();
    goToScreen(screen, members);
  };
  return html`<a href=${addressWith(members, { screen })} aria-current=${isCurrent ? 'page' : undefined} onClick=${open}>${children}</a>`;
}
