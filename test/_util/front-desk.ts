import { type Insertable, sql } from 'kysely';
import type { Booking, NewBooking } from '../../src/bookings/booking.ts';
import { type Created, createBooking } from '../../src/bookings/creation.ts';
import { getBooking } from '../../src/bookings/service.ts';
import type { Viewer } from '../../src/context.ts';
import { type Database, openDatabase } from '../../src/db/database.ts';
import type { DB } from '../../src/db/tables.ts';
import { openLog } from '../../src/log.ts';
import { springForward } from './ahead.ts';
import { makeTenant } from './factories.ts';
import { cloneDatabase } from './postgres.ts';

const hour = 3_600_000;

/** `days` after Europe's clocks are set ahead, at an hour of UTC. */
export const at = (days: number, hours: number) => new Date(springForward + (days * 24 + hours) * hour);

/** A database with tenants, and calls of services by their persons. */
export async function openFrontDesk() {
  const clone = await cloneDatabase();
  const db = openDatabase(clone.url, { max: 10, log: openLog('silent'), statementTimeout: 10_000 });
  let tenants = 0;
  return {
    db,
    url: clone.url,
    openTenant: (rooms: string[] = ['A', 'B']) => openTenant(db, `desk-${++tenants}`, rooms),
    async close() {
      await db.destroy();
      await clone.drop();
    },
  };
}

let policies = 0;

async function openTenant(db: Database, code: string, rooms: string[]) {
  const tenant = await makeTenant(db, { code, rooms });
  const { mandatorId } = tenant;
  const asViewer = (person: { id: number; name: string; email: string; role: string }): Viewer => ({
    mandatorId,
    mandator: code,
    personId: person.id,
    displayName: person.name,
    email: person.email,
    timeZone: 'Europe/Berlin',
    role: person.role as Viewer['role'],
    groupIds: [],
    hiddenRooms: [],
    pinId: 1,
    display: null,
    credential: person.email,
    expiresAt: new Date(Date.now() + hour),
  });
  const { id: colleagueId } = await db
    .insertInto('person')
    .values({
      mandator_id: mandatorId,
      name: 'Colleague',
      email: `colleague@${code}.example`,
      time_zone: 'Europe/Berlin',
      role: 'User',
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  const [admin, user, display] = [tenant.person('Admin'), tenant.person('User'), tenant.person('Display')];
  const viewers = {
    admin: asViewer(admin),
    user: asViewer(user),
    display: asViewer(display),
    colleague: asViewer({ ...user, id: colleagueId, name: 'Colleague' }),
  };
  const roomId = (name: string) => tenant.resources.find((room) => room.name === name)?.id as number;

  /** Books an hour in room A on the day before the clocks change, by default. */
  const create = (
    wanted: Partial<NewBooking> = {},
    viewer = viewers.user,
    options: { idempotencyKey?: string } = {},
  ): Promise<Created> =>
    createBooking(
      db,
      viewer,
      {
        resourceId: roomId('A'),
        subject: 'Sitzung',
        description: null,
        start: at(-1, 9),
        end: at(-1, 10),
        kind: 'Booking',
        status: 'Confirmed',
        isPrivate: false,
        setupMinutes: 0,
        teardownMinutes: 0,
        organizerId: undefined,
        recurrenceRule: undefined,
        conflictHandling: 'Fail',
        ...wanted,
      },
      options,
    );
  const update = (id: number, changes: ReturnType<typeof sql>) =>
    sql`update booking set ${changes} where mandator_id = ${mandatorId} and id = ${id}`.execute(db);

  return {
    ...viewers,
    tenant,
    mandatorId,
    roomId,
    create,
    book: async (wanted: Partial<NewBooking> = {}, viewer = viewers.user): Promise<Booking> =>
      (await create(wanted, viewer)).booking,
    /** All bookings of a series in their order. */
    series: async (wanted: Partial<NewBooking> & { recurrenceRule: string }): Promise<Booking[]> => {
      const { series } = await create(wanted);
      return await Promise.all((series?.bookingIds ?? []).map((id) => getBooking(db, viewers.user, id)));
    },
    read: (id: number) => getBooking(db, viewers.admin, id),
    /** Moves a booking, and its check-in, to minutes from now. */
    shift: (id: number, { from, to, checkIn }: { from: number; to: number; checkIn?: [number, number] }) => {
      const minutes = (count: number) => sql`date_trunc('milliseconds', now()) + make_interval(secs => ${count * 60})`;
      const [opens, closes] = checkIn ?? [];
      return update(
        id,
        sql`occupied = tstzrange(${minutes(from)}, ${minutes(to)}),
          check_in_from = ${opens === undefined ? null : minutes(opens)},
          check_in_until = ${closes === undefined ? null : minutes(closes)}`,
      );
    },
    setStatus: (id: number, status: string) => update(id, sql`status = ${status}`),
    setKind: (id: number, kind: string) => update(id, sql`kind = ${kind}`),
    setCheckIn: (room: string, minutes: number | null) =>
      sql`update resource set check_in_minutes = ${minutes} where id = ${roomId(room)}`.execute(db),
    async makeGroup(name: string): Promise<number> {
      const { id } = await db
        .insertInto('person_group')
        .values({ mandator_id: mandatorId, name })
        .returning('id')
        .executeTakeFirstOrThrow();
      return id;
    },
    /** Gives rooms a policy of their own, and takes the one that they had. */
    async setPolicy(rooms: string[], rules: Partial<Insertable<DB['policy']>>): Promise<void> {
      const { id } = await db
        .insertInto('policy')
        .values({ mandator_id: mandatorId, name: `Policy ${++policies}`, ...rules })
        .returning('id')
        .executeTakeFirstOrThrow();
      await sql`update resource set policy_id = ${id} where id = any (${rooms.map(roomId)}::integer[])`.execute(db);
    },
    /** Makes a booking a lesson of a job. */
    async makeLesson(id: number, jobId: string, lektionId: string): Promise<void> {
      await sql`
        with job as (
          insert into lesson_job (mandator_id, job_id, batch_id, created_by)
          values (${mandatorId}, ${jobId}, gen_random_uuid(), ${viewers.admin.personId}) returning id
        )
        insert into lesson (mandator_id, job, lektion_id, booking_id, resource_id, beginn, ende, status)
        select ${mandatorId}, job.id, ${lektionId}, booking.id, resource_id, lower(occupied), upper(occupied), 'Geplant'
        from job, booking where booking.mandator_id = ${mandatorId} and booking.id = ${id}`.execute(db);
      await update(id, sql`kind = 'Lesson'`);
    },
  };
}
