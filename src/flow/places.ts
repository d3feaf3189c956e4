/** Places that tenants and persons share fairly: nobody gets all, and a free one goes to the tenant with the fewest. */
import { LimitExceeded, Unavailable } from '../errors.ts';

/** Others than the person use a calendar address, which therefore counts by itself. */
type Holder = { mandatorId: number; personId: number; calendarTokenId?: number };

type PlaceLimits = {
  /** What the places are for, as a refusal names it: `large imports`. */
  of: string;
  all: number;
  perTenant: number;
  perPerson: number;
  /** How many requests of one person may wait. */
  mostWaiting: number;
  /** How long a request waits for a place. */
  waitMs: number;
};

export type Places = {
  /**
   * Runs `work` once there is a place for it.
   * @throws LimitExceeded when the person or tenant has all the places that it may have; Unavailable when all places are taken
   */
  hold<T>(holder: Holder, work: () => Promise<T>): Promise<T>;
  /**
   * Takes a place once there is one, with the errors of `hold`.
   * @returns a function that gives it back; call it once
   */
  take(holder: Holder): Promise<() => void>;
  /** Takes a place if one is free. @returns as `take`, or undefined */
  takeIfFree(holder: Holder): (() => void) | undefined;
  /** Takes a place at once, even if none is free. It counts like the others. */
  takeAtOnce(holder: Holder): () => void;
};

type Waiting = { holder: Holder; enter: () => void };

/** Seconds after which a refused client may try again. */
const retryAfter = 10;

export function openPlaces(limits: PlaceLimits): Places {
  const taken = new Map<string, number>();
  /** In order of arrival. */
  const waiting = new Set<Waiting>();

  const total = 'all';
  const tenantOf = ({ mandatorId }: Holder) => `${mandatorId}`;
  const personOf = ({ mandatorId, personId, calendarTokenId }: Holder) =>
    calendarTokenId === undefined ? `${mandatorId} ${personId}` : `${mandatorId} calendar ${calendarTokenId}`;
  const takenBy = (key: string) => taken.get(key) ?? 0;

  function isFull(holder: Holder): boolean {
    return (
      takenBy(total) >= limits.all ||
      takenBy(tenantOf(holder)) >= limits.perTenant ||
      takenBy(personOf(holder)) >= limits.perPerson
    );
  }
  function count(holder: Holder, change: 1 | -1): void {
    for (const key of [total, tenantOf(holder), personOf(holder)]) {
      const left = takenBy(key) + change;
      if (left > 0) taken.set(key, left);
      else taken.delete(key);
    }
  }

  function refusal(holder: Holder): LimitExceeded | Unavailable {
    const { of, perPerson, perTenant, all } = limits;
    const own =
      takenBy(personOf(holder)) >= perPerson
        ? `${perPerson} ${of} of this ${holder.calendarTokenId === undefined ? 'person' : 'address'} are`
        : takenBy(tenantOf(holder)) >= perTenant
          ? `${perTenant} ${of} of this tenant are`
          : undefined;
    if (own)
      return new LimitExceeded(
        `${own} under way already; send this one when one of them has been answered.`,
        retryAfter,
      );
    return new Unavailable(`${all} ${of} are under way already; send the same request again.`);
  }

  /** Gives free places to waiting requests, first to those of the tenants with the fewest places. */
  function admit(): void {
    for (;;) {
      const [next] = [...waiting]
        .filter(({ holder }) => !isFull(holder))
        .sort((a, b) => takenBy(tenantOf(a.holder)) - takenBy(tenantOf(b.holder)));
      if (!next) return;
      waiting.delete(next);
      count(next.holder, 1);
      next.enter();
    }
  }

  function enter(holder: Holder): Promise<void> {
    const waitingOfPerson = [...waiting].filter((other) => personOf(other.holder) === personOf(holder)).length;
    if (waitingOfPerson >= limits.mostWaiting) throw refusal(holder);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const one: Waiting = { holder, enter: resolve };
    waiting.add(one);
    admit();
    if (!waiting.has(one)) return promise;
    const late = setTimeout(() => {
      waiting.delete(one);
      reject(refusal(holder));
    }, limits.waitMs).unref();
    return promise.finally(() => clearTimeout(late));
  }

  const leaveOf = (holder: Holder) => () => {
    count(holder, -1);
    admit();
  };

  async function take(holder: Holder): Promise<() => void> {
    await enter(holder);
    return leaveOf(holder);
  }

  function takeAtOnce(holder: Holder): () => void {
    count(holder, 1);
    return leaveOf(holder);
  }

  return {
    take,
    // Nobody waits for a place that is free for them.
    takeIfFree: (holder) => (isFull(holder) ? undefined : takeAtOnce(holder)),
    takeAtOnce,
    async hold(holder, work) {
      const leave = await take(holder);
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
