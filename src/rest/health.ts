import { setTimeout as sleep } from 'node:timers/promises';
import { type RequestHandler, Router } from 'express';
import {
  AggregatorRegistry,
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type Metric,
  Registry,
} from 'prom-client';
import { type Context, version } from '../context.ts';
import { MethodNotAllowed } from '../errors.ts';
import { answersWithinMs, type Siblings } from '../siblings.ts';
import { writeJson } from './json.ts';
import { routeOf, statusOf } from './request.ts';

/** The state of the process; server.ts makes it. */
export type Health = {
  pendingMigrations(): Promise<string[]>;
  /** Whether the Pepper fits the secrets of the database, which may have been restored under a running process. */
  pepper(): Promise<boolean>;
  /** Whether this process's worker takes jobs; absent without a worker (Role=Web). */
  worker?: () => Promise<boolean>;
  stopping(): boolean;
  /** Further gauges for /metrics, by Prometheus name; an answer leaves out one that cannot be read. */
  gauges?: Record<string, Gauged>;
  /** The processes whose metrics are combined in one answer; absent in a single process. */
  siblings?: Siblings | undefined;
};

/** A number or, with a label, a number for each value of the label. With `ofDatabase` all siblings read the same number; otherwise theirs are added. */
type Gauged = { help: string; label?: string; ofDatabase?: boolean; read(): Read | Promise<Read> };
type Read = number | Readonly<Record<string, number>>;

const checkTimeoutMs = 2_000;
const metricsKeptForMs = 1_000;
/** Milliseconds for a figure: Prometheus gives up after ten seconds, and would consider the process dead. */
const figureTimeoutMs = 5_000;
/** So that siblings have it in time. */
const siblingsFigureTimeoutMs = answersWithinMs - 500;

/** A pooler may lead to a server that has become a standby: reads there are outdated, and writes fail. */
async function takesWrites(db: Context['db']): Promise<boolean> {
  const asked = db.selectNoFrom(({ fn }) => fn<boolean>('pg_is_in_recovery').as('follows'));
  return !(await asked.executeTakeFirstOrThrow()).follows;
}

/** Whether the check returned true in time. */
async function holds(check: () => boolean | Promise<boolean>): Promise<boolean> {
  const late = new AbortController();
  const timeout = sleep(checkTimeoutMs, false, { signal: late.signal, ref: false }).catch(() => false);
  try {
    return await Promise.race([check(), timeout]);
  } catch {
    return false;
  } finally {
    late.abort();
  }
}

/** @throws when the figure is late, as while the database hangs */
async function orLate(figure: Read | Promise<Read>, timeout: number): Promise<Read> {
  const answered = new AbortController();
  const late = sleep(timeout, undefined, { signal: answered.signal, ref: false }).then(() => {
    throw new Error('the figure is late');
  });
  try {
    return await Promise.race([figure, late]);
  } finally {
    late.catch(() => {});
    answered.abort();
  }
}

let ofProcess: Registry | undefined;

/** Metrics that are those of the process where they are highest. */
const ofTheWorst = ['process_open_fds', 'process_max_fds', 'nodejs_eventloop_lag_p99_seconds'];

/** Metrics of the process itself. Their collectors never end, so all services of a process share them. */
function processRegistry(): Registry {
  if (!ofProcess) {
    ofProcess = new Registry();
    // At the default of 10 ms an idle process would spend most of its CPU on this timer.
    collectDefaultMetrics({ register: ofProcess, eventLoopMonitoringPrecision: 40 });
    // Several processes: their sum or average would hide the one that is full or busy.
    for (const name of ofTheWorst) Object.assign(ofProcess.getSingleMetric(name) ?? {}, { aggregator: 'max' });
  }
  return ofProcess;
}

function createMetrics(health: Health) {
  const registry = new Registry();
  for (const { name } of processRegistry().getMetricsAsArray())
    registry.registerMetric(processRegistry().getSingleMetric(name) as Metric);
  for (const [name, { help, label, ofDatabase, read }] of Object.entries(health.gauges ?? {})) {
    // Prometheus names counters so. A counter can only be incremented.
    const Kind = name.endsWith('_total') ? Counter : Gauge;
    const metric: Counter | Gauge = new Kind({
      name,
      help,
      labelNames: label ? [label] : [],
      aggregator: ofDatabase ? 'max' : 'sum',
      registers: [registry],
      async collect() {
        try {
          const figure = await orLate(read(), health.siblings ? siblingsFigureTimeoutMs : figureTimeoutMs);
          metric.reset();
          if (typeof figure === 'number') return metric.inc(figure);
          for (const [value, number] of Object.entries(figure)) metric.inc({ [label ?? '']: value }, number);
        } catch {
          if (label) metric.reset();
          else metric.remove();
        }
      },
    });
  }
  new Gauge({
    name: 'roomgate_processes',
    help: 'Processes that share this port and have answered',
    registers: [registry],
  }).set(1);
  const duration = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the request to the end of its answer, by method, route pattern and status',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  });
  return { registry, duration };
}

