/** The callers and the data of requests: two tenants, and the values that answers have told. */
import { sql } from 'kysely';
import type { Context } from '../../src/context.ts';
import { lowerFirst } from '../../src/fields.ts';
import { createPin, hashDisplayToken } from '../../src/identity/service.ts';
import type { Dice } from '../_util/dice.ts';
import { makeDisplay, makeTenant } from '../_util/factories.ts';
import * as hostile from './hostile.ts';

export const tenantCode = 'school';
const rooms = ['R001', 'R002', 'R003'];
const doors = ['D001', 'D002', 'D003'];
/** Of rooms that are only booked at their door signs. */
export const doorIds = doors.map((_, at) => rooms.length + 1 + at);

export type Caller = { name: string; authorization: string | undefined };
export type World = Awaited<ReturnType<typeof openWorld>>;

/** @param url of the server; the context is of its database */
export async function openWorld(url: string, context: Pick<Context, 'db' | 'config'>, pepper: string) {
  const { db, config } = context;
  const tenant = await makeTenant(db, { code: tenantCode, rooms: [...rooms, ...doors] });
  const stranger = await makeTenant(db, { code: 'stranger' });

  const pool = openPool();

  const formOf = (apikey: string) => ({
    grant_type: 'apikey',
    scope: 'service_api',
    client_id: 'timetable-import',
    apikey,
  });
  const signIn = await createPin(db, pepper, {
    mandatorId: tenant.mandatorId,
    personId: tenant.person('User').id,
  });

  async function tokenOf(of: typeof tenant, role: string): Promise<string> {
    const { pin } = await createPin(db, pepper, { mandatorId: of.mandatorId, personId: of.person(role).id });
    pool.learn({ apikey: pin });
    const form = formOf(pin);
    const answer = await fetch(`${url}/connect/token`, { method: 'POST', body: new URLSearchParams(form) });
    return ((await answer.json()) as { access_token: string }).access_token;
  }

  /** What a right call is answered; undefined for one that is refused. */
  async function ask({ authorization = '' }: Caller, method: string, path: string, body?: unknown) {
    const answer = await fetch(`${url}/${tenantCode}/api/${path}`, {
      method,
      headers: { Authorization: authorization, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const told = JSON.parse(await answer.text());
    return answer.ok ? told : undefined;
  }

  const deviceToken = `rgd_${'fuzz'.repeat(11)}`;
  const { displayId } = await makeDisplay(db, tenant, {
    tokenHash: hashDisplayToken(config, deviceToken),
  });
  const device: Caller = { name: 'device', authorization: `Bearer ${deviceToken}` };
  const admin: Caller = { name: 'Admin', authorization: `Bearer ${await tokenOf(tenant, 'Admin')}` };
  const user: Caller = { name: 'User', authorization: `Bearer ${await tokenOf(tenant, 'User')}` };
  // So that there is something to change, to check in and to release from the beginning on.
  await db.updateTable('resource').set({ check_in_minutes: 60 }).where('mandator_id', '=', tenant.mandatorId).execute();
  for (const { id } of tenant.resources.slice(0, rooms.length))
    await ask(user, 'POST', 'v1.0/bookings', {
      ResourceId: id,
      Subject: 'Now',
      Start: new Date(Date.now() - 60_000),
      End: new Date(Date.now() + 3_600_000),
    });
  // Who may do more comes more often.
  const callers: readonly Caller[] = [
    ...[admin, admin, admin, admin, user, user, user],
    { name: 'Display', authorization: `Bearer ${await tokenOf(tenant, 'Display')}` },
    device,
    { name: 'stranger', authorization: `Bearer ${await tokenOf(stranger, 'Admin')}` },
    { name: 'anonymous', authorization: undefined },
  ];

  await sql`create table known_person as table person`.execute(db);
  await sql`create table known_pin as table pin`.execute(db);

  return {
    url,
    callers,
    admin,
    user,
    device,
    ask,
    pool,
    form: formOf(signIn.pin),
    /** Removes everything that conflicts with a booking that begins now. */
    async clear(resourceId: number): Promise<void> {
      await outlast(() =>
        sql`update booking set status = 'Cancelled' where resource_id = ${resourceId}
        and status in ('Confirmed', 'Tentative') and upper(occupied) > now()`.execute(db),
      );
    },
    /** Gives the callers back what Admins among them have taken from each other, erased persons too. */
    restore: () => outlast(restore),
  };

  async function restore(): Promise<void> {
    await sql`update person set (name, email, role, active, erased_at) = (known.name, known.email, known.role, true, null)
        from known_person known where known.id = person.id`.execute(db);
    await sql`insert into pin overriding system value table known_pin
        on conflict (mandator_id, id) do update set revoked_at = null, expires_at = null`.execute(db);
    await sql`update display set revoked_at = null, expires_at = now() + interval '90 days', may_book = true
        where id = ${displayId}`.execute(db);
    await sql`update location set active = true where name = 'Campus'`.execute(db);
    const known = sql`id <= ${rooms.length + doors.length}`;
    await sql`update resource set active = true, check_in_minutes = 60, policy_id = null where ${known}`.execute(db);
    // Where a new one has taken its name there, it stays where it was moved to.
    await sql`update resource set location_id = ${tenant.locationId}
        where ${known} and location_id <> ${tenant.locationId} and not exists (select from resource as new
          where new.mandator_id = resource.mandator_id and new.location_id = ${tenant.locationId}
            and new.name_key = resource.name_key)`.execute(db);
  }
}

/** The server may lock the same records in another order, or give a name away, at the same moment. */
async function outlast(work: () => Promise<unknown>): Promise<void> {
  for (;;)
    try {
      await work();
      return;
    } catch (error) {
      if (!['40P01', '23505'].includes((error as { code?: string }).code ?? '')) throw error;
    }
}

/** A cursor of the same list for a place that it cannot have. */
function forge(cursor: string, place: number): string {
  const written = Buffer.from(cursor, 'base64url').toString();
  const key = JSON.stringify(written.includes('[') ? [String(place), place, '\0'] : place);
  return Buffer.from(written.replace(/[^:]*$/, () => key)).toString('base64url');
}

const mostKept = 60;

/** Values from answers, by the names of their members, so that requests name existing records. */
function openPool() {
  const known = new Map<string, unknown[]>([
    ['id', [1, 2, 3]],
    ['ressourceName', [...rooms, ...rooms]],
    ['kind', ['Booking', 'Room', 'Lesson']],
    ['timeZone', ['Europe/Berlin', 'Asia/Tokyo', 'UTC', ...hostile.zones.slice(0, 4), ...hostile.zones]],
    ['recurrenceRule', [...hostile.rules]],
    ['version', [1, 1, 1, 2, 3]],
    ['client_id', ['timetable-import']],
  ]);
  function keep(name: string, value: unknown): void {
    const values = known.get(name) ?? [];
    known.set(name, [...values.slice(-mostKept), value]);
  }
  return {
    /** A known value of this name; undefined if there is none. */
    find(name: string, { oneOf, roll, below }: Dice): unknown {
      const key = lowerFirst(name);
      const isCursor = /cursor$|^after$/i.test(key);
      // The first ones are there from the beginning, of everything that has ids.
      if (/ids?$/i.test(key) && roll() < 0.4) return 1 + below(3);
      const isId = /id$/i.test(key) && (!known.has(key) || roll() < 0.5);
      const values = known.get(isCursor ? 'cursor' : isId ? 'id' : key);
      if (isCursor && values && roll() < 0.4) return forge(String(oneOf(values)), oneOf(hostile.numbers));
      return values && oneOf(values);
    },
    learn(value: unknown, depth = 0): void {
      if (typeof value !== 'object' || value === null || depth > 6) return;
      if (Array.isArray(value)) {
        for (const item of value.slice(0, 3)) this.learn(item, depth + 1);
        return;
      }
      for (const [name, member] of Object.entries(value)) {
        if (typeof member === 'object') this.learn(member, depth + 1);
        else if (/cursor$/i.test(name) && member) keep('cursor', member);
        else keep(lowerFirst(name), member);
      }
    },
  };
}
