/** Runs the sweeps. One statement asks which of them may have work, so that an idle worker asks little. */
import { type RawBuilder, sql } from 'kysely';
import { contain } from '../containment.ts';
import { everyTopic } from '../db/notifications.ts';
import { isOutage } from '../flow/database-errors.ts';
import { pause } from '../flow/retry.ts';
import { fingerprintOf, isDisputed } from './agreement.ts';
import type { Sweep, SweepContext } from './task.ts';

const disagreement =
  'another worker has different settings of mail servers: neither follows them until one of the two is stopped';

type Swept = { sweep: Sweep; at: number; run: Promise<void> | undefined; rests: boolean };
type Round = { due: readonly Swept[]; disputed: boolean };

/** The delay after a notification, in milliseconds: it gathers a storm of them, and is random, so that one worker is first. */
const gatherFor = () => 100 + Math.random() * 200;
/** The milliseconds that a sweep has before the next begins: most are over by then, and their connection serves the next. */
const headStart = 100;
/** The queries for prompt sweeps take at most a tenth of the time, however many tenants there are. */
const restFactor = 9;

/**
 * Repeats the sweeps until the signal aborts, and waits for those still running.
 * @param roundEvery milliseconds between two rounds
 */
export async function keepSweeping(sweeps: readonly Sweep[], context: SweepContext, roundEvery = 2_000): Promise<void> {
  const fingerprint = fingerprintOf(context.config, sweeps);
  const all = sweeps.map((sweep): Swept => ({ sweep, at: 0, run: undefined, rests: false }));
  await Promise.all([keepRounds(all, context, fingerprint, roundEvery), followNews(all, context, fingerprint)]);
  await Promise.all(all.map(({ run }) => run));
}

async function keepRounds(all: Swept[], context: SweepContext, fingerprint: number, roundEvery: number): Promise<void> {
  while (!context.signal.aborted) {
    const now = performance.now();
    // A timer may fire a moment early.
    const up = all.filter(({ at, run }) => !run && at <= now + roundEvery / 2);
    for (const one of up) one.at = now + (one.sweep.every ?? 0);
    await runDue(await findDue(context, up, fingerprint), context);
    await pause(roundEvery, context.signal);
  }
}

/** Runs the prompt sweeps when the database notifies. The next round finds work whose notification was lost. */
async function followNews(all: readonly Swept[], context: SweepContext, fingerprint: number): Promise<void> {
  const prompt = all.filter(({ sweep }) => sweep.isPrompt);
  if (prompt.length === 0) return;
  const { notifications, signal } = context;
  const news = await notifications.subscribe(everyTopic);
  signal.addEventListener('abort', news.close, { once: true });
  if (signal.aborted) news.close();
  for (let rest = 0; await news.next(); ) {
    await pause(Math.max(gatherFor(), rest), signal);
    // What runs may have looked before the change.
    await Promise.all(prompt.map(({ run }) => run));
    if (signal.aborted) return;
    const begin = performance.now();
    const round = await findDue(context, prompt, fingerprint);
    rest = restFactor * (performance.now() - begin);
    await runDue(round, context);
  }
}

/** Begins them one after another. */
async function runDue({ due, disputed }: Round, context: SweepContext): Promise<void> {
  for (const one of due) {
    if (context.signal.aborted) return;
    const over = new AbortController();
    one.run ??= runSweep(one, context, disputed).finally(() => (one.run = undefined));
    one.run.then(() => over.abort());
    await pause(headStart, AbortSignal.any([over.signal, context.signal]));
  }
}

/**
 * The beginning of the statement. A sweep that runs in one worker for all goes to the first that asks after its interval, less
 * a tenth, so that the same worker finds the interval over in its own rhythm.
 */
function claiming(up: readonly Swept[]): RawBuilder<unknown> {
  const alone = up.flatMap(({ sweep }) => (sweep.isAlone ? [sweep] : []));
  if (alone.length === 0) return sql``;
  const seconds = alone.map(({ every = 0 }) => (0.9 * every) / 1_000);
  return sql`with claimed as (
    insert into sweep_run (name, next_at)
    select name, now() + make_interval(secs => seconds)
    from unnest(${alone.map(({ name }) => name)}::text[], ${seconds}::float8[]) as asked(name, seconds) order by name
    on conflict (name) do update set next_at = excluded.next_at where sweep_run.next_at <= now()
    returning name)`;
}

function conditionOf(sweep: Sweep, context: SweepContext): RawBuilder<unknown> {
  if (sweep.isAlone) return sql`${sweep.name}::text in (select name from claimed)`;
  return sweep.isDue?.(context) ?? sql`true`;
}

/** If the statement itself fails, each sweep that may run finds out itself whether it can work. */
async function findDue(context: SweepContext, up: readonly Swept[], fingerprint: number): Promise<Round> {
  try {
    const conditions = up.map(({ sweep }) => conditionOf(sweep, context));
    const { rows } = await sql<{ due: boolean[]; disputed: boolean }>`${claiming(up)}
      select array[${sql.join(conditions)}]::boolean[] as due, ${isDisputed(fingerprint)} as disputed`.execute(
      context.db,
    );
    const { due, disputed } = rows[0]!;
    return { due: up.filter((_, at) => due[at]), disputed };
  } catch (error) {
    const isOut = isOutage(error);
    const { message, stack } = error as Error;
    if (isOut) context.log.warn({ err: message }, 'the query for due sweeps failed');
    else context.log.error({ err: stack }, 'the query for due sweeps failed');
    return { due: isOut ? [] : up.filter(({ sweep }) => !sweep.follows), disputed: false };
  }
}

/** The next round finds failed work again. */
async function runSweep(one: Swept, context: SweepContext, disputed: boolean): Promise<void> {
  const { sweep, rests: rested } = one;
  one.rests = sweep.follows !== undefined && disputed;
  if (one.rests && !rested) context.log.error({ sweep: sweep.name }, disagreement);
  if (one.rests) return;
  try {
    await contain(() => sweep.run(context));
  } catch (error) {
    const level = isOutage(error) ? 'warn' : 'error';
    context.log[level]({ sweep: sweep.name, err: (error as Error).stack }, 'sweep failed');
  }
}
