/**
 * Turns at mail servers. The rule: **however many tenants' servers hang, a tenant whose server answers soon gets its turn.**
 *
 * - A turn lasts at most 5 s, or 60 s in a **slow place**. Half of the places may be slow. After 5 s a turn moves to a slow
 *   place, or ends if none is free.
 * - A tenant is **slow** once a turn has had no answer for 5 s. It starts in slow places only, until a turn gets an answer
 *   within 5 s. So an unknown server delays the others by 5 s, once.
 * - A slow tenant has two places, so that another calendar can show that only the first one hangs. After a turn without an
 *   answer all work of the tenant rests: for 5 s, and twice as long each time up to 60 s. Then it has one place for a probe.
 *
 * Spare work, such as writing a whole term into many calendars, has turns of its own besides the other turns of its tenant. When
 * the server refuses other work of the tenant because of too many requests, spare work pauses for 3 s, so that the other work gets
 * the next requests that the server allows. If the server refuses again and again, spare work may run for 3 s after each 30 s.
 * Spare work that waits long for answers, such as large writes, is slow by itself: it does not make the other work of its tenant slow.
 *
 * Urgent work goes before a tenant's other bulk work: while some waits, other bulk work gets a turn only after 30 s,
 * one at a time. Urgent work that has waited longest goes first.
 *
 * Servers that answer slowly share the slow places with servers that never answer, so their tenants may wait for minutes. A turn
 * is ended by a signal, which all calls of the turn obey; the work keeps the answers that it has received. The time of a turn
 * begins with its first request, so a slow database of ours does not make a tenant slow. Work whose turn ended only because no
 * slow place was free starts in one the next time.
 */
import { doubledPause } from './retry.ts';

const quickWithinMs = 5_000;
const slowWithinMs = 60_000;
const rests = { firstMs: 5_000, longestMs: 60_000 };
/** When refused work asks again: soon, or later if it needs a slow place. */
const soonMs = 1_000;
const laterMs = 10_000;
/** If no more spare work than this waits, it asks again soon; otherwise later, as asking costs nearly as much as a turn. */
const fewSpare = 16;
/** How soon urgent work asks again if at most `fewUrgent` others have waited longer; with more it asks later. */
const urgentAgainMs = 150;
const fewUrgent = 4;
/** Urgent work gives way to work that began to wait this much earlier, if that has asked this recently. */
const [earlierMs, lateAskedMs] = [500, 1_000];
/** How long spare work pauses once the server has refused other work of its tenant. */
const spareRestMs = 3_000;
/** How long it then runs if it has waited too long. */
const spareRunsMs = 3_000;
/** How long work gives way to other work. */
const patienceMs = 30_000;
/** How long after its last request for a turn urgent or overdue work counts as given up. */
const forgottenAfterMs = 3_000;
const mostOfTenant = 3;
const [mostOfSlowTenant, mostSpareOfSlowTenant] = [2, 1];
const mostSpareOfTenant = 3;
/** Places that spare work leaves to work that is neither spare nor slow. */
const leftBySpare = 2;

/** Work that wants a turn. */
export type TurnWork = {
  tenant: number;
  /** Identifies the work among all work of the tenant. */
  name: string;
  /** Readings of calendars. They leave a turn of the tenant to other work, such as subscriptions, and vice versa. */
  isBulk?: boolean;
  /** Bulk work that somebody waits for: it goes before other bulk work. */
  isUrgent?: boolean;
  /** Milliseconds that it has waited already, perhaps for another process: urgent work goes in this order. */
  waitedMs?: number;
  /** Work that may take long. It has turns besides the tenant's others, in half of the places and in slow ones. */
  isSpare?: boolean;
};

export type Turn = {
  /** Call it before the first request. */
  begin(): void;
  /** Aborts when the turn is over; the reason is a message for people. */
  signal: AbortSignal;
  /** Whether the turn ended only because no slow place was free, which says nothing about the server. */
  isCutShort(): boolean;
  /** Call it when the server has answered, whatever the answer. */
  answered(): void;
  /** Call it when the server has refused too many requests. */
  throttled(): void;
};

export type Refusal = {
  /** Milliseconds after which to ask again. */
  againMs: number;
  /** Whether the refusal applies to all work of the tenant. */
  isForAll: boolean;
};

export type Turns = {
  /** Runs `work` if a place is free now. @returns the refusal if none is */
  take(of: TurnWork, work: (turn: Turn) => Promise<void>): Promise<Refusal | undefined>;
};

/** `beganAt` is the time of the first request. */
type Run = { beganAt: number; isSlow: boolean } & Pick<TurnWork, 'tenant'> &
  Required<Pick<TurnWork, 'isBulk' | 'isUrgent' | 'isSpare'>>;
