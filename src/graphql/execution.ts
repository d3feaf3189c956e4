/** A frame executed for a document. Its result is shared by all its subscribers, as bytes or as an object. */
import type { GraphQLError } from 'graphql';

export type Result = { data?: unknown; errors?: readonly GraphQLError[] };

/** At least one of the two is set. */
export type Execution = {
  result: Result | Promise<Result> | undefined;
  event?: Event | Promise<Event>;
};

/**
 * An SSE event as one chunk of a chunked answer: its bytes as a latin1 string, or as a buffer if it is long. Node writes short
 * strings without allocating memory outside of its heap, which thousands of buffers would fragment.
 */
export type Event = (string | Buffer) & { readonly chunk: never };

const mostCharacters = 16_000;

export const eventStream = 'text/event-stream';
/** What precedes and follows the JSON of a result in a stream over SSE, and the end of the stream. */
export const nextText = ['event: next\ndata: ', '\n\n'] as const;
export const completeText = 'event: complete\ndata:\n\n';

/** @param around what comes before and after the text, in ASCII */
export function toEvent(text: string, around: readonly [string, string] = ['', '']): Event {
  const [first, last] = around;
  // Counted before joining: V8 would copy the joined text to count it, and again to write the chunk.
  const further = Buffer.byteLength(text) - text.length;
  const length = first.length + text.length + last.length + further;
  const chunk = `${length.toString(16)}\r\n${first}${text}${last}\r\n`;
  const isShort = length <= mostCharacters;
  if (isShort && further === 0) return chunk as Event;
  const bytes = Buffer.from(chunk);
  return (isShort ? bytes.toString('latin1') : bytes) as Event;
}

/** The bytes of an event without the framing of its chunk. */
export function withoutChunk(event: Event): Buffer {
  const bytes = typeof event === 'string' ? Buffer.from(event, 'latin1') : event;
  return bytes.subarray(bytes.indexOf('\n') + 1, -2);
}

const toFrame = (result: Result | undefined) => toEvent(JSON.stringify(result), nextText);

function toResult(event: Event): Result {
  const text = withoutChunk(event).toString();
  const [before, after] = nextText;
  return JSON.parse(text.slice(before.length, -after.length));
}

/** The event of an execution, made once for all subscribers. */
export function eventOf(execution: Execution): Event | Promise<Event> {
  const { event, result } = execution;
  if (event) return event;
  execution.event = result instanceof Promise ? result.then(toFrame) : toFrame(result);
  // Frames live until their rooms change; as objects they would take far more memory.
  execution.result = undefined;
  return execution.event;
}

/** The result of an execution, made once for all subscribers. */
export function resultOf(execution: Execution): Result | Promise<Result> {
  const { event } = execution;
  execution.result ??= event instanceof Promise ? event.then(toResult) : toResult(event as Event);
  return execution.result;
}
