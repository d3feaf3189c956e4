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
   * Takes the place unless the call has it. Call it before a large answer is made. It never waits, as the call may have made other
   * parts of its answer, which take memory: where no place is free, all of it is dropped, and made again once there is one.
   * @param roomDays the size of what is about to be made; no place is needed while the sum of the call is small
   * @throws Error if none is free, which no client sees
   */
  take(roomDays: number): void;
  /** The same for an answer that has turned out to be large. @returns whether the call has its place */
  takeIfFree(): boolean;
  /** Whether the call was refused its place, so that it must be made again. */
  isRefused(): boolean;
  /** Waits for the place unless the call has it. @throws LimitExceeded */
  wait(): Promise<void>;
  /** Ends the call. */
  giveBack(): void;
};

type Leave = () => void;

/** @param places how the call takes one of the places at once, if one is free, or waits for one */
export function openCallPlace(places: { takeIfFree(): Leave | undefined; take(): Promise<Leave> }): CallPlace {
  let leave: Leave | undefined;
  let isRefused = false;
  let isOver = false;
  let made = 0;
  function takeIfFree(): boolean {
    // GraphQL's executor may answer before all of its resolvers have ended.
    if (isOver) throw new Error('The call is over.');
    leave ??= places.takeIfFree();
    isRefused ||= leave === undefined;
    return leave !== undefined;
  }
  return {
    take(roomDays) {
      made += roomDays;
      if (isLargeFor(made) && !takeIfFree()) throw new Error('No place is free: the call is made again with one.');
    },
    takeIfFree,
    isRefused: () => isRefused,
    async wait() {
      if (leave) return;
      const taken = await places.take();
      if (leave) taken();
      else leave = taken;
    },
    giveBack() {
      isOver = true;
      leave?.();
    },
  };
}
