/** What a screen has asked for: loading, failed, or there; each looks different and says what to do next. */
import { useEffect, useState } from 'preact/hooks';
import { isUnanswered, lostSince, type Refusal, Refused } from '../client.ts';
import { t } from '../texts/shell.ts';
import { type Child, h, html } from './html.ts';
import { RefusedBox } from './refused.ts';

export type Asked<Data> = {
  data: Data | undefined;
  refusal: Refusal | undefined;
  isLoading: boolean;
  /** Asks again; what is shown stays until the answer is there. */
  reload: () => void;
};

/** Asks when the component comes and whenever one of `inputs` changes; the newest question wins. */
export function useAsked<Data>(
  question: (signal: AbortSignal) => Promise<Data>,
  inputs: readonly unknown[],
): Asked<Data> {
  const [turn, setTurn] = useState(0);
  const [state, setState] = useState<Pick<Asked<Data>, 'data' | 'refusal' | 'isLoading'>>({
    data: undefined,
    refusal: undefined,
    isLoading: true,
  });
  useEffect(() => {
    const stop = new AbortController();
    setState(({ data }) => ({ data, refusal: undefined, isLoading: true }));
    question(stop.signal).then(
      (data) => !stop.signal.aborted && setState({ data, refusal: undefined, isLoading: false }),
      (error: unknown) => {
        if (stop.signal.aborted) return;
        if (!(error instanceof Refused)) throw error;
        setState(({ data }) => ({ data, refusal: error.refusal, isLoading: false }));
      },
    );
    return () => stop.abort();
  }, [...inputs, turn]);
  const reload = () => setTurn((last) => last + 1);
  const isHeard = lostSince.value === undefined;
  useEffect(() => {
    if (isHeard && state.refusal && isUnanswered(state.refusal)) reload();
  }, [isHeard]);
  return { ...state, reload };
}

/** @param empty what to show, and what to do next, where there is nothing */
export function showAsked<Data>(
  { data, refusal, isLoading, reload }: Asked<Data>,
  show: (data: Data) => Child,
  empty?: { when: (data: Data) => boolean; text: string },
): Child {
  if (refusal && data === undefined)
    return html`<div class="state">
      <p>${t().failed}</p>
      ${h(RefusedBox, { refusal })}
      <button type="button" onClick=${reload}>${t().again}</button>
    </div>`;
  if (data === undefined) return html`<div class="state" aria-busy=${isLoading}><p>${t().loading}</p></div>`;
  if (empty?.when(data)) return html`<div class="state"><p>${empty.text}</p></div>`;
  return show(data);
}
