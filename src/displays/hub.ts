/**
 * The rooms and boards that this process watches, by tenant. Changes arrive over the one LISTEN connection; rooms that
 * change while a read runs are read together by the next one. Rooms and boards without readers are dropped.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '../context.ts';
import type { Subscription, TopicChange } from '../db/notifications.ts';
import { backOff } from '../flow/retry.ts';
import { type Board, openBoard } from './board.ts';
import { keepLocalDays } from './local-days.ts';
import { readMembers } from './plan.ts';
import { openPublishing } from './publishing.ts';
import { openQueue, openReading, type ReadQueue } from './reading.ts';
import { type DisplayPace, openRoom, type WatchedRoom } from './room.ts';
import { resourcesIn } from './slots.ts';

export type Hub = {
  /**
   * Runs `use` with a room that has been read.
   * @param anew whether the room must be read after this call, even if it is known already
   * @returns undefined when the tenant has no such room
   */
  withRoom<T>(mandatorId: number, id: number, anew: boolean, use: (room: WatchedRoom) => T): Promise<T | undefined>;
  /** The same for a location whose rooms are known; the rooms themselves may not have been read yet. */
  withBoard<T>(
    mandatorId: number,
    locationId: number,
    anew: boolean,
    use: (board: Board) => T | Promise<T>,
  ): Promise<T | undefined>;
  /** Reads since the start of the process; rooms watched now, and rooms kept without readers. */
  readonly figures: { statements: number; roomsRead: number; watched: number; kept: number };
  /** Ends all readers. */
  close(): void;
};

const usualPace: DisplayPace = {
  heartbeatMs: 30_000,
  keepMs: 60_000,
  midnightSpreadMs: 5_000,
  retries: { firstMs: 100, longestMs: 5_000 },
};

type WatchedTenant = {
  readonly mandatorId: number;
  readonly rooms: Map<number, WatchedRoom>;
  readonly boards: Map<number, Board>;
  readonly subscriptions: Subscription[];
  /** Fulfilled once this process listens to all changes of the tenant. */
  ready: Promise<unknown>;
  isReady: boolean;
  readonly queue: ReadQueue;
  boardsRead: Promise<void> | undefined;
};

const nobody = () => ({ tell() {}, end() {} });

