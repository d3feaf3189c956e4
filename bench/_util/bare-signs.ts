/**
 * The bare server that door signs are compared with: node:http, one LISTEN, per notification one named prepared statement
 * and one JSON.stringify, written to each reader of the room. `GET /{room}` is its stream.
 */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';

const { env } = process;
const mandatorId = Number(env['MANDATOR']);
const pool = new pg.Pool({ connectionString: env['DATABASE_URL'], max: 8 });
const readers = new Map<number, Set<http.ServerResponse>>();

async function eventOf(room: number): Promise<string> {
  const values = [mandatorId, [room], new Date()];
  const { rows } = await pool.query({ name: 'signs', text: env['STATEMENT'] ?? '', values });
  return `event: next\ndata: ${JSON.stringify(rows[0])}\n\n`;
}

const listener = new pg.Client({ connectionString: env['DATABASE_URL'] });
await listener.connect();
listener.on('notification', async ({ payload = '' }) => {
  const [topic, , key] = payload.split(':');
  const watching = readers.get(Number(key));
  if (topic !== 'booking' || !watching) return;
  const event = await eventOf(Number(key));
  for (const response of watching) response.write(event);
});
await listener.query('listen roomgate');

const server = http.createServer(async (request, response) => {
  const room = Number(request.url?.slice(1));
  const watching = readers.get(room) ?? new Set();
  readers.set(room, watching.add(response));
  response.on('close', () => {
    watching.delete(response);
    if (watching.size === 0) readers.delete(room);
  });
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
  response.write(await eventOf(room));
});
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () =>
  process.send?.((server.address() as AddressInfo).port),
);
process.on('disconnect', () => process.exit());
