/** Data that a screen has asked for: loading, failed, or present. Each looks different and says what to do next. */
import { useEffect, useState } from 'preact/hooks';
import { isUnanswered, lostSince, type Refusal, Refused } from '../client.ts';
import { t } from '../texts/shell.ts';
import { type Child, h, html } from './html.ts';
import { RefusedBox } from './refused.ts';

export type Asked<Data> = {
  data: Data | undefined;
  refusal: Refusal | undefined;
  isLoading: boolean;
  /** Asks again; the present data stay until the answer arrives. */
  reload: () => void;
};

type State<Data> = Omit<Asked<Data>, 'reload'> & { askedWith: readonly unknown[] };

/** Asks when the component is mounted and whenever one of `inputs` changes; only the latest answer counts. */
export function useAsked<Data>(
  question: (signal: AbortSignal) => Promise<Data>,
  inputs: readonly unknown[],
): Asked<Data> {
  const [turn, setTurn] = useState(0);
  const [{ askedWith, ...state }, setState] = useState<State<Data>>({
    data: undefined,
    refusal: undefined,
    isLoading: true,
    askedWith: inputs,
  });
  // The component is drawn with new inputs before it asks: the answer to the former ones must not be shown.
  const isFormer = inputs.some((input, at) => input !== askedWith[at]);
  useEffect(() => {
    const stop = new AbortController();
    const set = (part: Omit<State<Data>, 'data' | 'askedWith'> & { data?: Data }) =>
      setState(({ data }) => ({ data, ...part, askedWith: inputs }));
    set({ refusal: undefined, isLoading: true });
    question(stop.signal).then(
      (data) => !stop.signal.aborted && set({ data, refusal: undefined, isLoading: false }),
      (error: unknown) => {
        if (stop.signal.aborted) return;
        if (!(error instanceof Refused)) throw error;
        set({ refusal: error.refusal, isLoading: false });
      },
    );
    return () => stop.abort();
  }, [...inputs, turn]);
  const reload = () => setTurn((last) => last + 1);
  const isHeard = lostSince.value === undefined;
  useEffect(() => {
    if (isHeard && state.refusal && isUnanswered(state.refusal)) reload();
  }, [isHeard]);
  useEffect(() => {
    if (state.refusal?.code !== 'Unavailable') return undefined;
    const timer = setTimeout(reload, (state.refusal.retryAfterSeconds ?? 5) * 1_000);
    return () => clearTimeout(timer);
  }, [state.refusal]);
  return { ...state, isLoading: state.isLoading || isFormer, reload };
}

/**
 * @param empty what to show, and what to do next, if there are no data
 * @param title for a screen that has no heading of its own before the data are present
 */
export function showAsked<Data>(
  { data, refusal, isLoading, reload }: Asked<Data>,
  show: (data: Data) => Child,
  empty?: { when: (data: Data) => boolean; text: string },
  title?: string,
): Child {
  const heading = title && html`<h1 class="unseen">${title}</h1>`;
  if (refusal && data === undefined)
    return html`<div class="state">
      ${heading}
      <p>${t().failed}</p>
      ${h(RefusedBox, { refusal })}
      <button type="button" onClick=${reload}>${t().again}</button>
    </div>`;
  if (data === undefined) return html`<div class="state" aria-busy=${isLoading}>${heading}<p>${t().loading}</p></div>`;
  if (empty?.when(data)) return html`<div class="state"><p>${empty.text}</p></div>`;
  return show(data);
}
