/** The buttons of a sign, and the results of their actions. */
import { type ActResult, type DoneAct, mutationOf, perform, undoOf } from './acts.ts';
import type { ZoneOffsets } from './clock.ts';
import { callGraphql } from './device.ts';
import { icon, make, show } from './dom.ts';
import { instantLine } from './lines.ts';
import type { Offer } from './offers.ts';
import { type Session, within } from './session.ts';

type Phase =
  | { kind: 'ready' }
  /** The button asks once more. */
  | { kind: 'sure' }
  | { kind: 'working'; what: string }
  | { kind: 'said'; line: string; undo: DoneAct | null };

export type Touch = {
  /** @param off why nothing can be done now */
  draw(offers: Offer[], now: number, offsets: ZoneOffsets, off: string | null): void;
  /** Whether somebody is using it. */
  isBusy(): boolean;
};

const undoForMs = 10_000;
const saidForMs = 6_000;
const sureForMs = 5_000;

const random = () => {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
};

/** @param changed draws anew @param acted something may be different now */
export function makeTouch(session: Session, box: HTMLElement, changed: () => void, acted: () => void): Touch {
  const { text } = session;
  let phase: Phase = { kind: 'ready' };
  let timer = 0;
  let tapped: (index: number) => void = () => {};

  function enter(next: Phase, milliseconds = 0): void {
    phase = next;
    clearTimeout(timer);
    if (milliseconds) timer = window.setTimeout(() => enter({ kind: 'ready' }), milliseconds);
    changed();
  }

  async function call(what: string, mutation: Parameters<typeof perform>[2], done: string, undoable: boolean) {
    enter({ kind: 'working', what });
    const post = ({ query, variables }: typeof mutation) => callGraphql(session, query, variables, within(8_000));
    const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
    const result: ActResult = await perform(post, pause, mutation);
    const isDone = result.kind === 'done';
    const undo = isDone && undoable ? result.booking : null;
    enter({ kind: 'said', line: isDone ? done : failure(what, result), undo }, undo ? undoForMs : saidForMs);
    acted();
  }

  function failure(what: string, { kind }: ActResult): string {
    if (kind === 'conflict') return what.startsWith('book') ? text.taken : text.conflict;
    return kind === 'noAnswer' ? text.noAnswer : kind === 'refused' ? text.refused : text.failed;
  }

  const keyOf = (offer: Offer) => offer.act + ('minutes' in offer ? offer.minutes : '');

  function tap(offer: Offer, now: number, offsets: ZoneOffsets): void {
    if (phase.kind === 'working') return;
    if (offer.act === 'end' && phase.kind !== 'sure') {
      enter({ kind: 'sure' }, sureForMs);
      return;
    }
    void call(keyOf(offer), mutationOf(offer, session.id, now, random(), text), doneLine(offer, now, offsets), true);
  }

  function doneLine(offer: Offer, now: number, offsets: ZoneOffsets): string {
    const at = (instant: number) => instantLine(text, offsets, instant, now);
    if (offer.act === 'checkIn') return text.checkedIn;
    if (offer.act === 'end') return text.ended;
    if (offer.act === 'extend') return text.extended(at(offer.slot.end + offer.minutes * 60_000));
    return text.booked(at(offer.end));
  }

  /** The text of a button, and its purpose for screen readers. */
  function label(offer: Offer, now: number, offsets: ZoneOffsets): [string, string] {
    if (offer.act === 'book') return [text.minutes(offer.minutes), text.bookNow];
    if (offer.act === 'bookUntil') return [text.bookUntil(instantLine(text, offsets, offer.end, now)), text.bookNow];
    if (offer.act === 'extend') return [text.extend(offer.minutes), text.extending];
    if (offer.act === 'checkIn') return [text.checkIn, ''];
    return [phase.kind === 'sure' ? text.endSure : text.end, ''];
  }

  function said({ line, undo }: Extract<Phase, { kind: 'said' }>): Node[] {
    const nodes: Node[] = [make('p', { class: 'line', role: 'status' }, line)];
    if (undo) {
      const button = make('button', { type: 'button', id: 'undo' }, text.undo);
      button.addEventListener('click', () => void call('undo', undoOf(undo), text.undone, false));
      nodes.push(button);
    }
    return nodes;
  }

  return {
    isBusy: () => phase.kind !== 'ready',
    draw(offers, now, offsets, off) {
      const labels = offers.map((offer) => label(offer, now, offsets));
      show(box, [phase, off, labels], () => {
        if (phase.kind === 'said') return said(phase);
        const working = phase.kind === 'working' ? phase.what : null;
        // The stream may show the result before the answer comes.
        if (working && !offers.some((offer) => keyOf(offer) === working))
          return [make('p', { class: 'line', role: 'status' }, text.working)];
        if (offers.length === 0) return [];
        const isBooking = offers[0]?.act === 'book' || offers[0]?.act === 'bookUntil';
        const buttons = offers.map((offer, index) => {
          const [short, purpose] = labels[index] ?? ['', ''];
          const key = keyOf(offer);
          const button = make('button', { type: 'button', id: key });
          button.textContent = working === key ? text.working : short;
          if (working === key) button.setAttribute('aria-busy', 'true');
          else if (purpose) button.setAttribute('aria-label', `${purpose}: ${short}`);
          if (off || working) button.setAttribute('disabled', '');
          // Uses the time of the tap, not of the drawing.
          button.addEventListener('click', () => tapped(index));
          return button;
        });
        return [
          off
            ? make('p', { class: 'line' }, icon('offline'), off)
            : isBooking && make('p', { class: 'line' }, text.bookNow),
          make(
            'div',
            { class: 'buttons', role: 'group', 'aria-label': isBooking ? text.bookNow : text.actions },
            ...buttons,
          ),
        ];
      });
      tapped = (index) => {
        const offer = offers[index];
        if (offer) tap(offer, now, offsets);
      };
    },
  };
}
