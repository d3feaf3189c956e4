/** The lanes in which scenarios of lessons and bookings run: each front and credential, with a tenant of its own. */
import { sql } from 'kysely';
import { createPin, hashDisplayToken, makeDisplayToken } from '../../../src/identity/service.ts';
import { recoverBatches } from '../../../src/lessons/runs.ts';
import { insertBookings } from '../../_util/bookings-table.ts';
import type { Contract } from '../../_util/contract.ts';
import { makeDisplay, makeTenant } from '../../_util/factories.ts';
import { type Call, type Credential, type Front, graphqlFront, restFront } from '../../_util/fronts.ts';
import { isRecordCall, namingIds } from '../../_util/fronts-records.ts';
import { hold } from '../../_util/hold.ts';
import { lessonClient } from '../../_util/lessons.ts';
import { pepper } from '../../_util/pepper.ts';
import type { Service } from '../../_util/service.ts';

/** Persons of the tenant, a paired device that hangs at the third room, nobody, somebody with a wrong credential, a user of another tenant. */
export type Caller =
  | 'user'
  | 'colleague'
  | 'admin'
  | 'importer'
  | 'display'
  | 'device'
  | 'nobody'
  | 'forger'
  | 'stranger';
const schemes = ['Bearer', 'APIKEY'] as const;
type Scheme = (typeof schemes)[number];
type Tree = Record<string, unknown>;

/** The rooms of each tenant; a hall of the same name is in two locations. */
const rooms = ['R001', 'R002', 'R003', 'Hall', 'Lab'];
/** Where a colleague decides about bookings, which last an hour at most. */
const approvedRoom = 'Lab';
/** Who has it from ten to eleven is no lesson. */
const bookedRoom = 'R003';
export const day = '2090-01-02';
/** Midnight in UTC of the day of bookings, which may not be as far away as lessons. */
export const bookingDay = (Math.floor(Date.now() / 86_400_000) + 40) * 86_400_000;
/** Where bookings are to be checked in. */
const checkInRoom = 'R003';
/** The lock under which a worker runs the batches of a tenant. */
const workerLock = 7_001;

const kinds: Record<string, string> = {
  batchId: 'batch',
  bookingId: 'booking',
  id: 'booking',
  bookingIds: 'booking',
  seriesId: 'series',
  ressourceId: 'room',
  resourceId: 'room',
  locationId: 'location',
  personId: 'person',
  groupId: 'group',
  policyId: 'policy',
  holidayCalendarId: 'calendar',
  calendarId: 'calendar',
  holidayId: 'holiday',
  timetableProfileId: 'profile',
  roomProblemId: 'problem',
  displayId: 'device',
  maySee: 'group',
  mayBook: 'group',
  maySkipApproval: 'group',
  mayDecide: 'group',
  mayBookForOthers: 'group',
  nextCursor: 'cursor',
  digest: 'digest',
};
const instants = new Set([
  ...['createdAt', 'startedAt', 'finishedAt', 'changedAt'],
  ...['from', 'until', 'checkedInAt', 'decidedAt', 'erasedAt', 'readAt', 'reportedAt', 'doneAt'],
]);
const texts = new Set(['message', 'errorMessages', 'displayName', 'email', 'uid', 'name', 'mandator']);
const uuids = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;

const uids = /\bbooking-\d+@[0-9a-f-]{36}/g;

/**
 * Stable names for what differs from tenant to tenant. An id or a cursor is named when it first appears: `batch 1`.
 * @param known names of values from the start: of persons, rooms, a foreign batch
 */
function openNames(known: [kind: string, value: unknown, name: string][], mandator: string) {
  const names = new Map(known.map(([kind, value, name]) => [`${kind} ${value}`, name]));
  const values = new Map(known.map(([, value, name]) => [name, value]));
  const counts: Record<string, number> = {};

  function nameOf(kind: string, value: unknown): string {
    // Cursors of two lists may be alike by chance.
    const key = kind === 'cursor' ? '' : `${kind} ${value}`;
    const name = names.get(key) ?? `${kind} ${(counts[kind] = (counts[kind] ?? 0) + 1)}`;
    if (key) names.set(key, name);
    values.set(name, value);
    return name;
  }

  const inText = (text: string) =>
    text
      .replaceAll(uids, '(uid)')
      .replaceAll(/\berased-\d+(?=@)/g, 'erased-(id)')
      .replaceAll(uuids, (id) => nameOf('batch', id))
      .replaceAll(/\bbooking (\d+)/g, (_, id) => nameOf('booking', id))
      .replaceAll(/(?<=RessourceId |which is )\d+/g, (id) => nameOf('room', id))
      .replaceAll(mandator, '(mandator)');

  function scrubMember(name: string, value: unknown): unknown {
    if (value === null) return null;
    if (name === 'resource') {
      const { id: resourceId, ...members } = value as Tree;
      return scrub({ resourceId, ...members });
    }
    const kind = kinds[name];
    if (kind && Array.isArray(value)) return value.map((each) => nameOf(kind, each));
    if (kind) return nameOf(kind, value);
    if (instants.has(name)) return /^\d{4}-\d\d-\d\dT.*Z$/.test(String(value)) ? '(instant)' : value;
    if (texts.has(name)) return inText(String(value));
    // In the spelling of what was sent.
    if (name === 'pointer') return String(value).replaceAll(/\/[A-Z]/g, (start) => start.toLowerCase());
    return scrub(value);
  }

  /** With its members in alphabetical order, so that all fronts name in the same one. */
  function scrub(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(scrub);
    if (typeof value !== 'object' || value === null) return value;
    const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
    return Object.fromEntries(members.map(([name, member]) => [name, scrubMember(name, member)]));
  }

  /** The values that names stand for. */
  function restore(value: unknown): unknown {
    if (typeof value === 'string') return values.has(value) ? values.get(value) : value;
    if (Array.isArray(value)) return value.map(restore);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, restore(member)]));
  }

  return { scrub, restore };
}

