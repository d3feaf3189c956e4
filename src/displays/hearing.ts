/**
 * When displays were last heard from. Each process collects the calls of displays in memory and writes them every few seconds
 * in one statement; the next call of a device makes up for one that a crash has lost.
 *
 * A display stays valid for 90 days after it was last heard from. It is **silent** when it has not been heard from for ten
 * minutes after it should have been: the feed of changes reports that, and its return.
 */
import { sql } from 'kysely';
import type { Context, Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { rests } from '../db/resting.ts';
import { workFor } from '../flow/working.ts';
import type { Log } from '../log.ts';
import type { Viewed } from './sources.ts';

/** Days for which a display stays valid without being heard from. */
export const daysUnheard = 90;
const silentAfterMinutes = 10;
/** When a display should call again if it has announced no time; heartbeats are more frequent. */
const usualCallSeconds = 60;
const readersHeardEveryMs = 10_000;
const flushEveryMs = 3_000;
/** The most displays that a sweep handles at a time, and that it names in the log. */
const [mostAtOnce, mostNamed] = [1_000, 20];

/** Instants of this machine's clock, in milliseconds. `byReading`: heard only by taking the frames of a stream. */
type Heard = { mandatorId: number; at: number; dueAt: number; byReading: boolean };

/** The calls that this process has not written yet. */
function openEar({ db, log, notifications }: Context) {
  let heard = new Map<number, Heard>();
  let timer: NodeJS.Timeout | undefined;
  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const some = heard;
    heard = new Map();
    if (some.size === 0) return;
    await writeHeard(db, some).catch((error: Error) => {
      // The displays will call again.
      log.warn(
        { err: error.message, displays: some.size },
        'the times at which displays were last heard from could not be stored',
      );
    });
  }
  notifications.stopping.addEventListener('abort', () => void flush(), { once: true });
  return {
    hear(
      displayId: number,
      { mandatorId, byReading, dueInSeconds }: Omit<Heard, 'at' | 'dueAt'> & { dueInSeconds: number },
    ) {
      const at = Date.now();
      const known = heard.get(displayId);
      if (known && byReading && !known.byReading) return;
      const dueAt = Math.max(at + 1_000 * dueInSeconds, known?.dueAt ?? 0);
      heard.set(displayId, { mandatorId, at, dueAt, byReading });
      timer ??= workFor(undefined, () =>
        setTimeout(() => void flush(), notifications.stopping.aborted ? 0 : flushEveryMs).unref(),
      );
    },
    flush,
  };
}

/**
 * Notes that a display has called; does nothing for other callers.
 * @param options.dueInSeconds when it will call again if all is well
 */
export function hear(
  context: Context,
  { mandatorId, display }: Viewer,
  { dueInSeconds = usualCallSeconds, byReading = false } = {},
): void {
  if (display) context.once(openEar).hear(display.displayId, { mandatorId, byReading, dueInSeconds });
}

/** Writes the collected calls now. */
export const flushHeard = (context: Context): Promise<void> => context.once(openEar).flush();

/** A class, because there may be thousands. */
class HeardSource<T> implements Viewed<T> {
  readonly #context: Context;
  readonly #viewer: Viewer;
  readonly #source: Viewed<T>;
  #heardAt = 0;

