/** What people do with a booking: each change is drawn at once, and reverted with the reason if the server refuses it. */
import { line } from '../../bidi.ts';
import { act, type Refusal } from '../client.ts';
import { rangeIn } from '../clock.ts';
import {
  CancelBookingDocument,
  ChangeBookingDocument,
  CheckInDocument,
  DecideBookingDocument,
  ReleaseBookingDocument,
  type Scope,
  type Verdict,
} from '../generated/graphql.ts';
import { toastRefusal } from '../parts/refused.ts';
import { later, toast } from '../parts/toast.ts';
import { t as closedText } from '../texts/closed-hint.ts';
import { t } from '../texts/rooms.ts';
import { isOpenAt } from './closed-hint.ts';
import { type Booking, type Leaving, type Store, spanOf } from './store.ts';
import { subjectOf } from './view.ts';

export type Steps = ReturnType<typeof makeSteps>;

/** @param onConflict shows what is in the way of a move, and what would be free */
export function makeSteps(store: Store, onConflict: (wanted: Booking, refusal: Refusal) => void) {
  const whatOf = ({ resourceName, timeZone, start, end }: Booking) =>
    line`${resourceName}, ${rangeIn(timeZone, start, end)}`;
  const nameOf = (booking: Booking) => line`${subjectOf(booking)} (${whatOf(booking)})`;

  async function move(before: Booking, wanted: Booking, canUndo = true): Promise<void> {
    const { id, version } = before;
    const { resourceId, start, end } = wanted;
    const send = () => act(ChangeBookingDocument, { id, version, scope: 'This', input: { resourceId, start, end } });
    const { done, refused } = await store.attempt(wanted, send, (changed) => changed);
    if (refused) {
      if (refused.conflicts.length > 0 || refused.alternatives.length > 0) onConflict(wanted, refused);
      else toastRefusal(refused, wanted.timeZone);
      return;
    }
    const undo = canUndo
      ? () => void move(done, { ...done, resourceId: before.resourceId, start: before.start, end: before.end }, false)
      : undefined;
    const isOpen = done.kind === 'Block' || isOpenAt(store.hoursOf(done.resourceId).value, spanOf(done));
    toast([t().moved(whatOf(done)), isOpen ? '' : closedText().moved].filter(Boolean).join(' '), { undo });
  }

  /** Draws bookings as about to go, and asks the server unless somebody undoes it in time. */
  function soon(
    booking: Booking,
    { how, scope, text, doneText }: { how: Leaving; scope: Scope; text: string; doneText: string },
    send: () => ReturnType<typeof cancelNow>,
  ): void {
    const ids = store.meant(booking, scope);
    store.leave(ids, how);
    const run = async () => {
      const { done, refused } = await send();
      store.stay(ids);
      if (refused) return toastRefusal(refused);
      for (const id of ids) store.remove(id);
      store.hear(done);
      toast(doneText);
    };
    later(
      text,
      () => void run(),
      () => store.stay(ids),
    );
  }
  const cancelNow = ({ id, version }: Booking, scope: Scope) => act(CancelBookingDocument, { id, version, scope });

  return {
    move,
    cancel: (booking: Booking, scope: Scope = 'This') =>
      soon(booking, { how: 'cancel', scope, text: t().willCancel(nameOf(booking)), doneText: t().cancelled }, () =>
        cancelNow(booking, scope),
      ),
    release: (booking: Booking) =>
      soon(
        booking,
        { how: 'release', scope: 'This', text: t().willRelease(nameOf(booking)), doneText: t().released },
        () => act(ReleaseBookingDocument, { id: booking.id }) as ReturnType<typeof cancelNow>,
      ),
    async checkIn(booking: Booking): Promise<void> {
      const { done, refused } = await act(CheckInDocument, { id: booking.id });
      if (refused) return toastRefusal(refused);
      store.hear(done);
      toast(t().checkedIn);
    },
    async decide({ id, version }: Booking, scope: Scope, verdict: Verdict, reason: string): Promise<void> {
      const { done, refused } = await act(DecideBookingDocument, {
        id,
        version,
        scope,
        input: { verdict, ...(reason && { reason }) },
      });
      if (refused) return toastRefusal(refused);
      store.hear(done);
      toast(verdict === 'Approved' ? t().approved : t().declined);
    },
  };
}
