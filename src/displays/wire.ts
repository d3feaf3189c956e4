/** Snapshots and heartbeats as clients see them: REST in Pascal case, GraphQL in camel case (contract 8 and 9). */
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { bookingKind, checkInRecord } from '../bookings/service.ts';
import { flag, id, instant, maybeInstant, maybeText, positive, text } from '../fields.ts';
import { atMost } from '../flow/caches.ts';
import { type DisplayHeartbeat, type DisplaySlot, type RoomSnapshot, slotChangeKinds } from './display.ts';

export * as examples from './examples.ts';

const roomStatuses = [
  'FREE',
  'STARTING_SOON',
  'BUSY',
  'CHECK_IN_DUE',
  'ENDING_SOON',
  'CLOSED',
  'OUT_OF_SERVICE',
] as const;
export const roomStatus = z.enum(roomStatuses).meta({
  id: 'RoomStatus',
  description:
    'Whether a room can be used now: free; free, but for at most fifteen more minutes; taken; waiting for a check-in; taken, but for at most ten more minutes; outside of its opening hours; blocked or retired.',
});
export const slotChangeKind = z.enum(slotChangeKinds).meta({
  id: 'SlotChangeKind',
  description:
    'How a lesson has changed: cancelled, moved to this room, moved to another room, at another time, or with other teachers.',
});

/** More slots than three days can hold. */
const mostSlots = 10_000;
const maybeNames = (description: string) => z.array(z.string().max(200)).max(1_000).nullable().meta({ description });

export const slotChange = z
  .object({
    Kind: slotChangeKind.meta({ description: 'The kind of change; of several, the weightiest.' }),
    RoomBefore: maybeText(200, 'The planned room; null if it has not changed.'),
    RoomNow: maybeText(200, 'The present room; null if it has not changed.'),
    StartBefore: maybeInstant('The planned start; null if start and end have not changed.'),
    EndBefore: maybeInstant('The planned end; null if start and end have not changed.'),
    StartNow: maybeInstant(
      'For a lesson that has moved away: its start in the other room; null if it has not changed.',
    ),
    EndNow: maybeInstant('For a lesson that has moved away: its end in the other room; null if it has not changed.'),
    TeachersBefore: maybeNames('The planned teachers; null if they have not changed, and if they may not be shown.'),
  })
  .meta({ id: 'SlotChange', description: 'How a lesson differs from the first plan.' });

const hidden = 'null if there is none, and if it may not be shown.';

export const displaySlot = z
  .object({
    BookingId: id('booking', 'The id of the booking.'),
    Version: positive('Its version.'),
    Kind: bookingKind.meta({ description: 'The kind.' }),
    Occupies: flag('Whether it occupies the room; a lesson that is cancelled or has moved away does not.'),
    IsTentative: flag('Whether it is tentative, for example because it waits for approval.'),
    IsRequested: flag('Whether it waits for approval.'),
    From: instant('When it begins to occupy the room, setup included.'),
    To: instant('When it no longer occupies the room, teardown included.'),
    Start: instant('When it begins.'),
    End: instant('When it ends.'),
    Subject: maybeText(4_000, `The subject; ${hidden}`),
    Organizer: maybeText(200, `The name of the person whom it is for; ${hidden}`),
    Classes: maybeNames(`The classes of a lesson; ${hidden}`),
    Teachers: maybeNames(`The teachers of a lesson; ${hidden}`),
    CheckIn: checkInRecord.nullable().meta({ description: 'Null if it needs no check-in.' }),
    Change: slotChange
      .nullable()
      .meta({ description: 'For a lesson that differs from the first plan; null otherwise.' }),
  })
  .meta({ id: 'DisplaySlot', description: 'An entry of the plan of a room.' });

export const zoneOffset = z
  .object({
    From: instant('When the offset begins, which lasts until the next one.'),
    OffsetMinutes: z
      .int()
      .min(-1_440)
      .max(1_440)
      .meta({ description: 'By how many minutes local time is ahead of UTC.' }),
  })
  .meta({ id: 'ZoneOffset', description: 'An offset of a time zone.' });

export const openStretch = z
  .object({
    Start: instant('When it opens, or the beginning of the plan.'),
    End: instant('When it closes, or the end of the plan.'),
  })
  .meta({ id: 'OpenStretch', description: 'A continuous open time.' });

export const displayResource = z
  .object({
    Id: id('resource', 'The id of the room.'),
    Name: text(200, 'Its name.'),
    LocationId: id('location', 'The location of the room.'),
    LocationName: text(200, 'The name of the location.'),
    Kind: text(50, 'The kind: Room, Hall, Laboratory, …'),
    Capacity: z.int().min(0).max(1_000_000).nullable().meta({ description: 'For how many persons; null if unknown.' }),
    Equipment: z.array(z.string().max(100)).max(100).meta({ description: 'The equipment.' }),
    Active: flag('Whether it is in use; false once it is retired.'),
  })
  .meta({ id: 'DisplayResource', description: 'The room of the snapshot.' });