  constructor(context: Context, viewer: Viewer, source: Viewed<T>) {
    this.#context = context;
    this.#viewer = viewer;
    this.#source = source;
  }
  get isOver(): boolean {
    return this.#source.isOver;
  }
  get onNews(): (() => void) | undefined {
    return this.#source.onNews;
  }
  set onNews(call: (() => void) | undefined) {
    this.#source.onNews = call;
  }
  take(): T | undefined {
    const now = Date.now();
    if (now - this.#heardAt >= readersHeardEveryMs) {
      this.#heardAt = now;
      hear(this.#context, this.#viewer, { byReading: true });
    }
    return this.#source.take();
  }
  close(): void {
    this.#source.close();
  }
  narrow(viewer: Viewer): Viewer {
    return this.#source.narrow(viewer);
  }
}

/**
 * Wraps the source of a stream for a display. Taking frames counts as calling, unless the device reports its health: after a
 * power cut the server's operating system continues to accept frames for it for a quarter of an hour.
 */
export const hearReader = <T>(context: Context, viewer: Viewer, source: Viewed<T>): Viewed<T> =>
  viewer.display ? new HeardSource(context, viewer, source) : source;

/** Sends ages instead of instants, so that only the database's clock counts. Rows that hardly change are not written. */
async function writeHeard(db: Database, heard: ReadonlyMap<number, Heard>): Promise<void> {
  const now = Date.now();
  const all = [...heard];
  const seconds = (milliseconds: number) => milliseconds / 1_000;
  // In order of the ids, so that two processes cannot deadlock.
  await sql`
    with sent as (
      select mandator_id, id, now() - make_interval(secs => age) as at, now() + make_interval(secs => due_in) as due, by_reading
      from unnest(
        ${all.map(([, one]) => one.mandatorId)}::integer[], ${all.map(([id]) => id)}::integer[],
        ${all.map(([, one]) => seconds(now - one.at))}::float8[],
        ${all.map(([, one]) => seconds(one.dueAt - now))}::float8[],
        ${all.map(([, one]) => one.byReading)}::boolean[]) as sent (mandator_id, id, age, due_in, by_reading)
    ), held as materialized (
      select display.mandator_id, display.id, sent.at, sent.due
      from sent join display using (mandator_id, id)
      where revoked_at is null and expires_at > now() and not (by_reading and health is not null) and (
        heard_at is null or silent_since is not null
        or heard_at < sent.at - interval '40 seconds' or due_at < sent.due - interval '40 seconds')
      order by display.id for no key update of display
    )
    update display set
      heard_at = held.at, due_at = greatest(display.due_at, held.due), silent_since = null,
      -- Written once a day.
      expires_at = case
        when expires_at < held.at + make_interval(days => ${daysUnheard - 1})
        then held.at + make_interval(days => ${daysUnheard}) else expires_at end
    from held where display.mandator_id = held.mandator_id and display.id = held.id`.execute(db);
}

const isLate = sql<boolean>`revoked_at is null and silent_since is null and due_at < now() - make_interval(mins => ${silentAfterMinutes}) and not ${rests(sql`display.mandator_id`)}`;
const hasLate = sql<boolean>`exists (select from display where ${isLate})`;
/**
 * SQL: whether there are displays to mark as silent. After a start they first have the time to call: they could not while the
 * service was down.
 */
export const mayFindSilent = () => (process.uptime() < silentAfterMinutes * 60 ? sql`false` : hasLate);

/** Marks the displays that have become silent, which the feed of changes reports. @returns how many */
export async function findSilent(db: Database, log: Log): Promise<number> {
  const { rows } = await sql<{ id: number; name: string; mandator: string }>`
    with late as materialized (
      select mandator_id, id from display
      where ${isLate}
      order by id limit ${mostAtOnce} for no key update skip locked
    )
    update display set silent_since = now()
    from late, person, mandator
    where display.mandator_id = late.mandator_id and display.id = late.id
      and person.mandator_id = display.mandator_id and person.id = display.person_id
      and mandator.id = display.mandator_id
    returning display.id, person.name, mandator.code as mandator`.execute(db);
  if (rows.length > 0)
    log.warn({ count: rows.length, displays: rows.slice(0, mostNamed) }, 'displays have become silent');
  return rows.length;
}

/** Deletes expired codes. */
export async function forgetPairings(db: Database): Promise<void> {
  await sql`
    delete from display_pairing where ctid = any (array(
      select ctid from display_pairing where expires_at < now() limit ${mostAtOnce} for update skip locked))`.execute(
    db,
  );
}

const counting = sql<boolean>`revoked_at is null and expires_at > now()`;
const countDisplays = async (db: Database, silentOnly: boolean) => {
  const { count } = await db
    .selectFrom('display')
    .where(counting)
    .$if(silentOnly, (query) => query.where('silent_since', 'is not', null))
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
};

export const displayFigures = {
  roomgate_displays: { help: 'Paired displays', read: (db: Database) => countDisplays(db, false) },
  roomgate_displays_silent: {
    help: 'Paired displays that are silent',
    read: (db: Database) => countDisplays(db, true),
  },
};
