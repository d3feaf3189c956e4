/** Snapshots and heartbeats as clients see them: REST in Pascal case, GraphQL in camel case (contract 8 and 9). */
import { z } from 'zod';
import { bookingKind, checkInRecord } from '../bookings/service.ts';
import { flag, id, instant, maybeInstant, maybeText, positive, text } from '../fields.ts';
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
    'Whether a room can be used now: free, free for fifteen minutes more at most, taken, waiting for a check-in, taken for ten minutes more at most, outside of its opening hours, or blocked or retired.',
});
export const slotChangeKind = z.enum(slotChangeKinds).meta({
  id: 'SlotChangeKind',
  description:
    'What became of a lesson: cancelled, moved to this room, moved to another one, at another time, or with other teachers.',
});

/** More slots than three days can hold. */
const mostSlots = 10_000;
const maybeNames = (description: string) => z.array(z.string().max(200)).max(1_000).nullable().meta({ description });

export const slotChange = z
  .object({
    Kind: slotChangeKind.meta({ description: 'What became of it; of several the weightiest.' }),
    RoomBefore: maybeText(200, 'Where it was to be; null where that is where it is.'),
    RoomNow: maybeText(200, 'Where it is now; null where that is where it was to be.'),
    StartBefore: maybeInstant('When it was to begin; null where it begins and ends as it was to.'),
    EndBefore: maybeInstant('When it was to end; null where it begins and ends as it was to.'),
    StartNow: maybeInstant(
      'Of one that has moved away: when it begins there; null where that is when it was to begin here.',
    ),
    EndNow: maybeInstant('Of one that has moved away: when it ends there; null where that is when it was to end here.'),
    TeachersBefore: maybeNames('Who was to teach; null where that has not changed, and where it is not to be shown.'),
  })
  .meta({ id: 'SlotChange', description: 'How a lesson differs from what was first planned.' });

const hidden = 'null where there is none, and where it is not to be shown.';

export const displaySlot = z
  .object({
    BookingId: id('booking', 'The id of the booking.'),
    Version: positive('Its version.'),
    Kind: bookingKind.meta({ description: 'What it is.' }),
    Occupies: flag('Whether it keeps others out; a lesson that is cancelled or has moved away is shown and does not.'),
    IsTentative: flag('Whether it is not yet certain, also because it waits for approval.'),
    IsRequested: flag('Whether it waits for approval.'),
    From: instant('From when it occupies the room, setup included.'),
    To: instant('Until when it occupies the room, teardown included.'),
    Start: instant('When it begins.'),
    End: instant('When it ends.'),
    Subject: maybeText(4_000, `What it is about; ${hidden}`),
    Organizer: maybeText(200, `The name of whom it is for; ${hidden}`),
    Classes: maybeNames(`Of a lesson: its classes; ${hidden}`),
    Teachers: maybeNames(`Of a lesson: its teachers; ${hidden}`),
    CheckIn: checkInRecord.nullable().meta({ description: 'Null where nobody checks in.' }),
    Change: slotChange
      .nullable()
      .meta({ description: 'Of a lesson that is not as it was first planned; null for everything else.' }),
  })
  .meta({ id: 'DisplaySlot', description: 'A line of the plan of a room.' });

export const zoneOffset = z
  .object({
    From: instant('From when it counts, until the next one does.'),
    OffsetMinutes: z
      .int()
      .min(-1_440)
      .max(1_440)
      .meta({ description: 'By how many minutes local time is ahead of UTC.' }),
  })
  .meta({ id: 'ZoneOffset', description: 'What the clocks of a zone show.' });

export const openStretch = z
  .object({
    Start: instant('When it opens, or the beginning of the plan.'),
    End: instant('When it closes, or the end of the plan.'),
  })
  .meta({ id: 'OpenStretch', description: 'An unbroken time of being open.' });

export const displayResource = z
  .object({
    Id: id('resource', 'The id of the room.'),
    Name: text(200, 'Its name.'),
    LocationId: id('location', 'The location where it is.'),
    LocationName: text(200, 'The name of the location.'),
    Kind: text(50, 'What it is: Room, Hall, Laboratory, …'),
    Capacity: z
      .int()
      .min(0)
      .max(1_000_000)
      .nullable()
      .meta({ description: 'For how many persons; null where nobody has counted.' }),
    Equipment: z.array(z.string().max(100)).max(100).meta({ description: 'What is there.' }),
    Active: flag('Whether it is in use; false once it is retired.'),
  })
  .meta({ id: 'DisplayResource', description: 'The room that is shown.' });

