/** Converts events of Google Calendar. */
import type { calendar_v3 } from '@googleapis/calendar';
import { z } from 'zod';
import type { RemoteItem } from './connector.ts';
import type { ReadOfGroup } from './groups.ts';
import { boundId, cutText, organizerOf, readAddress, readInstant, readUid } from './values.ts';

const text = z.string().nullish();
const moment = z.object({ date: text, dateTime: text }).nullish();
const person = z.object({ displayName: text, email: text, self: z.boolean().nullish() });

const properties = {
  id: z.string().min(1),
  status: text,
  etag: text,
  iCalUID: text,
  updated: text,
  summary: text,
  start: moment,
  end: moment,
  originalStartTime: moment,
  recurringEventId: text,
  organizer: person.nullish(),
  attendees: z.array(person.extend({ responseStatus: text })).nullish(),
  visibility: text,
  transparency: text,
  extendedProperties: z.object({ private: z.record(z.string(), z.string()).nullish() }).nullish(),
} satisfies Partial<Record<keyof calendar_v3.Schema$Event, z.core.$ZodType>>;
const known = z.object(properties);
type Known = z.output<typeof known>;

/** The members of events that are requested. */
export const members = [
  'id',
  'status',
  'etag',
  'iCalUID',
  'updated',
  'summary',
  'start',
  'end',
  'originalStartTime',
  'recurringEventId',
  'organizer(displayName,email,self)',
  'attendees(displayName,email,self,responseStatus)',
  'visibility',
  'transparency',
  'extendedProperties/private',
].join(',');

/** The private extended property that marks items that were written from here. */
export const markName = 'rg';

const stub = z.object({ id: z.string().min(1), status: text.catch(null) });
const series = z.object({ recurrence: z.array(z.string()).min(1) });

/** Whether an event repeats; lists have its occurrences instead. */
export const isSeries = (event: unknown): boolean => series.safeParse(event).success;

/** The id of the series of an occurrence, whose id adds its original start; of one that is gone there may be no more than its id. */
export const seriesOf = (id: string): string | undefined => /^(.+)_\d{8}(?:T\d{6}Z)?$/.exec(id)?.[1];

/** @returns `read: null` for an event that is gone, which may have no member but its id; undefined for one without an id */
export function readEvent(event: unknown, mailbox: string): { id: string; read: ReadOfGroup | null } | undefined {
  const { data: named } = stub.safeParse(event);
  if (!named) return undefined;
  const id = boundId(named.id);
  if (named.status === 'cancelled') return { id, read: null };
  const { data, error } = known.safeParse(event);
  const unreadable = (why: string) => ({ id, read: { group: id, id, unreadable: why } });
  if (!data) return unreadable(`The server sends an event with an invalid member: ${error.issues[0]?.path.join('.')}.`);
  const [start, end] = [readMoment(data.start), readMoment(data.end)];
  if (!start || !end) return unreadable('The start or the end of an event is not a date.');
  const original = readMoment(data.originalStartTime);
  return { id, read: { group: id, id, item: itemOf(data, { start, end, original }, mailbox) } };
}

type Moment = { at: Date; date: string | null };

function readMoment(told: z.output<typeof moment>): Moment | undefined {
  const date = told?.date ?? null;
  const isDate = date !== null && /^\d{4}-\d\d-\d\d$/.test(date);
  const at = readInstant(isDate ? `${date}T00:00:00Z` : told?.dateTime);
  return at && { at, date: isDate ? date : null };
}

function itemOf(
  event: Known,
  { start, end, original }: { start: Moment; end: Moment; original: Moment | undefined },
  mailbox: string,
): RemoteItem {
  const { displayName, email } = event.organizer ?? {};
  return {
    id: boundId(event.id),
    occurrence: original?.at.toISOString() ?? '',
    ...(event.recurringEventId && { series: boundId(event.recurringEventId) }),
    uid: readUid(event.iCalUID),
    start: start.at,
    end: end.at,
    days: start.date !== null && end.date !== null ? { from: start.date, to: end.date } : null,
    subject: cutText(event.summary),
    organizer: organizerOf(cutText(displayName), readAddress(email)),
    isPrivate: ['private', 'confidential'].includes(event.visibility ?? ''),
    isCancelled: false,
    response: responseOf(event, mailbox),
    shownAs: event.transparency === 'transparent' ? 'Free' : event.status === 'tentative' ? 'Tentative' : 'Busy',
    changedAt: readInstant(event.updated) ?? null,
    origin: event.extendedProperties?.private?.[markName] ?? null,
    changeKey: event.etag ?? null,
  };
}

const responses = new Map<string, RemoteItem['response']>([
  ['accepted', 'Accepted'],
  ['tentative', 'Tentative'],
  ['declined', 'Declined'],
]);

/** Whether an attendee or an organizer is the room. */
export const isPersonOf =
  (mailbox: string) =>
  ({ self, email }: Pick<z.output<typeof person>, 'self' | 'email'>): boolean =>
    self === true || email?.toLowerCase() === mailbox.toLowerCase();

/** The room's response; 'Organizer' if nobody is invited, or the room itself is the organizer. */
function responseOf({ attendees, organizer }: Known, mailbox: string): RemoteItem['response'] {
  const isRoom = isPersonOf(mailbox);
  const own = attendees?.find(isRoom);
  if (own) return responses.get(own.responseStatus ?? '') ?? 'None';
  return !attendees?.length || (organizer && isRoom(organizer)) ? 'Organizer' : 'None';
}
