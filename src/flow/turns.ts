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
 * the server refuses other work of the tenant because of too many requests, spare work pauses for a moment, so that the other work
 * gets the next requests that the server allows.
 *
 * Of a tenant's bulk work, urgent work goes first: while some of it waits, other bulk work gets a turn only after 30 s. Of urgent
 * work, that which has waited longest goes first.
 *
 * Servers that answer slowly share the slow places with servers that never answer, so their tenants may wait for minutes. A turn
 * is ended by a signal, which all calls of the turn obey; the work keeps the answers that it has received. The time of a turn
 * begins with its first request, so a slow database of ours does not make a tenant slow. Work whose turn ended only because no
 * slow place was free starts in one the next time.
 */

const quickWithinMs = 5_000;
const slowWithinMs = 60_000;
const firstRestMs = 5_000;
const longestRestMs = 60_000;
/** When refused work asks again: soon, or later if it needs a slow place. */
const soonMs = 1_000;
const laterMs = 10_000;
/** If no more spare work than this waits, it asks again soon; otherwise later, as asking costs nearly as much as a turn. */
const fewSpare = 16;

/** When urgent work asks again, if no more of it than this has waited longer; otherwise it asks later. */
const [urgentAgainMs, fewUrgent] = [150, 4];
/** Urgent work gives way to work that began to wait this much earlier, if that has asked this recently. */
const [earlierMs, lateAskedMs] = [500, 1_000];
/** How long spare work pauses once the server has refused other work of its tenant. */
const spareRestMs = 3_000;
/** How long bulk work waits until it counts as urgent; how long after its last request for a turn urgent work counts as given up. */
const [patienceMs, forgottenAfterMs] = [30_000, 3_000];

const mostOfTenant = 3;
const mostOfSlowTenant = 2;
const mostSpareOfTenant = 3;

