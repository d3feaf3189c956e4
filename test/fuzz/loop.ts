/**
 * Preloaded into the server: every two seconds it prints how late the event loop is, and why. `own` is the CPU time of this thread
 * in the longest turn with requests under way; `waited` is how long the thread was ready but had no processor, if the
 * system tells.
 */
import { subscribe } from 'node:diagnostics_channel';
import fs from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const windowMs = 2_000;
const lookMs = 5;
const mostNamed = 10;

/** All in milliseconds, but for requests by method and path. `since` is a time of the clock. */
export type Window = {
  since: number;
  p99: number;
  own: number;
  waited: number | null;
  during: string[];
};

const underWay = new Set<IncomingMessage>();
const named = ({ method, url }: IncomingMessage) => `${method} ${url?.slice(0, 120)}`;

/** For how long this thread has waited for a processor, in milliseconds. */
function readWaited(): number | null {
  try {
    return Number(fs.readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return null;
  }
}

function watch(): void {
  subscribe('http.server.request.start', (told) => {
    const { request, response } = told as { request: IncomingMessage; response: ServerResponse };
    underWay.add(request);
    // After the turn in which it was answered.
    response.once('close', () => setTimeout(() => underWay.delete(request), lookMs));
  });
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  let since = Date.now();
  let waited = readWaited();
  let worked = process.threadCpuUsage();
  let longest: Pick<Window, 'own' | 'during'> = { own: 0, during: [] };
  setInterval(() => {
    const { user, system } = process.threadCpuUsage(worked);
    worked = process.threadCpuUsage();
    const own = (user + system) / 1_000;
    if (own > longest.own) longest = { own, during: [...underWay].slice(0, mostNamed).map(named) };
  }, lookMs).unref();
  setInterval(() => {
    const waitedNow = readWaited();
    const window: Window = {
      since,
      p99: delay.percentile(99) / 1e6,
      ...longest,
      waited: waited === null || waitedNow === null ? null : waitedNow - waited,
    };
    process.stderr.write(`${JSON.stringify({ level: 'info', msg: 'loop', window })}\n`);
    delay.reset();
    [since, waited, longest] = [Date.now(), waitedNow, { own: 0, during: [] }];
  }, windowMs).unref();
}

if (isMainThread) watch();
