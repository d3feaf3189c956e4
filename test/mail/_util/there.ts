/** The mail server's side of calendars that are written from here: their content, and what people do to it. */
import type { calendar_v3 } from '@googleapis/calendar';
import type { Event } from '@microsoft/microsoft-graph-types';
import { startCalDavServer } from './caldav-server.ts';
import { openGoogleClient } from './google-client.ts';
import { openGraphClient } from './graph-client.ts';
import { startMailServer } from './mail-server.ts';

export type Standing = {
  id: string;
  /** `booking-<id>…@<tenant>` of one that was written from here, or a copy of it; null of another. */
  mark: string | null;
  start: Date;
  end: Date;
  subject: string;
  isPrivate: boolean;
  isBusy: boolean;
};
export type Facts = Pick<Standing, 'start' | 'end' | 'subject' | 'isPrivate' | 'isBusy'>;

export type There = {
  url: string;
  /** @param url how the mail server is reached */
  settings(url: string): Record<string, string>;
  /** The answer of a server that asks for fewer requests. */
  busy: { status: number; headers?: Record<string, string>; body?: string };
  list(room: string): Promise<Standing[]>;
  add(room: string, facts: Facts): Promise<unknown>;
  /** Somebody's program copies it with all its properties; null where no two have one UID (CalDAV), or one transaction (Graph). */
  copy: null | ((room: string, one: Standing) => Promise<unknown>);
  change(room: string, one: Standing, facts: Facts): Promise<unknown>;
  remove(room: string, one: Standing): Promise<unknown>;
  /** Sync tokens are unknown from now on. */
  loseState(): unknown;
  stop(): Promise<void>;
};

const ours = /^booking-/;
/** Of what is written from here, in Exchange. */
const markKey = '3aa6b3e6-2c18-457d-ab1a-a802c77a44a9 roomgate';
const member = (name: string) => `MailServer__school__${name}`;

export async function startCalDavThere(): Promise<There> {
  const server = await startCalDavServer();
  const { url } = server;
  let added = 0;
  const write = (path: string, uid: string, { isBusy, subject, ...times }: Facts) =>
    server.write(path, { uid, summary: subject, ...times }, ...(isBusy ? [] : ['TRANSP:TRANSPARENT']));
  return {
    url,
    settings: (at) => ({ ...server.settingsOf('school'), [member('Url')]: `${at}/cal/{user}/` }),
    busy: { status: 429 },
    async list(room) {
      return server.list(room).map(({ path, uid, start, end, summary, isPrivate, isFree }) => ({
        id: path,
        mark: ours.test(uid) ? uid : null,
        start,
        end,
        subject: summary,
        isPrivate,
        isBusy: !isFree,
      }));
    },
    async add(room, facts) {
      const uid = `theirs-${++added}`;
      write(server.pathOf(room, uid), uid, facts);
    },
    copy: null,
    async change(room, { id }, facts) {
      write(id, server.list(room).find(({ path }) => path === id)!.uid, facts);
    },
    remove: async (_, { id }) => server.remove(id),
    loseState: server.loseState,
    stop: server.stop,
  };
}

export async function startGoogleThere(rooms: readonly string[]): Promise<There> {
  const server = await startMailServer();
  const { events } = await openGoogleClient(server);
  const key = JSON.stringify(await server.googleKey());
  for (const room of rooms) await server.addRoom(`${room}@rooms.test`, { allowConflicts: true });
  const calendarId = (room: string) => `${room}@rooms.test`;
  const bodyOf = ({ start, end, subject, isPrivate, isBusy }: Facts): calendar_v3.Schema$Event => ({
    start: { dateTime: start.toISOString() },
    end: { dateTime: end.toISOString() },
    summary: subject,
    visibility: isPrivate ? 'private' : 'default',
    transparency: isBusy ? 'opaque' : 'transparent',
  });
  const insert = (room: string, requestBody: calendar_v3.Schema$Event) =>
    events.insert({ calendarId: calendarId(room), requestBody });
  return {
    url: server.url,
    settings: (at) => ({
      [member('Kind')]: 'Google',
      [member('Url')]: `${at}/calendar/v3`,
      [member('TokenUrl')]: server.googleToken,
      [member('ServiceAccountKey')]: key,
    }),
    busy: {
      status: 403,
      body: JSON.stringify({ error: { code: 403, message: 'Slower', errors: [{ reason: 'rateLimitExceeded' }] } }),
    },
    async list(room) {
      const { data } = await events.list({ calendarId: calendarId(room), singleEvents: true, maxResults: 2_500 });
      return (data.items ?? []).map((one) => ({
        id: one.id!,
        mark: one.extendedProperties?.private?.['rg'] ?? null,
        subject: one.summary ?? '',
        start: new Date(one.start!.dateTime!),
        end: new Date(one.end!.dateTime!),
        isPrivate: one.visibility === 'private',
        isBusy: one.transparency !== 'transparent',
      }));
    },
    add: (room, facts) => insert(room, bodyOf(facts)),
    copy: (room, one) => insert(room, { ...bodyOf(one), extendedProperties: { private: { rg: one.mark! } } }),
    change: (room, { id }, facts) =>
      events.patch({ calendarId: calendarId(room), eventId: id, requestBody: bodyOf(facts) }),
    remove: (room, { id }) => events.delete({ calendarId: calendarId(room), eventId: id }),
    loseState: server.loseState,
    stop: server.stop,
  };
}

