import { once } from 'node:events';
import http from 'node:http';
import { expect, test } from '@jest/globals';
import { openLog } from '../../src/log.ts';
import { openHttp } from '../../src/mail-servers/http.ts';

test('however many items are written at a time, a reading of the same server does not wait for them', async () => {
  const arrived: string[] = [];
  let news = Promise.withResolvers<void>();
  const server = http.createServer(({ method = '' }, response) => {
    arrived.push(method);
    if (method === 'GET') response.end();
    news.resolve();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  async function untilArrived(count: number): Promise<void> {
    while (arrived.length < count) {
      await news.promise;
      news = Promise.withResolvers();
    }
  }
  const { port } = server.address() as { port: number };
  const settings = { Kind: 'CalDav', Url: `http://127.0.0.1:${port}/`, User: 'rooms', Password: 'secret' };
  const ask = openHttp(settings as never, openLog('silent'));
  const over = new AbortController();
  const writes = Array.from({ length: 12 }, (_, nth) => ask({ method: 'PUT', address: `${nth}` }, over.signal));
  try {
    await untilArrived(6);
    const reading = ask({ address: 'calendar' }, over.signal);
    reading.catch(() => {});
    await untilArrived(7);
    expect(arrived.at(-1)).toBe('GET');
    expect((await reading).status).toBe(200);
  } finally {
    over.abort();
    await Promise.allSettled(writes);
    server.closeAllConnections();
    server.close();
  }
});
