/** Performs what is tapped, exactly once even when the network fails, and undoes it. */
import type { Text } from './german.ts';
import type { Offer } from './offers.ts';

export type DoneAct = { id: string; version: number };
export type ActResult =
  | { kind: 'done'; booking: DoneAct }
  /** Somebody else was faster. */
  | { kind: 'conflict' }
  | { kind: 'refused' }
  | { kind: 'failed' }
  /** The outcome is unknown. */
  | { kind: 'noAnswer' };

const act = (name: string, parameters: string, field: string, answer = '... on Booking { id version }') =>
  `mutation ${name}(${parameters}) { act: ${field} { ${answer} ... on Problem { code } __typename } }`;

/** @param end of the booking, which begins now */
export function bookingOf(room: string, end: number, now: number, key: string, text: Text): ActCall {
  const created = '... on BookingCreated { booking { id version } }';
  const input = {
    resourceId: room,
    subject: text.subject,
    start: new Date(now - (now % 1_000)).toISOString(),
    end: new Date(end).toISOString(),
    idempotencyKey: key,
  };
  const query = act('Book', '$input: CreateBookingInput!', 'createBooking(input: $input)', created);
  return { query, variables: { input } };
}

/** The mutation of an offer. Repeating it with the same variables has no further effect. */
export function mutationOf(offer: Offer, room: string, now: number, key: string, text: Text): ActCall {
  if (offer.act === 'book' || offer.act === 'bookUntil') return bookingOf(room, offer.end, now, key, text);
  const { bookingId: id, version } = offer.slot;
  if (offer.act === 'checkIn') return { query: act('CheckIn', '$id: ID!', 'checkIn(id: $id)'), variables: { id } };
  if (offer.act === 'end') return { query: act('End', '$id: ID!', 'releaseBooking(id: $id)'), variables: { id } };
  const parameters = '$id: ID!, $version: Int!, $minutes: Int!';
  return {
    query: act('Extend', parameters, 'extendBooking(id: $id, version: $version, minutes: $minutes)'),
    variables: { id, version, minutes: offer.minutes },
  };
}

export const undoOf = ({ id, version }: DoneAct): ActCall => ({
  query: act('Undo', '$id: ID!, $version: Int!', 'undoBooking(id: $id, version: $version)'),
  variables: { id, version },
});

type ActCall = { query: string; variables: Record<string, unknown> };
type ActAnswer = { data?: { act?: (Partial<DoneAct> & { booking?: DoneAct; code?: string }) | null } | null };

/**
 * Sends a call, and repeats it once if the network or the server fails.
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
