/**
 * The places of tenants that have several servers each, where each server has turns as if it were a tenant (`turns.ts`). The rule:
 * **long servers leave two places to the others, and those of one tenant have three at a time.**
 *
 * A server is **long** if its requests were under way for more than a second in its last turn, because it answers late
 * or gets many requests. It then stays long until a turn is quick a minute after the last long one, as some servers
 * answer late only now and then. The time of our database does not count, and a turn without requests changes nothing.
 * A server without a turn yet counts as quick, so it may hold any place once.
 *
 * Tenants take turns, however many long servers each has. Of the servers of a tenant, the one that has waited longest goes first.
 */
import { openTurns, type Refusal, type Turn, type TurnWork } from './turns.ts';

const longMs = 1_000;
const staysLongMs = 60_000;
const mostOfTenant = 3;
const leftByLong = 2;
const againMs = 1_000;
/** How late a refused server may ask again and keep its place: a sweep finds it, perhaps that of another process. */
const lateMs = 2_000;

export type SharedTurn = Turn & {
  /** Call it before each request. */
  begin(): void;
  /** Call it after each request. */
  ended(): void;
};

export type Shares = {
  /** Like `Turns.take`, for a server of a tenant: `of.tenant` is the server. */
  take(tenant: number, of: TurnWork, work: (turn: SharedTurn) => Promise<void>): Promise<Refusal | undefined>;
};

/** `placeUntil`: how long others leave it a place. */
type Waiting = { tenant: number; placeUntil: number };

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
  /** The number of turns of long servers so far, and for each tenant the number of its last one. */
  let begun = 0;
  const lastOf = new Map<number, number>();
  /** The long servers that were refused and have had no turn since, in order of arrival. */
  const waiting = new Map<number, Waiting>();

  /** Whether a place is left besides those kept for servers whose turn comes first. */
  function hasPlace(tenant: number, server: number): boolean {
    const now = performance.now();
    const queue = [...waiting].flatMap(([other, one]) =>
      other === server || one.placeUntil >= now ? { server: other, tenant: one.tenant } : [],
    );
    if (!waiting.has(server)) queue.push({ server, tenant });
    const taken = [...running];
    const last = new Map(lastOf);
    while (taken.length < places - leftByLong) {
      const [next] = queue
        .filter((one) => taken.filter((of) => of === one.tenant).length < mostOfTenant)
        .sort((one, other) => (last.get(one.tenant) ?? 0) - (last.get(other.tenant) ?? 0));
      if (!next || next.server === server) return next !== undefined;
      queue.splice(queue.indexOf(next), 1);
      taken.push(next.tenant);
      last.set(next.tenant, begun + taken.length);
    }
    return false;
  }

  function refuse(tenant: number, server: number, refusal: Refusal, keepsPlace: boolean): Refusal {
    const placeUntil = keepsPlace ? performance.now() + refusal.againMs + lateMs : 0;
    waiting.set(server, { tenant, placeUntil });
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
          if (isLong) lastOf.set(tenant, ++begun);
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