/** Overdue: bulk work that has given way to urgent work for too long. */
type BulkRank = 'Urgent' | 'Overdue' | 'Usual';
type TenantStanding = {
  /** Whether spare work, and other work, is slow. */
  slow: { spare: boolean; other: boolean };
  /** When the server answered last. */
  answeredAt: number;
  /** Consecutive turns without an answer. */
  rests: number;
  restsUntil: number;
  spareRestsUntil: number;
  /** When the pause first refused spare work since it last ran. */
  spareHeldSince: number | undefined;
  /** Until then spare work may run in spite of the pause. */
  spareRunsUntil: number;
  /** Spare work that was refused and has had no turn since: its name, and when it was last refused. */
  waiting: Map<string, number>;
  /** Bulk work that was refused and has had no turn since: its name, when it was first and last refused, and when it is given up. */
  bulk: Map<string, { since: number; asked: number; rank: BulkRank; forgetAt: number }>;
};

const kindOf = (isSpare: boolean) => (isSpare ? 'spare' : 'other');

/** @param places how many turns may run at a time */
export function openTurns(places: number): Turns {
  const runs = new Set<Run>();
  const standings = new Map<number, TenantStanding>();
  /** Work whose last turn was cut short, by tenant and name. */
  const cutShort = new Set<string>();
  const count = (is: (run: Run) => boolean) => [...runs].filter(is).length;

  function standingOf(tenant: number): TenantStanding {
    const known = standings.get(tenant);
    if (known) return known;
    const fresh: TenantStanding = {
      slow: { spare: false, other: false },
      answeredAt: Number.NEGATIVE_INFINITY,
      rests: 0,
      restsUntil: 0,
      spareRestsUntil: 0,
      spareHeldSince: undefined,
      spareRunsUntil: 0,
      waiting: new Map(),
      bulk: new Map(),
    };
    standings.set(tenant, fresh);
    return fresh;
  }

  function hasSlowPlace(tenant: number, isSpare: boolean): boolean {
    const own = standingOf(tenant).rests > 0 ? 1 : mostOfSlowTenant;
    return (
      count(({ isSlow }) => isSlow) < Math.floor(places / 2) &&
      count((run) => run.isSlow && run.tenant === tenant) < own &&
      !(isSpare && count((run) => run.isSlow && run.isSpare && run.tenant === tenant) >= mostSpareOfSlowTenant)
    );
  }

  function refusalOf(
    { tenant, name, isBulk = false, isSpare = false, isUrgent = false, waitedMs = 0 }: TurnWork,
    isSlowWork: boolean,
  ): Refusal | undefined {
    const { slow, restsUntil } = standingOf(tenant);
    const isSlow = slow[kindOf(isSpare)];
    const restMs = restsUntil - performance.now();
    if (isSlow && restMs > 0) return { againMs: restMs, isForAll: true };
    if ((isSlow || isSlowWork) && !hasSlowPlace(tenant, isSpare)) return { againMs: laterMs, isForAll: isSlow };
    const spare = count((run) => run.isSpare && !run.isSlow);
    const long = count((run) => run.isSpare || run.isSlow);
    const own = count((run) => run.isSpare === isSpare && run.tenant === tenant);
    const alike = count((run) => !run.isSpare && run.tenant === tenant && run.isBulk === isBulk);
    const most = isSpare ? (isSlow ? mostSpareOfSlowTenant : mostSpareOfTenant) : mostOfTenant;
    const mostSpare = isSlow || isSlowWork ? places : places / 2;
    const left = isSpare ? Math.min(mostSpare - spare, places - leftBySpare - long) : mostOfTenant - 1 - alike;
    const free = Math.min(places - runs.size, most - own, left);
    if (isBulk && !isSpare) return refusalOfBulk({ tenant, name, isUrgent, waitedMs }, free);
    if (free > 0 && !(isSpare && isHeld(standingOf(tenant)))) return undefined;
    return { againMs: isSpare ? spareAgainMs(tenant, name) : soonMs, isForAll: false };
  }

  /** Whether spare work that would find a place gives way because the server refuses other work. */
  function isHeld(standing: TenantStanding): boolean {
    const now = performance.now();
    const { spareHeldSince = now, spareRestsUntil, spareRunsUntil } = standing;
    const rests = now < spareRestsUntil && now >= spareRunsUntil;
    const isOverdue = rests && now - spareHeldSince >= patienceMs;
    if (isOverdue) standing.spareRunsUntil = now + spareRunsMs;
    standing.spareHeldSince = rests && !isOverdue ? spareHeldSince : undefined;
    return rests && !isOverdue;
  }

  function refusalOfBulk(
    { tenant, name, isUrgent, waitedMs }: Required<Pick<TurnWork, 'tenant' | 'name' | 'isUrgent' | 'waitedMs'>>,
    free: number,
  ): Refusal | undefined {
    const { bulk } = standingOf(tenant);
    const now = performance.now();
    for (const [other, { forgetAt }] of bulk) if (other !== name && forgetAt < now) bulk.delete(other);
    const since = Math.min(bulk.get(name)?.since ?? now, now - waitedMs);
    const rank = isUrgent ? 'Urgent' : since < now - patienceMs ? 'Overdue' : 'Usual';
    const others = [...bulk].flatMap(([other, one]) => (other === name ? [] : [one]));
    const waiting = others.filter((one) => one.rank !== 'Usual' && one.asked > now - forgottenAfterMs);
    const [urgent, overdue] = [
      waiting.filter((one) => one.rank === 'Urgent'),
      waiting.filter((one) => one.rank === 'Overdue'),
    ];
    const peers = rank === 'Urgent' ? urgent : overdue;
    const earlier = peers.filter((one) => one.since < since - earlierMs && one.asked > now - lateAskedMs).length;
    // While both wait, overdue work has one turn and urgent work the others.
    const isOtherServed = count((run) => run.tenant === tenant && run.isBulk && !run.isSpare && !run.isUrgent) > 0;
    const ahead = {
      Urgent: earlier + Number(overdue.length > 0 && !isOtherServed),
      Overdue: earlier + (isOtherServed ? urgent.length : 0),
      Usual: waiting.length,
    };
    if (free > ahead[rank]) return undefined;
    const againMs =
      rank === 'Usual'
        ? soonMs * Math.max(1, (others.length - waiting.length + 1) / fewSpare)
        : urgentAgainMs * Math.max(1, peers.filter((one) => one.since < since).length / fewUrgent);
    // Callers vary the pause so that they do not all ask at the same time.
    bulk.set(name, { since, asked: now, rank, forgetAt: now + slowWithinMs + 3 * againMs });
    return { againMs, isForAll: false };
  }

  function spareAgainMs(tenant: number, name: string): number {
    const { waiting } = standingOf(tenant);
    const now = performance.now();
    waiting.delete(name);
    waiting.set(name, now);
    // Work that no longer asks was given up. The oldest come first.
    for (const [other, since] of waiting) {
      if (since > now - slowWithinMs) break;
      waiting.delete(other);
    }
    return soonMs * Math.max(1, waiting.size / fewSpare);
  }

  /** Moves a run to a slow place after 5 s, if one is free. @returns whether the turn continues */
  function moveToSlow(run: Run): boolean {
    const standing = standingOf(run.tenant);
    if (standing.answeredAt < run.beganAt) standing.slow[kindOf(run.isSpare)] = true;
    run.isSlow ||= hasSlowPlace(run.tenant, run.isSpare);
    return run.isSlow;
  }

  function answered({ tenant, beganAt, isSpare }: Run): void {
    const standing = standingOf(tenant);
    standing.answeredAt = performance.now();
    standing.rests = 0;
    standing.restsUntil = 0;
    if (standing.answeredAt - beganAt < quickWithinMs) standing.slow[kindOf(isSpare)] = false;
  }

  function restUnlessAnswered({ tenant, beganAt }: Run): void {
    const standing = standingOf(tenant);
    const isIdle = performance.now() - beganAt < quickWithinMs;
    if (isIdle || standing.answeredAt >= beganAt) return;
    standing.restsUntil = performance.now() + doubledPause(standing.rests++, rests);
  }

  return {
    async take(of, work) {
      const { tenant, isBulk = false, isUrgent = false, isSpare = false } = of;
      const key = `${tenant} ${of.name}`;
      const isSlowWork = cutShort.has(key);
      const refusal = refusalOf(of, isSlowWork);
      if (refusal) return refusal;
      const isSlow = isSlowWork || standingOf(tenant).slow[kindOf(isSpare)];
      const run: Run = { tenant, isBulk, isUrgent, isSpare, beganAt: Number.POSITIVE_INFINITY, isSlow };
      runs.add(run);
      standingOf(tenant).waiting.delete(of.name);
      standingOf(tenant).bulk.delete(of.name);
      const end = new AbortController();
      const cut = (ms: number) => end.abort(new Error(`no answer within ${ms / 1_000} s`));
      const timers: NodeJS.Timeout[] = [];
      const makeWay = () => {
        if (moveToSlow(run)) return;
        cutShort.add(key);
        cut(quickWithinMs);
      };
      cutShort.delete(key);
      try {
        await work({
          begin() {
            if (timers.length > 0) return;
            run.beganAt = performance.now();
            timers.push(setTimeout(makeWay, quickWithinMs), setTimeout(cut, slowWithinMs, slowWithinMs));
          },
          signal: end.signal,
          isCutShort: () => cutShort.has(key),
          answered: () => answered(run),
          throttled() {
            standingOf(tenant).spareRestsUntil = performance.now() + spareRestMs;
          },
        });
      } finally {
        for (const timer of timers) clearTimeout(timer);
        runs.delete(run);
        restUnlessAnswered(run);
      }
      return undefined;
    },
  };
}
