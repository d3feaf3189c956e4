/** The buttons of a sign, and the results of their actions. */
import { randomKey } from '../random-key.ts';
import { type ActResult, bookingOf, type DoneAct, mutationOf, perform, undoOf } from './acts.ts';
import type { ZoneOffsets } from './clock.ts';
import { callGraphql } from './device.ts';
import { button, icon, make, show } from './dom.ts';
import type { FreeRoom } from './elsewhere.ts';
import { instantLine } from './lines.ts';
import type { Offer } from './offers.ts';
import { mostKept, type ProblemKind, type Reports } from './reports.ts';
import { type Session, within } from './session.ts';

type Phase =
  | { kind: 'ready' }
  /** The button asks for confirmation. */
  | { kind: 'sure' }
  | { kind: 'working'; what: string }
  /** Shows other rooms that are free. */
  | { kind: 'found'; rooms: FreeRoom[] }
  /** Shows the kinds of problems. */
  | { kind: 'reporting' }
  | { kind: 'said'; line: string; undo: DoneAct | null };

export type Touch = {
  /**
   * @param off the reason why nothing can be done now
   * @param elsewhere looks for other rooms; null if this one will do
   */
  draw(offers: Offer[], now: number, offsets: ZoneOffsets, off: string | null, elsewhere: Elsewhere | null): void;
  /** Whether somebody is using it. */
  isBusy(): boolean;
};

/** @returns null without an answer */
export type Elsewhere = { mayBook: boolean; find(): Promise<FreeRoom[] | null> };

const undoForMs = 10_000;
const saidForMs = 6_000;
const sureForMs = 5_000;
const foundForMs = 30_000;
const elsewhereForMs = 30 * 60_000;

type Surroundings = {
  session: Session;
  reports: Reports;
  /** Holds the buttons. */
  box: HTMLElement;
  /** Holds other rooms, and the kinds of problems. */
  other: HTMLElement;
  /** Holds the button that reports a problem. */
  report: HTMLElement;
  /** Redraws. */
  changed(): void;
  /** Called after an action, when offers may have changed. */
  acted(): void;
};