type Person = ReturnType<Service['tenant']['person']>;

async function credentialOf(service: Service, scheme: Scheme, tenant: Service['tenant'], person: Person) {
  const { mandatorId } = tenant;
  const credential: Credential =
    scheme === 'Bearer'
      ? { Authorization: `Bearer ${await service.signIn({ ...tenant, person: () => person })}` }
      : { APIKEY: (await createPin(service.context.db, pepper, { mandatorId, personId: person.id })).pin };
  return credential;
}

/** A tenant with everything that scenarios need. */
async function makeLaneTenant(service: Service, mandator: string) {
  const { db } = service.context;
  const tenant = await makeTenant(db, { code: mandator, rooms });
  const { mandatorId, locationId } = tenant;
  const colleague = await db
    .insertInto('person')
    .values({
      mandator_id: mandatorId,
      name: 'Colleague',
      email: 'c@c.example',
      teacher_code: 'E. Nöther',
      time_zone: 'UTC',
      role: 'User',
    })
    .returning(['id', 'email', 'role', 'name'])
    .executeTakeFirstOrThrow();
  const annex = await db
    .insertInto('location')
    .values({ mandator_id: mandatorId, name: 'Annex', time_zone: 'UTC' })
    .returning('id')
    .executeTakeFirstOrThrow();
  await db.insertInto('resource').values({ mandator_id: mandatorId, location_id: annex.id, name: 'Hall' }).execute();
  await db
    .insertInto('opening_rule')
    .values({
      mandator_id: mandatorId,
      location_id: locationId,
      weekdays: [1, 2, 3, 4, 5, 6, 7],
      opens: '08:00',
      closes: '18:00',
    })
    .execute();
  await sql`update resource set check_in_minutes = 15 where mandator_id = ${mandatorId} and name = ${checkInRoom}`.execute(
    db,
  );
  await sql`
    with deciders as (
      insert into person_group (mandator_id, name) values (${mandatorId}, 'Deciders') returning id
    ), member as (
      insert into person_group_member (mandator_id, group_id, person_id) select ${mandatorId}, id, ${colleague.id} from deciders
    ) select from deciders`.execute(db);
  await sql`
    with policy as (
      insert into policy (mandator_id, name, needs_approval, may_decide, may_book_for_others, longest_minutes)
      select ${mandatorId}, 'Labs', true, array[id], array[id], 60 from person_group where mandator_id = ${mandatorId} returning id
    )
    update resource set policy_id = policy.id from policy
    where resource.mandator_id = ${mandatorId} and resource.name = ${approvedRoom}`.execute(db);
  const persons = {
    user: tenant.person('User'),
    admin: tenant.person('Admin'),
    display: tenant.person('Display'),
    importer: tenant.person('Importer'),
    colleague,
  };

  return { tenant, persons, annexId: annex.id };
}

const fronts = [
  ['REST, Pascal case', (options) => restFront({ ...options, casing: 'pascal' })],
  ['REST, camel case', (options) => restFront({ ...options, casing: 'camel' })],
  ['GraphQL', graphqlFront],
] as const satisfies [
  string,
  (options: { contract: Contract; url: string; mandator: string; used: Set<string> }) => Front,
][];

/**
 * @param used gets the routes and fields that were called
 * @param isLong whether each front runs with each scheme
 */
