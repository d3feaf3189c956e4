/** A mail server that answers with what a test has put into its calendars, in the format of Microsoft Graph. */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { longestIdleMs } from '../../_util/scripted-server.ts';

type Json = Record<string, unknown>;
export type ScriptedEvent = Json & { id: string };
type Stored = { version: number; event: ScriptedEvent | null; occurrences?: ScriptedEvent[] };
/** What is answered instead, once. */
type Trouble = { status: number; headers?: Record<string, string>; body?: Json };

const hour = 3_600_000;

/** An hour from `start` on, that the room has accepted. */
export const eventAt = (id: string, start: Date | number, more: Json = {}): ScriptedEvent => {
  const from = new Date(start);
  const hours = typeof more['hours'] === 'number' ? more['hours'] : 1;
  const moment = (at: Date) => ({ dateTime: at.toISOString().replace('Z', '0000'), timeZone: 'UTC' });
  const { hours: _hours, ...others } = more;
  return {
    id,
    type: 'singleInstance',
    iCalUId: `uid-${id}`,
    subject: `Subject of ${id}`,
    start: moment(from),
    end: moment(new Date(from.getTime() + hours * hour)),
    isAllDay: false,
    sensitivity: 'normal',
    showAs: 'busy',
    isCancelled: false,
    responseStatus: { response: 'accepted' },
    organizer: { emailAddress: { name: 'Vera Kunz', address: 'vera@outside.example' } },
    ...others,
  };
};

export async function startScriptedGraph() {
  const calendars = new Map<string, Map<string, Stored>>();
  const troubles: (Trouble | undefined)[] = [];
  const log: string[] = [];
  const marks = new Map<string, Record<string, string>>();
  let version = 1;
  let oldest = 0;
  let barrier: { reached: () => void; opened: Promise<void> } | undefined;
  let url = '';

  const calendarOf = (mailbox: string) => {
    const found = calendars.get(mailbox) ?? new Map<string, Stored>();
    calendars.set(mailbox, found);
    return found;
  };

  /** Pages of a delta are as large as they are asked for. */
  function answer(path: string, query: URLSearchParams, most: number): [number, Json] {
    if (path === '/token') return [200, { access_token: 'token', token_type: 'Bearer', expires_in: 3_600 }];
    // It has no subscriptions to give.
    if (!path.startsWith('/v1.0/users/')) return [403, { error: { code: 'ErrorAccessDenied', message: '' } }];
    const [, mailbox = '', what = ''] = /^\/v1\.0\/users\/([^/]+)\/(.*)$/.exec(path) ?? [];
    const calendar = calendarOf(decodeURIComponent(mailbox));
    const [, master] = /^events\/([^/]+)\/instances$/.exec(what) ?? [];
    if (master !== undefined) {
      const occurrences = calendar.get(decodeURIComponent(master))?.occurrences;
      return occurrences ? [200, { value: occurrences }] : [404, { error: { code: 'ErrorItemNotFound', message: '' } }];
    }
    if (what === 'calendarView')
      return [200, { value: [...calendar.values()].flatMap(({ event, occurrences }) => occurrences ?? event ?? []) }];
    const since = Number(query.get('$deltatoken') ?? 0);
    if (since > 0 && since < oldest) return [410, { error: { code: 'SyncStateNotFound', message: 'gone' } }];
    // What comes while pages are read is told with the next delta, but for what goes: its place stays.
    const told = Number(query.get('$at') ?? version);
    const value = [...calendar].flatMap(([id, { version: changed, event, occurrences }]): Json[] => {
      if (changed <= since) return [];
      if (event) return [occurrences ? { id, type: 'seriesMaster' } : event];
      return since === 0 && changed <= told ? [] : [{ id, '@removed': { reason: 'deleted' } }];
    });
    const link = (to: string) => `${url}/v1.0/users/${mailbox}/calendarView/delta?${to}`;
    const from = Number(query.get('$skip') ?? 0);
    const until = from + most;
    const isLast = until >= value.length;
    const next = `$deltatoken=${since}&$skip=${until}&$at=${told}`;
    return [
      200,
      {
        value: value.slice(from, until),
        ...(isLast ? { '@odata.deltaLink': link(`$deltatoken=${told}`) } : { '@odata.nextLink': link(next) }),
      },
    ];
  }

  const server = http.createServer({ keepAliveTimeout: longestIdleMs }, async (request, response) => {
    request.resume();
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    const isOther = !pathname.startsWith('/v1.0/users/');
    if (!isOther) log.push(`${request.method} ${pathname}${searchParams.has('$deltatoken') ? '?since' : ''}`);
    const trouble = isOther ? undefined : troubles.shift();
    const [status, body] = trouble
      ? [trouble.status, trouble.body ?? {}]
      : answer(pathname, searchParams, Number(/maxpagesize=(\d+)/.exec(`${request.headers.prefer}`)?.[1] ?? 100));
    const text = JSON.stringify(body);
    if (barrier && !isOther) {
      const { reached, opened } = barrier;
      barrier = undefined;
      reached();
      await opened;
    }
    const mailbox = decodeURIComponent(/users\/([^/]+)/.exec(pathname)?.[1] ?? '');
    const headers = { 'content-type': 'application/json', ...marks.get(mailbox), ...trouble?.headers };
    response.writeHead(status, headers).end(text);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    url,
    /** The requests for calendars so far. */
    log,
    /** As the environment has them. */
    settingsOf: (mandator: string): Record<string, string> =>
      Object.fromEntries(
        Object.entries({
          Kind: 'Graph',
          Url: `${url}/v1.0`,
          TokenUrl: `${url}/token`,
          ClientId: 'roomgate',
          ClientSecret: 'secret',
        }).map(([name, value]) => [`MailServer__${mandator}__${name}`, value]),
      ),
    put(mailbox: string, ...events: ScriptedEvent[]) {
      for (const event of events) calendarOf(mailbox).set(event.id, { version: ++version, event });
    },
    putSeries(mailbox: string, id: string, occurrences: ScriptedEvent[]) {
      const own = occurrences.map((one) => ({ ...one, type: 'occurrence', seriesMasterId: id }));
      calendarOf(mailbox).set(id, { version: ++version, event: { id }, occurrences: own });
    },
    remove(mailbox: string, ...ids: string[]) {
      for (const id of ids) calendarOf(mailbox).set(id, { version: ++version, event: null });
    },
    /** All cursors that were given are unknown from now on. */
    forgetCursors() {
      oldest = ++version;
    },
    /** Everything is gone without a trace. */
    empty(mailbox: string) {
      calendars.delete(mailbox);
    },
    /** Headers of all answers about a calendar. */
    mark: (mailbox: string, headers: Record<string, string>) => void marks.set(mailbox, headers),
    /** Undefined: none for this one. */
    trouble: (...some: (Trouble | undefined)[]) => void troubles.push(...some),
    /** The next request is answered, as things were when it came, only when `open` is called. */
    hold() {
      const reached = Promise.withResolvers<void>();
      const opened = Promise.withResolvers<void>();
      barrier = { reached: reached.resolve, opened: opened.promise };
      return { reached: reached.promise, open: opened.resolve };
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export type ScriptedGraph = Awaited<ReturnType<typeof startScriptedGraph>>;
