/** Retiring a room: what is still to come there, then what becomes of it. */
import { useState } from 'preact/hooks';
import { line } from '../../bidi.ts';
import { act, ask, type Conflict, type Refusal } from '../client.ts';
import { moment, rangeIn } from '../clock.ts';
import {
  type BookingKind,
  ChangeResourceDocument,
  type FutureBookings,
  RetirementPreviewDocument,
  RetireResourceDocument,
} from '../generated/graphql.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { Dialog } from '../parts/dialog.ts';
import { Check, Field, submit } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { faultAt, RefusedBox, toastRefusal } from '../parts/refused.ts';
import { toast } from '../parts/toast.ts';
import { t } from '../texts/master.ts';
import { t as bookings } from '../texts/rooms.ts';
import { t as shell } from '../texts/shell.ts';
import { type Location, nameIn, type Room } from './data.ts';

type RetirementProperties = {
  room: Room;
  rooms: readonly Room[];
  locations: readonly Location[];
  onDone: () => void;
  onClose: () => void;
};

const counted = ['bookings', 'series', 'blocks', 'lessons', 'mailItems', 'displays'] as const;
/** The most conflicts that are named. */
const mostNamed = 8;
const futures: readonly FutureBookings[] = ['Keep', 'Cancel', 'Move'];

type InTheWayProperties = { conflicts: readonly Conflict[]; room: Room; rooms: readonly Room[]; timeZone: string };

/** Why bookings cannot move, and what helps here, where nobody can choose another time. */
const InTheWay: Component<InTheWayProperties> = ({ conflicts, room, rooms, timeZone }) => html`
  <div class="refused" role="alert">
    <p>${t().inTheWay(conflicts.length)}</p>
    <ul>${conflicts
      .slice(0, mostNamed)
      .map(
        ({ subject, kind, resourceId, start, end, wantedStart }) =>
          html`<li>${subject ?? bookings().kinds[kind as BookingKind] ?? kind} (${nameIn(rooms, resourceId)}, ${rangeIn(timeZone, start, end)}), ${t().hits(moment(wantedStart, timeZone))}</li>`,
      )}</ul>
    <p>${t().cannotMove(t().skipOccupied(room.name))}</p>
  </div>
`;

export const Retirement: Component<RetirementProperties> = ({ room, rooms, locations, onDone, onClose }) => {
  const { id, name, locationId, active } = room;
  const timeZone = locations.find((location) => location.id === locationId)?.timeZone ?? 'UTC';
  const asked = useAsked(async (stop) => (await ask(RetirementPreviewDocument, { id }, stop)).retirementPreview, [id]);
  const [chosen, setFuture] = useState<FutureBookings>();
  const [resourceId, setTarget] = useState('');
  const [skips, setSkips] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const [isBusy, setBusy] = useState(false);
  // The next room is more often one of the same location.
  const isFar = (other: Room) => Number(other.locationId !== locationId);
  const others = rooms
    .filter((other) => other.active && other.id !== id)
    .toSorted((one, other) => isFar(one) - isFar(other));
  const target = resourceId || (others[0]?.id ?? '');

  async function putBack(version: number): Promise<void> {
    const { refused } = await act(ChangeResourceDocument, { id, version, input: { active: true } });
    if (refused) toastRefusal(refused);
    onDone();
  }
  async function retire(version: number, digest: string, futureBookings: FutureBookings): Promise<void> {
    const isMove = futureBookings === 'Move';
    setBusy(true);
    const { done, refused } = await act(RetireResourceDocument, {
      id,
      version,
      digest,
      input: { futureBookings, ...(isMove && { resourceId: target, conflictHandling: skips ? 'Skip' : 'Fail' }) },
    });
    setBusy(false);
    setRefusal(refused);
    if (refused) {
      if (refused.code === 'PreconditionFailed') asked.reload();
      return;
    }
    // Undo brings back only the room, not bookings that were cancelled or moved.
    const undo = active && done.cancelled + done.moved === 0 ? () => void putBack(done.version) : undefined;
    toast(t().retiredNow(name, done.cancelled, done.moved, done.kept.bookings + done.kept.blocks + done.kept.lessons), {
      undo,
    });
    onDone();
    onClose();
  }
  const moveTo = (id: string) => {
    setRefusal(undefined);
    setTarget(id);
  };
  const conflicts = refusal?.conflicts ?? [];
  const body = showAsked(asked, (preview) => {
    if (!preview) return html`<p>${shell().stale.isGone}</p>`;
    const there = counted.filter((what) => preview[what] > 0);
    const hasBookings = preview.bookings + preview.blocks > 0;
    // Blocks stay when bookings move.
    const choices = futures.filter((value) => (value === 'Keep' ? active : value === 'Cancel' || preview.bookings > 0));
    const futureBookings =
      choices.find((value) => value === chosen) ?? (active ? 'Keep' : preview.bookings > 0 ? 'Move' : 'Cancel');
    return html`
      <form onSubmit=${submit(() => isBusy || retire(preview.version, preview.digest, futureBookings))}>
        ${active && html`<h3>${t().ahead}</h3>`}
        ${
          there.length === 0
            ? html`<p>${t().nothingAhead}</p>`
            : html`<ul>${there.map((what) => html`<li>${t().counts[what](preview[what])}</li>`)}</ul>`
        }
        ${preview.lastEnd && html`<p>${t().lastEnd(moment(preview.lastEnd, timeZone))}</p>`}
        ${preview.hasMailCalendar && html`<p>${t().mailStops}</p>`}
        ${
          hasBookings &&
          h(Field, {
            label: t().whatThen,
            value: futureBookings,
            onInput: (text) => {
              setRefusal(undefined);
              setFuture(text as FutureBookings);
            },
            choices: choices.map((value) => ({ value, text: t().futures[value] })),
          })
        }
        ${
          hasBookings &&
          futureBookings === 'Move' &&
          html`
          ${h(Field, { label: t().moveTo, value: target, onInput: moveTo, choices: others.map((other) => ({ value: other.id, text: line`${other.name} · ${nameIn(locations, other.locationId)}` })), fault: faultAt(refusal, 'resourceId') })}
          ${h(Check, { label: t().skipOccupied(name), checked: skips, onChange: setSkips })}`
        }
        ${conflicts.length === 0 ? h(RefusedBox, { refusal, fields: ['resourceId'] }) : h(InTheWay, { conflicts, room, rooms, timeZone })}
        ${
          (active || hasBookings) &&
          html`<div class="buttons end">
            <button class="danger" disabled=${isBusy}>${active ? t().retireNow : t().clearNow}</button>
          </div>`
        }
      </form>
    `;
  });
  return h(Dialog, { title: active ? t().retireTitle(name) : t().clearTitle(name), onClose, children: body });
};
