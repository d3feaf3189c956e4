/**
 * Traces: assigns the running code to spans of OpenTelemetry, and passes the W3C trace context from one process to the next.
 * Without a collector in the settings, nothing is traced and OpenTelemetry is not loaded: only `tracing-export.ts` imports its
 * packages.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Attributes, Span, SpanKind } from '@opentelemetry/api';

/** `parent`: the `traceparent` of a request, a batch or a job; without one, a new trace begins. */
type Beginning = { kind: keyof typeof SpanKind; attributes?: Attributes; parent?: string | null | undefined };

/** What a process has opened to record traces. */
export type Traces = {
  begin(name: string, how: Beginning): Span;
  /** Begins a child of the span. */
  beginIn(span: Span, name: string, how: Beginning): Span;
  /** Sends what is left, for at most a second. */
  close(): Promise<void>;
};

type Piece = { traces: Traces; span: Span };

const current = new AsyncLocalStorage<Piece>();

/** Version 00, and the start of any later version; ids of zeros are invalid. */
const traceparent = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/;

export type TraceContext = { traceId: string; spanId: string; traceFlags: number };

/** Reads a `traceparent`, which may come from a caller. */
export function readTraceparent(text: unknown): TraceContext | undefined {
  if (typeof text !== 'string' || text.length > 128) return undefined;
  const [, traceId, spanId, flags] = traceparent.exec(text) ?? [];
  if (!traceId || !spanId || !flags || (text.startsWith('00') && text.length !== 55)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 };
}

const writeTraceparent = ({ traceId, spanId, traceFlags }: TraceContext) =>
  `00-${traceId}-${spanId}-0${traceFlags & 1}`;

/**
 * Whether work may still add children to the span. A recorded span that has ended may not get any: work that outlives it belongs
 * to no span.
 */
const isLive = (span: Span) => span.isRecording() || (span.spanContext().traceFlags & 1) === 0;

/** The `traceparent` of the running work, to be passed on. */
export function traceparentNow(): string | undefined {
  const piece = current.getStore();
  return piece && isLive(piece.span) ? writeTraceparent(piece.span.spanContext()) : undefined;
}

/** The trace of the running work, whether it is recorded or not. */
export const traceIdNow = (): string | undefined => current.getStore()?.span.spanContext().traceId;

/** The members of a log line for the running work, if its trace is recorded. */
export function traceFields(): { traceId: string; spanId: string } | undefined {
  const piece = current.getStore();
  if (!piece?.span.isRecording()) return undefined;
  const { traceId, spanId } = piece.span.spanContext();
  return { traceId, spanId };
}

/** Ends a span. Of an error, only the name and code are recorded: its message may quote values. */
export function endSpan(span: Span, error?: unknown): void {
  if (error !== undefined && span.isRecording()) {
    const { code, name } = error as { code?: unknown; name?: unknown };
    span.setAttribute('error.type', String(code ?? name ?? 'Error').slice(0, 100));
    // SpanStatusCode.ERROR
    span.setStatus({ code: 2 });
  }
  span.end();
}

async function runIn<T>(piece: Piece, work: (span: Span) => Promise<T>): Promise<T> {
  try {
    const result = await current.run(piece, () => work(piece.span));
    endSpan(piece.span);
    return result;
  } catch (error) {
    endSpan(piece.span, error);
    throw error;
  }
}

/** Runs work that comes from another process or from a queue; without `traces`, just runs it. */
export function inTrace<T>(
  traces: Traces | undefined,
  name: string,
  how: Beginning,
  work: (span?: Span) => Promise<T>,
): Promise<T> {
  return traces ? runIn({ traces, span: traces.begin(name, how) }, work) : work();
}

/** Calls `work` in a new span, which `work` must end. */
export function enterTrace(traces: Traces, name: string, how: Beginning, work: (span: Span) => void): void {
  const span = traces.begin(name, how);
  current.run({ traces, span }, () => work(span));
}

/** Begins a child of the running span; undefined if that is not recorded. */
export function beginSpan(name: string, how: Beginning): Span | undefined {
  const piece = current.getStore();
  return piece?.span.isRecording() ? piece.traces.beginIn(piece.span, name, how) : undefined;
}

/** Runs a part of the running work in a span of its own. */
export function inSpan<T>(name: string, how: Beginning, work: (span?: Span) => Promise<T>): Promise<T> {
  const piece = current.getStore();
  if (!piece?.span.isRecording()) return work();
  return runIn({ ...piece, span: piece.traces.beginIn(piece.span, name, how) }, work);
}

/** Begins work that does not belong to the running work, such as the next job after it. */
export const untraced = <T>(begin: () => T): T => current.exit(begin);