export function makeTouch({ session, reports, box, other, report, changed, acted }: Surroundings): Touch {
  const { text } = session;
  let phase: Phase = { kind: 'ready' };
  let timer = 0;
  let tapped: (index: number) => void = () => {};
  /** The time of the last drawing; there is one each second. */
  let drawnAt = 0;

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
    void call(keyOf(offer), mutationOf(offer, session.id, now, randomKey(), text), doneLine(offer, now, offsets), true);
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

  const status = (line: string) => make('p', { class: 'line', role: 'status' }, line);

  function said({ line, undo }: Extract<Phase, { kind: 'said' }>): Node[] {
    const nodes = [status(line)];
    if (undo) nodes.push(button('undo', () => void call('undo', undoOf(undo), text.undone, false), text.undo));
    return nodes;
  }

  async function look({ find }: Elsewhere): Promise<void> {
    enter({ kind: 'working', what: 'elsewhere' });
    const rooms = await find();
    if (rooms) enter({ kind: 'found', rooms }, foundForMs);
    else enter({ kind: 'said', line: text.noAnswer, undo: null }, saidForMs);
  }

  function found(rooms: FreeRoom[], mayBook: boolean, now: number, offsets: ZoneOffsets): Node[] {
    const at = (instant: number) => instantLine(text, offsets, instant, now);
    const lines = rooms.map(({ id, name, until }) => {
      const says = [make('strong', {}, name), ` ${text.freeUntil(at(until))}`];
      if (!mayBook) return make('li', {}, ...says);
      const book = () => {
        if (phase.kind !== 'found') return;
        const end = Math.min(until, Math.floor((drawnAt + elsewhereForMs) / 60_000) * 60_000);
        const done = text.bookedElsewhere(name, at(end));
        void call('book elsewhere', bookingOf(id, end, drawnAt, randomKey(), text), done, true);
      };
      return make('li', {}, button(`room-${id}`, book, ...says));
    });
    const says = rooms.length === 0 ? text.noneElsewhere : mayBook ? text.bookElsewhere : text.freeElsewhere;
    return choices(says, lines);
  }

  function choices(title: string, lines: HTMLElement[]): Node[] {
    const close = button('close', () => enter({ kind: 'ready' }), text.close);
    const head = make('div', { class: 'head' }, status(title), close);
    return lines.length > 0 ? [head, make('ul', { class: 'found' }, ...lines)] : [head];
  }

  async function sendReport(kind: ProblemKind): Promise<void> {
    if (phase.kind !== 'reporting') return;
    enter({ kind: 'working', what: 'report' });
    const outcome = await reports.send(kind, drawnAt);
    const line = outcome === 'full' ? text.reported.full(mostKept) : text.reported[outcome];
    enter({ kind: 'said', line, undo: null }, saidForMs);
  }

  const problems = () =>
    choices(
      text.reportWhat,
      (Object.keys(text.problems) as ProblemKind[]).map((kind) =>
        make(
          'li',
          {},
          button(`problem-${kind}`, () => void sendReport(kind), text.problems[kind]),
        ),
      ),
    );

  function drawReport(): void {
    show(report, phase.kind, () => {
      const choose = () => {
        enter({ kind: 'reporting' }, foundForMs);
        other.querySelector<HTMLElement>('.found button')?.focus();
      };
      const opener = button('report-button', choose, text.report);
      if (phase.kind !== 'ready' && phase.kind !== 'sure') opener.setAttribute('disabled', '');
      return [opener];
    });
  }

  function finder(elsewhere: Elsewhere, off: string | null): HTMLElement {
    const isLooking = phase.kind === 'working' && phase.what === 'elsewhere';
    const find = () => {
      if (phase.kind === 'ready' || phase.kind === 'sure') void look(elsewhere);
    };
    const opener = button('elsewhere', find, isLooking ? text.working : text.elsewhere);
    if (off || phase.kind === 'working' || phase.kind === 'said') opener.setAttribute('disabled', '');
    return opener;
  }

  /** In place of the next bookings, so that the state of this room stays in view. */
  function drawOther(now: number, offsets: ZoneOffsets, off: string | null, elsewhere: Elsewhere | null): void {
    const isFound = phase.kind === 'reporting' || (phase.kind === 'found' && elsewhere !== null);
    other.parentElement?.toggleAttribute('data-found', isFound);
    show(other, [phase, off, elsewhere?.mayBook], () => {
      if (phase.kind === 'reporting') return problems();
      if (!elsewhere) return [];
      return phase.kind === 'found' ? found(phase.rooms, elsewhere.mayBook, now, offsets) : [finder(elsewhere, off)];
    });
  }

  return {
    isBusy: () => phase.kind !== 'ready',
    draw(offers, now, offsets, off, elsewhere) {
      drawnAt = now;
      const labels = offers.map((offer) => label(offer, now, offsets));
      drawOther(now, offsets, off, elsewhere);
      drawReport();
      const isChoosing = phase.kind === 'found' || phase.kind === 'reporting';
      show(box, [isChoosing ? 'ready' : phase, off, labels], () => {
        if (phase.kind === 'said') return said(phase);
        const working = phase.kind === 'working' ? phase.what : null;
        // The stream may show the result before the answer comes.
        if (working && working !== 'elsewhere' && !offers.some((offer) => keyOf(offer) === working))
          return [status(text.working)];
        if (offers.length === 0) return [];
        const isBooking = offers[0]?.act === 'book' || offers[0]?.act === 'bookUntil';
        const buttons = offers.map((offer, index) => {
          const [short, purpose] = labels[index] ?? ['', ''];
          const key = keyOf(offer);
          // Uses the time of the tap, not of the drawing.
          const act = button(key, () => tapped(index), working === key ? text.working : short);
          if (working === key) act.setAttribute('aria-busy', 'true');
          else if (purpose) act.setAttribute('aria-label', `${purpose}: ${short}`);
          if (off || working) act.setAttribute('disabled', '');
          return act;
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
