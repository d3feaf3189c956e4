/**
 * A mail server that grants subscriptions and nothing else, over real HTTP: the test decides its answers and their times.
 * It has no clock: `age` brings the ends of all subscriptions nearer.
 */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { longestIdleMs } from '../../_util/scripted-server.ts';

type Operation = 'token' | 'subscribe' | 'renew' | 'probe' | 'list' | 'end';
type Reply = { status: number; headers?: Record<string, string>; body?: string };
/** A subscription that it holds. */
type Held = { id: string; mailbox: string; callback: string; clientState: string; expiresAt: number };

const sixDays = 6 * 24 * 60;
const json = (status: number, body: object): Reply => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

export async function startScriptedMailServer() {
  const promises = new Map<string, Held>();
  const asked: Operation[] = [];
  /** What it does instead of a correct answer; undefined for a correct one. */
  const script: {
    /** For how long its subscriptions live. */
    lifeMinutes?: number;
    before?: (operation: Operation, url: string) => Promise<Reply | undefined> | Reply | undefined;
    /** Once it has done what it was asked for, before it says so. */
    after?: (operation: Operation) => Promise<unknown>;
  } = {};
  let made = 0;
  const endOfLife = () => Date.now() + (script.lifeMinutes ?? sixDays) * 60_000;

  const written = (one: Held) => ({
    id: one.id,
    resource: `users/${one.mailbox}/events`,
    notificationUrl: one.callback,
    clientState: one.clientState,
    expirationDateTime: new Date(one.expiresAt).toISOString(),
  });

  async function shakeHands(callback: string): Promise<boolean> {
    const token = `Validation: Testing client application ${++made}`;
    const answer = await fetch(`${callback}&validationToken=${encodeURIComponent(token)}`, {
      method: 'POST',
    });
    return answer.status === 200 && (await answer.text()) === token;
  }

  async function grant(body: string): Promise<Reply> {
    const wanted = JSON.parse(body) as Record<string, string>;
    const callback = wanted['notificationUrl']!;
    if (!(await shakeHands(callback).catch(() => false)))
      return json(400, {
        error: {
          code: 'ValidationError',
          message: `Subscription validation request failed. ${callback} must respond with 200 OK.`,
        },
      });
    const one = {
      id: `graph-${++made}`,
      mailbox: /users\/([^/]+)/.exec(wanted['resource']!)![1]!,
      callback,
      clientState: wanted['clientState']!,
      expiresAt: endOfLife(),
    };
    promises.set(one.id, one);
    return json(201, written(one));
  }

  function grantPush(body: string): Reply {
    const callback = /<t:URL>([^<]+)<\/t:URL>/.exec(body)?.[1]?.replaceAll('&amp;', '&');
    if (callback === undefined) return { status: 400 };
    const mailbox = /<t:(?:PrimarySmtpAddress|EmailAddress)>([^<]+)</.exec(body)![1]!;
    const id = `ews-${++made}`;
    promises.set(id, { id, mailbox, callback, clientState: '', expiresAt: Number.POSITIVE_INFINITY });
    const answer = `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><m:SubscribeResponse
      xmlns:m="http://schemas.microsoft.com/exchange/services/2006/messages"><m:ResponseMessages>
      <m:SubscribeResponseMessage ResponseClass="Success"><m:ResponseCode>NoError</m:ResponseCode>
      <m:SubscriptionId>${id}</m:SubscriptionId><m:Watermark>AAAA</m:Watermark></m:SubscribeResponseMessage>
      </m:ResponseMessages></m:SubscribeResponse></s:Body></s:Envelope>`;
    return { status: 200, headers: { 'content-type': 'text/xml; charset=utf-8' }, body: answer };
  }

  function operationOf(method: string, url: string): Operation {
    if (url.endsWith('/token')) return 'token';
    if (method === 'PATCH') return 'renew';
    if (method === 'DELETE') return 'end';
    if (method === 'GET') return /\/subscriptions(\?|$)/.test(url) ? 'list' : 'probe';
    return 'subscribe';
  }

  async function answer(operation: Operation, url: string, body: string): Promise<Reply> {
    if (operation === 'token') return json(200, { access_token: 'token', token_type: 'Bearer', expires_in: 3_600 });
    if (operation === 'subscribe') return url.includes('/EWS/') ? grantPush(body) : await grant(body);
    if (operation === 'list') return json(200, { value: [...promises.values()].map(written) });
    const one = promises.get(url.split('/').at(-1)!);
    if (!one) return json(404, { error: { code: 'ResourceNotFound', message: 'There is no such subscription.' } });
    if (operation === 'end') promises.delete(one.id);
    if (operation === 'renew') one.expiresAt = endOfLife();
    return operation === 'end' ? { status: 204 } : json(200, written(one));
  }

  const server = http.createServer({ keepAliveTimeout: longestIdleMs }, async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const url = request.url!;
    const operation = operationOf(request.method!, url);
    asked.push(operation);
    const reply = (await script.before?.(operation, url)) ?? (await answer(operation, url, body));
    await script.after?.(operation);
    response.writeHead(reply.status, reply.headers).end(reply.body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    url,
    promises,
    asked,
    script,
    /** How often it was asked for this. */
    count: (operation: Operation) => asked.filter((one) => one === operation).length,
    /** As new. */
    reset(): void {
      promises.clear();
      asked.length = 0;
      delete script.lifeMinutes;
      delete script.before;
      delete script.after;
    },
    /** Lets so much time pass for it. */
    age(minutes: number): void {
      for (const one of promises.values()) {
        one.expiresAt -= minutes * 60_000;
        if (one.expiresAt <= Date.now()) promises.delete(one.id);
      }
    },
    /** Settings of a tenant, written like the environment. */
    settings: (kind: 'Graph' | 'Ews' | 'CalDav', mandator = 'school'): Record<string, string> => {
      const set = (name: string, value: string) => [`MailServer__${mandator}__${name}`, value] as const;
      return Object.fromEntries([
        set('Kind', kind),
        set('Url', `${url}${kind === 'Ews' ? '/EWS/Exchange.asmx' : '/v1.0'}`),
        ...(kind === 'Graph'
          ? [set('TokenUrl', `${url}/token`), set('ClientId', 'roomgate'), set('ClientSecret', 'secret')]
          : [set('User', 'service'), set('Password', 'password')]),
      ]);
    },
    async close(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export type ScriptedMailServer = Awaited<ReturnType<typeof startScriptedMailServer>>;
