import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export type Heard = { url: string; method: string; headers: http.IncomingHttpHeaders; body: string };
export type Reply = { status: number; type?: string; body?: string };

const soapResult = (status: string) =>
  `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><SendNotificationResult xmlns="http://schemas.microsoft.com/exchange/services/2006/messages"><SubscriptionStatus>${status}</SubscriptionStatus></SendNotificationResult></s:Body></s:Envelope>`;

/** What Exchange wants to hear. */
export const exchangeReply = (status: 'OK' | 'Unsubscribe'): Reply => ({
  status: 200,
  type: 'text/xml; charset=utf-8',
  body: soapResult(status),
});

/** A listener that records notifications. */
export async function startListener(reply: (heard: Heard) => Reply | Promise<Reply>) {
  const heard: Heard[] = [];
  const server = http.createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => {
      body += chunk;
    });
    request.on('end', async () => {
      const { url = '', method = '', headers } = request;
      const one = { url, method, headers, body };
      heard.push(one);
      const { status, type, body: text } = await reply(one);
      response.writeHead(status, type ? { 'content-type': type } : {}).end(text);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/listener`,
    heard,
    stop(): void {
      server.close();
      server.closeAllConnections();
    },
  };
}
