import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openSlices } from '../../src/flow/slices.ts';
import { jsonPieces, LargeJson, TextList } from '../../src/http/large-json.ts';
import { type Chunks, openChunks, sendPieces } from '../../src/http/pieces.ts';

/** The lists that an answer has, of so many bytes each: far more than the system keeps for a reader. */
const [lists, length] = [400, 65_536];

const nameOf = (number: number) => String(number).padStart(4, '0');

/** A list of one text, which has the number of the list all over. */
const listOf = (number: number) =>
  new TextList([], {
    count: 1,
    itemLength: () => length - 1,
    items: () => [],
    write: (_members, _first, chunk, from, to) => chunk.fill(`"${nameOf(number).repeat((length - 4) / 4)}",`, from, to),
  });

let chunks: Chunks;
/** The chunks that are in nobody's hands. */
const free = new Set<Buffer>();
let taken = 0;
let begun = Promise.withResolvers<{ sent: Promise<boolean> }>();
let server: http.Server;

beforeAll(async () => {
  const real = openChunks();
  chunks = {
    take(least) {
      taken++;
      const chunk = real.take(least);
      free.delete(chunk);
      return chunk;
    },
    giveBack(chunk) {
      // Whoever takes it next writes into it.
      chunk.fill('!');
      free.add(chunk);
      real.giveBack(chunk);
    },
  };
  server = http.createServer((_request, response) => {
    const items = Array.from({ length: lists }, (_, number) => listOf(number));
    begun.resolve({ sent: sendPieces(response, jsonPieces(new LargeJson(items)), chunks, openSlices()) });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => void server.close());

/** Asks, and takes nothing until all is written that the system keeps for a reader. */
async function askAndWait(): Promise<{ client: net.Socket; sent: Promise<boolean> }> {
  begun = Promise.withResolvers();
  taken = 0;
  const client = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.pause();
  client.write('GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n');
  const { sent } = await begun.promise;
  for (let before = -1; before !== taken || taken < 3; ) {
    before = taken;
    for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
  return { client, sent };
}

test('a chunk is used again once it is sent, and not before: a slow reader gets every byte', async () => {
  const { client, sent } = await askAndWait();
  // Two lists have a chunk.
  expect(taken).toBeLessThan(lists / 2);
  let text = '';
  client.setEncoding('latin1').on('data', (part: string) => {
    text += part;
  });
  client.resume();
  await Promise.all([once(client, 'end'), sent]);
  const [head = '', body = ''] = text.split('\r\n\r\n');
  expect(head).toContain(`Content-Length: ${body.length}`);
  const answer = JSON.parse(body) as string[][];
  expect(answer.map(([one]) => one?.replaceAll(/(.{4})(?=\1)/g, ''))).toEqual(
    Array.from({ length: lists }, (_, number) => nameOf(number)),
  );
  expect(free.size).toBeGreaterThan(0);
  expect(free.size).toBeLessThan(lists / 4);
});

test('a reader who goes away ends the sending', async () => {
  const { client, sent } = await askAndWait();
  client.destroy();
  await sent;
  expect(taken).toBeLessThan(lists / 2);
});
