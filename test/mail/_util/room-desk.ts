/** One room of a writing desk: what people do there, and what has become of it. */
import { expect } from '@jest/globals';
import { sql } from 'kysely';
import type { WritingDesk } from './writing-desk.ts';

const [hour, day] = [3_600_000, 86_400_000];
/** Midnight UTC of the day after tomorrow. */
export const midnight = Math.ceil(Date.now() / day) * day + day;
export const at = (days: number, hours: number) => new Date(midnight + days * day + hours * hour);

/** An item in a calendar: the hour in which it begins, its hours, and its subject. */
export const line = (days: number, hours: number, subject: string, length = 1) =>
  `${at(days, hours).toISOString().slice(5, 13)}+${length} ${subject}`;

type Room = { id: number; calendarId: number };

/** @param place the desk and the room of the present test */
export function openRoomDesk(place: () => { desk: WritingDesk; room: Room }) {
  async function read(): Promise<void> {
    const { desk, room } = place();
    await desk.tell([room.calendarId]);
    await desk.settle();
  }
  /** As if what was read had been there for two minutes, and the sweep came. */
  async function pass(): Promise<void> {
    const { desk, room } = place();
    await sql`update mail_item set changed_at = now() - interval '2 minutes'
      where calendar_id = ${room.calendarId} and changed_at > now() - interval '1 minute'`.execute(desk.db);
    await desk.sweep();
    await desk.settle();
  }
  return {
    async set(resource: object): Promise<void> {
      const { desk, room } = place();
      expect((await desk.admin.patch(`/resources/${room.id}`, resource)).status).toBe(200);
    },
    async book(days: number, more: object = {}): Promise<number> {
      const { desk, room } = place();
      const times = { Start: at(days, 9).toISOString(), End: at(days, 10).toISOString() };
      const wanted = { ResourceId: room.id, Subject: `Choir ${days}`, ...times, ...more };
      const made = await desk.user.post('/bookings', wanted);
      expect(made.status).toBe(201);
      return made.body['Id'] as number;
    },
    async change(id: number, changes: object): Promise<void> {
      expect((await place().desk.user.patch(`/bookings/${id}`, changes)).status).toBe(200);
    },
    async cancel(id: number): Promise<void> {
      expect((await place().desk.user.send('DELETE', `/bookings/${id}`)).status).toBe(200);
    },
    booking: async (id: number) => (await place().desk.admin.get(`/bookings/${id}`)).body,
    async bookings() {
      const { desk, room } = place();
      const { rows } = await sql<{ kind: string; status: string }>`
        select kind, status from booking where resource_id = ${room.id} order by id`.execute(desk.db);
      return rows;
    },
    async counts() {
      const { desk, room } = place();
      const { rows } = await sql<{ written: number; putBacks: number; takenOver: number }>`
        select items_written::int as written, put_backs::int as "putBacks", taken_over::int as "takenOver"
        from mail_calendar where id = ${room.calendarId}`.execute(desk.db);
      return rows[0]!;
    },
    async states() {
      const { desk, room } = place();
      const { rows } = await sql<{ state: string }>`
        select state from mail_writing where calendar_id = ${room.calendarId} order by booking_id`.execute(desk.db);
      return rows.map(({ state }) => state);
    },
    /** Marks the calendar as changed; it is read, and written where needed. */
    read,
    pass,
    async readAndPass(): Promise<void> {
      await read();
      await pass();
    },
    /** The states of items, each with that of its decline. */
    async declineStates(): Promise<string[]> {
      const { desk, room } = place();
      const { rows } = await sql<{ item: string; told: string | null }>`
        select item.state as item, decline.state as told from mail_item as item
        left join mail_decline as decline on decline.mandator_id = item.mandator_id and decline.item_id = item.id
        where item.calendar_id = ${room.calendarId} order by item.occupied`.execute(desk.db);
      return rows.map(({ item, told }) => `${item} ${told}`);
    },
  };
}
