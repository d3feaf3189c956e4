/**
 * Reads at hot standbys (`ReadDatabaseUrl`). A standby answers a read only if it has replayed all that had been committed when
 * the read began: the primary is asked for its position then, by one statement for all reads of a turn. So no read misses a
 * write that was acknowledged before it, to any caller, by any process; it is as if the primary answered. The primary
 * answers the reads that no standby can answer at once.
 */
import { type Config, ConfigError } from '../config.ts';
import { type Finding, findingsOf, ok } from '../finding.ts';
import { codeOf, isCancelled, isOutage, isReadOnly } from '../flow/database-errors.ts';
import { hostsOf } from '../flow/database-urls.ts';
import { openGathering } from '../flow/gather.ts';
import type { Log } from '../log.ts';
import type { Database } from './database.ts';
import { openProbe } from './direct.ts';
import { runPrepared } from './prepared.ts';
import { checkFit, openLook, openStandby, readStanding, type ServerState, Unfit, type WalPlace } from './standby.ts';

/** Where reads were answered: at a standby, or at the primary, with the reason. */
type Answered = 'Standby' | 'NoStandby' | 'Behind' | 'Conflict' | 'Failed' | 'Writes';

export type Standbys = {
  /**
   * Runs a read, perhaps twice: the second run is at the primary, and must not use anything that the first one read.
   * @param work gets the database of a standby, or undefined for the primary's
   */
  read<T>(work: (db: Database | undefined) => Promise<T>): Promise<T>;
  /** For /metrics. */
  figures: Record<
    string,
    { help: string; label: string; ofDatabase?: boolean; read(): Promise<Record<string, number>> }
  >;
  close(): Promise<void>;
};

const nameOf = (url: string) => new URL(url).host;

/**
 * A place in the WAL before which all acknowledged commits lie: the flush position where commits wait until their WAL is
 * flushed, otherwise the insert position.
 */
const readPlace = {
  name: 'place in the WAL',
  sql: `
    select left(pg_walfile_name(place), 8) as timeline, (place - '0/0')::float8 as position
    from (select case current_setting('synchronous_commit')
      when 'off' then pg_current_wal_insert_lsn() else pg_current_wal_flush_lsn() end as place) as present`,
};

async function readPrimary(url: string): Promise<ServerState> {
  const probe = openProbe(url);
  try {
    await probe.connect();
    return await readStanding(probe);
  } finally {
    probe.end().catch(() => {});
  }
}

/** Why a failed read of a standby is repeated at the primary; undefined if it is not. */
function reasonToRepeat(error: unknown): Answered | undefined {
  // A statement that takes too long at a standby takes too long at the primary, too.
  if (!isOutage(error) || isCancelled(error)) return undefined;
  if (isReadOnly(error)) return 'Writes';
  return /^40/.test(codeOf(error)) ? 'Conflict' : 'Failed';
}

