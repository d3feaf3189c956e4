/**
 * Mail servers for tests: mailboxes of rooms, behind EWS, Graph and Google Calendar as their documents describe them. They
 * share nothing with what they test, and keep their own ledgers of what is true and of what they have sent.
 *
 *     node test/mail/simulator/main.ts
 *
 * starts one for each line of its standard input, `{"port": 0, …options as in world.ts}`, and prints
 * `{"url", "ews", "graph", "token", …options}` of it in one line. It ends when its standard input does. Tests start it with
 * test/mail/_util/mail-server.ts, whose calls are these, all JSON:
 *
 *     POST  /admin/mailboxes                {address, name?, zone?, autoAccept?, allowConflicts?, addOrganizerToSubject?,
 *                                           deleteSubject?, removePrivate?}
 *     PATCH /admin/mailboxes/:address       any of these; isAccessible: false refuses impersonation and tokens
 *     POST  /admin/appointments             {rooms, start, end, subject?, organizer?: {name, email}, sensitivity?, shownAs?,
 *                                           answer?, zone?, isWholeDay?, repeat?: {every, interval?, days?, count?, until?}}
 *                                           -> [{room, itemId, uid, isDeclined}]; no organizer: made in the room's calendar
 *     PATCH /admin/appointments/:id         id or UID; {start?, end?, subject?, sensitivity?, shownAs?, answer?, originalStart?,
 *                                           isWholeDay?, repeat?}
 *     POST  /admin/appointments/:id/cancel  {originalStart?}: it stays, cancelled
 *     POST  /admin/appointments/:id/delete  {originalStart?, soft?}: soft goes to the deleted items
 *     POST  /admin/appointments/:id/move    {room}
 *     GET   /admin/ledger/:address          ?from&to -> Truth[] (ledger.ts)
 *     GET   /admin/deliveries               ?subscriptionId&kind&state&face -> Delivery[] (deliveries.ts); DELETE forgets them
 *     GET   /admin/subscriptions            of both faces
 *     POST  /admin/subscriptions/fail       {id}: EWS, a notification of class Error, and it is gone
 *     POST  /admin/subscriptions/remove     {id?}: Graph, gone without a word
 *     POST  /admin/subscriptions/lifecycle  {id?, event}: Graph; subscriptionRemoved removes it too
 *     GET   /admin/google-key               the key of Google's service account
 *     PUT   /admin/faults                   chances from 0 to 1 of busy, unavailable, reset (requests), drop, duplicate, delay,
 *                                           reorder, lostAnswer (notifications), failed (one item of a request); seed,
 *                                           retryAfterSeconds, delayMs
 *     POST  /admin/faults                   {fault, times?, face?, operation?}: the next times for certain; DELETE clears all
 *     POST  /admin/clock/advance            {minutes?, seconds?, ms?}: what is due on the way happens; GET /admin/clock
 *     POST  /admin/quiesce                  {advance?, timeoutMs?} -> {pending}: no delivery is under way; `advance` moves the
 *                                           clock from retry to retry
 *     POST  /admin/restart                  EWS subscriptions and open connections are lost; likewise stop and start
 *     POST  /admin/state-lost               all sync states and delta tokens are unknown from now on
 *     PATCH /admin/options                  as in world.ts
 *     POST  /admin/end                      this mail server ends, and nothing more happens in it
 *
 * Times are `2026-11-20T08:00:00Z`, or by the clock of the appointment's zone without the Z; whole days have dates.
 */
import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import { flushCompileCache } from 'node:module';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { Misunderstood, openAdmin } from './admin.ts';
import { openEws } from './ews.ts';
import { openPush } from './ews-push.ts';
import { openGoogle } from './google.ts';
import { openChannels } from './google-channels.ts';
import { openGraph } from './graph.ts';
import { openSubscriptions } from './graph-subscriptions.ts';
import { type Options, openWorld } from './world.ts';

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

async function start({ port = 0, ...given }: Partial<Options> & { port?: number }) {
  const world = openWorld(given);
  const push = openPush(world);
  const subscriptions = openSubscriptions(world);
  const ews = openEws(world, push);
  const graph = openGraph(world, subscriptions);
  const channels = openChannels(world);
  const google = openGoogle(world, channels);
  /** Those of the faces; the admin's stay. */
  const connections = new Set<ServerResponse>();
  const admin = openAdmin({
    world,
    push,
    subscriptions,
    channels,
    google,
    cutConnections() {
      for (const response of connections) response.socket?.destroy();
    },
  });

  async function serveAdmin(request: IncomingMessage, response: ServerResponse, text: string): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://admin');
    if (pathname === '/admin/end') return end(response);
    const answer = await admin(request.method ?? 'GET', pathname.slice('/admin/'.length), searchParams, text).then(
      (value) => ({ status: 200, value }),
      (error: Error) => ({ status: error instanceof Misunderstood ? 400 : 500, value: { error: error.stack } }),
    );
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.value));
  }

  function end(response: ServerResponse): void {
    world.clock.stop();
    server.close();
    response.on('finish', () => server.closeAllConnections()).end('{}');
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await read(request);
    if (request.url?.startsWith('/admin/')) return await serveAdmin(request, response, text);
    if (world.isDown) return void request.socket.destroy();
    connections.add(response);
    response.on('close', () => connections.delete(response));
    const isEws = /^\/ews\/exchange\.asmx$/i.test(request.url ?? '');
    const isGoogle = /^\/(calendar\/v3|google)\//.test(request.url ?? '');
    await (isEws ? ews : isGoogle ? google.serve : graph)(request, response, text);
  }

  const server = http.createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    // Who asks may go away before it has asked.
    serve(request, response).catch(() => request.socket.destroy());
  });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const addresses = {
    url,
    ews: `${url}/EWS/Exchange.asmx`,
    graph: `${url}/v1.0`,
    google: `${url}/calendar/v3`,
    token: `${url}/${world.options.tenantId}/oauth2/v2.0/token`,
    googleToken: `${url}/google/token`,
  };
  return { ...world.options, ...addresses };
}

// Whoever started it has ended.
const lines = createInterface(process.stdin).on('close', () => process.exit());
for await (const line of lines) {
  process.stdout.write(`${JSON.stringify(await start(JSON.parse(line)))}\n`);
  // For the next process, should this one be killed.
  flushCompileCache();
}
