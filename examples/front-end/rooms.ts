/** What a page of rooms does: lists them, shows a day, books at once and takes it back, and follows what others book. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type ApolloCache, CombinedGraphQLErrors } from '@apollo/client';
import type { Client } from './client.ts';
import {
  BookDocument,
  type BookingPartsFragment,
  type BookingStatus,
  BookingsDocument,
  type BookingsQueryVariables,
  type BookMutation,
  type CreateBookingInput,
  DayDocument,
  FollowDocument,
  RoomsDocument,
} from './generated/graphql.ts';
import { PinRefused } from './token.ts';

/** A reading over a connection that has gone silent is given up. */
const longestReadMs = 20_000;
const shortestPauseSeconds = 0.5;
const longestPauseSeconds = 30;

/** All active rooms, a page of `first` at a time. */
export async function listRooms(client: Client, first = 200) {
  const rooms = [];
  for (let after: string | null | undefined; ; ) {
    const { data } = await client.query({ query: RoomsDocument, variables: { first, after } });
    if (!data?.resources) throw new Error('The list of rooms has no data.');
    const { nodes, pageInfo } = data.resources;
    rooms.push(...nodes);
    if (!pageInfo.hasNextPage) return rooms;
    after = pageInfo.endCursor;
  }
}

/** A location with its rooms and their bookings; undefined when there is none of this id. */
export async function showDay(client: Client, locationId: string, from: string, to: string) {
  const { data } = await client.query({ query: DayDocument, variables: { locationId, from, to } });
  return data?.location ?? undefined;
}

/** The bookings that a page shows of one room; it is drawn anew whenever they change in the cache. */
export function watchBookings(
  client: Client,
  shown: BookingsQueryVariables,
  draw: (bookings: readonly BookingPartsFragment[]) => void,
): { end(): void } {
  const watched = client.watchQuery({ query: BookingsDocument, variables: shown });
  const subscription = watched.subscribe(({ data, dataState }) => {
    if (dataState === 'complete') draw(data.bookings?.nodes ?? []);
  });
  return { end: () => subscription.unsubscribe() };
}

/** One instant can be written in several ways: texts of instants cannot be compared. */
const at = (instant: string) => Date.parse(instant);

/** What the filter `occupying` of the list selects: a request occupies its room until somebody has decided. */
const occupying: readonly BookingStatus[] = ['Confirmed', 'Requested', 'Tentative'];

/** Puts a booking where it belongs in what is shown, or takes it out where it occupies its room no more. */
function place(cache: ApolloCache, shown: BookingsQueryVariables, booking: BookingPartsFragment) {
  cache.updateQuery({ query: BookingsDocument, variables: shown }, (data) => {
    if (!data?.bookings) return data;
    const others = data.bookings.nodes.filter(({ id }) => id !== booking.id);
    const occupies = occupying.includes(booking.status);
    const isHere = booking.resource?.id === shown.resourceId;
    const isNow = at(booking.start) < at(shown.to) && at(booking.end) > at(shown.from);
    const isShown = occupies && isHere && isNow;
    const nodes = isShown ? [...others, booking].sort((one, other) => at(one.start) - at(other.start)) : others;
    return { ...data, bookings: { ...data.bookings, nodes } };
  });
}

type Result = BookMutation['createBooking'];
type Problem = Exclude<Result, { __typename: 'BookingCreated' | 'SeriesCreated' }>;
export type Booked = { booking: BookingPartsFragment } | { problem: Problem };

/**
 * Books a room. The page shows the booking at once; when the room turns out to be taken, it vanishes again, and the answer says
 * what is free instead.
 */
export async function book(
  client: Client,
  shown: BookingsQueryVariables,
  room: { id: string; name: string },
  wanted: Omit<CreateBookingInput, 'resourceId'>,
): Promise<Booked> {
  const { data } = await client.mutate({
    mutation: BookDocument,
    // The key lets the call be repeated after a lost connection: it books once.
    variables: { input: { ...wanted, resourceId: room.id, idempotencyKey: crypto.randomUUID() } },
    optimisticResponse: {
      createBooking: {
        __typename: 'BookingCreated',
        booking: {
          __typename: 'Booking',
          id: 'booking_new',
          version: 0,
          subject: wanted.subject,
          start: wanted.start,
          end: wanted.end,
          status: wanted.status ?? 'Confirmed',
          resource: { __typename: 'Resource', ...room },
          organizer: null,
        },
      },
    },
    update: (cache, { data }) => {
      if (data?.createBooking.__typename === 'BookingCreated') place(cache, shown, data.createBooking.booking);
    },
  });
  const result = data?.createBooking;
  if (!result || result.__typename === 'SeriesCreated') throw new Error('The booking has no answer.');
  return result.__typename === 'BookingCreated' ? { booking: result.booking } : { problem: result };
}

