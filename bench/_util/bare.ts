/**
 * The bare server that reads are compared with: node:http, one named prepared statement per request, no more. The statements
 * by their names come as JSON in the environment; `GET /{name}/{value}/{value}` runs one with these values.
 */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';

const { env } = process;
const statements: Record<string, string> = JSON.parse(env['STATEMENTS'] ?? '{}');
const pool = new pg.Pool({ connectionString: env['DATABASE_URL'], max: 8 });

const server = http.createServer(async (request, response) => {
  const [, name = '', ...values] = decodeURIComponent(request.url ?? '').split('/');
  const { rows } = await pool.query({ name, text: statements[name] ?? '', values });
  const body = JSON.stringify(rows);
  response.writeHead(200, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit());
