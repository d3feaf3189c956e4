/**
 * The places of tenants that have several servers each, where each server has turns as if it were a tenant (`turns.ts`). The rule:
 * **long servers leave two places to the others, and those of one tenant have three at a time.**
 *
 * A server is **long** if its requests were under way for more than a second in its last turn: it answers late, or much is sent to
 * it. Either way it holds a place for as long. It stays long until a turn shows otherwise a minute after its last long one, as some
 * answer late now and then. The time of our database does not count, and a turn without requests says nothing. A server without a turn yet counts as quick, so it may hold any place once. The one that has waited longest goes first.
 */
import { openTurns, type Refusal, type Turn, type TurnWork } from './turns.ts';

const longMs = 1_000;
const staysLongMs = 60_000;
const mostOfTenant = 3;
const leftByLong = 2;
const againMs = 1_000;
/** A refused server counts as given up when it is this late to ask again: it is found by a sweep. */
const lateMs = 5_000;

export type SharedTurn = Turn & {
  /** Call it before each request. */
  begin(): void;
  /** Call it after each request. */
  ended(): void;
};

export type Shares = {
  /** As `take` of the turns, for a server of a tenant: `of.tenant` is the server. */
  take(tenant: number, of: TurnWork, work: (turn: SharedTurn) => Promise<void>): Promise<Refusal | undefined>;
};

/** `keepsPlace`: whether those that came later leave it a place; not where it could not use one. */
type Waiting = { tenant: number; keepsPlace: boolean; forgetAt: number };

/** Does the work. @returns the milliseconds that its requests were under way; undefined: it sent none */
async function measure(turn: Turn, work: (turn: SharedTurn) => Promise<void>): Promise<number | undefined> {
  let ms: number | undefined;
  let [underWay, since] = [0, 0];
  await work({
    ...turn,
    begin() {
      if (underWay === 0) since = performance.now();
      underWay += 1;
      turn.begin();
    },
    ended() {
      underWay -= 1;
      if (underWay === 0) ms = (ms ?? 0) + performance.now() - since;
    },
  });
  return ms;
}

/** @param places how many turns may run at a time */
export function openShares(places: number): Shares {
  const turns = openTurns(places);
  /** The long servers, with the time of the last long turn. */
  const long = new Map<number, number>();
  /** The tenants of the long servers that have a turn. */
  const running: number[] = [];
  /** The long servers that were refused and have had no turn since, in the order in which they came. */
  const waiting = new Map<number, Waiting>();

  /** Whether a place is left besides those of the servers that have waited longer. */
  function hasPlace(tenant: number, server: number): boolean {
    const now = performance.now();
    const taken = [...running];
    const isLeft = (of: number) =>
      taken.length < places - leftByLong && taken.filter((one) => one === of).length < mostOfTenant;
    for (const [other, one] of waiting) {
      if (other === server) break;
      if (one.forgetAt < now) waiting.delete(other);
      else if (one.keepsPlace && isLeft(one.tenant)) taken.push(one.tenant);
    }
    return isLeft(tenant);
  }

  function refuse(tenant: number, server: number, refusal: Refusal, keepsPlace: boolean): Refusal {
    waiting.set(server, { tenant, keepsPlace, forgetAt: performance.now() + refusal.againMs + lateMs });
    return refusal;
  }

  return {
    async take(tenant, of, work) {
      const server = of.tenant;
      const isLong = long.has(server);
      if (isLong && !hasPlace(tenant, server)) return refuse(tenant, server, { againMs, isForAll: false }, true);
      if (isLong) running.push(tenant);
      try {
        const refusal = await turns.take(of, async (turn) => {
          waiting.delete(server);
          const ms = await measure(turn, work);
          if (ms === undefined) return;
          const now = performance.now();
          if (ms > longMs) long.set(server, now);
          else if (now - (long.get(server) ?? now) >= staysLongMs) long.delete(server);
        });
        return refusal && isLong ? refuse(tenant, server, refusal, false) : refusal;
      } finally {
        if (isLong) running.splice(running.indexOf(tenant), 1);
      }
    },
  };
}