export async function openLanes(service: Service, contract: Contract, used: Set<string>, isLong: boolean) {
  const { url, context } = service;
  const { db } = context;
  const stranger = lessonClient(service, await service.signIn());
  const foreign = (await (await stranger.post([{ JobID: 'J-1' }])).json()) as { BatchId: string };

  const [foreignBooking] = await insertBookings(db, service.tenant.mandatorId, service.tenant.resources[0]!.id);

  async function openLane(scheme: Scheme, number: number) {
    const [frontName, openFront] = fronts[number] as (typeof fronts)[number];
    const mandator = `lane-${scheme.toLowerCase()}-${number}`;
    const { tenant, persons, annexId } = await makeLaneTenant(service, mandator);
    const of = (person: Person) => credentialOf(service, scheme, tenant, person);
    const displayToken = makeDisplayToken();
    const tokenHash = hashDisplayToken(context.config, displayToken);
    await makeDisplay(db, tenant, { resourceIds: [tenant.resources[2]!.id], tokenHash });
    const credentials: Record<Caller, Credential> = {
      user: await of(persons.user),
      colleague: await of(persons.colleague),
      admin: await of(persons.admin),
      display: await of(persons.display),
      device: { Authorization: `Bearer ${displayToken}` },
      importer: await of(persons.importer),
      nobody: {},
      forger: scheme === 'Bearer' ? { Authorization: 'Bearer a.b.c' } : { APIKEY: 'AAAAA-AAAAA-AAAAA-AAAAA' },
      stranger: await credentialOf(service, scheme, service.tenant, service.tenant.person('User')),
    };
    const front = openFront({ contract, url, mandator, used });
    const known: [string, unknown, string][] = [
      ...tenant.resources.map(({ id, name }): [string, unknown, string] => ['room', id, `room ${name}`]),
      ...Object.entries(persons).map(([caller, { id }]): [string, unknown, string] => ['person', id, caller]),
      ['location', tenant.locationId, 'campus'],
      ['location', annexId, 'annex'],
      ['foreign batch', foreign.BatchId, 'foreign batch'],
      ['foreign booking', foreignBooking, 'foreign booking'],
    ];
    let names = openNames(known, mandator);
    return {
      name: `${frontName}, ${scheme}`,
      isRest: frontName !== 'GraphQL',
      tenant,
      /** For another scenario. */
      forget() {
        names = openNames(known, mandator);
      },
      /** A call with the names of what it is about, to a result with such names. @param toEnd waits for the end of the batch */
      async run(
        call: Call,
        { caller, wrong, toEnd = false }: { caller: Caller; wrong: boolean; toEnd?: boolean | undefined },
      ) {
        const meant = { ...call, args: names.restore(call.args) } as Call;
        let result = (await front(meant, credentials[caller], wrong)) as Tree;
        if (toEnd && 'batchId' in result)
          result = (await front(
            { name: 'end', args: { id: String(result['batchId']) } },
            credentials[caller],
            false,
          )) as Tree;
        return names.scrub(isRecordCall(call) ? namingIds(call.args.noun, result) : result);
      },
    };
  }

  const all = await Promise.all(schemes.flatMap((scheme) => fronts.map((_, number) => openLane(scheme, number))));
  /** What a person may do does not depend on the scheme: the fronts take turns with it, and have each only at length. */
  const lanesOf = (turn: number) =>
    all.filter(
      (_, at) => isLong || (Math.floor(at / fronts.length) + (at % fronts.length) + turn) % schemes.length === 0,
    );
  let lanes: typeof all = [];
  let scenarios = 0;
  const mandatorIds = () => lanes.map(({ tenant }) => tenant.mandatorId);
  let release: (() => Promise<void>) | undefined;

  /** Batches are taken in, and wait. */
  async function stopWorker(): Promise<void> {
    release ??= await hold(db, (trx) =>
      sql`select pg_advisory_xact_lock(${workerLock}, id) from unnest(${mandatorIds()}::int[]) as id`.execute(trx),
    );
  }

  async function startWorker(): Promise<void> {
    await release?.();
    release = undefined;
    await recoverBatches(db);
  }

  return {
    /** Those of the present scenario. */
    lanes: () => lanes,
    stopWorker,
    startWorker,
    /** Another scenario begins, and every tenant is as it was in the beginning. */
    async clear(): Promise<void> {
      await startWorker();
      lanes = lanesOf(scenarios++);
      await stopWorker();
      for (const table of ['lesson', 'lesson_job', 'booking', 'booking_series', 'batch', 'idempotent_request'])
        await sql`delete from ${sql.table(table)} where mandator_id = any (${mandatorIds()}::int[])`.execute(db);
      await sql`update resource set version = 1 where mandator_id = any (${mandatorIds()}::int[])`.execute(db);
      await sql`
        insert into booking (mandator_id, resource_id, kind, status, origin, occupied)
        select mandator_id, id, 'Booking', 'Confirmed', 'Api',
          tstzrange(${`${day}T10:00:00Z`}, ${`${day}T11:00:00Z`})
        from resource where mandator_id = any (${mandatorIds()}::int[]) and name = ${bookedRoom}`.execute(db);
      await startWorker();
      for (const { forget } of lanes) forget();
    },
  };
}
