/** What a frame is for a document: executed once, and then the same for all who share it, as bytes or as an object. */
import type { GraphQLError } from 'graphql';

export type Result = { data?: unknown; errors?: readonly GraphQLError[] };

/** Of both at least one stands here. */
export type Execution = {
  result: Result | Promise<Result> | undefined;
  event?: Event | Promise<Event>;
};

/** An event of SSE, as one chunk of a chunked answer, ready for the socket. */
export type Event = Buffer & { readonly chunk: never };

const [before, after] = ['event: next\ndata: ', '\n\n'];

export function toEvent(text: string): Event {
  const length = Buffer.byteLength(text);
  const head = `${length.toString(16)}\r\n`;
  // Not out of the pool, of which a small one would keep 8 kB.
  const event = Buffer.allocUnsafeSlow(head.length + length + 2);
  event.write(`${head}${text}\r\n`, length === text.length ? 'latin1' : 'utf8');
  return event as Event;
}

/** The same without what makes it a chunk. */
export const withoutChunk = (event: Event): Buffer => event.subarray(event.indexOf('\n') + 1, -2);

const toFrame = (result: Result | undefined) => toEvent(`${before}${JSON.stringify(result)}${after}`);

function toResult(event: Event): Result {
  const text = withoutChunk(event).toString();
  return JSON.parse(text.slice(before.length, -after.length));
}

/** The very same bytes for all. */
export function eventOf(execution: Execution): Event | Promise<Event> {
  const { event, result } = execution;
  if (event) return event;
  execution.event = result instanceof Promise ? result.then(toFrame) : toFrame(result);
  // Frames live as long as their rooms look like that: of many small objects the heap would grow large.
  execution.result = undefined;
  return execution.event;
}

/** The same object for all. */
export function resultOf(execution: Execution): Result | Promise<Result> {
  const { event } = execution;
  execution.result ??= event instanceof Promise ? event.then(toResult) : toResult(event as Event);
  return execution.result;
}
