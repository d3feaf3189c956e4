/**
 * A load balancer as in front of production: it asks each process for /readyz, keeps connections to those that are ready, and sends
 * nothing a second time.
 */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

type Upstream = { url: string; agent: http.Agent; isReady: boolean; isOut: boolean };

const lookEvery = 100;

export async function startBalancer() {
  const upstreams = new Map<string, Upstream>();
  const counts = { requests: 0, failed: [] as string[] };
  const over = new AbortController();
  let turn = 0;

  const look = ({ url }: Upstream) =>
    fetch(`${url}/readyz`, { signal: AbortSignal.timeout(10_000), headers: { Connection: 'close' } }).then(
      ({ status }) => status === 200,
      () => false,
    );
  async function watch(upstream: Upstream): Promise<void> {
    while (!upstream.isOut && !over.signal.aborted) {
      upstream.isReady = await look(upstream);
      await sleep(lookEvery);
    }
  }
  function fail(request: http.IncomingMessage, response: http.ServerResponse, why: string): void {
    counts.failed.push(`${request.method} ${request.url}: ${why}`);
    if (response.headersSent) response.destroy();
    else response.writeHead(502).end();
  }
  const server = http.createServer((request, response) => {
    counts.requests += 1;
    const ready = [...upstreams.values()].filter(({ isReady, isOut }) => isReady && !isOut);
    const chosen = ready[turn++ % ready.length];
    if (!chosen) return fail(request, response, 'no process is ready');
    const { method, url, headers } = request;
    const asked = http.request(new URL(url ?? '/', chosen.url), { method, headers, agent: chosen.agent });
    asked.on('response', (answer) => {
      const status = answer.statusCode ?? 0;
      if (status >= 500) void text(answer).then((body) => counts.failed.push(`${method} ${url}: ${status} ${body}`));
      const { connection: _, 'keep-alive': __, 'transfer-encoding': ___, ...kept } = answer.headers;
      response.writeHead(status, kept);
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    asked.on('error', (error) => {
      if (!request.destroyed || !response.destroyed) fail(request, response, error.message);
    });
    request.pipe(asked);
    // The client has left.
    response.on('close', () => asked.destroy());
    return undefined;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    add(url: string): void {
      const upstream = { url, agent: new http.Agent({ keepAlive: true }), isReady: false, isOut: false };
      upstreams.set(url, upstream);
      void watch(upstream);
    },
    isReady: (url: string): boolean => upstreams.get(url)?.isReady === true,
    /** Sends nothing more to a process, as if an operator had taken it out by hand. */
    takeOut(url: string): void {
      const upstream = upstreams.get(url);
      if (upstream) upstream.isOut = true;
      upstreams.delete(url);
    },
    async stop(): Promise<void> {
      over.abort();
      for (const { agent } of upstreams.values()) agent.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
