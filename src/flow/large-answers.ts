/**
 * Large answers under way. Each holds memory until its reader, which may be slow, has taken it: the availability of 500
 * rooms for a quarter of a year takes 25 MB.
 */
import { openPlaces } from './places.ts';

/** There is no limit for all tenants together, which those with slow readers could exhaust. */
const limits = {
  all: Number.POSITIVE_INFINITY,
  perTenant: 16,
  perPerson: 8,
  mostWaiting: 64,
  waitMs: 10_000,
};

/** The places of a process. */
export const openLargeAnswers = () => openPlaces({ ...limits, of: 'large answers' });

/** Those of calendar addresses, which are made to be given away: their readers must not take the places of the tenant's persons. */
export const openLargeCalendars = () => openPlaces({ ...limits, of: 'large calendars' });

/** The most room-days of a small answer, which needs no place: it takes half a megabyte. */
const mostSmall = 1_000;

/** @param roomDays the days of all resources that the answer is about */
export const isLargeFor = (roomDays: number): boolean => roomDays > mostSmall;

/** The place of one call among the large answers. A call takes one place at most, so it never waits for itself. */
export type CallPlace = {
  /**
   * Takes the place unless the call has it. Call it before a large answer is made, or at least before it is sent.
   * @param roomDays the size of what is about to be made; no place is needed while the sum of the call is small
   * @throws LimitExceeded, each time; Unavailable if the client has gone meanwhile
   */
  take(roomDays?: number): Promise<void>;
  /** @throws LimitExceeded if the place was refused */
  checkTaken(): void;
  /** Ends the call. */
  giveBack(): void;
};

/** @param takePlace `take` of the places; called once at most */
export function openCallPlace(takePlace: () => Promise<() => void>): CallPlace {
  let taking: Promise<() => void> | undefined;
  let refusal: { error: unknown } | undefined;
  let isOver = false;
  let made = 0;
  return {
    async take(roomDays = Number.POSITIVE_INFINITY) {
      made += roomDays;
      if (!isLargeFor(made)) return;
      // GraphQL's executor may answer before all of its resolvers have ended.
      if (isOver) throw new Error('The call is over.');
      taking ??= takePlace();
      try {
        await taking;
      } catch (error) {
        refusal = { error };
        throw error;
      }
    },
    checkTaken() {
      if (refusal) throw refusal.error;
    },
    giveBack() {
      isOver = true;
      taking?.then(
        (leave) => leave(),
        () => {},
      );
    },
  };
}
