/** Loads the module of a screen, or of a part of one, and shows it. */
import { useEffect, useState } from 'preact/hooks';
import { lostSince } from '../client.ts';
import { t } from '../texts/shell.ts';
import { type Component, h, html } from './html.ts';

export type Staged = { name: string; load: () => Promise<{ Screen: Component<object> }> };
type Loaded = { name: string; Screen: Component<object> } | { name: string; failed: true };

export function Stage({ screen }: { screen: Staged }) {
  const [loaded, setLoaded] = useState<Loaded>();
  const isHeard = lostSince.value === undefined;
  useEffect(() => {
    if (loaded?.name === screen.name && !('failed' in loaded)) return undefined;
    const { name } = screen;
    // Unset if another screen is opened while the module loads.
    let isWanted = true;
    const show = (come: Loaded) => isWanted && setLoaded(come);
    screen.load().then(
      ({ Screen }) => show({ name, Screen }),
      () => show({ name, failed: true }),
    );
    return () => {
      isWanted = false;
    };
  }, [screen, isHeard]);
  if (loaded?.name !== screen.name) return html`<p class="state" aria-busy="true">${t().loading}</p>`;
  if ('failed' in loaded)
    return html`<div class="state">
      <p>${t().failed} ${isHeard && t().newVersion}</p>
      <button type="button" onClick=${() => location.reload()}>${t().reload}</button>
    </div>`;
  return h(loaded.Screen, {});
}