export const displaySnapshot = z
  .object({
    Cursor: text(64, 'Names this content: the same content has the same one.'),
    ServerTime: instant("The server's clock, when this was said."),
    AsOf: instant('Until when all of this was known to be right.'),
    StaleAfterSeconds: positive('From how many seconds after `AsOf` on its age should be shown.'),
    TrustUntil: instant('From when on nobody should be told any more that the room is free.'),
    TimeZone: text(64, 'IANA name of the zone of the location.'),
    ZoneOffsets: z
      .array(zoneOffset)
      .max(100)
      .meta({ description: 'What the clocks there show in the time of the plan, in order.' }),
    Resource: displayResource,
    Status: roomStatus.meta({ description: 'The state of the room at `ServerTime`.' }),
    Until: maybeInstant('Until when that state lasts; null where that is not within the plan.'),
    Schedule: z
      .array(displaySlot)
      .max(mostSlots)
      .meta({ description: 'The plan, in the order in which its bookings begin to occupy the room.' }),
    Open: z.array(openStretch).max(mostSlots).meta({
      description: 'When the room is open, in order; all the time where no opening hours are known.',
    }),
    Start: instant('The beginning of the plan: that of today, at the location.'),
    End: instant('The end of the plan: that of the day after tomorrow, at the location.'),
    NextChangeAt: maybeInstant(
      'Until when the state stays as it is unless the plan changes; null where that is not within the plan.',
    ),
  })
  .meta({ id: 'DisplaySnapshot', description: 'All that a sign knows of its room.' });

export const displayHeartbeat = z
  .object({
    // Not null on a board: in a union fields of one name must have one type.
    Cursor: text(64, 'Of the snapshot that is still the present one; empty on a board.'),
    ServerTime: instant("The server's clock."),
    AsOf: instant('Until when what was sent was known to be right.'),
    TrustUntil: instant('From when on nobody should be told any more that the room is free.'),
  })
  .meta({ id: 'DisplayHeartbeat', description: 'Says that the stream lives.' });

/** Instants are made texts here, once for all readers. */
const written = (millis: number) => new Date(millis).toISOString();
const maybeWritten = (millis: number | null) => (millis === null ? null : written(millis));

function toSlotRecord(slot: DisplaySlot) {
  const { checkIn, change } = slot;
  // Most have neither setup nor teardown.
  const [from, to] = [written(slot.from), written(slot.to)];
  return {
    BookingId: slot.bookingId,
    Version: slot.version,
    Kind: slot.kind,
    Occupies: slot.occupies,
    IsTentative: slot.isTentative,
    IsRequested: slot.isRequested,
    From: from,
    To: to,
    Start: slot.start === slot.from ? from : written(slot.start),
    End: slot.end === slot.to ? to : written(slot.end),
    Subject: slot.subject,
    Organizer: slot.organizer,
    Classes: slot.classes,
    Teachers: slot.teachers,
    CheckIn: checkIn && {
      Required: true,
      From: written(checkIn.from),
      Until: written(checkIn.until),
      CheckedInAt: maybeWritten(slot.checkedInAt),
    },
    Change: change && {
      Kind: change.kind,
      RoomBefore: change.roomBefore,
      RoomNow: change.roomNow,
      StartBefore: maybeWritten(change.startBefore),
      EndBefore: maybeWritten(change.endBefore),
      StartNow: maybeWritten(change.startNow),
      EndNow: maybeWritten(change.endNow),
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
      From: written(from),
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
    Until: maybeWritten(snapshot.until),
    Schedule: snapshot.schedule.map(toSlotRecord),
    Open: snapshot.open.map(({ start, end }) => ({ Start: written(start), End: written(end) })),
    Start: written(snapshot.start),
    End: written(snapshot.end),
    NextChangeAt: maybeWritten(snapshot.nextChangeAt),
  };
}

export const toHeartbeatRecord = (heartbeat: DisplayHeartbeat) => ({
  Cursor: heartbeat.cursor,
  ServerTime: written(heartbeat.serverTime),
  AsOf: written(heartbeat.asOf),
  TrustUntil: written(heartbeat.trustUntil),
});
