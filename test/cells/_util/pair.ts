import { sql } from 'kysely';
import pg from 'pg';
import { moveBetween, undoBetween } from '../../../src/cells/service.ts';
import type { Database } from '../../../src/db/database.ts';
import { createPin } from '../../../src/identity/service.ts';
import { openLog } from '../../../src/log.ts';
import { startServer } from '../../../src/server.ts';
import { startDatabaseServer } from '../../_util/database-server.ts';
import { makeTenant } from '../../_util/factories.ts';
import { pepper } from '../../_util/pepper.ts';
import { longWindow, testConfig } from '../../_util/service.ts';
import { tokenFor } from '../../_util/token.ts';

type Tenant = Awaited<ReturnType<typeof makeTenant>>;
type Options = {
  freezeSeconds?: number;
  say?: (line: string) => void;
  route?: () => Promise<void>;
  from?: number;
  to?: number;
  /** Other addresses than those of `to` and `from`. */
  toDatabase?: string;
  fromUrl?: string;
};

async function startCell(number: number) {
  const server = await startDatabaseServer();
  const client = new pg.Client(server.url);
  await client.connect();
  await client.query('alter system set wal_level = logical');
  await client.end();
  await server.stop('SIGINT');
  await server.start();
  const settings = { Cell: String(number), IdpUrl: 'http://rooms.example' };
  const config = testConfig(server.url, settings);
  let service = await startServer(config, openLog('silent'), { rateWindow: longWindow });
  await service.ready;
  return {
    server,
    url: server.url,
    get db(): Database {
      return service.context.db;
    },
    get base(): string {
      return service.context.config.BaseUrl;
    },
    get context() {
      return service.context;
    },
    async restart() {
      await service.stop();
      service = await startServer(config, openLog('silent'), { rateWindow: longWindow });
      await service.ready;
    },
    async stop() {
      await service.stop();
      await server.stop('SIGQUIT');
    },
  };
}

/** Two installations between which tenants move, and the place where their requests go. */
export async function startPair() {
  const cells = [await startCell(0), await startCell(1)] as const;
  /** The cell that the requests of each tenant go to. */
  const routes = new Map<string, number>();
  const urls = ({ from = 0, to = 1, toDatabase = cells[to]!.url, fromUrl = cells[from]!.url }: Options) => ({
    fromDatabase: cells[from]!.url,
    toDatabase,
    fromUrl,
  });

  async function makeTenantIn(at: number, code: string): Promise<Tenant & { pin: string }> {
    const tenant = await makeTenant(cells[at]!.db, { code });
    routes.set(code, at);
    const { id: personId } = tenant.person('User');
    const { pin } = await createPin(cells[at]!.db, pepper, { mandatorId: tenant.mandatorId, personId });
    return { ...tenant, pin };
  }

  const baseOf = (code: string) => `${cells[routes.get(code) ?? 0]!.base}/${code}`;

  const signIn = ({ code, pin }: { code: string; pin: string }) => tokenFor(baseOf(code), pin);

  return {
    cells,
    routes,
    baseOf,
    makeTenantIn,
    signIn,
    move: (code: string, options: Options = {}) =>
      moveBetween({
        code,
        ...urls(options),
        freezeSeconds: options.freezeSeconds ?? 60,
        log: openLog('silent'),
        say: options.say ?? (() => {}),
        async route() {
          await options.route?.();
          routes.set(code, options.to ?? 1);
        },
      }),
    undo: (code: string, options: Options = {}) =>
      undoBetween({
        code,
        ...urls(options),
        freezeSeconds: 1,
        log: openLog('silent'),
        say: () => {},
        route: async () => {},
      }),
    /** What is left of a move, or of a removed tenant; empty if all is well. */
    async remainsOf(at: number, mandatorId: number) {
      const { rows } = await sql<Record<string, number>>`
        select (select count(*)::int from booking where mandator_id = ${mandatorId}) as bookings,
          (select count(*)::int from mandator where id = ${mandatorId}) as mandators,
          (select count(*)::int from resting_tenant) as resting,
          (select count(*)::int from move_mark) as marks,
          (select count(*)::int from pg_trigger where tgname = 'guard_resting_tenant') as guards,
          (select count(*)::int from pg_publication) as publications,
          (select count(*)::int from pg_replication_slots) as slots,
          (select count(*)::int from pg_subscription where subdbid = (select oid from pg_database where datname = current_database()))
            as subscriptions`.execute(cells[at]!.db);
      return rows[0]!;
    },
    async stop() {
      for (const cell of cells) await cell.stop();
    },
  };
}

export const nothing = {
  bookings: 0,
  mandators: 0,
  resting: 0,
  marks: 0,
  guards: 0,
  publications: 0,
  slots: 0,
  subscriptions: 0,
};

/** Books one five minutes after the other until it is stopped, each until it is acknowledged. */
export function keepBooking(
  pair: Awaited<ReturnType<typeof startPair>>,
  { code, resources, token }: { code: string; resources: { id: number }[]; token: string },
) {
  const acknowledged: number[] = [];
  const statuses = new Set<number>();
  const refused: string[] = [];
  let stopped = false;
  const begin = Math.ceil(Date.now() / 3_600_000) * 3_600_000 + 86_400_000;
  const at = (n: number) => new Date(begin + n * 300_000).toISOString();
  const done = (async () => {
    for (let n = 0; !stopped; n++)
      for (let told = false; !told && !stopped; ) {
        const answer = await fetch(`${pair.baseOf(code)}/api/v1.0/bookings`, {
          method: 'POST',
          headers: {
            Authorization: `Bearer ${token}`,
            'Content-Type': 'application/json',
            'Idempotency-Key': `booking-${n}`,
          },
          body: JSON.stringify({ ResourceId: resources[0]!.id, Subject: `n${n}`, Start: at(n), End: at(n + 1) }),
        });
        const body = (await answer.json()) as { Id: number };
        statuses.add(answer.status);
        told = answer.status === 201;
        if (told) acknowledged.push(body.Id);
        else if (answer.status !== 503 || !answer.headers.has('retry-after')) refused.push(JSON.stringify(body));
        if (refused.length > 0) stopped = true;
      }
  })();
  return {
    acknowledged,
    refused,
    async stop() {
      stopped = true;
      await done;
      return { statuses: [...statuses].sort(), refused };
    },
  };
}