export function openHub(context: Context, pace = usualPace): Hub {
  const { db, log, notifications } = context;
  const tenants = new Map<number, WatchedTenant>();
  const days = keepLocalDays(db);
  const publish = openPublishing();
  const reading = openReading(context, days, pace, publish, (room, mandatorId) => {
    const tenant = tenants.get(mandatorId);
    if (tenant?.rooms.get(room.id) === room) forgetRoom(tenant, room);
  });
  const isListening = () => notifications.listening;

  function tenantOf(mandatorId: number): WatchedTenant {
    const known = tenants.get(mandatorId);
    if (known) return known;
    const tenant: WatchedTenant = {
      mandatorId,
      rooms: new Map(),
      boards: new Map(),
      subscriptions: [],
      ready: Promise.resolve(),
      isReady: false,
      queue: openQueue(mandatorId),
      boardsRead: undefined,
    };
    tenants.set(mandatorId, tenant);
    tenant.ready = Promise.all([
      follow(tenant, 'booking', (ids) => touchRooms(tenant, ids)),
      follow(tenant, 'name', (ids) => touchWhere(tenant, (room) => !ids || namesPerson(room, ids))),
      follow(tenant, 'resource', (ids) => {
        days.forget(mandatorId);
        touchWhere(tenant, (room) => !ids || shows(room, ids));
        touchBoards(tenant);
      }),
      ...(['location', 'hours'] as const).map((topic) =>
        follow(tenant, topic, (ids) => {
          for (const id of ids ?? [undefined]) days.forget(mandatorId, id);
          touchWhere(tenant, (room) => !ids || isAt(room, ids));
        }),
      ),
    ]).then(() => {
      tenant.isReady = true;
    });
    return tenant;
  }

  /** @param react with the ids that have changed; undefined: all may have */
  async function follow(
    tenant: WatchedTenant,
    topic: string,
    react: (ids: ReadonlySet<number> | undefined) => void,
  ): Promise<void> {
    const subscription = await notifications.subscribe(`${topic}:${tenant.mandatorId}`);
    tenant.subscriptions.push(subscription);
    if (tenants.get(tenant.mandatorId) !== tenant) subscription.close();
    const idsOf = ({ keys, all }: TopicChange) => (all ? undefined : new Set([...keys].map(Number)));
    const hear = async () => {
      for (let change = await subscription.next(); change; change = await subscription.next()) react(idsOf(change));
    };
    hear().catch((error: Error) =>
      log.error({ err: error.stack, topic }, 'displays are no longer notified of changes'),
    );
  }

  /** Whether a room shows one of these resources. The content of a stale room is not known, so any change may concern it. */
  const shows = ({ id, plan, isStale }: WatchedRoom, ids: ReadonlySet<number>) =>
    ids.has(id) || isStale || !plan || resourcesIn(plan.stored).some((named) => ids.has(named));

  const namesPerson = ({ plan, isStale }: WatchedRoom, ids: ReadonlySet<number>) =>
    isStale || !plan || plan.stored.slots.some(({ organizerId }) => organizerId !== null && ids.has(organizerId));

  const isAt = ({ plan, isStale }: WatchedRoom, ids: ReadonlySet<number>) =>
    isStale || !plan || ids.has(plan.stored.locationId);

  /** The rooms that bookings belong to; of thousands that are watched, few change at once. */
  function touchRooms(tenant: WatchedTenant, ids: ReadonlySet<number> | undefined): void {
    if (!ids) touchWhere(tenant, () => true);
    else for (const id of ids) tenant.rooms.get(id)?.touch();
  }

  function touchWhere(tenant: WatchedTenant, isMeant: (room: WatchedRoom) => boolean): void {
    for (const room of [...tenant.rooms.values()]) if (isMeant(room)) room.touch();
  }

  function roomOf(tenant: WatchedTenant, id: number): WatchedRoom {
    const known = tenant.rooms.get(id);
    if (known) return known;
    const room = openRoom(id, {
      pace,
      publish,
      isListening,
      wantsRead(wanting, isFirst) {
        if (!wanting.isWatched) forgetRoom(tenant, wanting);
        else if (tenant.isReady && !(isFirst && tenant.queue.running.has(wanting))) reading.want(tenant.queue, wanting);
      },
      isDone: (done) => forgetRoom(tenant, done),
    });
    tenant.rooms.set(id, room);
    return room;
  }

  function forgetRoom(tenant: WatchedTenant, room: WatchedRoom): void {
    room.close();
    reading.forget(tenant.queue, room);
    if (tenant.rooms.get(room.id) === room) tenant.rooms.delete(room.id);
    forgetTenant(tenant);
  }
  function forgetTenant(tenant: WatchedTenant): void {
    if (tenant.rooms.size > 0 || tenant.boards.size > 0) return;
    for (const subscription of tenant.subscriptions) subscription.close();
    if (tenants.get(tenant.mandatorId) === tenant) tenants.delete(tenant.mandatorId);
    days.forget(tenant.mandatorId);
  }

  function touchBoards(tenant: WatchedTenant): void {
    for (const board of tenant.boards.values()) board.touch();
    void readBoardsUntilDone(tenant);
  }
  async function readBoardsUntilDone(tenant: WatchedTenant): Promise<void> {
    for (let failures = 0; tenant.boards.size > 0; failures++) {
      try {
        return await readBoards(tenant);
      } catch (error) {
        log.warn({ err: (error as Error).message }, 'displays: the rooms of boards could not be read');
        await sleep(backOff(failures, pace.retries), undefined, { ref: false });
      }
    }
  }
  /** Reads the rooms of all boards of a tenant. Calls of the same turn share one read. */
  function readBoards(tenant: WatchedTenant): Promise<void> {
    tenant.boardsRead ??= (async () => {
      await nextTurn();
      tenant.boardsRead = undefined;
      const publishing = new Map([...tenant.boards].map(([id, board]) => [id, board.beginRead()]));
      const found = await readMembers(db, tenant.mandatorId, [...publishing.keys()]);
      for (const [locationId, members] of found) publishing.get(locationId)?.(members);
    })();
    return tenant.boardsRead;
  }

  const hub: Hub = {
    async withRoom(mandatorId, id, anew, use) {
      const tenant = tenantOf(mandatorId);
      const room = roomOf(tenant, id);
      const holder = nobody();
      room.join(holder);
      try {
        if (!tenant.isReady) await tenant.ready;
        if (anew || !room.plan || room.plan.stored.midnight <= Date.now())
          await reading.readOnce(tenant.queue, room, anew);
        // The known plan may be outdated; its `asOf` says so.
        else if (!isListening()) room.touch();
        return room.plan && use(room);
      } finally {
        room.leave(holder);
        if (!room.plan && !room.isWatched) forgetRoom(tenant, room);
      }
    },
    async withBoard(mandatorId, locationId, anew, use) {
      const tenant = tenantOf(mandatorId);
      let board = tenant.boards.get(locationId);
      if (!board) {
        board = openBoard(locationId, {
          pace,
          isListening,
          roomOf: (id) => roomOf(tenant, id),
          findRoom: (id) => tenant.rooms.get(id),
          isDone(done) {
            tenant.boards.delete(done.locationId);
            forgetTenant(tenant);
          },
        });
        tenant.boards.set(locationId, board);
      }
      const holder = nobody();
      board.join(holder);
      try {
        if (!tenant.isReady) await tenant.ready;
        if (anew || !board.isKnown) await readBoards(tenant);
        return board.isKnown ? await use(board) : undefined;
      } finally {
        board.leave(holder);
      }
    },
    get figures() {
      const rooms = [...tenants.values()].flatMap((tenant) => [...tenant.rooms.values()]);
      const watched = rooms.filter(({ isWatched }) => isWatched).length;
      return { ...reading.figures, watched, kept: rooms.length - watched };
    },
    close() {
      for (const tenant of [...tenants.values()]) {
        for (const board of [...tenant.boards.values()]) board.close();
        for (const room of [...tenant.rooms.values()]) forgetRoom(tenant, room);
      }
    },
  };
  notifications.stopping.addEventListener('abort', hub.close, { once: true });
  return hub;
}
