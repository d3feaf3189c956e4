/** The bare server that the webhook is compared with: node:http, and for each POST one INSERT by a prepared statement. */
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';

const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 16 });
const text = 'insert into bare_notification (id, content_type, address, body) values ($1, $2, $3, $4)';

const server = http.createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', async () => {
    const { remoteAddress } = request.socket;
    const values = [randomUUID(), request.headers['content-type'], remoteAddress, Buffer.concat(chunks)];
    await pool.query({ name: 'insert', text, values });
    response.writeHead(200, { 'Content-Type': 'text/xml', 'Content-Length': 5 });
    response.end('<ok/>');
  });
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit());
