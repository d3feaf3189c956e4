/** What people do with a booking: each is drawn at once, and taken back with the reason when the server refuses. */
import { act, type Refusal } from '../client.ts';
import {
  CancelBookingDocument,
  ChangeBookingDocument,
  CheckInDocument,
  DecideBookingDocument,
  ReleaseBookingDocument,
  type Scope,
  type Verdict,
} from '../generated/graphql.ts';
import { sayRefusal } from '../parts/refused.ts';
import { later, toast } from '../parts/toast.ts';
import { t } from '../texts/rooms.ts';
import { rangeIn } from './conflict.ts';
import type { Booking, Store } from './store.ts';
import { subjectOf } from './view.ts';

export type Steps = ReturnType<typeof makeSteps>;

/** @param onConflict shows what is in the way of a move, and what would be free */
export function makeSteps(store: Store, onConflict: (wanted: Booking, refusal: Refusal) => void) {
  const whatOf = ({ resourceName, timeZone, start, end }: Booking) =>
    `${resourceName}, ${rangeIn(timeZone, start, end)}`;
  const nameOf = (booking: Booking) => `${subjectOf(booking)} (${whatOf(booking)})`;
  const complain = (refusal: Refusal) => toast(sayRefusal(refusal), { kind: 'fault' });

  async function move(before: Booking, wanted: Booking, canUndo = true): Promise<void> {
    const { id, version } = before;
    const { resourceId, start, end } = wanted;
    const send = () => act(ChangeBookingDocument, { id, version, scope: 'This', input: { resourceId, start, end } });
    const { done, refused } = await store.attempt(wanted, send, (changed) => changed);
    if (refused) {
      if (refused.conflicts.length > 0 || refused.alternatives.length > 0) onConflict(wanted, refused);
      else complain(refused);
      return;
    }
    const undo = canUndo
      ? () => void move(done, { ...done, resourceId: before.resourceId, start: before.start, end: before.end }, false)
      : undefined;
    toast(t().moved(whatOf(done)), { undo });
  }

  /** Shown as done; the server is asked when nobody has taken it back. */
  function soon(booking: Booking, text: string, send: () => ReturnType<typeof cancelNow>, doneText: string): void {
    store.hide(booking);
    const back = () => store.show(booking.id);
    const run = async () => {
      const { done, refused } = await send();
      if (done) toast(doneText);
      else {
        back();
        if (refused) complain(refused);
      }
    };
    later(text, () => void run(), back);
  }
  const cancelNow = ({ id, version }: Booking, scope: Scope) => act(CancelBookingDocument, { id, version, scope });

  return {
    move,
    cancel: (booking: Booking, scope: Scope = 'This') =>
      soon(booking, t().willCancel(nameOf(booking)), () => cancelNow(booking, scope), t().cancelled),
    release: (booking: Booking) =>
      soon(
        booking,
        t().willRelease(nameOf(booking)),
        () => act(ReleaseBookingDocument, { id: booking.id }) as ReturnType<typeof cancelNow>,
        t().released,
      ),
    async checkIn(booking: Booking): Promise<void> {
      const { done, refused } = await act(CheckInDocument, { id: booking.id });
      if (refused) return complain(refused);
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
      if (refused) return complain(refused);
      store.hear(done);
      toast(verdict === 'Approved' ? t().approved : t().declined);
    },
  };
}
