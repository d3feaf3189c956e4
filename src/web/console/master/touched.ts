/** The bookings to come that an exception leaves outside of the opening hours, while the exception is edited. */
import { addressWith } from '../address.ts';
import { ask } from '../client.ts';
import { addDays, dayAt, daysBetween, instantOf, isDay, moment } from '../clock.ts';
import { BookingsOnDaysDocument, type BookingsOnDaysQuery, type ExceptionsFragment } from '../generated/graphql.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { type Component, h, html } from '../parts/html.ts';
import { present } from '../present.ts';
import { isOpenAt } from '../rooms/closed-hint.ts';
import type { Span } from '../rooms/geometry.ts';
import { t } from '../texts/hours.ts';
import type { Owner } from './owner.ts';

export type Exception = Pick<ExceptionsFragment['items'][number], 'fromDate' | 'toDate' | 'closed' | 'reason'> & {
  periods: readonly { opens: string; closes: string }[];
};
type Booking = NonNullable<BookingsOnDaysQuery['bookings']>['nodes'][number];
type Hours = NonNullable<BookingsOnDaysQuery['openingHours']>['resources'][number];
type TouchedProperties = { owner: Owner; exception: Exception };

/** The most days that are looked at. */
const mostDays = 366;
const mostNamed = 20;
const isTime = (text: string) => /^\d\d:\d\d$/.test(text);
const minutesOf = (text: string) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3));

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

/** Whether the exception applies to the room: it has hours, and for this day no exception of its own in place of the location's. */
const applies = (hours: Hours | undefined, isOfRoom: boolean, day: string): boolean =>
  hours !== undefined &&
  hours.weekly.length > 0 &&
  (isOfRoom ||
    !hours.exceptions.some(
      ({ resourceId, fromDate, toDate }) => resourceId !== null && fromDate <= day && day <= toDate,
    ));

async function readTouched({ owner, exception }: TouchedProperties, stop: AbortSignal) {
  const { fromDate, toDate } = exception;
  const { timeZone, locationId, subject, id } = owner;
  const [first, last] = [instantOf(timeZone, fromDate, 0), instantOf(timeZone, addDays(toDate, 1), 0)];
  const from = Math.max(first, present());
  if (from >= last) return { touched: [], hasMore: false };
  const isOfRoom = subject === 'Resource';
  const filter = {
    ...(isOfRoom ? { resourceId: [id] } : { locationId: id }),
    kind: ['Booking', 'Lesson', 'MailItem'] as Booking['kind'][],
    occupying: true,
    from: new Date(from).toISOString(),
    to: new Date(last).toISOString(),
  };
  const days = { from: fromDate, to: toDate };
  const { bookings, openingHours } = await ask(BookingsOnDaysDocument, { filter, locationId, ...days }, stop);
  const hoursOf = new Map(openingHours?.resources.map((hours) => [hours.resourceId, hours]));
  const open = opened(exception, timeZone);
  const isTouched = ({ resourceId, start, end }: Booking) => {
    const span = { start: Math.max(Date.parse(start), first), end: Math.min(Date.parse(end), last) };
    return applies(hoursOf.get(resourceId), isOfRoom, dayAt(timeZone, span.start)) && !isOpenAt(open, span);
  };
  return {
    touched: (bookings?.nodes ?? []).filter(isTouched),
    hasMore: bookings?.pageInfo.hasNextPage ?? false,
  };
}

const List: Component<TouchedProperties> = (properties) => {
  const { owner, exception } = properties;
  const asked = useAsked((stop) => readTouched(properties, stop), [JSON.stringify(exception)]);
  return html`<div>${showAsked(asked, ({ touched, hasMore }) =>
    touched.length === 0 && !hasMore
      ? html`<p class="hint" role="status">${t().noneTouched}</p>`
      : html`
        <p role="status">${t().touched(touched.length, hasMore)}</p>
        <ul>${touched.slice(0, mostNamed).map(
          ({ id, resourceName, start, subject }) => html`<li key=${id}>
            <a href=${addressWith({ screen: 'rooms', booking: id }, {})}>${resourceName}, ${moment(start, owner.timeZone)}</a> ${subject ?? ''}
          </li>`,
        )}</ul>
        ${(hasMore || touched.length > mostNamed) && html`<p>${t().more}</p>`}
      `,
  )}</div>`;
};

/** Nothing while the input is not complete. */
export const Touched: Component<TouchedProperties> = ({ owner, exception }) => {
  const { fromDate, toDate, closed, periods } = exception;
  const isComplete =
    isDay(fromDate) &&
    isDay(toDate) &&
    fromDate <= toDate &&
    daysBetween(fromDate, toDate) < mostDays &&
    (closed || periods.every(({ opens, closes }) => isTime(opens) && isTime(closes)));
  return isComplete ? h(List, { owner, exception: { ...exception, reason: null } }) : null;
};
