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
 */

/** In milliseconds. */
const quickWithin = 5_000;
const slowWithin = 60_000;
const firstRest = 5_000;
const longestRest = 60_000;
/** How long those wait who got no turn: a moment, or until a slow place may be free. */
const soon = 1_000;
const later = 10_000;

const mostOfTenant = 3;
const mostOfSlowTenant = 2;

export type Turn = {
  /** Aborted when the turn is over, with a reason for people. */
  signal: AbortSignal;
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
  take(tenant: number, work: (turn: Turn) => Promise<void>): Promise<Refusal | undefined>;
};

type Run = { tenant: number; beganAt: number; isSlow: boolean };
type Standing = {
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
  const standings = new Map<number, Standing>();
  const count = (is: (run: Run) => boolean) => [...runs].filter(is).length;

  function standingOf(tenant: number): Standing {
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

  function refusalOf(tenant: number): Refusal | undefined {
    const { isSlow, restsUntil } = standingOf(tenant);
    const rest = restsUntil - performance.now();
    if (isSlow && rest > 0) return { againMs: rest, isForAll: true };
    if (isSlow && !hasSlowPlace(tenant)) return { againMs: later, isForAll: true };
    if (runs.size >= places || count((run) => run.tenant === tenant) >= mostOfTenant)
      return { againMs: soon, isForAll: false };
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
    if (standing.answeredAt - beganAt < quickWithin) standing.isSlow = false;
  }

  function restUnlessAnswered({ tenant, beganAt }: Run): void {
    const standing = standingOf(tenant);
    const isIdle = performance.now() - beganAt < quickWithin;
    if (isIdle || standing.answeredAt >= beganAt) return;
    standing.restsUntil = performance.now() + Math.min(firstRest * 2 ** standing.rests, longestRest);
    standing.rests += 1;
  }

  return {
    async take(tenant, work) {
      const refusal = refusalOf(tenant);
      if (refusal) return refusal;
      const run = { tenant, beganAt: performance.now(), isSlow: standingOf(tenant).isSlow };
      runs.add(run);
      const end = new AbortController();
      const cut = (milliseconds: number) => end.abort(new Error(`no answer within ${milliseconds / 1_000} s`));
      const quick = setTimeout(() => {
        if (!moveToSlow(run)) cut(quickWithin);
      }, quickWithin);
      const slow = setTimeout(cut, slowWithin, slowWithin);
      try {
        await work({ signal: end.signal, answered: () => answered(run) });
      } finally {
        clearTimeout(quick);
        clearTimeout(slow);
        runs.delete(run);
        restUnlessAnswered(run);
      }
      return undefined;
    },
  };
}
