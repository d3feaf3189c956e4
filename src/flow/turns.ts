/**
 * Turns at servers outside. The rule: **however many tenants' servers hang, a tenant whose server answers soon gets its turn.**
 *
 * - Nobody keeps a turn for more than 5 s, except in a **slow place**, and there for 60 s at most. Half of the places may
 *   be slow. Whoever has taken 5 s moves to a slow place, or its turn ends where none is free.
 * - A tenant is **slow** when 5 s have passed without any answer for it. It starts in slow places only, until a turn brings
 *   an answer within 5 s: an unknown server costs the others 5 s once.
 * - A slow tenant has two places, so that another calendar can show that only the first one hangs. After a turn without any
 *   answer it rests, all of its work together, for 5 s and twice as long each time up to 60 s, and then has one place to
 *   probe with.
 *
 * Slow tenants share the slow places with those that never answer, so those that do answer, but slowly, may wait for minutes.
 * The end of a turn is a signal that all calls of the turn obey; what has been answered until then is kept by the work itself.
 * The time of a turn begins with its first request, so that nobody is slow because our own database is. Work whose turn ended
 * only because no slow place was free starts in one the next time.
 */

const quickWithinMs = 5_000;
const slowWithinMs = 60_000;
const firstRestMs = 5_000;
const longestRestMs = 60_000;
/** How long those wait who got no turn: a moment, or until a slow place may be free. */
const soonMs = 1_000;
const laterMs = 10_000;

const mostOfTenant = 3;
const mostOfSlowTenant = 2;

/** Work that wants a turn. */
export type TurnWork = {
  tenant: number;
  /** Tells it from other work of the tenant. */
  name: string;
  /** There may be much of it: it leaves one of the tenant's turns to other work. */
  isBulk?: boolean;
};

export type Turn = {
  /** To be called before the first request. */
  begin(): void;
  /** Aborted when the turn is over, with a reason for people. */
  signal: AbortSignal;
  /** Whether it is over only because no slow place was free: nothing is known of the server. */
  isCutShort(): boolean;
  /** To be called when the server has answered, whatever it said. */
  answered(): void;
};

/** Why there was no turn. */
export type Refusal = {
  /** Milliseconds after which to ask again. */
  againMs: number;
  /** Whether this holds for all work of the tenant. */
  isForAll: boolean;
};

export type Turns = {
  /** Runs `work` if there is a place for it, and does not wait for one. @returns why it did not run */
  take(of: TurnWork, work: (turn: Turn) => Promise<void>): Promise<Refusal | undefined>;
};

/** `beganAt`: with its first request. */
type Run = { tenant: number; isBulk: boolean; beganAt: number; isSlow: boolean };
type TenantStanding = {
  isSlow: boolean;
  /** When the server answered last. */
  answeredAt: number;
  /** Turns in a row without an answer. */
  rests: number;
  restsUntil: number;
};

/** @param places turns at a time */
export function openTurns(places: number): Turns {
  const runs = new Set<Run>();
  const standings = new Map<number, TenantStanding>();
  /** Work that was cut short, by tenant and name. */
  const cutShort = new Set<string>();
  const count = (is: (run: Run) => boolean) => [...runs].filter(is).length;

  function standingOf(tenant: number): TenantStanding {
    const fresh = { isSlow: false, answeredAt: Number.NEGATIVE_INFINITY, rests: 0, restsUntil: 0 };
    const standing = standings.get(tenant) ?? fresh;
    standings.set(tenant, standing);
    return standing;
  }

  function hasSlowPlace(tenant: number): boolean {
    const own = standingOf(tenant).rests > 0 ? 1 : mostOfSlowTenant;
    return (
      count(({ isSlow }) => isSlow) < Math.floor(places / 2) &&
      count((run) => run.isSlow && run.tenant === tenant) < own
    );
  }

  function refusalOf({ tenant, isBulk = false }: TurnWork, isSlowWork: boolean): Refusal | undefined {
    const { isSlow, restsUntil } = standingOf(tenant);
    const restMs = restsUntil - performance.now();
    if (isSlow && restMs > 0) return { againMs: restMs, isForAll: true };
    if ((isSlow || isSlowWork) && !hasSlowPlace(tenant)) return { againMs: laterMs, isForAll: isSlow };
    const own = count((run) => run.tenant === tenant);
    const bulk = count((run) => run.tenant === tenant && run.isBulk);
    if (runs.size >= places || own >= mostOfTenant || (isBulk && bulk >= mostOfTenant - 1))
      return { againMs: soonMs, isForAll: false };
    return undefined;
  }

  /** Five seconds are over. @returns whether the turn goes on */
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
      const { tenant, isBulk = false } = of;
      const key = `${tenant} ${of.name}`;
      const isSlowWork = cutShort.has(key);
      const refusal = refusalOf(of, isSlowWork);
      if (refusal) return refusal;
      const isSlow = isSlowWork || standingOf(tenant).isSlow;
      const run: Run = { tenant, isBulk, beganAt: Number.POSITIVE_INFINITY, isSlow };
      runs.add(run);
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
