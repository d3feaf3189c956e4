/** Future bookings that an exception or weekly hours, while they are edited, would leave outside of the opening hours. */
import { addDays, minutesOf } from '../../../time/days.ts';
import { addressWith } from '../address.ts';
import { ask } from '../client.ts';
import { dayAt, daysBetween, dayText, instantOf, isDay, moment, weekdayOf } from '../clock.ts';
import {
  BookingsOnDaysDocument,
  type BookingsOnDaysQuery,
  type ExceptionsFragment,
  HoursOnDaysDocument,
  type HoursOnDaysQuery,
  LocationListsDocument,
  RoomHoursOnDaysDocument,
} from '../generated/graphql.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { type Component, h, html } from '../parts/html.ts';
import { present } from '../present.ts';
import { isOpenAt } from '../rooms/closed-hint.ts';
import type { Span } from '../rooms/geometry.ts';
import { t } from '../texts/hours.ts';
import type { Owner } from './owner.ts';
import { type Period, periodsOf, sinceDay } from './week.ts';

export type Exception = Pick<ExceptionsFragment['items'][number], 'fromDate' | 'toDate' | 'closed' | 'reason'> & {
  periods: readonly { opens: string; closes: string }[];
};
type Booking = NonNullable<BookingsOnDaysQuery['bookings']>['nodes'][number];
type Hours = NonNullable<HoursOnDaysQuery['openingHours']>['resources'][number];
type Dates = Pick<Exception, 'fromDate' | 'toDate'>;
/** @param old the dates of the exception before it is edited */
type TouchedProperties = { owner: Owner; exception: Exception; old: Dates | undefined };

/** What opening hours would be on some days. */
type Change = Dates & {
  /** When it would be open, in their order. */
  open: readonly Span[];
  /** Whether this is so for a room on a day. */
  applies: (hours: Hours | undefined, day: string) => boolean;
};

/** The most days that are examined. */
const mostDays = 366;
const mostNamed = 20;
/** The most pages of 200 bookings that are examined. */
const mostPages = 10;
/** The most days of a location in one call: the API refuses more of a thousand rooms. */
const daysAtOnce = 35;
/** How long the input must rest before it is examined. */
const restMs = 250;
const isTime = (text: string) => /^\d\d:\d\d$/.test(text);

/** When the exception opens, in the zone. */
function opened({ fromDate, toDate, closed, periods }: Exception, timeZone: string): Span[] {
  if (closed) return [];
  const days = Array.from({ length: daysBetween(fromDate, toDate) + 1 }, (_, at) => addDays(fromDate, at));
  return days
    .flatMap((day) =>
      periods.map(({ opens, closes }) => ({
        start: instantOf(timeZone, day, minutesOf(opens)),
        end: instantOf(timeZone, closes <= opens ? addDays(day, 1) : day, minutesOf(closes)),
      })),
    )
    .sort((one, other) => one.start - other.start);
}

const lengthOf = ({ fromDate, toDate }: Dates) => daysBetween(fromDate, toDate);

/**
 * Whether the exception applies to the room on a day: the room has hours, and neither an exception of its own that
 * replaces the location's nor a shorter exception of the same owner.
 */