/** @param db of the primary */
export function openStandbys(config: Config, db: Database, log: Log): Standbys | undefined {
  const { DatabaseUrl, ReadDatabaseUrl, ReadWaitMilliseconds } = config;
  if (ReadDatabaseUrl === undefined) return undefined;
  const standbys = hostsOf(ReadDatabaseUrl).map((url) =>
    openStandby(url, { host: nameOf(url), log, readPrimary: () => readPrimary(DatabaseUrl) }),
  );
  const counts: Record<Answered, number> = { Standby: 0, NoStandby: 0, Behind: 0, Conflict: 0, Failed: 0, Writes: 0 };
  // One statement at a time, for all reads that have arrived while the previous one ran.
  const ask = openGathering<undefined, WalPlace>(async () => await runPrepared<WalPlace>(db, readPlace, []), {
    mostAtOnce: 1,
  });
  const askPlace = () => ask('', undefined);
  let turn = 0;

  /** The next standby that may be tried. */
  function choose() {
    for (let tried = 0; tried < standbys.length; tried++) {
      const standby = standbys[turn++ % standbys.length];
      if (standby?.isUsable()) return standby;
    }
    return undefined;
  }

  async function figureOf(
    read: (standby: (typeof standbys)[number]) => Promise<number | undefined> | number | undefined,
  ) {
    const figures = await Promise.all(standbys.map(async (one) => [one.host, await read(one)] as const));
    return Object.fromEntries(figures.filter((figure): figure is [string, number] => figure[1] !== undefined));
  }

  return {
    async read(work) {
      const standby = choose();
      let answered: Answered = 'NoStandby';
      try {
        const place = standby && (await askPlace().catch(() => undefined));
        const read = place && (await standby.read(place, ReadWaitMilliseconds, work));
        if (read) {
          counts.Standby++;
          return read.result;
        }
        if (place) answered = 'Behind';
      } catch (error) {
        const reason = reasonToRepeat(error);
        if (!reason) throw error;
        answered = reason;
      }
      counts[answered]++;
      return await work(undefined);
    },
    figures: {
      roomgate_reads_total: {
        help: 'Reads by where they were answered: at a standby, or at the primary, with the reason',
        label: 'answered',
        read: async () => counts,
      },
      roomgate_standby_used: {
        help: 'Whether reads go to the standby (1) or not (0); absent for the primary',
        label: 'host',
        ofDatabase: true,
        read: () => figureOf((standby) => (standby.isPrimary() ? undefined : Number(standby.isUsable()))),
      },
      roomgate_standby_lag_bytes: {
        help: 'WAL that the primary has written and the standby has not replayed; absent while the standby does not answer',
        label: 'host',
        ofDatabase: true,
        async read() {
          const place = await askPlace();
          return await figureOf((standby) => standby.lag(place).catch(() => undefined));
        },
      },
    },
    async close() {
      await Promise.all(standbys.map((standby) => standby.close()));
    },
  };
}

/** @throws Unfit for a server that must not serve reads; the error of a failed connection */
async function examine(url: string, primary: ServerState): Promise<ServerState> {
  const client = openLook(url);
  try {
    await client.connect();
    const standing = await readStanding(client);
    checkFit(standing, primary);
    return standing;
  } finally {
    client.end().catch(() => {});
  }
}

type Urls = Pick<Config, 'DatabaseUrl' | 'ReadDatabaseUrl'>;

const hostsToRead = ({ ReadDatabaseUrl }: Urls) => (ReadDatabaseUrl === undefined ? [] : hostsOf(ReadDatabaseUrl));

/**
 * Checks the standbys at the start. A fault other than foreign data is logged when the standby is opened, and delays no start.
 * @throws ConfigError when a host has the data of another database
 */
export async function insistOnSameData(config: Urls): Promise<void> {
  const hosts = hostsToRead(config);
  if (hosts.length === 0) return;
  const primary = await readPrimary(config.DatabaseUrl);
  await Promise.all(
    hosts.map((url) =>
      examine(url, primary).catch((error: unknown) => {
        if (error instanceof Unfit && error.kind === 'Foreign')
          throw new ConfigError(`ReadDatabaseUrl: ${nameOf(url)}: ${error.message}`);
      }),
    ),
  );
}

/** For the doctor. */
export async function examineStandbys(config: Urls): Promise<Finding[]> {
  const check = 'Standby';
  return await findingsOf(check, async () => {
    const hosts = hostsToRead(config);
    if (hosts.length === 0) return [];
    const primary = await readPrimary(config.DatabaseUrl);
    return await Promise.all(
      hosts.map(async (url): Promise<Finding> => {
        try {
          await examine(url, primary);
          return ok(check, `${nameOf(url)} follows the primary`);
        } catch (error) {
          const text = `${nameOf(url)}: ${(error as Error).message || codeOf(error)}`;
          const kind = error instanceof Unfit ? error.kind : undefined;
          if (kind === 'Primary' && hosts.length > 1) return ok(check, text);
          const level = kind === 'Foreign' ? 'fault' : 'warning';
          return { check, level, text, remedy: 'Reads go to the primary meanwhile; see docs/deploying.md#standbys.' };
        }
      }),
    );
  });
}
