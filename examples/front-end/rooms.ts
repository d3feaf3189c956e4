/** What a page of rooms does: lists them, shows a day, books at once and takes it back, and follows what others book. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type ApolloCache, CombinedGraphQLErrors } from '@apollo/client';
import type { Client } from './client.ts';
import {
  BookDocument,
  type BookingPartsFragment,
  BookingsDocument,
  type BookingsQueryVariables,
  type BookMutation,
  type CreateBookingInput,
  DayDocument,
  FollowDocument,
  RoomsDocument,
} from './generated/graphql.ts';

/** A reading over a connection that has gone silent is given up. */
const longestReadMs = 20_000;

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

/** Puts a booking where it belongs in what is shown, or takes it out where it occupies its room no more. */
function place(cache: ApolloCache, shown: BookingsQueryVariables, booking: BookingPartsFragment) {
  cache.updateQuery({ query: BookingsDocument, variables: shown }, (data) => {
    if (!data?.bookings) return data;
    const others = data.bookings.nodes.filter(({ id }) => id !== booking.id);
    const occupies = booking.status === 'Confirmed' || booking.status === 'Tentative';
    const isShown =
      occupies && booking.resource?.id === shown.resourceId && booking.start < shown.to && booking.end > shown.from;
    const nodes = isShown ? [...others, booking].sort((one, other) => one.start.localeCompare(other.start)) : others;
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

/**
 * Follows the bookings of a room until the signal aborts. After a lost connection it goes on behind the last frame that came, or
 * begins anew where that is not possible, so that nothing is missed.
 */
export async function follow(client: Client, shown: BookingsQueryVariables, signal: AbortSignal): Promise<void> {
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

  /** Follows as long as one subscription lasts. @returns the seconds to wait before the next one */
  function followOnce(): Promise<number> {
    const ended = Promise.withResolvers<number>();
    let pauseSeconds = 0.5;
    let hasCome = false;
    const subscription = client
      .subscribe({ query: FollowDocument, variables: { resourceId: shown.resourceId, ...(after && { after }) } })
      .subscribe({
        next({ data, error }) {
          if (CombinedGraphQLErrors.is(error))
            pauseSeconds = Number(error.errors[0]?.extensions?.['retryAfterSeconds'] ?? pauseSeconds);
          if (!data) return;
          hasCome = true;
          // What was booked before the first frame is in no frame, and what is gone has an id alone.
          if (after === undefined || isReading || data.bookings.gone.length > 0) isStale = true;
          after = data.bookings.cursor;
          for (const booking of data.bookings.bookings) place(client.cache, shown, booking);
          if (isStale) void readAgain();
        },
        complete: () => ended.resolve(pauseSeconds),
      });
    const stop = () => ended.resolve(0);
    signal.addEventListener('abort', stop);
    return ended.promise.finally(() => {
      signal.removeEventListener('abort', stop);
      subscription.unsubscribe();
      // Perhaps there is nothing behind `after` any more: then it begins anew.
      if (!hasCome) after = undefined;
    });
  }

  // The page's own first reading must not arrive after a later one. Should it fail, the first frame reads again.
  await client.query({ query: BookingsDocument, variables: shown }).catch(() => {});
  while (!signal.aborted) {
    const seconds = await followOnce();
    await sleep(seconds * 1_000, undefined, { signal }).catch(() => {});
  }
}
