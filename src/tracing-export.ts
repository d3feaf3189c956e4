/** Sends traces to a collector (OTLP over HTTP, JSON). Loaded only where the settings name one. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { DiagLogLevel, diag, ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Config } from './config.ts';
import { beginningOf, type Log } from './log.ts';
import { readTraceparent, type Traces } from './tracing.ts';

/** The most spans that wait to be sent; further ones are dropped. */
const mostWaiting = 2_048;
const sentAtOnce = 512;
const sendEvery = 1_000;
/** Less than the process has to stop: a pending export keeps it alive. */
const sendTimeout = 3_000;
const closeTimeout = 1_000;
/** The interval between two log lines about a collector that accepts nothing. */
const tellEvery = 60_000;

/** The message of an error, which OpenTelemetry reports as JSON with its stack. */
function messageOf(text: string): string {
  try {
    return String((JSON.parse(text) as { message?: unknown }).message ?? text);
  } catch {
    return text;
  }
}

/** Logs, at most once a minute, that the collector accepts nothing. */
function tellFaults(log: Log): void {
  let toldAt = Number.NEGATIVE_INFINITY;
  const tell = (text: string) => {
    if (performance.now() - toldAt < tellEvery) return;
    toldAt = performance.now();
    log.warn({ err: beginningOf(messageOf(String(text)), 300) }, 'traces are not delivered');
  };
  const nothing = () => {};
  diag.setLogger(
    { error: tell, warn: tell, info: nothing, debug: nothing, verbose: nothing },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}

export function openTraces({ Tracing, Role }: Pick<Config, 'Tracing' | 'Role'>, log: Log): Traces {
  tellFaults(log);
  const exporter = new OTLPTraceExporter({
    url: `${Tracing.Endpoint?.replace(/\/$/, '')}/v1/traces`,
    timeoutMillis: sendTimeout,
    // At the end all waiting spans are sent at once.
    concurrencyLimit: mostWaiting / sentAtOnce + 1,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'roomgate',
      'service.instance.id': randomUUID(),
      'roomgate.role': Role,
    }),
    // If a caller has sent a trace, the flag of its `traceparent` decides.
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(1 / Tracing.OneIn) }),
    spanLimits: { attributeValueLengthLimit: 2_000 },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        maxQueueSize: mostWaiting,
        maxExportBatchSize: sentAtOnce,
        scheduledDelayMillis: sendEvery,
        exportTimeoutMillis: sendTimeout,
      }),
    ],
  });
  const tracer = provider.getTracer('roomgate');
  return {
    begin(name, { kind, attributes = {}, parent }) {
      const context = readTraceparent(parent);
      const from = context ? trace.setSpanContext(ROOT_CONTEXT, { ...context, isRemote: true }) : ROOT_CONTEXT;
      return tracer.startSpan(name, { kind: SpanKind[kind], attributes }, from);
    },
    beginIn: (span, name, { kind, attributes = {} }) =>
      tracer.startSpan(name, { kind: SpanKind[kind], attributes }, trace.setSpan(ROOT_CONTEXT, span)),
    async close() {
      const late = sleep(closeTimeout, undefined, { ref: false });
      await Promise.race([provider.shutdown().catch(() => {}), late]);
    },
  };
}
