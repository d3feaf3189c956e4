/** The faults that are injected. Each begins, lasts and ends, or never ends; the processes must do the rest. */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { DatabaseServer } from '../_util/database-server.ts';
import type { Dice } from '../_util/dice.ts';
import { type Program, startProgram, until } from '../_util/process.ts';
import type { Direction } from '../_util/wire.ts';
import type { MovableClock } from './clock.ts';
import { comesTrue } from './comes-true.ts';
import type { Disk } from './disk.ts';
import type { Host } from './host.ts';
import type { Ledger, Round } from './ledger.ts';
import type { Monitor } from './monitor.ts';
import type { Site } from './site.ts';
import type { Station } from './station.ts';

export type Scene = {
  site: Site;
  monitor: Monitor;
  ledger: Ledger;
  dice: Dice;
};

export type Fault = {
  name: string;
  title: string;
  /** The number of its rounds in a cycle. */
  weight: number;
  /** The reason why it cannot be tried on this machine. */
  missing?(site: Site): string | undefined;
  /** Whether it hits one process, chosen at random; a worker is then in the middle of an import. */
  strikes: 'process' | 'worker' | 'database';
  /** Prepares the fault. @returns the application_name of the connections of the process that it hits */
  prepare?(scene: Scene, station: Station): Promise<string>;
  /** @returns once it is over */
  strike(scene: Scene, round: Round, station: Station): Promise<void>;
  /** Removes what would otherwise stay for ever, after the check whether the processes recover without. */
  clear?(scene: Scene, station: Station): Promise<void>;
};

const missingOf = (part: object): string | undefined => (part as { missing?: string }).missing;
const seconds = (count: number) => sleep(count * 1_000);
/** The worker on the host that is to be lost. */
const onHost = new WeakMap<Site, Program>();

async function repeat(forSeconds: number, everyMs: number, act: () => Promise<void>): Promise<void> {
  for (const end = Date.now() + forSeconds * 1_000; Date.now() < end; await sleep(everyMs)) await act();
}

export const faults: readonly Fault[] = [
  {
    name: 'kill',
    title: 'kill -9',
    weight: 4,
    strikes: 'process',
    async strike({ dice }, round, station) {
      await station.end('SIGKILL');
      round.times = 1;
      // One that is started anew at once, or long after the others have noticed.
      await seconds(dice.oneOf([0, 2, 8]));
      station.start();
    },
  },
  {
    name: 'sigterm',
    title: 'SIGTERM',
    weight: 2,
    strikes: 'process',
    async strike({ ledger }, round, station) {
      round.times = 1;
      const { code, signal } = await station.end('SIGTERM');
      if (code !== 0) ledger.blame('otherwise wrong', `${station.name} ended by ${signal ?? code} after SIGTERM`);
      station.start();
    },
  },
  {
    name: 'sigstop',
    title: 'SIGSTOP for 65 s',
    weight: 1,
    strikes: 'process',
    async strike(_scene, round, station) {
      station.signal('SIGSTOP');
      round.times = 1;
      await seconds(65);
      station.signal('SIGCONT');
    },
  },
  {
    name: 'host-loss',
    title: 'host lost, never back',
    weight: 1,
    strikes: 'worker',
    missing: ({ host }) => missingOf(host),
    async prepare({ site }, station) {
      const host = site.host as Host;
      await station.end('SIGTERM');
      const url = new URL(site.url);
      url.hostname = host.near.address;
      const settings = { ...site.settings, Role: 'Worker', Host: '0.0.0.0', LogLevel: 'warn' };
      const program = startProgram(url.href, settings, host.within);
      onHost.set(site, program);
      await program.ready;
      return program.name;
    },
    async strike({ site }, round) {
      (site.host as Host).cut();
      round.times = 1;
    },
    async clear({ site }, station) {
      await onHost.get(site)?.end('SIGKILL');
      (site.host as Host).mend();
      station.start();
    },
  },
  {
    name: 'half-open',
    title: 'half-open connections',
    weight: 2,
    strikes: 'process',
    async strike({ dice }, round, { wire }) {
      wire.swallow(
        ...dice.oneOf<Direction[]>([['to the server'], ['to the client'], ['to the server', 'to the client']]),
      );
      round.times = 1;
      await seconds(1);
    },
    clear: async (_scene, { wire }) => wire.drop(),
  },
  {
    name: 'freeze',
    title: 'network frozen for 20 s',
    weight: 1,
    strikes: 'process',
    async strike(_scene, round, { wire }) {
      wire.freeze();
      round.times = 1;
      await seconds(20);
      wire.thaw();
    },
  },
  {
    name: 'cut-after-commit',
    title: 'cut after COMMIT was forwarded',
    weight: 3,
    strikes: 'process',
    async strike(_scene, round, { wire }) {
      for (const end = Date.now() + 10_000; round.times < 8 && Date.now() < end; ) {
        wire.cutNext('after COMMIT', '');
        if (await comesTrue(() => wire.hasCut, end - Date.now())) round.times += 1;
      }
    },
  },
  {
    name: 'full-disk',
    title: 'disk full for 25 s',
    weight: 1,
    strikes: 'database',
    missing: ({ disk }) => missingOf(disk),
    async strike({ site }, round) {
      const [disk, server] = [site.disk as Disk, site.server as DatabaseServer];
      disk.fill();
      round.times = 1;
      await seconds(25);
      disk.empty();
      // It may have panicked, and may yet.
      await repeat(5, 500, async () => {
        if (!server.isRunning()) await server.start();
      });
    },
  },
  {
    name: 'clock',
    title: 'clock jumps by an hour',
    weight: 1,
    strikes: 'process',
    missing: ({ clock }) => missingOf(clock),
    async prepare({ site }, station) {
      await station.end('SIGTERM');
      station.start((site.clock as MovableClock).settings);
      await until(`${station.name} is ready`, () => station.isReady());
      return station.session;
    },
    async strike({ site }, round) {
      const clock = site.clock as MovableClock;
      for (const offset of ['+1h', '+0', '-1h', '+0']) {
        clock.set(offset);
        round.times += 1;
        await seconds(offset === '+0' ? 4 : 10);
      }
    },
    async clear(_scene, station) {
      await station.end('SIGTERM');
      station.start();
    },
  },
  {
    name: 'backends',
    title: 'backends terminated',
    weight: 2,
    strikes: 'database',
    async strike({ site: { ask }, dice }, round, station) {
      // What is only just starting is struck too.
      await station.end('SIGKILL');
      station.start();
      await repeat(6, 150, async () => {
        const { rows } = await ask((db) =>
          sql`select pg_terminate_backend(pid) from (
            select pid from pg_stat_activity where datname = current_database() and application_name like 'program %'
            order by md5(pid::text || ${String(dice.roll())}::text) limit 3) as chosen`.execute(db),
        );
        round.times += rows.length;
      });
    },
  },
  {
    name: 'shutdown',
    title: 'PostgreSQL: immediate shutdown',
    weight: 2,
    strikes: 'database',
    missing: ({ server }) => missingOf(server),
    async strike({ site, dice }, round, station) {
      const server = site.server as DatabaseServer;
      await station.end('SIGKILL');
      station.start();
      await server.stop('SIGQUIT');
      round.times = 1;
      await seconds(dice.oneOf([0, 2, 6]));
      await server.start();
    },
  },
];
