/** Future bookings that an exception, while it is edited, would leave outside of the opening hours. */
import { addressWith } from '../address.ts';
import { ask } from '../client.ts';
import { addDays, dayAt, daysBetween, instantOf, isDay, moment } from '../clock.ts';
import {
  BookingsOnDaysDocument,
  type BookingsOnDaysQuery,
  type ExceptionsFragment,
  HoursOnDaysDocument,
  type HoursOnDaysQuery,
} from '../generated/graphql.ts';
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
type Hours = NonNullable<HoursOnDaysQuery['openingHours']>['resources'][number];
type Dates = Pick<Exception, 'fromDate' | 'toDate'>;
/** @param old the dates of the exception before it is edited */
type TouchedProperties = { owner: Owner; exception: Exception; old: Dates | undefined };

/** The most days that are examined. */
const mostDays = 366;
const mostNamed = 20;
/** The most pages of 200 bookings that are examined. */
const mostPages = 10;
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

async function readTouched(properties: TouchedProperties, stop: AbortSignal) {
  const { owner, exception } = properties;
  const { fromDate, toDate } = exception;
  const { timeZone, locationId, subject, id } = owner;
  const [first, last] = [instantOf(timeZone, fromDate, 0), instantOf(timeZone, addDays(toDate, 1), 0)];
  const from = Math.max(first, present());
  if (from >= last) return { touched: [], count: 0, hasMore: false };
  const filter = {
    ...(subject === 'Resource' ? { resourceId: [id] } : { locationId: id }),
    kind: ['Booking', 'Lesson', 'MailItem'] as Booking['kind'][],
    occupying: true,
    from: new Date(from).toISOString(),
    to: new Date(last).toISOString(),
  };
  const days = { from: fromDate, to: toDate };
  const { openingHours } = await ask(HoursOnDaysDocument, { locationId, ...days }, stop);
  const hoursOf = new Map(openingHours?.resources.map((hours) => [hours.resourceId, hours]));
  const open = opened(exception, timeZone);
  const isTouched = ({ resourceId, start, end }: Booking) => {
    const span = { start: Math.max(Date.parse(start), first), end: Math.min(Date.parse(end), last) };
    return applies(hoursOf.get(resourceId), dayAt(timeZone, span.start), properties) && !isOpenAt(open, span);
  };
  const read = async (after: string | null) => (await ask(BookingsOnDaysDocument, { filter, after }, stop)).bookings;
  const touched: Booking[] = [];
  let count = 0;
  let after: string | null = null;
  for (let page = 0; page < mostPages && touched.length <= mostNamed; page++) {
    const found: BookingsOnDaysQuery['bookings'] = await read(after);
    count += found?.nodes.length ?? 0;
    touched.push(...(found?.nodes ?? []).filter(isTouched));
    after = found?.pageInfo.hasNextPage ? found.pageInfo.endCursor : null;
    if (after === null) break;
  }
  return { touched, count, hasMore: after !== null };
}

const List: Component<TouchedProperties> = (properties) => {
  const { owner, exception } = properties;
  const asked = useAsked((stop) => readTouched(properties, stop), [JSON.stringify(exception)]);
  return html`<div>${showAsked(asked, ({ touched, count, hasMore }) =>
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
  )}</div>`;
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
  return isComplete ? h(List, { owner, exception: { ...exception, reason: null }, old }) : null;
};
