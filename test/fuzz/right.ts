/** What a caller must know to do right what no dice would: a booking that is on, the version of a list, a batch that waits. */
import type { Dice } from '../_util/dice.ts';
import { type Caller, doorIds, type World } from './world.ts';

/** `members` by their names in paths and arguments; `body` where it is known too. */
export type Known = {
  caller: Caller;
  members: Readonly<Record<string, unknown>>;
  version?: number;
  body?: object;
};

type Prepare = (world: World, dice: Dice) => Promise<Known | undefined>;

const known = ({ Id, Version }: { Id: number; Version: number }, caller: Caller): Known => ({
  ...{ caller, version: Version },
  members: { id: Id, version: Version },
});

/** One that a door sign has made a moment ago, and that is on. */
const bookingOf =
  (caller: (world: World) => Caller): Prepare =>
  async (world, dice) => {
    const resourceId = dice.oneOf(doorIds);
    await world.clear(resourceId);
    const now = Date.now();
    const booking = { ResourceId: resourceId, Subject: 'At the door' };
    const times = { Start: new Date(now), End: new Date(now + 600_000) };
    const made = await world.ask(world.device, 'POST', 'v1.0/bookings', { ...booking, ...times });
    return made && known(made, caller(world));
  };

const hours =
  (list: string): Prepare =>
  async (world, dice) => {
    const resourceId = 1 + dice.below(3);
    const caller = world.admin;
    const found = await world.ask(caller, 'GET', `v1.0/opening-hours/${resourceId}/${list}`);
    return found && { caller, version: found.Version, members: { resourceId, version: found.Version } };
  };

const record =
  (list: string): Prepare =>
  async (world, dice) => {
    const found = await world.ask(world.admin, 'GET', `v1.0/${list}?Limit=5`);
    return found && known(dice.oneOf(found.Items), world.admin);
  };

const batch: Prepare = async (world) => {
  const job = {
    ...{ JobID: `cancel ${performance.now()}`, ConflictHandling: 'Fail' },
    Lektionen: [],
  };
  const caller = world.admin;
  const made = await world.ask(caller, 'POST', 'v2.0/jobs/create', [job]);
  return made && { caller, members: { id: made.BatchId, batchId: made.BatchId } };
};

const signIn: Prepare = async ({ form }) => ({
  ...{ caller: { name: 'anonymous', authorization: undefined } },
  ...{ members: {}, body: form },
});

const pairing: Prepare = async (world) => {
  const shown = await world.ask(world.device, 'POST', 'v1.0/displays/pairings');
  const display = { Code: shown?.Code, Name: 'New', ResourceIds: [doorIds[0]] };
  const input = { code: shown?.Code, name: 'New', resourceIds: [doorIds[0]] };
  return shown && { caller: world.admin, members: { input }, body: display };
};

const ways: readonly (readonly [RegExp, Prepare])[] = [
  [/undo/i, bookingOf(({ device }) => device)],
  [/^PATCH .*\/bookings\/|changeBooking/, bookingOf(({ admin }) => admin)],
  [/\/bookings\/\{id\}\/|extendBooking|releaseBooking|checkIn/, bookingOf(({ device }) => device)],
  [/^PUT .*\/rules|setOpeningRules/, hours('rules')],
  [/^PUT .*\/exceptions|setOpeningExceptions/, hours('exceptions')],
  [/\/cancel$|cancelBatch/, batch],
  [/^PATCH .*\/resources|changeResource/, record('resources')],
  [/^PATCH .*\/locations|changeLocation/, record('locations')],
  [/^PATCH .*\/persons|changePerson/, record('persons')],
  [/^PATCH .*\/displays|changeDisplay/, record('displays')],
  [/\/connect\/token$/, signIn],
  [/^POST .*\/displays$|pairDisplay/, pairing],
];

/** Undefined where a right call needs nothing of this kind, and where it is not to be had now. */
export async function prepare(place: string, world: World, dice: Dice): Promise<Known | undefined> {
  const [, way] = ways.find(([pattern]) => pattern.test(place)) ?? [];
  return await way?.(world, dice);
}
