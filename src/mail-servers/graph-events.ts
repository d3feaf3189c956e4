/** Converts events of Microsoft Graph. */
import type { Event } from '@microsoft/microsoft-graph-types';
import { z } from 'zod';
import type { RemoteItem } from './connector.ts';
import type { ReadItem, ReadOfGroup } from './groups.ts';
import { boundId, cutText, organizerOf, readAddress, readInstant, readUid } from './values.ts';
import { readDay } from './whole-days.ts';

const text = z.string().nullish();
const moment = z.object({ dateTime: text, timeZone: text }).nullish();

const textOrNone = text.catch(null);
/** The members that every list of events has. A delta has no other members for occurrences. Without an id an event has no name. */
const stubSchema = z.object({
  id: z.string().min(1),
  seriesMasterId: textOrNone,
  type: textOrNone,
  '@odata.etag': textOrNone,
  '@removed': z.unknown().optional(),
});
export type EventStub = z.output<typeof stubSchema>;

const properties = {
  id: z.string().min(1),
  seriesMasterId: text,
  type: text,
  originalStart: text,
  start: moment,
  end: moment,
  originalStartTimeZone: text,
  originalEndTimeZone: text,
  isAllDay: z.boolean().nullish(),
  subject: text,
  organizer: z.object({ emailAddress: z.object({ name: text, address: text }).nullish() }).nullish(),
  isOrganizer: z.boolean().nullish(),
  responseStatus: z.object({ response: z.string().nullish() }).nullish(),
  sensitivity: text,
  showAs: text,
  isCancelled: z.boolean().nullish(),
  iCalUId: text,
  lastModifiedDateTime: text,
  transactionId: text,
} satisfies Partial<Record<keyof Event, z.core.$ZodType>>;
const known = z.object(properties);
type Known = z.output<typeof known>;
/** The header `Prefer` of all readings. */
export const inUtc = 'outlook.timezone="UTC", outlook.body-content-type="text"';
export const selected = `$select=${Object.keys(properties).join(',')}`;

/**
 * The extended property that marks items that were written from here. A filter finds it, but a delta does not return it. A delta
 * returns the transactionId, which has the same value and can only be set when an event is created.
 */
export const markId = 'String {3aa6b3e6-2c18-457d-ab1a-a802c77a44a9} Name roomgate';

/** @returns undefined for an event without an id */
export function readStub(event: unknown): EventStub | undefined {
  return stubSchema.safeParse(event).data;
}

/** The id of the series, or of the event if it is not part of one. */
export function groupOf({ id, seriesMasterId }: { id: string; seriesMasterId?: string | null | undefined }): string {
  return seriesMasterId || id;
}

/** Whether an event is a series or belongs to one, for which a delta has only a few members. */
export function isOfSeries({ seriesMasterId, type }: EventStub): boolean {
  return Boolean(seriesMasterId) || (type ?? 'singleInstance') !== 'singleInstance';
}

export function readEvent(event: unknown, stub: EventStub): ReadOfGroup {
  return {
    group: boundId(groupOf(stub)),
    id: boundId(stub.id),
    ...readKnown(event, stub),
  };
}

function readKnown(event: unknown, { seriesMasterId, '@odata.etag': changeKey }: EventStub): ReadItem {
  const { data, error } = known.safeParse(event);
  if (!data)
    return {
      unreadable: `The server sends an event with an invalid member: ${error.issues[0]?.path.join('.')}.`,
    };
  const zone = [data.start, data.end]
    .map((one) => one?.timeZone ?? 'UTC')
    .find((name) => !/^(Etc\/)?(UTC|GMT)$/.test(name));
  if (zone !== undefined) return { unreadable: 'The server does not send the times of an event in UTC, as requested.' };
  const [start, end] = [readInstant(data.start?.dateTime), readInstant(data.end?.dateTime)];
  if (!start || !end) return { unreadable: 'The start or the end of an event is not a date.' };
  const place = seriesMasterId ? (readInstant(data.originalStart) ?? start) : null;
  const occurrence = place?.toISOString() ?? '';
  return { item: itemOf(data, { start, end, occurrence, changeKey: changeKey ?? null }) };
}

type Stated = Pick<RemoteItem, 'start' | 'end' | 'occurrence' | 'changeKey'>;

function itemOf(event: Known, { start, end, occurrence, changeKey }: Stated): RemoteItem {
  const { name, address } = event.organizer?.emailAddress ?? {};
  return {
    id: boundId(event.id),
    occurrence,
    uid: readUid(event.iCalUId),
    start,
    end,
    days: event.isAllDay
      ? { from: readDay(start, event.originalStartTimeZone), to: readDay(end, event.originalEndTimeZone) }
      : null,
    subject: cutText(event.subject),
    organizer: organizerOf(cutText(name), readAddress(address)),
    isPrivate: ['private', 'confidential'].includes(event.sensitivity ?? ''),
    isCancelled: event.isCancelled ?? false,
    response: responseOf(event),
    shownAs: shownAs(event.showAs),
    changedAt: readInstant(event.lastModifiedDateTime) ?? null,
    origin: event.transactionId ?? null,
    changeKey,
  };
}

const responses = new Map<string, RemoteItem['response']>([
  ['organizer', 'Organizer'],
  ['tentativelyAccepted', 'Tentative'],
  ['accepted', 'Accepted'],
  ['declined', 'Declined'],
]);

function responseOf({ responseStatus, isOrganizer }: Known): RemoteItem['response'] {
  return responses.get(responseStatus?.response ?? '') ?? (isOrganizer ? 'Organizer' : 'None');
}

/** "Out of office" and "working elsewhere" occupy a room too. */
function shownAs(status: string | null | undefined): RemoteItem['shownAs'] {
  return status === 'free' ? 'Free' : status === 'tentative' ? 'Tentative' : 'Busy';
}