/**
 * `/healthz` (specification 4.2: the process serves), `/readyz` (it can do its work, else 503, also while it stops) and
 * `/metrics` (Prometheus text), all anonymous. `timeRequests` comes before every route.
 */
export function openHealth(context: Context, health: Health): { timeRequests: RequestHandler; router: Router } {
  const router = Router();
  const { registry, duration } = createMetrics(health);
  // Migrations only go forward: a schema that was current once stays current for this process.
  let migrated = false;

  const timeRequests: RequestHandler = (request, response, next) => {
    const started = performance.now();
    response.on('close', () => {
      // A stream lasts for as long as its client listens.
      const route = `${routeOf(request)}${response.locals['isStream'] ? ' stream' : ''}`;
      const labels = { method: request.method, route, status: statusOf(response) };
      duration.observe(labels, (performance.now() - started) / 1_000);
    });
    next();
  };

  router.get('/healthz', (request, response) => {
    response.set({ 'Cache-Control': 'no-store', 'Roomgate-Version': version });
    writeJson(request, response, { Status: 'Healthy' });
  });

  async function examine(): Promise<Record<string, boolean>> {
    const { worker } = health;
    const { db, notifications } = context;
    let readsPepper = false;
    const [takes, Migrations, pepper, Notifications, Worker] = await Promise.all([
      holds(() => takesWrites(db)),
      holds(async () => (migrated ||= (await health.pendingMigrations()).length === 0)),
      holds(async () => {
        const isRight = await health.pepper();
        readsPepper = true;
        return isRight;
      }),
      holds(() => notifications.hears()),
      holds(async () => (await worker?.()) === true),
    ]);
    // One check may get the last free connection, and the next none.
    const Database = takes && (readsPepper || !Migrations);
    // While the database or its schema is unusable the Pepper cannot be checked, and is not the fault to report.
    const Pepper = pepper || !Database || !Migrations;
    return { Database, Migrations, Pepper, Notifications, ...(worker && { Worker }) };
  }

  // Concurrent requests share one examination.
  let examining: Promise<Record<string, boolean>> | undefined;

  router.get('/readyz', async (request, response) => {
    examining ??= examine().finally(() => {
      examining = undefined;
    });
    const checks = await examining;
    const healthy = Object.values(checks).every(Boolean);
    const ready = healthy && !health.stopping();
    // Reads are still answered, so clients need not be sent elsewhere.
    const Writes = context.refusals.isRecent() ? 'Degraded' : 'Healthy';
    response.status(ready ? 200 : 503).set('Cache-Control', 'no-store');
    if (!ready) response.set('Retry-After', '5');
    writeJson(request, response, {
      Status: health.stopping() ? 'Stopping' : healthy ? Writes : 'Unhealthy',
      Checks: {
        ...Object.fromEntries(Object.entries(checks).map(([name, fine]) => [name, fine ? 'Healthy' : 'Unhealthy'])),
        Writes,
      },
    });
  });

  const { siblings } = health;
  siblings?.answer('metrics', () => registry.getMetricsAsJSON());
  const readAll = async () =>
    siblings ? AggregatorRegistry.aggregate(await siblings.ask('metrics')).metrics() : registry.metrics();

  let metrics: { text: Promise<string>; readAt: number } | undefined;

  /** Reads the metrics at most once a second. */
  function readMetrics(): Promise<string> {
    if (metrics && performance.now() - metrics.readAt < metricsKeptForMs) return metrics.text;
    const reading = { text: readAll(), readAt: Number.POSITIVE_INFINITY };
    const settle = () => {
      reading.readAt = performance.now();
    };
    reading.text.then(settle, settle);
    metrics = reading;
    return reading.text;
  }

  router.get('/metrics', async (_request, response) => {
    const text = await readMetrics();
    response.set({ 'Content-Type': registry.contentType, 'Cache-Control': 'no-store' }).end(text);
  });

  for (const path of ['/healthz', '/readyz', '/metrics'])
    router.all(path, (request) => {
      throw new MethodNotAllowed(request.method, ['GET', 'HEAD']);
    });
  return { timeRequests, router };
}
