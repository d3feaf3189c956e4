/**
 * Bookings of mail items. Only the synchronisation with the mail server writes them; people change them in the calendar of
 * the room's mailbox.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import type { BookingKind } from './booking.ts';
import { planPlaces } from './mail-places.ts';
import { occupies } from './status.ts';

/** The booking that a mail item asks for. */
export type MailBooking = {
  start: Date;
  end: Date;
  status: 'Confirmed' | 'Tentative';
  /** If two items overlap, the lower one wins: 0 accepted by the mailbox, 1 accepted tentatively, 2 not answered. */
  precedence: 0 | 1 | 2;
  subject: string | null;
  isPrivate: boolean;
  /** A person of the tenant when one has this address, in any case. */
  organizer: { name: string | null; email: string | null } | null;
  /** Its UID on the mail server. */
  uid: string | null;
};

export type MailWish = {
  /** Orders items that begin at the same instant. */
  key: string;
  /** The present booking of the item. */
  bookingId: number | null;
  /** Null if the item should have no booking. */
  booking: MailBooking | null;
};

/** The obstacle to an item: a booking, or another item of the same call, whose `bookingId` may not exist yet. */
export type InTheWay = { bookingId: number | null; kind: BookingKind; start: Date; end: Date };

export type MailOutcome = { bookingId: number | null; inTheWay: InTheWay | null };

/** A booking of the room that this call does not change. */
type Other = { bookingId: number; kind: BookingKind; from: number; to: number };

/** An item that asks for a place; `at` is its index among the wishes. */
type Item = {
  at: number;
  key: string;
  precedence: number;
  bookingId: number | null;
  booking: MailBooking;
  from: number;
  to: number;
  isThere: boolean;
};

/** Cancels those of the bookings that are active. @returns their number */
export async function cancelMailItems(
  trx: Transaction,
  mandatorId: number,
  bookingIds: readonly number[],
): Promise<number> {
  if (bookingIds.length === 0) return 0;
  const { numAffectedRows } = await sql`
    update booking set status = 'Cancelled', version = version + 1, changed_at = now()
    where mandator_id = ${mandatorId} and id = any (${bookingIds}::bigint[]) and kind = 'MailItem'
      and ${occupies}`.execute(trx);
  return Number(numAffectedRows ?? 0);
}

/**
 * Creates, moves and cancels the bookings of items of a room's mailbox. An item whose place is taken, by another booking or
 * by an item that takes precedence, loses its booking. A cancelled booking stays cancelled: its item gets a new one.
 * @param resourceId a resource that the caller has locked (`lockRooms`)
 * @returns the outcome of each wish, in the order of the wishes, and the number of bookings created or changed
 */
export async function bookMailItems(
  trx: Transaction,
  mandatorId: number,
  resourceId: number,
  wishes: readonly MailWish[],
): Promise<{ outcomes: MailOutcome[]; changes: number }> {
  const held = await readHeld(trx, mandatorId, resourceId, wishes);
  const items = wishes.flatMap(({ key, bookingId, booking }, at): Item[] => {
    if (!booking) return [];
    const own = bookingId === null ? undefined : held.get(bookingId);
    const [from, to] = [booking.start.getTime(), booking.end.getTime()];
    const isThere = own?.from === from && own.to === to;
    const { precedence } = booking;
    return [{ at, key, precedence, bookingId: own ? bookingId : null, booking, from, to, isThere }];
  });
  const obstacles = planPlaces(items, await readOthers(trx, mandatorId, resourceId, items, held));
  const outcomes: MailOutcome[] = wishes.map(() => ({ bookingId: null, inTheWay: null }));
  const placed = items.filter((_, index) => !obstacles[index]);
  for (const [index, { at }] of items.entries()) {
    const obstacle = obstacles[index];
    if (obstacle) (outcomes[at] as MailOutcome).inTheWay = toInTheWay(obstacle);
  }
  // Cancel, move, create. One statement moves all, so that bookings may swap places before the constraint is checked.
  const kept = new Set(placed.map(({ bookingId }) => bookingId));
  let changes = await cancelMailItems(
    trx,
    mandatorId,
    [...held.keys()].filter((id) => !kept.has(id)),
  );
  changes += await changeAll(
    trx,
    mandatorId,
    placed.filter(({ bookingId }) => bookingId !== null),
  );
  const fresh = placed.filter(({ bookingId }) => bookingId === null);
  const made = await insertAll(trx, mandatorId, resourceId, fresh);
  for (const { at, bookingId, from } of placed)
    (outcomes[at] as MailOutcome).bookingId = bookingId ?? (made.get(from) as number);
  return { outcomes, changes: changes + fresh.length };
}

function toInTheWay(obstacle: Other | Item): InTheWay {
  const { bookingId, from, to } = obstacle;
  const kind = 'kind' in obstacle ? obstacle.kind : 'MailItem';
  return { bookingId, kind, start: new Date(from), end: new Date(to) };
}

