/** Graph: the calendars of users and their events, whole, by window, and what has changed since a token. */
import { randomBytes } from 'node:crypto';
import type { Event } from '@microsoft/microsoft-graph-types';
import { type Tagged, writeEvent as toEvent, writeStub } from './graph-events.ts';
import { refusal } from './graph-replies.ts';
import { openWrites } from './graph-writes.ts';
import type { Call, Reply } from './json-calls.ts';
import { type Appointment, isWithin, type Mailbox, type Occurrence, occurrencesOf } from './mailboxes.ts';
import type { World } from './world.ts';
import { isZone, zoneOfWindows } from './zones.ts';

type Removed = { '@odata.type': string; id: string; '@removed': { reason: 'deleted' | 'changed' } };
type Entry = (Tagged<Event> & { '@odata.type'?: string }) | Removed;

/** What a client was told: each entry's tag by its id. */
type Told = Map<string, string>;
type Token = { mailbox: string; from: number; to: number; generation: number; zone: string } & (
  | { kind: 'delta'; told: Told; since: number }
  | { kind: 'page'; rest: Entry[]; told: Told; since: number }
);

const tokensKept = 4_000;

export function openCalendars(world: World) {
  const { mailboxes, options, faults } = world;
  const tokens = new Map<string, Token>();
  const writes = openWrites(world);

  function writeEvent(mailbox: Mailbox, item: Appointment, one: Occurrence | null, zone: string): Tagged<Event> {
    const { transactionId = null } = writes.ownOf(item) ?? {};
    return {
      ...toEvent(mailbox, item, one, zone),
      ...(transactionId !== null && options.tellsTransactions && { transactionId }),
    };
  }

  function keep(token: Token): string {
    const name = randomBytes(48).toString('base64url');
    tokens.set(name, token);
    if (tokens.size > tokensKept) tokens.delete(tokens.keys().next().value!);
    return name;
  }

  const preferOf = ({ headers }: Call) => String(headers['prefer'] ?? '');
  const pageSize = (call: Call, most: number) =>
    Math.max(1, Math.min(Number(/odata\.maxpagesize=(\d+)/.exec(preferOf(call))?.[1] ?? most), 1_000));
  function zoneOf(call: Call): string {
    const wanted = /outlook\.timezone="([^"]+)"/.exec(preferOf(call))?.[1] ?? 'UTC';
    return isZone(wanted) ? wanted : (zoneOfWindows(wanted) ?? 'UTC');
  }

  function windowOf({ query }: Call): { from: number; to: number } | undefined {
    const [from, to] = ['startDateTime', 'endDateTime'].map((name) => {
      const text = query.get(name) ?? '';
      // Without an offset it is UTC.
      return Date.parse(/(Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}Z`);
    }) as [number, number];
    return from <= to ? { from, to } : undefined;
  }
  const noWindow = () =>
    refusal(
      400,
      'ErrorInvalidParameter',
      "This request requires a time window specified by the query string parameters 'startDateTime' and 'endDateTime'.",
    );

  /** With `$select` only what it names. */
  function selected(call: Call, event: Tagged<Event>): object {
    const names = call.query
      .get('$select')
      ?.split(',')
      .map((name) => name.trim());
    if (!names) return event;
    const kept = new Set([...names, 'id', '@odata.etag']);
    return Object.fromEntries(Object.entries(event).filter(([name]) => kept.has(name)));
  }

  /** With `$expand` also the extended property that it names. */
  function expanded(call: Call, item: Appointment, event: Tagged<Event>): object {
    const [, id] =
      /^singleValueExtendedProperties\(\$filter=id eq '([^']+)'\)$/i.exec(call.query.get('$expand') ?? '') ?? [];
    const value = id && writes.ownOf(item)?.properties.get(id);
    return { ...selected(call, event), ...(value && { singleValueExtendedProperties: [{ id, value }] }) };
  }

  function paged(call: Call, all: readonly Tagged<Event>[]): Reply {
    const skip = Number(call.query.get('$skip') ?? 0);
    const top = Math.min(Number(call.query.get('$top') ?? 10), 1_000);
    const next = new URLSearchParams(call.query);
    next.set('$skip', String(skip + top));
    return {
      status: 200,
      body: {
        '@odata.context': `${call.origin}/v1.0/$metadata#Collection(event)`,
        value: all.slice(skip, skip + top).map((event) => selected(call, event)),
        ...(all.length > skip + top && { '@odata.nextLink': `${call.origin}${call.path}?${next}` }),
      },
    };
  }

  const masterOf = (mailbox: Mailbox, one: Occurrence, zone: string) =>
    writeEvent(mailbox, one.appointment, one.originalStart === null ? null : one, zone);

  const within = (mailbox: Mailbox, from: number, to: number) =>
    [...mailbox.items.values()]
      .flatMap(occurrencesOf)
      .filter(isWithin(from, to))
      .toSorted((a, b) => a.start - b.start);

  /** All that a delta of the window may list, now. */
  function entriesOf(mailbox: Mailbox, from: number, to: number, zone: string): Tagged<Event>[] {
    const occurrences = within(mailbox, from, to);
    const masters = new Set(occurrences.map(({ appointment }) => appointment).filter(({ repeat }) => repeat));
    return [
      ...(options.deltaMasters ? [...masters].map((item) => writeEvent(mailbox, item, null, zone)) : []),
      ...occurrences.map((one) =>
        one.originalStart === null || one.isException ? masterOf(mailbox, one, zone) : writeStub(one, zone),
      ),
    ];
  }

  /** What is not there any more, of what was told; and ids of what changed outside of the window, which was not. */
  function removalsOf(mailbox: Mailbox, told: Told, present: readonly Tagged<Event>[], since: number): Removed[] {
    const here = new Set(present.map(({ id }) => id));
    const ownersHere = new Set(present.flatMap(({ seriesMasterId }) => seriesMasterId ?? []));
    const remove = (id: string, reason: 'deleted' | 'changed'): Removed => ({
      '@odata.type': '#microsoft.graph.event',
      id,
      '@removed': { reason },
    });
    const gone = [...told].filter(([id]) => !here.has(id));
    const loud = gone.filter(([, tag]) => {
      const owner = tag.split(' ')[1];
      // Its series tells that something has changed.
      return !(owner && ownersHere.has(owner) && faults.roll() < options.silentRemovals);
    });
    const outside = new Set(
      mailbox.log.filter(({ number, id }) => number > since && !here.has(id) && !told.has(id)).map(({ id }) => id),
    );
    return [
      ...loud.map(([id]) => remove(id, 'deleted')),
      ...[...outside]
        .filter((id) => !ownersHere.has(id))
        .map((id) => remove(id, mailbox.items.has(id) ? 'changed' : 'deleted')),
    ];
  }

  const tagOf = (event: Tagged<Event>) => `${event['@odata.etag']} ${event.seriesMasterId ?? ''}`;

  function answerPage(call: Call, mailbox: Mailbox, token: Token & { kind: 'page' }): Reply {
    const size = pageSize(call, 50);
    const { from, to, zone, told, since, generation } = token;
    const rest = token.rest.slice(size);
    const common = { mailbox: mailbox.address, from, to, zone, told, since, generation };
    const base = `${call.origin}/v1.0/users/${encodeURIComponent(mailbox.address)}/calendarView/delta`;
    const link: Record<string, string> =
      rest.length > 0
        ? { '@odata.nextLink': `${base}?$skiptoken=${keep({ ...common, kind: 'page', rest })}` }
        : { '@odata.deltaLink': `${base}?$deltatoken=${keep({ ...common, kind: 'delta' })}` };
    return {
      status: 200,
      body: {
        '@odata.context': `${call.origin}/v1.0/$metadata#Collection(event)`,
        ...link,
        value: token.rest.slice(0, size).map((entry) => ({ '@odata.type': '#microsoft.graph.event', ...entry })),
      },
    };
  }

  function delta(call: Call, mailbox: Mailbox): Reply {
    if (call.query.has('$select') || call.query.has('$filter'))
      return refusal(
        400,
        'ErrorInvalidUrlQuery',
        'The following parameters are not supported with change tracking over the CalendarView resource: $select, $filter.',
      );
    if (call.query.has('$expand'))
      return refusal(500, 'InternalServerError', 'Value cannot be null.\r\nParameter name: type');
    const name = call.query.get('$deltatoken') ?? call.query.get('$skiptoken');
    const token = name === null ? undefined : tokens.get(name);
    if (name !== null && (!token || token.mailbox !== mailbox.address || token.generation !== world.generation))
      return refusal(
        410,
        'SyncStateNotFound',
        'The sync state generation is not found; generation=149;[highest=157][157][155][156].',
      );
    if (token?.kind === 'page') return answerPage(call, mailbox, token);
    const window = token ?? windowOf(call);
    if (!window) return noWindow();
    const { from, to } = window;
    const zone = token?.zone ?? zoneOf(call);
    const present = entriesOf(mailbox, from, to, zone);
    const before: Told = token?.told ?? new Map();
    const changed = present.filter((event) => before.get(event.id!) !== tagOf(event));
    const removed = token ? removalsOf(mailbox, before, present, token.since) : [];
    const told: Told = new Map(present.map((event) => [event.id!, tagOf(event)]));
    const since = mailbox.log.at(-1)?.number ?? 0;
    const { generation } = world;
    return answerPage(call, mailbox, {
      kind: 'page',
      mailbox: mailbox.address,
      from,
      to,
      zone,
      generation,
      told,
      since,
      rest: [...removed, ...changed],
    });
  }

  function view(call: Call, mailbox: Mailbox): Reply {
    const window = windowOf(call);
    if (!window) return noWindow();
    const zone = zoneOf(call);
    return paged(
      call,
      within(mailbox, window.from, window.to).map((one) => masterOf(mailbox, one, zone)),
    );
  }

  const noMethod = () => refusal(405, 'UnsupportedMethod', 'Only some methods are kept here.');

  function events(call: Call, mailbox: Mailbox): Reply {
    const write = (item: Appointment) => writeEvent(mailbox, item, null, zoneOf(call));
    if (call.method === 'POST') {
      const made = writes.create(call, mailbox);
      return 'status' in made ? made : { status: 201, body: write(made) };
    }
    const found = writes.filtered(mailbox, call.query.get('$filter') ?? '');
    if (!found) return refusal(400, 'ErrorInvalidUrlQueryFilter', 'The query filter is not kept here.');
    return { status: 200, body: { value: found.map((item) => expanded(call, item, write(item))) } };
  }

  function event(call: Call, mailbox: Mailbox, id: string, act: string | undefined): Reply {
    const found = mailboxes.item(mailbox, id);
    if (!found) return refusal(404, 'ErrorItemNotFound', 'The specified object was not found in the store.');
    const { appointment, occurrence } = found;
    const zone = zoneOf(call);
    if (act === '/decline')
      return writes.decline(call, mailbox, appointment, occurrence?.originalStart ?? null) ?? { status: 202 };
    if (call.method === 'PATCH' || call.method === 'DELETE') {
      const refused = writes.change(call, mailbox, appointment, occurrence?.originalStart ?? null);
      if (refused || call.method === 'DELETE') return refused ?? { status: 204 };
    } else if (call.method !== 'GET') return noMethod();
    if (act !== '/instances') {
      const event = writeEvent(mailbox, appointment, occurrence, zone);
      return { status: 200, body: expanded(call, appointment, event) };
    }
    const window = windowOf(call);
    if (!window) return noWindow();
    if (!appointment.repeat || occurrence)
      return refusal(400, 'ErrorInvalidRequest', 'Instances are only supported for a series master.');
    const instances = occurrencesOf(appointment).filter(isWithin(window.from, window.to));
    return paged(
      call,
      instances.map((one) => writeEvent(mailbox, appointment, one, zone)),
    );
  }

  /** @returns undefined for what is no such path */
  return function answer(call: Call, mailbox: Mailbox, rest: string): Reply | undefined {
    if (rest === '/events' && (call.method === 'GET' || call.method === 'POST')) return events(call, mailbox);
    if (call.method !== 'GET' && mailbox.isReadOnly)
      return refusal(403, 'ErrorAccessDenied', 'Access is denied. Check credentials and try again.');
    const isDecline = call.method === 'POST' && /^\/events\/[^/]+\/decline$/.test(rest);
    if (call.method !== 'GET' && !isDecline && !/^\/events\/[^/]+$/.test(rest)) return noMethod();
    const path = rest.replace(/^\/(calendar|calendars\/[^/]+)(?=\/)/, '');
    if (rest === '')
      return { status: 200, body: { id: mailbox.userId, mail: mailbox.address, displayName: mailbox.name } };
    if (/^\/(calendar|calendars\/[^/]+)$/.test(rest))
      return {
        status: 200,
        body: {
          id: mailbox.calendarId,
          name: 'Calendar',
          owner: { name: mailbox.name, address: mailbox.address },
        },
      };
    if (/^\/calendarView\/(microsoft\.graph\.)?delta(\(\))?$/i.test(path)) return delta(call, mailbox);
    if (/^\/calendarView$/i.test(path)) return view(call, mailbox);
    const [, id, act] = /^\/events\/([^/]+)(\/instances|\/decline)?$/.exec(path) ?? [];
    return id === undefined ? undefined : event(call, mailbox, decodeURIComponent(id), act);
  };
}