export async function startGraphThere(rooms: readonly string[]): Promise<There> {
  const server = await startMailServer();
  const client = await openGraphClient(server);
  for (const room of rooms) await server.addRoom(`${room}@rooms.test`, { allowConflicts: true });
  const from = new Date(Date.now() - 86_400_000).toISOString();
  const until = new Date(Date.now() + 60 * 86_400_000).toISOString();
  const api = (room: string, rest: string) => client.api(`/users/${room}@rooms.test/${rest}`);
  const place = (room: string, { id }: Standing) => api(room, `events/${encodeURIComponent(id)}`);
  const moment = (at: Date) => ({ dateTime: at.toISOString().slice(0, 19), timeZone: 'UTC' });
  const instant = (told: Event['start']) => new Date(`${told!.dateTime!.slice(0, 19)}Z`);
  const bodyOf = ({ start, end, subject, isPrivate, isBusy }: Facts): Event => ({
    start: moment(start),
    end: moment(end),
    subject,
    sensitivity: isPrivate ? 'private' : 'normal',
    showAs: isBusy ? 'busy' : 'free',
  });
  return {
    url: server.url,
    settings: (at) =>
      Object.fromEntries(
        Object.entries({
          Kind: 'Graph',
          Url: `${at}/v1.0`,
          TokenUrl: server.token,
          ClientId: server.clientId,
          ClientSecret: server.clientSecret,
        }).map(([name, value]) => [member(name), value]),
      ),
    busy: { status: 429, headers: { 'retry-after': '1' } },
    async list(room) {
      const view = api(room, 'calendarView').query({ startDateTime: from, endDateTime: until }).top(1_000);
      const { value } = (await view.get()) as { value: Event[] };
      return value.map((one) => ({
        id: one.id!,
        mark: one.transactionId ?? null,
        subject: one.subject ?? '',
        start: instant(one.start),
        end: instant(one.end),
        isPrivate: one.sensitivity === 'private',
        isBusy: one.showAs !== 'free',
      }));
    },
    add: (room, facts) => api(room, 'events').post(bodyOf(facts)),
    copy: null,
    change: (room, one, facts) => place(room, one).patch(bodyOf(facts)),
    remove: (room, one) => place(room, one).delete(),
    loseState: server.loseState,
    stop: server.stop,
  };
}

export async function startExchangeThere(rooms: readonly string[]): Promise<There> {
  const server = await startMailServer();
  const mailboxOf = (room: string) => `${room}@rooms.test`;
  for (const room of rooms) await server.addRoom(mailboxOf(room), { allowConflicts: true });
  const written = ({ start, end, subject, isPrivate, isBusy }: Facts) => ({
    start: start.toISOString(),
    end: end.toISOString(),
    subject,
    sensitivity: isPrivate ? ('private' as const) : ('normal' as const),
    shownAs: isBusy ? ('busy' as const) : ('free' as const),
  });
  return {
    url: server.url,
    settings: (at) => ({
      [member('Kind')]: 'Ews',
      [member('Url')]: `${at}/EWS/Exchange.asmx`,
      [member('User')]: server.user,
      [member('Password')]: server.password,
    }),
    busy: { status: 503, headers: { 'retry-after': '1' } },
    async list(room) {
      return (await server.truth(mailboxOf(room))).map((one) => ({
        id: one.itemId,
        mark: Object.values(one.extended)[0] ?? null,
        subject: one.subject,
        start: new Date(one.start),
        end: new Date(one.end),
        isPrivate: one.sensitivity === 'private',
        isBusy: one.shownAs === 'busy',
      }));
    },
    add: (room, facts) => server.appoint(mailboxOf(room), { ...written(facts), organizer: null }),
    copy: (room, { mark, ...facts }) =>
      server.appoint(mailboxOf(room), { ...written(facts), organizer: null, extended: { [markKey]: mark! } }),
    change: (_, { id }, facts) => server.change(id, written(facts)),
    remove: (_, { id }) => server.remove(id),
    loseState: server.loseState,
    stop: server.stop,
  };
}
