/** Values of valid calls that random values would never hit: a booking that is on, the version of a list, a waiting batch. */
import type { Dice } from '../_util/dice.ts';
import { type Caller, doorIds, type World } from './world.ts';

/** `members` by their names in paths and arguments; `body` where it is known too. */
export type Known = {
  caller: Caller;
  members: Readonly<Record<string, unknown>>;
  version?: number;
  /** Of a query; the others come from the dice. */
  query?: Readonly<Record<string, string>>;
  body?: object;
};

type Prepare = (world: World, dice: Dice) => Promise<Known | undefined>;

const known = ({ Id, Version }: { Id: number; Version: number }, caller: Caller): Known => ({
  caller,
  version: Version,
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

/** @param path of the list, with the id of a resource or a location in its place */
const hours =
  (path: (id: number) => string): Prepare =>
  async (world, dice) => {
    const caller = world.admin;
    const [location] = (await world.ask(caller, 'GET', 'v1.0/locations?Limit=1'))?.Items ?? [];
    const id = path(0).includes('locations') ? location?.Id : 1 + dice.below(3);
    const found = await world.ask(caller, 'GET', path(id));
    const members = { id, resourceId: id, locationId: id, version: found?.Version };
    return found && { caller, version: found.Version, members };
  };

const record =
  (list: string): Prepare =>
  async (world, dice) => {
    const found = await world.ask(world.admin, 'GET', `v1.0/${list}?Limit=5`);
    return found && found.Items.length > 0 ? known(dice.oneOf(found.Items), world.admin) : undefined;
  };

const batch: Prepare = async (world) => {
  const job = {
    JobID: `cancel ${performance.now()}`,
    ConflictHandling: 'Fail',
    Lektionen: [],
  };
  const caller = world.admin;
  const made = await world.ask(caller, 'POST', 'v2.0/jobs/create', [job]);
  return made && { caller, members: { id: made.BatchId, batchId: made.BatchId } };
};

/** A booking of a user that waits for approval, in a room of its own. */
const request: Prepare = async (world) => {
  const { admin, user } = world;
  const Name = `approval ${performance.now()}`;
  const policy = await world.ask(admin, 'POST', 'v1.0/policies', { Name, NeedsApproval: true });
  const locations = await world.ask(admin, 'GET', 'v1.0/locations?Limit=1');
  const room = { LocationId: locations?.Items[0]?.Id, Name, PolicyId: policy?.Id };
  const resource = await world.ask(admin, 'POST', 'v1.0/resources', room);
  const [start, end] = [Date.now() + 3_600_000, Date.now() + 7_200_000];
  const wish = { ResourceId: resource?.Id, Subject: 'Please', Start: new Date(start), End: new Date(end) };
  const made = await world.ask(user, 'POST', 'v1.0/bookings', wish);
  const verdict = { verdict: 'Approved', reason: 'Fine' };
  const waits = made && known(made, admin);
  return waits && { ...waits, members: { ...waits.members, input: verdict }, body: { Verdict: 'Approved' } };
};

/** One that no resource has, so that it may go. */
const unusedPolicy: Prepare = async ({ admin, ask }) => {
  const made = await ask(admin, 'POST', 'v1.0/policies', { Name: `unused ${performance.now()}` });
  return made && known(made, admin);
};

/** One that is there already, since a person may have but a few. */
const calendarToken =
  (path: (id: number) => string): Prepare =>
  async ({ admin, ask }, dice) => {
    const id = 1 + dice.below(3);
    const there = (await ask(admin, 'GET', `${path(id)}?Limit=1`))?.Items ?? [];
    const tokenId = there[0]?.Id ?? (await ask(admin, 'POST', path(id), {}))?.Id;
    return tokenId && { caller: admin, members: { id, tokenId } };
  };

/** One whose keys need no escape, of several jobs since a job may have lost its lesson; where it is not there yet, its import begins. */
const lesson: Prepare = async ({ admin, ask }, dice) => {
  const JobID = `plain${dice.below(50)}`;
  const found = await ask(admin, 'GET', `v2.0/lessons/${JobID}/L1`);
  if (found) return { caller: admin, members: found };
  const Beginn = new Date(Date.now() + (20 * 24 + dice.below(200)) * 3_600_000);
  const Ende = new Date(Beginn.getTime() + 60_000);
  const lessons = [{ LektionId: 'L1', Beginn, Ende, RessourceName: 'R001' }];
  await ask(admin, 'POST', 'v2.0/jobs/create', [{ JobID, LektionList: lessons }]);
  return undefined;
};

const holidays: Prepare = async (world) => {
  const Ics = 'BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//fuzz//EN\r\nEND:VCALENDAR\r\n';
  const made = await world.ask(world.admin, 'POST', 'v1.0/holiday-calendars', {
    Name: `days ${performance.now()}`,
    Ics,
  });
  return made && { ...known(made, world.admin), body: { Closes: false } };
};

const profile: Prepare = async (world) => {
  const made = await world.ask(world.admin, 'POST', 'v1.0/timetable-profiles', { Name: `files ${performance.now()}` });
  return made && { ...known(made, world.admin), body: { SharedRooms: [] } };
};

/** At an address that is refused without asking anybody. */
const webhook: Prepare = async (world) => {
  const sent = { Name: `hook ${performance.now()}`, Url: 'https://hooks.invalid/', Kinds: ['BatchEnded'] };
  const made = await world.ask(world.admin, 'POST', 'v1.0/webhooks', sent);
  return made && { ...known(made, world.admin), body: { Kinds: ['MailConflict'] } };
};

const nodes: Prepare = async ({ admin }) => ({
  caller: admin,
  members: { id: 'resource_1', ids: ['resource_1', 'resource_2'] },
});

/** Members that are required in a query. */
const figures: Prepare = async ({ admin }) => ({
  caller: admin,
  members: {},
  query: { From: '2026-03-02', To: '2026-03-08' },
});

const signIn: Prepare = async ({ form }) => ({
  caller: { name: 'anonymous', authorization: undefined },
  members: {},
  body: form,
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
  [/\/decide$|decideBooking/, request],
  [/\/bookings\/\{id\}\/|extendBooking|releaseBooking|checkIn/, bookingOf(({ device }) => device)],
  [/^PUT .*locations.*\/rules|setLocationOpeningRules/, hours((id) => `v1.0/opening-hours/locations/${id}/rules`)],
  [
    /^PUT .*locations.*\/exceptions|setLocationOpeningExceptions/,
    hours((id) => `v1.0/opening-hours/locations/${id}/exceptions`),
  ],
  [/^PUT .*\/rules|setOpeningRules/, hours((id) => `v1.0/opening-hours/${id}/rules`)],
  [/^PUT .*\/exceptions|setOpeningExceptions/, hours((id) => `v1.0/opening-hours/${id}/exceptions`)],
  [/^GET .*\/usage\//, figures],
  [/^DELETE .*\/timetable\/calendar-tokens\//, calendarToken(() => 'v1.0/timetable/calendar-tokens')],
  [/^DELETE .*\/calendar-tokens\//, calendarToken((id) => `v1.0/resources/${id}/calendar-tokens`)],
  [/^GET .*\/lessons\/\{JobID\}/, lesson],
  [/^(GET|PATCH) .*\/holiday-calendars\/|(change|delete)HolidayCalendar/, holidays],
  [/^PATCH .*\/webhooks\/|changeWebhook/, webhook],
  [/^(GET|PATCH) .*\/timetable-profiles\/|(change|delete)TimetableProfile/, profile],
  [/^GET .*\/groups\/\{id\}/, record('groups')],
  [/^query nodes?$/, nodes],
  [/\/cancel$|cancelBatch/, batch],
  [/^PATCH .*\/resources|changeResource/, record('resources')],
  [/^PATCH .*\/locations|changeLocation/, record('locations')],
  [/^PATCH .*\/persons|changePerson/, record('persons')],
  [/^(PATCH|DELETE) .*\/groups|(change|delete)Group/, record('groups')],
  [/^(PATCH|DELETE) .*\/policies|(change|delete)Policy/, unusedPolicy],
  [/^PATCH .*\/displays|changeDisplay/, record('displays')],
  [/\/connect\/token$/, signIn],
  [/^POST .*\/displays$|pairDisplay/, pairing],
];

/** Undefined where a right call needs nothing of this kind, and where it is not to be had now. */
export async function prepare(place: string, world: World, dice: Dice): Promise<Known | undefined> {
  const [, way] = ways.find(([pattern]) => pattern.test(place)) ?? [];
  return await way?.(world, dice);
}