/** Why a subscription has ended; `hasCome`: whether it had begun. */
type End = { hasCome: boolean; error?: unknown };

const extensionsOf = (error: unknown) => (CombinedGraphQLErrors.is(error) ? error.errors[0]?.extensions : undefined);

const codeOf = ({ error }: End): unknown => extensionsOf(error)?.['code'];

/** The codes of what the caller must change. */
const lasting: readonly unknown[] = ['FORBIDDEN', 'NOT_FOUND', 'GRAPHQL_VALIDATION_FAILED'];

/**
 * Whether another subscription would end in the same way. A token that has expired is replaced, but a fresh one can be refused, too;
 * and what does not fit may be the place behind which to go on.
 */
function isFinal(end: End, after: string | undefined): boolean {
  const { hasCome, error } = end;
  const code = codeOf(end);
  const isRefused = code === 'NOT_AUTHENTICATED' && !hasCome;
  const isWrong = code === 'BAD_USER_INPUT' && after === undefined;
  return error instanceof PinRefused || isRefused || isWrong || lasting.includes(code);
}

/**
 * Follows the bookings of a room until the signal aborts. After a lost connection it goes on behind the last frame that came, or
 * begins anew where that is not possible, so that nothing is missed. It throws what cannot be cured by trying again.
 */
export async function follow(
  client: Client,
  shown: BookingsQueryVariables,
  signal: AbortSignal,
  pause = (ms: number): Promise<unknown> => sleep(ms, undefined, { signal }),
): Promise<void> {
  let after: string | undefined;
  let isStale = false;
  let isReading = false;

  /** Reads the list once more, and again where a frame came meanwhile: what was read may be older than the frame. */
  async function readAgain(): Promise<void> {
    if (isReading) return;
    isReading = true;
    try {
      while (isStale && !signal.aborted) {
        isStale = false;
        await client.query({
          query: BookingsDocument,
          variables: shown,
          fetchPolicy: 'network-only',
          context: {
            // A reading that has begun before may not know what this one must.
            queryDeduplication: false,
            fetchOptions: { signal: AbortSignal.any([signal, AbortSignal.timeout(longestReadMs)]) },
          },
        });
      }
    } catch {
      // The next frame reads again.
      isStale = true;
    } finally {
      isReading = false;
    }
  }

  /** Follows as long as one subscription lasts. */
  function followOnce(): Promise<End> {
    const ended = Promise.withResolvers<void>();
    const stop = () => ended.resolve();
    const end: End = { hasCome: false };
    const subscription = client
      .subscribe({ query: FollowDocument, variables: { resourceId: shown.resourceId, ...(after && { after }) } })
      .subscribe({
        next({ data, error }) {
          if (error) end.error = error;
          if (!data) return;
          end.hasCome = true;
          // What was booked before the first frame is in no frame, and what is gone has an id alone.
          if (after === undefined || isReading || data.bookings.gone.length > 0) isStale = true;
          after = data.bookings.cursor;
          for (const booking of data.bookings.bookings) place(client.cache, shown, booking);
          if (isStale) void readAgain();
        },
        complete: stop,
      });
    signal.addEventListener('abort', stop);
    return ended.promise.then(() => {
      signal.removeEventListener('abort', stop);
      subscription.unsubscribe();
      return end;
    });
  }

  // The page's own first reading must not arrive after a later one. Should it fail, the first frame reads again.
  await client.query({ query: BookingsDocument, variables: shown }).catch(() => {});
  let seconds = shortestPauseSeconds;
  while (!signal.aborted) {
    const end = await followOnce();
    if (isFinal(end, after)) throw end.error;
    if (end.hasCome) seconds = shortestPauseSeconds;
    // Perhaps there is nothing behind `after` any more; and other rights show other bookings, which no frame brings.
    if (!end.hasCome || codeOf(end) === 'UNAVAILABLE') after = undefined;
    const asked = Number(extensionsOf(end.error)?.['retryAfterSeconds'] ?? 0);
    await pause(Math.max(seconds, asked) * 1_000).catch(() => {});
    seconds = Math.min(2 * seconds, longestPauseSeconds);
  }
}
