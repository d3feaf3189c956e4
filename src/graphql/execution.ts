/** What a frame is for a document: executed once, and then the same for all who share it, as bytes or as an object. */
import type { GraphQLError } from 'graphql';

export type Result = { data?: unknown; errors?: readonly GraphQLError[] };

/** Of both at least one stands here. */
export type Execution = {
  result: Result | Promise<Result> | undefined;
  event?: Event | Promise<Event>;
};

/**
 * An event of SSE, as one chunk of a chunked answer: its bytes as characters of latin1, or where there are many as a buffer.
 * Node writes short texts without any memory of its own; buffers by the thousand would leave holes in that of the system.
 */
export type Event = (string | Buffer) & { readonly chunk: never };

const mostCharacters = 16_000;
const [before, after] = ['event: next\ndata: ', '\n\n'];

export function toEvent(text: string): Event {
  const length = Buffer.byteLength(text);
  const chunk = `${length.toString(16)}\r\n${text}\r\n`;
  const isShort = length <= mostCharacters;
  if (isShort && length === text.length) return chunk as Event;
  const bytes = Buffer.from(chunk);
  return (isShort ? bytes.toString('latin1') : bytes) as Event;
}

/** The same without what makes it a chunk. */
export function withoutChunk(event: Event): Buffer {
  const bytes = typeof event === 'string' ? Buffer.from(event, 'latin1') : event;
  return bytes.subarray(bytes.indexOf('\n') + 1, -2);
}

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