function applies(hours: Hours | undefined, day: string, { owner, exception, old }: TouchedProperties): boolean {
  if (!hours || hours.weekly.length === 0) return false;
  const isOfRoom = owner.subject === 'Resource';
  const goesBefore = (other: Hours['exceptions'][number]) => {
    if (other.fromDate > day || day > other.toDate) return false;
    if ((other.resourceId !== null) !== isOfRoom) return !isOfRoom;
    return lengthOf(other) < lengthOf(exception) && !(other.fromDate === old?.fromDate && other.toDate === old.toDate);
  };
  return !hours.exceptions.some(goesBefore);
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function readPart({ subject, id, locationId }: Owner, from: string, to: string, stop: AbortSignal) {
  if (subject === 'Location')
    return (await ask(HoursOnDaysDocument, { locationId, from, to }, stop)).openingHours?.resources ?? [];
  const { resource } = await ask(RoomHoursOnDaysDocument, { id, zoneOf: locationId, from, to }, stop);
  return resource ? [resource.openingHours] : [];
}

/**
 * Reads the hours of the owner's rooms in parts, from a day on.
 * @returns those of a room, which are read up to the day that was last asked for
 */
function openHours(owner: Owner, first: string, stop: AbortSignal) {
  const known = new Map<string, Hours>();
  let next = first;
  return {
    async readUntil(day: string): Promise<void> {
      while (next <= day) {
        const last = addDays(next, daysAtOnce - 1);
        for (const hours of await readPart(owner, next, last, stop)) {
          const exceptions = [...(known.get(hours.resourceId)?.exceptions ?? []), ...hours.exceptions];
          known.set(hours.resourceId, { ...hours, exceptions });
        }
        next = addDays(last, 1);
      }
    },
    of: (roomId: string) => known.get(roomId),
  };
}

async function readTouched(owner: Owner, { fromDate, toDate, open, applies }: Change, stop: AbortSignal) {
  const { timeZone, subject, id } = owner;
  const [first, last] = [instantOf(timeZone, fromDate, 0), instantOf(timeZone, addDays(toDate, 1), 0)];
  const from = Math.max(first, present());
  if (from >= last) return { touched: [], count: 0, hasMore: false, fromDate, until: toDate };
  const filter = {
    ...(subject === 'Resource' ? { resourceId: [id] } : { locationId: id }),
    kind: ['Booking', 'Lesson', 'MailItem'] as Booking['kind'][],
    occupying: true,
    from: new Date(from).toISOString(),
    to: new Date(last).toISOString(),
  };
  const spanOf = ({ start, end }: Booking) => ({
    start: Math.max(Date.parse(start), first),
    end: Math.min(Date.parse(end), last),
  });
  const dayOf = (booking: Booking) => dayAt(timeZone, spanOf(booking).start);
  const read = async (after: string | null) => (await ask(BookingsOnDaysDocument, { filter, after }, stop)).bookings;
  const touched: Booking[] = [];
  let hours: ReturnType<typeof openHours> | undefined;
  let count = 0;
  let until = toDate;
  let after: string | null = null;
  for (let page = 0; page < mostPages && touched.length <= mostNamed; page++) {
    const found: BookingsOnDaysQuery['bookings'] = await read(after);
    // In the order of their starts.
    const nodes = found?.nodes ?? [];
    const [earliest, latest] = [nodes[0], nodes.at(-1)];
    if (earliest && latest) {
      hours ??= openHours(owner, dayOf(earliest), stop);
      until = dayOf(latest);
      await hours.readUntil(until);
    }
    count += nodes.length;
    for (const booking of nodes)
      if (applies(hours?.of(booking.resourceId), dayOf(booking)) && !isOpenAt(open, spanOf(booking)))
        touched.push(booking);
    after = found?.pageInfo.hasNextPage ? found.pageInfo.endCursor : null;
    if (after === null) break;
  }
  return { touched, count, hasMore: after !== null, fromDate, until: after === null ? toDate : until };
}

/**
 * @param what is asked again when it changes
 * @param saysDays whether it says which days were examined
 */
type ListProperties = {
  owner: Owner;
  what: string;
  saysDays?: boolean;
  change: (stop: AbortSignal) => Promise<Change>;
};

const List: Component<ListProperties> = ({ owner, what, saysDays, change }) => {
  const asked = useAsked(
    async (stop) => {
      await pause(restMs);
      stop.throwIfAborted();
      return readTouched(owner, await change(stop), stop);
    },
    [what],
  );
  return html`<div>${showAsked(asked, ({ touched, count, hasMore, fromDate, until }) => [
    saysDays && html`<p class="hint">${t().examined(dayText(fromDate, 'medium'), dayText(until, 'medium'))}</p>`,
    touched.length === 0
      ? html`<p class="hint" role="status">${hasMore ? t().noneOfFirst(count) : t().noneTouched}</p>`
      : html`
        <p role="status">${t().touched(touched.length, hasMore)}</p>
        <ul>${touched.slice(0, mostNamed).map(
          ({ id, resourceName, start, subject }) => html`<li key=${id}>
            <a target="_blank" href=${addressWith({ screen: 'rooms', booking: id }, {})}>${resourceName}, ${moment(start, owner.timeZone)}</a> ${subject ?? ''}
          </li>`,
        )}</ul>
        ${(hasMore || touched.length > mostNamed) && html`<p>${t().more}</p>`}
      `,
  ])}</div>`;
};

/** Nothing while the input is not complete. */
export const Touched: Component<TouchedProperties> = ({ owner, exception, old }) => {
  const { fromDate, toDate, closed, periods } = exception;
  const isComplete =
    isDay(fromDate) &&
    isDay(toDate) &&
    fromDate <= toDate &&
    daysBetween(fromDate, toDate) < mostDays &&
    (closed || periods.every(({ opens, closes }) => isTime(opens) && isTime(closes)));
  const wanted = { owner, exception: { ...exception, reason: null }, old };
  const change = async (): Promise<Change> => ({
    fromDate,
    toDate,
    open: opened(exception, owner.timeZone),
    applies: (hours, day) => applies(hours, day, wanted),
  });
  return isComplete ? h(List, { owner, what: JSON.stringify(wanted.exception), change }) : null;
};

/** When weekly hours are open on days; one that begins on the day before may reach into the first. */
const openedWeekly = (periods: readonly Period[], first: string, timeZone: string): Span[] =>
  Array.from({ length: mostDays + 1 }, (_, at) => addDays(first, at - 1)).flatMap((day) =>
    periods
      .filter(
        ({ day: weekday, validFrom, validTo }) =>
          weekday === weekdayOf(day) && (!validFrom || validFrom <= day) && (!validTo || day <= validTo),
      )
      .map(({ from, to }) => ({ start: instantOf(timeZone, day, from), end: instantOf(timeZone, day, to) }))
      .sort((one, other) => one.start - other.start),
  );

/** Whether weekly hours apply on a day: not on the days of exceptions, nor to rooms with hours of their own. */
const appliesWeekly = (owner: Owner, hours: Hours | undefined, day: string): boolean =>
  hours !== undefined &&
  (owner.subject === 'Resource' || hours.weekly.every(({ resourceId }) => resourceId === null)) &&
  !hours.exceptions.some(({ fromDate, toDate }) => fromDate <= day && day <= toDate);

/**
 * Of weekly hours. Without any, a location is always open, and a room has the hours of its location.
 * @param stored before they are changed
 */
type WeekProperties = { owner: Owner; stored: readonly Period[]; periods: readonly Period[] };

export const TouchedByWeek: Component<WeekProperties> = ({ owner, stored, periods }) => {
  const { subject, locationId, timeZone } = owner;
  const change = async (stop: AbortSignal): Promise<Change> => {
    const isOfLocation = subject === 'Resource' && periods.length === 0;
    const { rules } = isOfLocation ? await ask(LocationListsDocument, { id: locationId }, stop) : { rules: undefined };
    const weekly = isOfLocation ? periodsOf(rules?.items ?? []) : periods;
    const fromDate = sinceDay(stored, periods, dayAt(timeZone, present()));
    return {
      fromDate,
      toDate: addDays(fromDate, mostDays - 1),
      open: openedWeekly(weekly, fromDate, timeZone),
      applies: (hours, day) => weekly.length > 0 && appliesWeekly(owner, hours, day),
    };
  };
  return h(List, { owner, what: JSON.stringify(periods), saysDays: true, change });
};