const millis = (instant: RawBuilder<unknown>) => sql`(extract(epoch from ${instant}) * 1000)::float8`;

/** The active bookings of the items, by id. */
async function readHeld(
  trx: Transaction,
  mandatorId: number,
  resourceId: number,
  wishes: readonly MailWish[],
): Promise<Map<number, { from: number; to: number }>> {
  const ids = wishes.flatMap(({ bookingId }) => bookingId ?? []);
  if (ids.length === 0) return new Map();
  const { rows } = await sql<{ id: number; from: number; to: number }>`
    select id, ${millis(sql`lower(occupied)`)} as from, ${millis(sql`upper(occupied)`)} as to from booking
    where mandator_id = ${mandatorId} and id = any (${ids}::bigint[]) and resource_id = ${resourceId} and kind = 'MailItem'
      and ${occupies}
    for no key update`.execute(trx);
  return new Map(rows.map(({ id, ...place }) => [id, place]));
}

/** The other bookings that occupy the room in the span of the items. */
async function readOthers(
  trx: Transaction,
  mandatorId: number,
  resourceId: number,
  items: readonly Item[],
  held: ReadonlyMap<number, unknown>,
): Promise<Other[]> {
  if (items.length === 0) return [];
  const first = items.reduce((least, { from }) => Math.min(least, from), Number.POSITIVE_INFINITY);
  const last = items.reduce((most, { to }) => Math.max(most, to), Number.NEGATIVE_INFINITY);
  const { rows } = await sql<Other>`
    select id as "bookingId", kind, ${millis(sql`lower(occupied)`)} as from, ${millis(sql`upper(occupied)`)} as to
    from booking
    where mandator_id = ${mandatorId} and resource_id = ${resourceId} and ${occupies}
      and occupied && tstzrange(${new Date(first)}, ${new Date(last)})`.execute(trx);
  return rows.filter(({ bookingId }) => !held.has(bookingId));
}

/** The items as rows of `new`; the organizer is the person of the tenant with that address, if there is one. */
function asRows(mandatorId: number, items: readonly Item[]): RawBuilder<unknown> {
  const rows = items.map(({ bookingId, booking: { start, end, status, subject, isPrivate, organizer, uid } }) => ({
    id: bookingId,
    start,
    end,
    status,
    subject,
    is_private: isPrivate,
    mail_item_id: uid,
    name: organizer?.name ?? null,
    email: organizer?.email ?? null,
  }));
  return sql`(
    select item.id, tstzrange(item.start, item."end") as occupied, item.status, item.subject, item.is_private,
      item.mail_item_id, person.id as organizer_id, case when person.id is null then item.name end as organizer_name,
      case when person.id is null then item.email end as organizer_email
    from jsonb_to_recordset(${JSON.stringify(rows)}) as item(id bigint, start timestamptz, "end" timestamptz, status text,
      subject text, is_private boolean, mail_item_id text, name text, email text)
    left join person on person.mandator_id = ${mandatorId} and lower(person.email) = lower(item.email)
  ) as new`;
}

/** @returns the number of bookings that differed from their items */
async function changeAll(trx: Transaction, mandatorId: number, items: readonly Item[]): Promise<number> {
  if (items.length === 0) return 0;
  const { numAffectedRows } = await sql`
    update booking set occupied = new.occupied, status = new.status, subject = new.subject, is_private = new.is_private,
      organizer_id = new.organizer_id, organizer_name = new.organizer_name, organizer_email = new.organizer_email,
      mail_item_id = new.mail_item_id, version = version + 1, changed_at = now()
    from ${asRows(mandatorId, items)}
    where booking.mandator_id = ${mandatorId} and booking.id = new.id
      and (booking.occupied, booking.status, booking.subject, booking.is_private, booking.organizer_id,
          booking.organizer_name, booking.organizer_email, booking.mail_item_id)
        is distinct from (new.occupied, new.status, new.subject, new.is_private, new.organizer_id, new.organizer_name,
          new.organizer_email, new.mail_item_id)`.execute(trx);
  return Number(numAffectedRows ?? 0);
}

/** @returns the ids of the bookings by their start, which differs between items of one room */
async function insertAll(
  trx: Transaction,
  mandatorId: number,
  resourceId: number,
  items: readonly Item[],
): Promise<Map<number, number>> {
  if (items.length === 0) return new Map();
  const { rows } = await sql<{ id: number; from: number }>`
    insert into booking (mandator_id, resource_id, kind, origin, occupied, status, subject, is_private, organizer_id,
      organizer_name, organizer_email, mail_item_id)
    select ${mandatorId}, ${resourceId}, 'MailItem', 'Mail', occupied, status, subject, is_private, organizer_id,
      organizer_name, organizer_email, mail_item_id
    from ${asRows(mandatorId, items)} order by occupied
    returning id, ${millis(sql`lower(occupied)`)} as from`.execute(trx);
  return new Map(rows.map(({ id, from }) => [from, id]));
}
