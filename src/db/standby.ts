/**
 * One hot standby: a connection that checks its replay position and whether it answers, and a pool for reads. Any trouble ends
 * both, with the reads under way; the standby is opened again after a growing pause.
 */
import type { Socket } from 'node:net';
import type pg from 'pg';
import { backOff, keepDoing, pause } from '../flow/retry.ts';
import type { Log } from '../log.ts';
import { connections } from './connections.ts';
import { type Database, openDatabase, poolOf, setUpSession } from './database.ts';
import { openSingle } from './direct.ts';

/** A place in the WAL. Positions of different timelines cannot be compared: a promotion begins another one. */
export type WalPlace = { timeline: string; position: number };

/** A server's state and identity. */
export type ServerState = {
  /** The same for a primary and its standbys. */
  system: string;
  /** When it was started, to distinguish it from other servers. */
  started: string;
  database: string;
  follows: boolean;
  isBehindPooler: boolean;
} & WalPlace;

/** A reason not to use a server although it answers. */
export class Unfit extends Error {
  /** `Foreign`: it has other data; `Primary`: it is the primary itself, as one of several hosts is. */
  readonly kind: 'Foreign' | 'Primary' | undefined;

  constructor(text: string, kind?: Unfit['kind']) {
    super(text);
    this.kind = kind;
  }
}

/** The time between two checks of a standby. */
const lookEveryMs = 250;
/** A standby that does not answer for this long counts as hanging. */
const answerTimeoutMs = 1_000;
/** For a standby that has been behind. */
const restPauses = { firstMs: lookEveryMs, longestMs: 5_000 };
/** For a standby that could not be opened. */
const openPauses = { firstMs: lookEveryMs, longestMs: 15_000 };
/** An opened standby is no longer in trouble after this time. */
const wellAfterMs = 30_000;
/** How many times in a row it must be behind before that is logged. */
const lateForLog = 4;

/** The control file of a standby may show a new timeline only minutes later. */
export async function readStanding(client: pg.Client): Promise<ServerState> {
  const { rows } = await client.query<
    Omit<ServerState, 'isBehindPooler' | 'timeline'> & { timeline: number; pid: number }
  >(`
    select system_identifier::text as system, pg_postmaster_start_time()::text as started,
      current_database() as database, pg_is_in_recovery() as follows, pg_backend_pid() as pid,
      greatest(timeline_id, min_recovery_end_timeline) as timeline,
      coalesce(pg_last_wal_replay_lsn() - '0/0', 0)::float8 as position
    from pg_control_system(), pg_control_checkpoint(), pg_control_recovery()`);
  const { pid, timeline, ...standing } = rows[0]!;
  const { processID } = client as unknown as { processID: number };
  return { ...standing, timeline: nameOfTimeline(timeline), isBehindPooler: pid !== processID };
}

/** As in the names of WAL files. */
const nameOfTimeline = (timeline: number) => timeline.toString(16).toUpperCase().padStart(8, '0');

/** @throws Unfit for a server whose reads cannot be trusted, or that is the primary */
export function checkFit(standing: ServerState, primary: Pick<ServerState, 'system' | 'started' | 'database'>): void {
  if (standing.system !== primary.system)
    throw new Unfit('it belongs to another cluster than DatabaseUrl, whose data it does not have', 'Foreign');
  if (standing.database !== primary.database)
    throw new Unfit(
      `it is the database ${standing.database}, and that of DatabaseUrl is ${primary.database}`,
      'Foreign',
    );
  if (standing.isBehindPooler)
    throw new Unfit('there is a pooler in between, which may lead to any server; name the standby itself');
  if (standing.follows) return;
  if (standing.started === primary.started)
    throw new Unfit('it is the primary itself, so there is nothing to gain', 'Primary');
  throw new Unfit('it accepts writes, so it no longer follows the primary');
}

export const openLook = (url: string): pg.Client => openSingle(url, 'standby', answerTimeoutMs);

type OpenedStandby = {
  db: Database;
  client: pg.Client;
  timeline: string;
  replayed: number;
  looking: Promise<void> | undefined;
  /** Reads under way, which end with an error when the standby is given up. */
  reads: Set<(error: Error) => void>;
};

/**
 * @param host its name in logs and metrics
 * @param readPrimary reads the state of the primary
 */
