/** Performs what is tapped, exactly once even when the network fails, and undoes it. */
import type { Text } from './german.ts';
import type { Offer } from './offers.ts';

export type DoneAct = { id: string; version: number };
export type ActResult =
  | { kind: 'done'; booking: DoneAct }
  /** Somebody was faster. */
  | { kind: 'conflict' }
  | { kind: 'refused' }
  | { kind: 'failed' }
  /** Whether it happened is not known. */
  | { kind: 'noAnswer' };

const problems = '... on Problem { code } __typename';
const booking = '... on Booking { id version }';

/** The mutation of an offer; repeated with the same variables it has no second effect. */
export function mutationOf(offer: Offer, room: string, now: number, key: string, text: Text) {
  if (offer.act === 'book' || offer.act === 'bookUntil') {
    return {
      query: `mutation Book($input: CreateBookingInput!) { act: createBooking(input: $input) { ... on BookingCreated { booking { id version } } ${problems} } }`,
      variables: {
        input: {
          resourceId: room,
          subject: text.subject,
          start: new Date(now - (now % 1_000)).toISOString(),
          end: new Date(offer.end).toISOString(),
          idempotencyKey: key,
        },
      },
    };
  }
  const { bookingId: id, version } = offer.slot;
  if (offer.act === 'checkIn')
    return {
      query: `mutation CheckIn($id: ID!) { act: checkIn(id: $id) { ${booking} ${problems} } }`,
      variables: { id },
    };
  if (offer.act === 'end')
    return {
      query: `mutation End($id: ID!) { act: releaseBooking(id: $id) { ${booking} ${problems} } }`,
      variables: { id },
    };
  return {
    query: `mutation Extend($id: ID!, $version: Int!, $minutes: Int!) { act: extendBooking(id: $id, version: $version, minutes: $minutes) { ${booking} ${problems} } }`,
    variables: { id, version, minutes: offer.minutes },
  };
}

export function undoOf({ id, version }: DoneAct) {
  return {
    query: `mutation Undo($id: ID!, $version: Int!) { act: undoBooking(id: $id, version: $version) { ${booking} ${problems} } }`,
    variables: { id, version },
  };
}

type ActCall = { query: string; variables: Record<string, unknown> };
type ActAnswer = { data?: { act?: (Partial<DoneAct> & { booking?: DoneAct; code?: string }) | null } | null };

/**
 * Calls, and once more when the network or the server fails.
 * @param post sends a call to GraphQL
 */
export async function perform(
  post: (call: ActCall) => Promise<Response>,
  pause: (milliseconds: number) => Promise<unknown>,
  call: ActCall,
): Promise<ActResult> {
  for (let attempt = 0; ; attempt++) {
    try {
      const response = await post(call);
      if (response.status < 500) return read((await response.json()) as ActAnswer);
    } catch {
      // Treated as a failure of the server.
    }
    if (attempt > 0) return { kind: 'noAnswer' };
    await pause(1_000);
  }
}

function read({ data }: ActAnswer): ActResult {
  const act = data?.act;
  const done = act?.booking ?? act;
  if (done && typeof done.id === 'string' && typeof done.version === 'number')
    return { kind: 'done', booking: { id: done.id, version: done.version } };
  if (act?.code === 'Conflict' || act?.code === 'PreconditionFailed') return { kind: 'conflict' };
  return { kind: act?.code === 'Forbidden' || act?.code === 'NotFound' ? 'refused' : 'failed' };
}