export const displaySnapshot = z
  .object({
    Cursor: text(64, 'Identifies the content: equal content has equal cursors.'),
    ServerTime: instant("The server's clock when this was sent."),
    AsOf: instant('The latest instant at which all of this was known to be right.'),
    StaleAfterSeconds: positive('Seconds after `AsOf` from which on the age of the content should be shown.'),
    TrustUntil: instant('The instant from which on the room must no longer be shown as free.'),
    TimeZone: text(64, 'The IANA time zone of the location.'),
    ZoneOffsets: z.array(zoneOffset).max(100).meta({
      description: 'The offsets of the time zone, in order, for all instants of the plan and of its bookings.',
    }),
    Resource: displayResource,
    Status: roomStatus.meta({ description: 'The state of the room at `ServerTime`.' }),
    Until: maybeInstant('When the status ends; null if that is beyond the plan.'),
    Schedule: z
      .array(displaySlot)
      .max(mostSlots)
      .meta({ description: 'The bookings, in the order in which they begin to occupy the room.' }),
    Open: z.array(openStretch).max(mostSlots).meta({
      description: 'When the room is open, in order; the whole plan if no opening hours are known.',
    }),
    Start: instant('The beginning of the plan: the start of today at the location.'),
    End: instant('The end of the plan: the end of the day after tomorrow at the location.'),
    NextChangeAt: maybeInstant(
      'The instant up to which the status stays unless the plan changes; null if that is beyond the plan.',
    ),
  })
  .meta({ id: 'DisplaySnapshot', description: 'Everything that a sign shows of its room.' });

export const displayHeartbeat = z
  .object({
    // Not null on a board: in a union fields of one name must have one type.
    Cursor: text(64, 'The cursor of the snapshot that is still valid; empty on a board.'),
    ServerTime: instant("The server's clock."),
    AsOf: instant('The latest instant at which the content that was sent was known to be right.'),
    TrustUntil: instant('The instant from which on the room must no longer be shown as free.'),
  })
  .meta({ id: 'DisplayHeartbeat', description: 'A sign that the stream is alive.' });

/** Instants are made texts here, once for all readers. */
const written = (millis: number) => new Date(millis).toISOString();
/** The same for the instants of plans, which come again: in later snapshots of a room, and in those of other rooms. */
const planned = new LRUCache<number, string, void>({ ...atMost(10_000), memoMethod: written });
const maybePlanned = (millis: number | null) => (millis === null ? null : planned.memo(millis));

function toSlotRecord(slot: DisplaySlot) {
  const { checkIn, change } = slot;
  // Most have neither setup nor teardown.
  const [from, to] = [planned.memo(slot.from), planned.memo(slot.to)];
  return {
    BookingId: slot.bookingId,
    Version: slot.version,
    Kind: slot.kind,
    Occupies: slot.occupies,
    IsTentative: slot.isTentative,
    IsRequested: slot.isRequested,
    From: from,
    To: to,
    Start: slot.start === slot.from ? from : planned.memo(slot.start),
    End: slot.end === slot.to ? to : planned.memo(slot.end),
    Subject: slot.subject,
    Organizer: slot.organizer,
    Classes: slot.classes,
    Teachers: slot.teachers,
    CheckIn: checkIn && {
      Required: true,
      From: planned.memo(checkIn.from),
      Until: planned.memo(checkIn.until),
      CheckedInAt: maybePlanned(slot.checkedInAt),
    },
    Change: change && {
      Kind: change.kind,
      RoomBefore: change.roomBefore,
      RoomNow: change.roomNow,
      StartBefore: maybePlanned(change.startBefore),
      EndBefore: maybePlanned(change.endBefore),
      StartNow: maybePlanned(change.startNow),
      EndNow: maybePlanned(change.endNow),
      TeachersBefore: change.teachersBefore,
    },
  };
}

export function toSnapshotRecord(snapshot: RoomSnapshot) {
  const { resource } = snapshot;
  return {
    Cursor: snapshot.cursor,
    ServerTime: written(snapshot.serverTime),
    AsOf: written(snapshot.asOf),
    StaleAfterSeconds: snapshot.staleAfterSeconds,
    TrustUntil: written(snapshot.trustUntil),
    TimeZone: snapshot.timeZone,
    ZoneOffsets: snapshot.zoneOffsets.map(({ from, offsetMinutes }) => ({
      From: planned.memo(from),
      OffsetMinutes: offsetMinutes,
    })),
    Resource: {
      Id: resource.id,
      Name: resource.name,
      LocationId: resource.locationId,
      LocationName: resource.locationName,
      Kind: resource.kind,
      Capacity: resource.capacity,
      Equipment: resource.equipment,
      Active: resource.isActive,
    },
    Status: snapshot.status,
    Until: maybePlanned(snapshot.until),
    Schedule: snapshot.schedule.map(toSlotRecord),
    Open: snapshot.open.map(({ start, end }) => ({ Start: planned.memo(start), End: planned.memo(end) })),
    Start: planned.memo(snapshot.start),
    End: planned.memo(snapshot.end),
    NextChangeAt: maybePlanned(snapshot.nextChangeAt),
  };
}

export const toHeartbeatRecord = (heartbeat: DisplayHeartbeat) => ({
  Cursor: heartbeat.cursor,
  ServerTime: written(heartbeat.serverTime),
  AsOf: written(heartbeat.asOf),
  TrustUntil: written(heartbeat.trustUntil),
});
