import { once } from 'node:events';
import type { Server } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import express from 'express';
import { openSlabs, type Slabs, SpanWriter } from '../../src/availability/spans.ts';
import { toAvailabilityRecords } from '../../src/availability/wire.ts';
import { LargeJson } from '../../src/http/large-json.ts';
import { openChunks } from '../../src/http/pieces.ts';
import { writeLarge } from '../../src/rest/json.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';

/** Watches slabs: one that comes back is overwritten at once, as by whoever takes it next. */
function watch(slabs: Slabs) {
  const inUse = new Set<object>();
  const { take, giveBack } = slabs;
  let made = 0;
  const known = new Set<object>();
  slabs.take = () => {
    const slab = take();
    if (inUse.has(slab)) throw new Error('A slab has been given to two.');
    if (!known.has(slab)) made++;
    known.add(slab);
    inUse.add(slab);
    return slab;
  };
  slabs.giveBack = (slab) => {
    if (!inUse.delete(slab)) throw new Error('A slab has come back twice.');
    slab.fill(Date.UTC(1970, 0, 1));
    giveBack(slab);
  };
  return { inUse, made: () => made };
}

describe('slabs of answers to slow readers', () => {
  const minute = 60_000;
  const from = new Date('2027-03-01T00:00Z');
  const window = { from, to: new Date(from.getTime() + 90 * 1_440 * minute) };
  /** Far more than the system keeps for a reader. */
  const [rooms, bookings] = [28, 3_000];
  const slabs = openSlabs();
  const watched = watch(slabs);
  const chunks = openChunks();
  const takeChunk = jest.spyOn(chunks, 'take');
  let server: Server;

  /** Of an answer, all others have other times. */
  function spansOf(answer: number): [free: [Date, Date][], busy: [Date, Date][]] {
    const at = (minutes: number) => new Date(from.getTime() + minutes * minute);
    const starts = Array.from({ length: bookings }, (_, number) => 40 * number + answer);
    return [
      starts.map((start, number) => [at(number === 0 ? 0 : start - 30), at(start)]),
      starts.map((start) => [at(start), at(start + 10)]),
    ];
  }

  /** What `timestamptz_send` writes of the busy times. */
  function sentOf(busy: [Date, Date][]): string {
    const bytes = Buffer.alloc(16 * busy.length);
    for (const [number, instant] of busy.flat().entries())
      bytes.writeBigInt64BE(BigInt(instant.getTime() - Date.UTC(2000, 0, 1)) * 1_000n, 8 * number);
    return bytes.toString('base64');
  }

  beforeAll(async () => {
    const app = express().get('/:answer', async (request, response) => {
      const [free, busy] = spansOf(Number(request.params.answer));
      const writer = new SpanWriter(slabs);
      const open = Float64Array.of(from.getTime(), free.at(-1)?.[1].getTime() ?? 0);
      const found = Array.from({ length: rooms }, (_, resourceId) => {
        const spans = writer.readRanges(sentOf(busy));
        const others = { resourceName: '', locationId: 1, timeZone: 'UTC', capacity: null };
        return { resourceId, ...others, busy: spans, free: writer.subtract(open, spans, 1) };
      });
      const body = new LargeJson(toAvailabilityRecords(window, found), () => writer.giveBack());
      await writeLarge(request, response, body, chunks);
      body.giveBack();
    });
    server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });

  const connect = (answer: number) => {
    const client = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
    client.write(`GET /${answer} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n`);
    return client;
  };

  /** Asks, and takes nothing until all is written that the system keeps for a reader. */
  async function askAndWait(answer: number): Promise<net.Socket> {
    takeChunk.mockClear();
    const client = connect(answer).pause();
    for (let before = -1, taken = 0; before !== taken || taken < 3; taken = takeChunk.mock.calls.length) {
      before = taken;
      for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
    return client;
  }

  async function readRest(client: net.Socket): Promise<string> {
    const parts: Buffer[] = [];
    client.on('data', (part) => parts.push(part)).resume();
    await once(client, 'end');
    const text = Buffer.concat(parts).toString('latin1');
    return text.slice(text.indexOf('\r\n\r\n') + 4);
  }

  function expectedOf(answer: number): string {
    const [Free, Busy] = spansOf(answer).map((spans) => spans.map(([Start, End]) => ({ Start, End })));
    const others = { ResourceName: '', LocationId: 1, TimeZone: 'UTC', Capacity: null };
    return JSON.stringify(Array.from({ length: rooms }, (_, ResourceId) => ({ ResourceId, ...others, Free, Busy })));
  }

  // Not `toBe`, which would print megabytes.
  const check = (text: string, answer: number) => expect(text === expectedOf(answer)).toBe(true);

  test('are used again by the next answer, and by no other before', async () => {
    const [one, two] = [await askAndWait(1), await askAndWait(2)];
    const held = watched.inUse.size;
    check(await readRest(connect(3)), 3);
    expect(watched.inUse.size).toBe(held);
    const { made } = watched;
    const before = made();
    check(await readRest(connect(4)), 4);
    expect(made()).toBe(before);
    check(await readRest(one), 1);
    check(await readRest(two), 2);
    expect(watched.inUse.size).toBe(0);
  });

  test('come back when a reader goes away', async () => {
    const client = await askAndWait(5);
    expect(watched.inUse.size).toBeGreaterThan(0);
    client.destroy();
    await until('all slabs are back', () => watched.inUse.size === 0);
    check(await readRest(connect(6)), 6);
  });
});

describe('slabs of a service', () => {
  let service: Service;
  let watched: ReturnType<typeof watch>;
  let token: string;

  beforeAll(async () => {
    service = await startService({ Role: 'Web' });
    watched = watch(service.context.once(openSlabs));
    token = await service.signIn();
  });
  afterAll(() => service.stop());

  const [From, To] = ['2027-03-01T00:00:00.000Z', '2027-03-02T00:00:00.000Z'];
  const path = `/api/v1.0/availability?From=${From}&To=${To}`;
  const query = `{ availability(input: { from: "${From}", to: "${To}" }) { free { start end } } }`;

  test.each<[name: string, path: string, request: RequestInit, status: number, part: string]>([
    ['a read', path, {}, 200, `"Free":[{"Start":"${From}","End":"${To}"}]`],
    ['HEAD', path, { method: 'HEAD' }, 200, ''],
    ['a read of what the caller knows', path, { headers: { 'If-None-Match': '*' } }, 304, ''],
    [
      'a query',
      '/graphql',
      { method: 'POST', body: JSON.stringify({ query }) },
      200,
      `"free":[{"start":"${From}","end":"${To}"}]`,
    ],
  ])('come back once %s has been answered', async (_name, path, { headers, ...request }, status, part) => {
    for (const made of [1, 1]) {
      const answer = await fetch(`${service.url}/school${path}`, {
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...headers },
        ...request,
      });
      expect([answer.status, await answer.text()]).toEqual([status, expect.stringContaining(part)]);
      await until('all slabs are back', () => watched.inUse.size === 0);
      expect(watched.made()).toBe(made);
    }
  });
});
