/** A web server whose answers a test scripts. */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** Of a connection, as in src/server.ts: a client whose process is busy for seconds must not find it closed. */
export const longestIdleMs = 65_000;

export type Asked = {
  method: string;
  /** With its query. */
  path: string;
  headers: http.IncomingHttpHeaders;
  body: string;
};
export type Told = {
  status?: number;
  headers?: Record<string, string>;
  /** Objects as JSON; a function writes and ends the answer itself. */
  body?: string | object | ((response: http.ServerResponse) => void);
};

export type ScriptedServer = {
  origin: string;
  asked: Asked[];
  /** From now on. */
  answer(how: (asked: Asked) => Told): void;
  close(): Promise<void>;
};

export async function startScriptedServer(): Promise<ScriptedServer> {
  const asked: Asked[] = [];
  let how = (_: Asked): Told => ({ status: 404 });
  const server = http.createServer({ keepAliveTimeout: longestIdleMs }, async (request, response) => {
    const { method = '', url = '', headers } = request;
    const one = { method, path: url, headers, body: await text(request) };
    asked.push(one);
    const { status = 200, headers: told = {}, body = '' } = how(one);
    response.writeHead(status, told);
    if (typeof body === 'function') body(response);
    else response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    answer(next) {
      how = next;
      asked.length = 0;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** An endless answer, until its reader disconnects. */
export function endless(response: http.ServerResponse): void {
  const piece = Buffer.alloc(1_048_576, ' ');
  const write = () => {
    while (!response.destroyed && response.write(piece));
  };
  response.on('drain', write);
  write();
}
