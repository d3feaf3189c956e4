/** The dialogs of the plan. */
import { leave } from '../address.ts';
import type { Alternative, Refusal } from '../client.ts';
import { Dialog } from '../parts/dialog.ts';
import { type Component, h } from '../parts/html.ts';
import { RefusedBox } from '../parts/refused.ts';
import { t } from '../texts/rooms.ts';
import { BookingForm } from './booking-form.ts';
import { ConflictList } from './conflict.ts';
import type { Draft } from './draft.ts';
import { Requests } from './requests.ts';
import type { Steps } from './steps.ts';
import type { Booking, Room, Store } from './store.ts';

export type Opened = { draft: Draft } | { conflict: { wanted: Booking; refusal: Refusal } } | { requests: true };

type DialogsProperties = {
  opened: Opened | undefined;
  onClose: () => void;
  rooms: readonly Room[];
  store: Store;
  steps: Steps;
  requests: readonly Booking[];
  onDecided: () => void;
};

export const Dialogs: Component<DialogsProperties> = (properties) => {
  const { opened, onClose, rooms, store, steps, requests, onDecided } = properties;
  if (!opened) return null;
  if ('requests' in opened) return h(Requests, { requests, steps, onDone: onDecided, onClose });
  if ('draft' in opened) {
    const closeAll = () => {
      onClose();
      leave('booking');
    };
    return h(BookingForm, { draft: opened.draft, rooms, store, onClose: closeAll });
  }
  const { wanted, refusal } = opened.conflict;
  const take = ({ resourceId, resourceName, start, end }: Alternative) => {
    const before = store.find(wanted.id);
    onClose();
    if (before) void steps.move(before, { ...wanted, resourceId, resourceName, start, end });
  };
  const nameOf = (id: string) => rooms.find((room) => room.id === id)?.name ?? '';
  const children = [
    h(RefusedBox, { refusal }),
    h(ConflictList, { refusal, timeZone: wanted.timeZone, nameOf, onTake: take }),
  ];
  return h(Dialog, { title: t().conflictTitle, onClose, children });
};
