/** A proxy before a server: it records requests, can withhold their answers, and can refuse them. */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { longestIdleMs } from '../../_util/scripted-server.ts';

/** `answer` is '' where the server has cut the connection. */
export type Relayed = { method: string; path: string; body: string; answer: string };

/** @param target its origin; the links that it writes lead here */
export async function startRelay(target: string) {
  const asked: Relayed[] = [];
  const nothing = (_: Relayed): boolean => false;
  let isLost: (one: Relayed) => boolean | number = nothing;
  let isRefused = nothing;

  async function relay(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    const bytes = await buffer(request);
    const one = { method, path: url, body: bytes.toString(), answer: '' };
    asked.push(one);
    if (isRefused(one)) return void response.writeHead(500).end();
    const onward = http.request(new URL(url, target), { method, headers });
    onward.end(bytes);
    const [answer] = (await once(onward, 'response')) as [http.IncomingMessage];
    const told = await buffer(answer);
    one.answer = told.toString();
    const lost = isLost(one);
    if (typeof lost === 'number') return void response.writeHead(lost).end();
    if (lost) return void response.destroy();
    response.writeHead(answer.statusCode ?? 502, answer.headers).end(told);
  }

  const server = http.createServer({ keepAliveTimeout: longestIdleMs }, (request, response) => {
    relay(request, response).catch(() => response.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    /** Which answers are lost from now on, or replaced by a status, though what was asked is done; none without a word. */
    lose: (which: typeof isLost = nothing) => void (isLost = which),
    /** Which requests are answered with 500 from now on, and not done; none without a word. */
    refuse: (which: typeof isRefused = nothing) => void (isRefused = which),
    async stop(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export type Relay = Awaited<ReturnType<typeof startRelay>>;
