/** A tenant with a room in every state that a sign can show, and what people do there over REST. */
import { makeTenant } from '../../_util/factories.ts';
import { lessonClient } from '../../_util/lessons.ts';
import type { Service } from '../../_util/service.ts';

export const minute = 60_000;
export const school = {
  free: 'HS 101',
  startingSoon: 'Naturwissenschaftlicher Vorbereitungsraum',
  busy: 'HS 102',
  endingSoon: 'HS 103',
  checkInDue: 'SR 201',
  closed: 'SR 202',
  outOfService: 'SR 203',
  /** Of one lesson that has moved from the first to the second. */
  movedFrom: 'Labor 1',
  movedTo: 'Labor 2',
  /** Of a lesson that is cancelled. */
  cancelled: 'Labor 3',
} as const;

type Stored = { Id: number } & Record<string, unknown>;
type Grant = { ResourceIds?: number[]; LocationId?: number; MayBook?: boolean; Privacy?: string };
export type School = Awaited<ReturnType<typeof openSchool>>;

/** A zone in which it is `hour` o'clock now, so that whatever happens within some hours is on one local day. */
function zoneAt(hour: number): string {
  const ahead = hour - new Date().getUTCHours();
  const offset = ahead < -12 ? ahead + 24 : ahead > 14 ? ahead - 24 : ahead;
  // POSIX counts westwards.
  return offset === 0 ? 'Etc/UTC' : `Etc/GMT${offset > 0 ? '-' : '+'}${Math.abs(offset)}`;
}

/**
 * @param hour what the clocks of the school show now
 * @param rooms besides which those of `school` are not made
 */
export async function openSchool(
  service: Service,
  code: string,
  hour: number,
  rooms: readonly string[] = Object.values(school),
) {
  const { db } = service.context;
  const tenant = await makeTenant(db, { code, rooms: [...rooms], timeZone: zoneAt(hour) });
  const { mandatorId, locationId } = tenant;
  const roomId = (name: string) => tenant.resources.find((room) => room.name === name)?.id as number;
  await db
    .insertInto('opening_rule')
    .values({
      mandator_id: mandatorId,
      location_id: locationId,
      weekdays: [1, 2, 3, 4, 5, 6, 7],
      ...(hour > 8 && hour < 16 ? { opens: '07:00', closes: '20:00' } : { opens: '00:00', closes: '24:00' }),
    })
    .execute();
  if (roomId(school.closed))
    await db
      .insertInto('opening_rule')
      .values({
        mandator_id: mandatorId,
        location_id: locationId,
        resource_id: roomId(school.closed),
        weekdays: [1, 2, 3, 4, 5, 6, 7],
        opens: `${hour + 2}:00`,
        closes: `${hour + 6}:00`,
      })
      .execute();
  const token = await service.signIn(tenant, 'Admin');

  async function send(method: string, path: string, body?: unknown, headers = {}): Promise<Response> {
    return await fetch(`${service.url}/${code}/api/v1.0${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }
  async function call<T = Stored>(...request: Parameters<typeof send>): Promise<T> {
    const answer = await send(...request);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${request[0]} ${request[1]}: ${answer.status} ${text}`);
    return JSON.parse(text) as T;
  }
  /** Whole minutes of the clock, `minutes` from now. */
  const at = (minutes: number) => new Date((Math.floor(Date.now() / minute) + minutes) * minute).toISOString();
  const { importJobs } = lessonClient({ url: service.url, tenant }, token);

  return {
    tenant,
    mandatorId,
    code,
    locationId,
    roomId,
    send,
    call,
    at,
    importJobs,
    url: (kind: 'door-sign' | 'board', id: number) => `/${code}/${kind}/${id}`,
    sign: (room: string) => `/${code}/door-sign/${roomId(room)}`,
    board: `/${code}/board/${locationId}`,
    /** An Admin books, so that it may have begun already; minutes from now. */
    book: (room: string, from: number, to: number, wanted: Record<string, unknown> = {}) =>
      call('POST', '/bookings', {
        ResourceId: roomId(room),
        Start: at(from),
        End: at(to),
        Subject: 'Sitzung',
        ...wanted,
      }),
    cancel: (id: number) => call('DELETE', `/bookings/${id}`),
    /** What a device and an Admin do to pair it. */
    async pair(grant: Grant): Promise<{ id: number; token: string }> {
      const { Code, Token } = await call<{ Code: string; Token: string }>('POST', '/displays/pairings', {});
      const { Id } = await call('POST', '/displays', { Code, Name: `Sign ${Code}`, ...grant });
      return { id: Id, token: Token };
    },
    async confirm(code: string, grant: Grant): Promise<number> {
      return (await call('POST', '/displays', { Code: code, Name: `Sign ${code}`, ...grant })).Id;
    },
    revoke: (id: number) => call('DELETE', `/displays/${id}`),
  };
}

/** Brings the rooms of `school` into their states. */
export async function fillSchool({ book, call, roomId, at, importJobs }: School): Promise<void> {
  const checkedIn = { CheckInMinutes: 15 };
  await call('PATCH', `/resources/${roomId(school.checkInDue)}`, checkedIn, { 'If-Match': '"1"' });
  const lesson = (LektionId: string, RessourceName: string, from: number, more: object = {}) => ({
    LektionId,
    RessourceName,
    Beginn: at(from),
    Ende: at(from + 45),
    Titel: 'Organische Chemie',
    Klassen: ['BIO-2A'],
    Lehrpersonen: ['Dr. M. Suter'],
    ...more,
  });
  const plan = (...LektionList: object[]) => [{ JobID: 'plan', LektionList }];
  const move = async () => {
    await importJobs(plan(lesson('1', school.movedFrom, 60), lesson('2', school.cancelled, 90, { Titel: 'Optik' })));
    const changed = [lesson('1', school.movedTo, 80), { LektionId: '2', Status: 'Entfaellt' }];
    await importJobs(plan(...changed), 'update');
  };
  await Promise.all([
    book(school.free, 120, 180, { Subject: 'Elternabend' }),
    book(school.startingSoon, 9, 60, { Subject: 'Sicherheitsunterweisung' }),
    book(school.busy, -20, 40, { Subject: 'Vorstellungsgespräche' }),
    book(school.busy, 60, 120, { Subject: 'Fachschaft Mathematik' }),
    book(school.endingSoon, -40, 8, { Subject: 'Probe' }),
    book(school.checkInDue, -4, 55, { Subject: 'Teamsitzung' }),
    book(school.outOfService, -60, 300, { Subject: 'Beamer defekt', Kind: 'Block' }),
    move(),
  ]);
}
