/**
 * Shows that the connection to the server is lost. It lies over the page, so that nothing moves away below a pointer, at the edge
 * where it does not cover the focused element.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { lostSince } from '../client.ts';
import { ownZone, timeText } from '../clock.ts';
import { tryNow } from '../live.ts';
import { t } from '../texts/shell.ts';
import { html } from './html.ts';

export function Connection() {
  const self = useRef<HTMLDivElement>(null);
  const [wasLost, setWasLost] = useState(false);
  const [isAbove, setAbove] = useState(false);
  const since = lostSince.value;
  const isLost = since !== undefined;
  useEffect(() => {
    if (!isLost) return undefined;
    setWasLost(true);
    // Waits, because the browser may scroll to the focused element.
    const evade = () =>
      requestAnimationFrame(() => {
        const box = document.activeElement?.getBoundingClientRect();
        const height = (self.current?.offsetHeight ?? 0) + 16;
        if (box && !self.current?.contains(document.activeElement))
          setAbove(box.bottom > innerHeight - height && box.top > height);
      });
    evade();
    addEventListener('focusin', evade);
    return () => removeEventListener('focusin', evade);
  }, [isLost]);
  // The status element always exists: screen readers announce only changes within it.
  return html`
    <div id="connection" ref=${self} class=${isLost ? (isAbove ? 'above' : '') : 'unseen'}>
      <span role="status">${isLost ? t().offline(timeText(ownZone, since)) : wasLost && t().online}</span>
      ${isLost && html`<button type="button" onClick=${tryNow}>${t().again}</button>`}
    </div>
  `;
}