export function openStandby(
  url: string,
  { host, log, readPrimary }: { host: string; log: Log; readPrimary: () => Promise<ServerState> },
) {
  const closed = new AbortController();
  let opened: OpenedStandby | undefined;
  /** The last reason that was logged. */
  let lastReason: string | undefined;
  let isPrimary = false;
  let late = 0;
  let restsUntil = 0;

  function report(error: Error): void {
    const { message } = error;
    isPrimary = error instanceof Unfit && error.kind === 'Primary';
    if (lastReason === message || closed.signal.aborted) return;
    lastReason = message;
    const level = isPrimary ? 'info' : 'warn';
    log[level]({ standby: host, reason: message }, 'a standby is not used; its reads go to the primary');
  }

  function beWell(): void {
    late = restsUntil = 0;
    if (lastReason) log.info({ standby: host }, 'the standby answers reads');
    lastReason = undefined;
    isPrimary = false;
  }

  /** Reads its replay position; concurrent calls share one query. */
  function look(at: OpenedStandby): Promise<void> {
    at.looking ??= at.client
      .query<{ position: number }>("select coalesce(pg_last_wal_replay_lsn() - '0/0', 0)::float8 as position")
      .then(({ rows }) => void (at.replayed = Math.max(at.replayed, rows[0]!.position)))
      .finally(() => (at.looking = undefined));
    return at.looking;
  }

  async function reaches(at: OpenedStandby, place: WalPlace, waitMs: number): Promise<boolean> {
    if (place.timeline !== at.timeline) return false;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), waitMs);
    const isLate = new Promise((resolve) => late.signal.addEventListener('abort', resolve));
    while (at.replayed < place.position && !late.signal.aborted && opened === at) {
      const looked = look(at).catch(() => {});
      await Promise.race([looked, isLate]);
      if (at.replayed < place.position) await pause(1, late.signal);
    }
    clearTimeout(timer);
    return at.replayed >= place.position && opened === at;
  }

  /** Keeps reads away for a while, since every request would wait in vain. */
  function rest(place: WalPlace): void {
    if (performance.now() < restsUntil) return;
    restsUntil = performance.now() + backOff(late++, restPauses);
    if (late < lateForLog) return;
    const isOld = place.timeline !== opened?.timeline;
    report(new Unfit(isOld ? 'it may not have followed the last promotion' : 'it lags behind'));
  }

  /** Opens the standby, and checks it until something is wrong. */
  async function serve(): Promise<void> {
    const client = openLook(url);
    const lost = new AbortController();
    const lose = () => lost.abort();
    client.on('error', lose).on('end', lose);
    closed.signal.addEventListener('abort', lose, { once: true });
    try {
      await client.connect();
      await setUpSession(client);
      const standing = await readStanding(client);
      checkFit(standing, await readPrimary());
      const sockets = new Set<Socket>();
      const db = openDatabase(url, {
        max: connections.reads,
        log,
        statementTimeout: 15_000,
        standby: standing.started,
      });
      poolOf(db).on('connect', ({ connection }: pg.Client) => {
        const socket = connection.stream as Socket;
        sockets.add(socket);
        socket.once('close', () => sockets.delete(socket));
      });
      const { timeline, position } = standing;
      const at: OpenedStandby = { db, client, timeline, replayed: position, looking: undefined, reads: new Set() };
      opened = at;
      beWell();
      try {
        for (;;) {
          await pause(lookEveryMs, lost.signal);
          if (lost.signal.aborted) break;
          const { follows, ...now } = await readStanding(client);
          if (!follows) throw new Unfit('it has been promoted');
          Object.assign(at, { timeline: now.timeline, replayed: now.position });
        }
      } finally {
        opened = undefined;
        for (const giveUp of at.reads) giveUp(new Error('Connection terminated: the standby is given up'));
        const ended = db.destroy().catch(() => {});
        if (closed.signal.aborted) await Promise.race([ended, pause(answerTimeoutMs)]);
        // Nobody waits for answers any longer, and a standby that hangs would not send them.
        for (const socket of sockets) socket.destroy();
      }
      throw new Error('the connection was lost');
    } finally {
      closed.signal.removeEventListener('abort', lose);
      (client.connection.stream as Socket).destroy();
    }
  }

  const done = keepDoing(closed.signal, serve, {
    ...openPauses,
    wellAfterMs,
    onError: report,
  });

  return {
    host,
    /** Whether a read may be tried at the standby. */
    isUsable: () => opened !== undefined && performance.now() >= restsUntil,
    /** Whether it is passed over because it is the primary, as one host of a pair always is. */
    isPrimary: () => isPrimary,
    /** Bytes of WAL by which it is behind the place; undefined while it does not answer. */
    async lag({ position }: WalPlace): Promise<number | undefined> {
      const at = opened;
      if (!at) return undefined;
      await look(at);
      return Math.max(0, position - at.replayed);
    },
    /**
     * Runs a read once the standby has replayed up to the place.
     * @returns undefined when it has not within `waitMs`
     * @throws what `work` throws, and an outage as soon as the standby is given up
     */
    async read<T>(
      place: WalPlace,
      waitMs: number,
      work: (db: Database) => Promise<T>,
    ): Promise<{ result: T } | undefined> {
      const at = opened;
      if (!at) return undefined;
      if (!(await reaches(at, place, waitMs))) {
        rest(place);
        return undefined;
      }
      if (late > 0) beWell();
      const given = Promise.withResolvers<never>();
      at.reads.add(given.reject);
      try {
        return { result: await Promise.race([work(at.db), given.promise]) };
      } finally {
        at.reads.delete(given.reject);
      }
    },
    async close(): Promise<void> {
      closed.abort();
      await done;
    },
  };
}
