/**
 * The share of a tenant that has several servers, each with turns as if it were a tenant (`turns.ts`). The rule: **of the servers
 * whose last turn took long, a tenant has three turns at a time.** So however many they are, the others get theirs at once; a server
 * without a turn yet counts as quick, and may delay them once. The one that has waited longest goes first.
 */
import type { Refusal, Turns } from './turns.ts';

const longMs = 1_000;
const mostLong = 3;
/** When a refused server asks again; how long after its last request it counts as given up. */
const [againMs, forgottenAfterMs] = [1_000, 3_000];

export type Shares = {
  /** As `take` of the turns, for a server of a tenant: `of.tenant` is the server. */
  take(tenant: number, ...args: Parameters<Turns['take']>): Promise<Refusal | undefined>;
};

/** By server: when it was first and last refused. */
type Waiting = Map<number, { since: number; asked: number }>;

export function openShares(turns: Turns): Shares {
  const long = new Set<number>();
  const shares = new Map<number, { running: number; waiting: Waiting }>();

  function shareOf(tenant: number) {
    const known = shares.get(tenant);
    if (known) return known;
    const fresh = { running: 0, waiting: new Map() as Waiting };
    shares.set(tenant, fresh);
    return fresh;
  }

  /** Whether the share has a turn left besides those of the servers that have waited longer. */
  function hasLeft(tenant: number, server: number): boolean {
    const { running, waiting } = shareOf(tenant);
    const now = performance.now();
    for (const [other, { asked }] of waiting)
      if (other !== server && asked < now - forgottenAfterMs) waiting.delete(other);
    const since = waiting.get(server)?.since ?? now;
    const ahead = [...waiting].filter(([other, one]) => other !== server && one.since < since).length;
    if (running + ahead < mostLong) return true;
    waiting.set(server, { since, asked: now });
    return false;
  }

  return {
    async take(tenant, of, work) {
      const server = of.tenant;
      const share = shareOf(tenant);
      const isLong = long.has(server);
      if (isLong && !hasLeft(tenant, server)) return { againMs, isForAll: false };
      share.waiting.delete(server);
      if (isLong) share.running += 1;
      const begunAt = performance.now();
      try {
        const refusal = await turns.take(of, work);
        if (refusal) return refusal;
        if (performance.now() - begunAt > longMs) long.add(server);
        else long.delete(server);
        return undefined;
      } finally {
        if (isLong) share.running -= 1;
      }
    },
  };
}