/** Work that wants a turn. */
export type TurnWork = {
  tenant: number;
  /** Identifies the work among all work of the tenant. */
  name: string;
  /** Work that may be plentiful: it leaves one of the tenant's turns to other work. */
  isBulk?: boolean;
  /** Bulk work that somebody waits for: it goes before other bulk work. */
  isUrgent?: boolean;
  /** Milliseconds that it has waited already, perhaps for another process: urgent work goes in this order. */
  waitedMs?: number;
  /** Work that may take long: it has turns besides the tenant's other ones, and takes at most half of the places. */
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
  /** Call it when the server has refused because too much was asked of it. */
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
type Run = { tenant: number; isBulk: boolean; isSpare: boolean; beganAt: number; isSlow: boolean };
type TenantStanding = {
  isSlow: boolean;
  /** When the server answered last. */
  answeredAt: number;
  /** Consecutive turns without an answer. */
  rests: number;
  restsUntil: number;
  spareRestsUntil: number;
  /** Spare work that was refused and has had no turn since: its name, and when it was last refused. */
  waiting: Map<string, number>;
  /** Bulk work that was refused and has had no turn since: its name, and when it was first and last refused. */
  bulk: Map<string, { since: number; asked: number; isUrgent: boolean }>;
};

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
    const fresh = {
      isSlow: false,
      answeredAt: Number.NEGATIVE_INFINITY,
      rests: 0,
      restsUntil: 0,
      spareRestsUntil: 0,
      waiting: new Map(),
      bulk: new Map(),
    };
    standings.set(tenant, fresh);
    return fresh;
  }

  function hasSlowPlace(tenant: number): boolean {
    const own = standingOf(tenant).rests > 0 ? 1 : mostOfSlowTenant;
    return (
      count(({ isSlow }) => isSlow) < Math.floor(places / 2) &&
      count((run) => run.isSlow && run.tenant === tenant) < own
    );
  }

  function refusalOf(
    { tenant, name, isBulk = false, isSpare = false, isUrgent = false, waitedMs = 0 }: TurnWork,
    isSlowWork: boolean,
  ): Refusal | undefined {
    const { isSlow, restsUntil, spareRestsUntil } = standingOf(tenant);
    const restMs = restsUntil - performance.now();
    if (isSlow && restMs > 0) return { againMs: restMs, isForAll: true };
    if ((isSlow || isSlowWork) && !hasSlowPlace(tenant)) return { againMs: laterMs, isForAll: isSlow };
    const spare = count((run) => run.isSpare);
    const own = count((run) => run.isSpare === isSpare && run.tenant === tenant);
    const bulk = count((run) => !run.isSpare && run.tenant === tenant && run.isBulk);
    if (isBulk && !isSpare) {
      const free = Math.min(places - runs.size, mostOfTenant - own, mostOfTenant - 1 - bulk);
      return refusalOfBulk(standingOf(tenant), { name, isAsked: isUrgent, waitedMs }, free);
    }
    const hasNone = isSpare
      ? performance.now() < spareRestsUntil || spare >= places / 2 || own >= (isSlow ? 1 : mostSpareOfTenant)
      : own >= mostOfTenant;
    if (runs.size < places && !hasNone) return undefined;
    return { againMs: isSpare ? spareAgainMs(tenant, name) : soonMs, isForAll: false };
  }

  function refusalOfBulk(
    { bulk }: TenantStanding,
    { name, isAsked, waitedMs }: { name: string; isAsked: boolean; waitedMs: number },
    free: number,
  ): Refusal | undefined {
    const now = performance.now();
    for (const [other, { asked }] of bulk) if (other !== name && asked < now - slowWithinMs) bulk.delete(other);
    const since = Math.min(bulk.get(name)?.since ?? now, now - waitedMs);
    const isUrgent = isAsked || since < now - patienceMs;
    const urgent = [...bulk].filter(
      ([other, one]) => other !== name && one.isUrgent && one.asked > now - forgottenAfterMs,
    );
    const first = isUrgent
      ? urgent.filter(([, one]) => one.since < since - earlierMs && one.asked > now - lateAskedMs)
      : urgent;
    if (free > first.length) return undefined;
    bulk.set(name, { since, asked: now, isUrgent });
    const earlier = urgent.filter(([, one]) => one.since < since).length;
    const againMs = isUrgent
      ? urgentAgainMs * Math.max(1, earlier / fewUrgent)
      : soonMs * Math.max(1, (bulk.size - urgent.length) / fewSpare);
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

  /** Moves a run to a slow place after 5 s, if one is free. @returns whether the turn goes on */
  function moveToSlow(run: Run): boolean {
    const standing = standingOf(run.tenant);
    if (standing.answeredAt < run.beganAt) standing.isSlow = true;
    run.isSlow ||= hasSlowPlace(run.tenant);
    return run.isSlow;
  }

  function answered({ tenant, beganAt }: Run): void {
    const standing = standingOf(tenant);
    standing.answeredAt = performance.now();
    standing.rests = 0;
    standing.restsUntil = 0;
    if (standing.answeredAt - beganAt < quickWithinMs) standing.isSlow = false;
  }

  function restUnlessAnswered({ tenant, beganAt }: Run): void {
    const standing = standingOf(tenant);
    const isIdle = performance.now() - beganAt < quickWithinMs;
    if (isIdle || standing.answeredAt >= beganAt) return;
    standing.restsUntil = performance.now() + Math.min(firstRestMs * 2 ** standing.rests, longestRestMs);
    standing.rests += 1;
  }

  return {
    async take(of, work) {
      const { tenant, isBulk = false, isSpare = false } = of;
      const key = `${tenant} ${of.name}`;
      const isSlowWork = cutShort.has(key);
      const refusal = refusalOf(of, isSlowWork);
      if (refusal) return refusal;
      const isSlow = isSlowWork || standingOf(tenant).isSlow;
      const run: Run = { tenant, isBulk, isSpare, beganAt: Number.POSITIVE_INFINITY, isSlow };
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
