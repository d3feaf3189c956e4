/** Google Calendar under /calendar/v3, and its token endpoint for service accounts. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { calendar_v3 } from '@googleapis/calendar';
import { jwtVerify } from 'jose';
import type { Channels } from './google-channels.ts';
import { etagOf, idOf, idOfOccurrence, type Own, readStamp, writeEvent, writeSeries } from './google-events.ts';
import { refusal } from './google-replies.ts';
import { answerCall, type Call, type Reply } from './json-calls.ts';
import { type Appointment, isWithin, type Mailbox, type Occurrence, occurrencesOf, reshape } from './mailboxes.ts';
import type { World } from './world.ts';

type GoogleEvent = calendar_v3.Schema$Event;
/** What a client was told: each event's tag by its id. */
type Told = Map<string, string>;
/** `since`: of the mailbox's log. */
type Token = { mailbox: string; generation: number; told: Told; query: string; since: number };
type Page = Token & { rest: GoogleEvent[]; asked: string };

const tokenLifeMs = 3_599_000;
const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
/** What may differ between the requests of one synchronization. */
const free = ['pageToken', 'syncToken', 'timeMin', 'timeMax', 'fields', 'maxResults', 'alt', 'prettyPrint'];

/** Of the occurrences that a series has lost, Google returns those of half a year. */
const mostOfSeriesMs = 183 * 86_400_000;
function withoutFar(ids: readonly string[]): string[] {
  const startOf = (id: string) => (/_\d{8}T\d{6}Z$/.test(id) ? readStamp(id.slice(-16)) : 0);
  const firsts = new Map<string, number>();
  for (const id of ids) {
    const [series, start] = [id.slice(0, -16), startOf(id)];
    firsts.set(series, Math.min(start, firsts.get(series) ?? start));
  }
  return ids.filter((id) => startOf(id) <= firsts.get(id.slice(0, -16))! + mostOfSeriesMs);
}

/** Of all service accounts of this process, as it takes long to make. */
let pair: ReturnType<typeof generateKeyPairSync> | undefined;
const keys = () => (pair ??= generateKeyPairSync('rsa', { modulusLength: 2_048 }));

export function openGoogle(world: World, channels: Channels) {
  const { clock, faults, mailboxes } = world;
  const tokens = new Map<string, number>();
  const syncs = new Map<string, Token>();
  const pages = new Map<string, Page>();
  const owned = new WeakMap<Appointment, Own>();
  /** Ids that were given once, by mailbox: they stay taken. */
  const taken = new Map<string, Map<string, Appointment>>();
  const account = 'rooms@roomgate.iam.gserviceaccount.example';

  function ownOf(appointment: Appointment): Own {
    const own = owned.get(appointment) ?? { id: idOf(appointment.id), properties: {} };
    owned.set(appointment, own);
    return own;
  }

  async function giveToken(call: Call): Promise<Reply> {
    const form = new URLSearchParams(call.body);
    const refuse = (error: string, error_description: string) => ({ status: 400, body: { error, error_description } });
    if (form.get('grant_type') !== grant) return refuse('unsupported_grant_type', 'Invalid grant_type');
    const options = {
      algorithms: ['RS256'],
      issuer: account,
      audience: `${call.origin}${call.path}`,
      maxTokenAge: '1h',
    };
    const proven = await jwtVerify(form.get('assertion') ?? '', keys().publicKey as never, options).catch(
      () => undefined,
    );
    const { exp = 0, iat = 0, scope } = proven?.payload ?? {};
    if (!proven || exp - iat > 3_600) return refuse('invalid_grant', 'Invalid JWT Signature.');
    if (!String(scope).includes('/auth/calendar')) return refuse('invalid_scope', 'Invalid OAuth scope.');
    const token = `ya29.${randomBytes(40).toString('base64url')}`;
    tokens.set(token, clock.now() + tokenLifeMs);
    return { status: 200, body: { access_token: token, expires_in: 3_599, token_type: 'Bearer' } };
  }

  const occurrences = (mailbox: Mailbox) => [...mailbox.items.values()].flatMap(occurrencesOf);
  function write(mailbox: Mailbox, one: Occurrence): GoogleEvent {
    const [{ appointment, originalStart }, own] = [one, ownOf(one.appointment)];
    const isWhole = appointment.repeat !== null && originalStart === null;
    return isWhole ? writeSeries(mailbox, own, appointment) : writeEvent(mailbox, own, one);
  }
  /** An appointment, an occurrence, or a series as a whole. */
  function findEvent(mailbox: Mailbox, id: string): Occurrence | undefined {
    const series = [...mailbox.items.values()].find((item) => item.repeat && ownOf(item).id === id);
    if (series) return { ...series, appointment: series, originalStart: null, isException: false };
    return occurrences(mailbox).find((each) => idOfOccurrence(ownOf(each.appointment), each) === id);
  }
  const isAlive = ({ isCancelled }: Occurrence) => !isCancelled;

  function list(call: Call, mailbox: Mailbox): Reply {
    const { query } = call;
    const invalid = (message: string) => refusal(400, 'badRequest', message);
    const get = (name: string) => query.get(name);
    if (get('singleEvents') !== 'true') return invalid('Only single events are kept here.');
    const most = Math.min(Number(get('maxResults') ?? 250), 2_500);
    const pageToken = get('pageToken');
    const asked = new URLSearchParams([...query].filter(([name]) => name !== 'pageToken')).toString();
    if (pageToken !== null) {
      const page = pages.get(pageToken);
      if (!page || page.asked !== asked || page.mailbox !== mailbox.address) return invalid('Invalid page token');
      return answerPage(mailbox, page, most);
    }
    const shape = new URLSearchParams([...query].filter(([name]) => !free.includes(name)).sort()).toString();
    const syncToken = get('syncToken');
    const all = occurrences(mailbox);
    const tag = (one: Occurrence) => etagOf(one.appointment);
    const told: Told = new Map(
      all.filter(isAlive).map((one) => [idOfOccurrence(ownOf(one.appointment), one), tag(one)]),
    );
    const next = {
      mailbox: mailbox.address,
      generation: world.generation,
      told,
      query: shape,
      asked,
      since: mailbox.log.at(-1)?.number ?? 0,
    };
    if (syncToken === null) {
      const [from, to] = [
        Date.parse(get('timeMin') ?? '1970-01-01T00:00:00Z'),
        Date.parse(get('timeMax') ?? '2200-01-01T00:00:00Z'),
      ];
      if (Number.isNaN(from + to)) return invalid('Bad Request');
      const rest = all
        .filter(isAlive)
        .filter(isWithin(from, to))
        .map((one) => write(mailbox, one));
      return answerPage(mailbox, { ...next, rest }, most);
    }
    if (['timeMin', 'timeMax', 'q', 'orderBy', 'updatedMin', 'iCalUID', 'privateExtendedProperty'].some(get))
      return invalid('Sync token cannot be used with the other parameters.');
    const sync = syncs.get(syncToken);
    if (!sync || sync.generation !== world.generation || sync.mailbox !== mailbox.address)
      return refusal(410, 'fullSyncRequired', 'Sync token is no longer valid, a full sync is required.');
    if (sync.query !== shape) return invalid('The parameters differ from those of the first request.');
    const ended = new Set(mailbox.log.filter(({ number }) => number > sync.since).map(({ id }) => id));
    const given = [...(taken.get(mailbox.address) ?? [])].filter(([, { id }]) => ended.has(id));
    // Also what came and went in between.
    // What has become a series is not gone, though it is not listed itself.
    const series = new Set(
      [...mailbox.items.values()].flatMap((item) => (item.repeat && !item.isCancelled ? ownOf(item).id : [])),
    );
    const isGone = (id: string) => !told.has(id) && !series.has(id);
    const gone = withoutFar([...new Set([...sync.told.keys(), ...given.map(([id]) => id)])].filter(isGone));
    const rest: GoogleEvent[] = [
      // There may be no more of one that is gone than its id.
      ...gone.map((id): GoogleEvent => ({ kind: 'calendar#event', id, status: 'cancelled' })),
      ...all
        .filter(isAlive)
        .filter((one) => sync.told.get(idOfOccurrence(ownOf(one.appointment), one)) !== tag(one))
        .map((one) => write(mailbox, one)),
    ];
    return answerPage(mailbox, { ...next, rest }, most);
  }

  function answerPage(mailbox: Mailbox, { rest, ...token }: Page, most: number): Reply {
    const name = randomBytes(24).toString('base64url');
    const later = rest.slice(most);
    if (later.length > 0) pages.set(name, { ...token, rest: later });
    else syncs.set(name, token);
    const body: calendar_v3.Schema$Events = {
      kind: 'calendar#events',
      etag: `"p${randomBytes(6).toString('hex')}"`,
      summary: mailbox.name,
      timeZone: mailbox.zone,
      accessRole: 'writer',
      updated: new Date(clock.now()).toISOString(),
      items: rest.slice(0, most),
      ...(later.length > 0 ? { nextPageToken: name } : { nextSyncToken: name }),
    };
    return { status: 200, body };
  }

  /** Of what is written: only what an event without attendees needs. */
  function factsOf(wanted: GoogleEvent) {
    const at = (time: calendar_v3.Schema$EventDateTime | undefined) => Date.parse(time?.dateTime ?? '');
    return {
      ...(wanted.start && { start: at(wanted.start) }),
      ...(wanted.end && { end: at(wanted.end) }),
      ...(wanted.summary != null && { subject: wanted.summary }),
      ...(wanted.visibility && {
        sensitivity: wanted.visibility === 'default' ? ('normal' as const) : ('private' as const),
      }),
      ...(wanted.transparency && {
        shownAs: wanted.transparency === 'transparent' ? ('free' as const) : ('busy' as const),
      }),
    };
  }

  function insert(call: Call, mailbox: Mailbox): Reply {
    const wanted = JSON.parse(call.body) as GoogleEvent;
    const { start = Number.NaN, end = Number.NaN, ...facts } = factsOf(wanted);
    if (!(start < end)) return refusal(400, 'timeRangeEmpty', 'The specified time range is empty.');
    if (wanted.id != null && !/^[a-v0-9]{5,1024}$/.test(wanted.id))
      return refusal(400, 'invalid', 'Invalid resource id value.');
    const given = taken.get(mailbox.address) ?? new Map<string, Appointment>();
    if (wanted.id != null && given.has(wanted.id))
      return refusal(409, 'duplicate', 'The requested identifier already exists.');
    const item = mailboxes.invite(mailbox, { start, end, subject: '', ...facts, organizer: null }) as Appointment;
    const own = { id: wanted.id ?? idOf(item.id), properties: { ...wanted.extendedProperties?.private } };
    owned.set(item, own);
    given.set(own.id, item);
    taken.set(mailbox.address, given);
    return { status: 200, body: write(mailbox, occurrencesOf(item)[0]!) };
  }

  /** The answer of the calendar itself; nobody else may change who is invited. @returns undefined when it is done */
  function answer(call: Call, mailbox: Mailbox, found: Occurrence, wanted: GoogleEvent): Reply | undefined {
    const { appointment, originalStart } = found;
    const attendees = wanted.attendees ?? [];
    const others = attendees.filter(({ email }) => email !== mailbox.address);
    const own = attendees.find(({ email }) => email === mailbox.address);
    const isAll = others.some(({ email }) => email === appointment.organizer?.email);
    if (!appointment.organizer || !own || (wanted.attendeesOmitted !== true && !isAll))
      return refusal(403, 'forbiddenForNonOrganizer', 'Shared properties can only be changed by the organizer.');
    if (own.responseStatus !== 'declined') return refusal(400, 'invalid', 'Only declining is kept here.');
    const isSent = ['all', 'externalOnly'].includes(call.query.get('sendUpdates') ?? 'none');
    mailboxes.decline(mailbox, appointment, originalStart, { comment: own.comment ?? '', isSent, keeps: true });
    return undefined;
  }

  function one(call: Call, mailbox: Mailbox, id: string): Reply {
    const found = findEvent(mailbox, id);
    const deleted = found ? undefined : taken.get(mailbox.address)?.get(id);
    if (deleted && call.method === 'DELETE') return refusal(410, 'deleted', 'Resource has been deleted');
    if (deleted && ['PATCH', 'PUT'].includes(call.method)) return refusal(403, 'forbidden', 'Forbidden');
    if (deleted)
      return { status: 200, body: { kind: 'calendar#event', id, status: 'cancelled' } satisfies GoogleEvent };
    if (!found) return refusal(404, 'notFound', 'Not Found');
    const { appointment } = found;
    const match = call.headers['if-match'];
    if (call.method !== 'GET' && match !== undefined && match !== '*' && match !== etagOf(appointment))
      return refusal(412, 'conditionNotMet', 'Precondition Failed');
    if (call.method === 'DELETE') {
      taken.set(mailbox.address, (taken.get(mailbox.address) ?? new Map()).set(ownOf(appointment).id, appointment));
      mailboxes.remove(mailbox, appointment, found.originalStart);
      return { status: 204 };
    }
    if (call.method === 'PUT') {
      // It replaces the whole event: what is not named is gone.
      const wanted = JSON.parse(call.body) as GoogleEvent;
      reshape(appointment, { repeat: null, isWholeDay: false });
      ownOf(appointment).properties = { ...wanted.extendedProperties?.private };
      const unnamed = { subject: '', sensitivity: 'normal', shownAs: 'busy' } as const;
      mailboxes.change(mailbox, appointment, { ...unnamed, ...factsOf(wanted) }, found.originalStart);
    }
    if (call.method === 'PATCH') {
      const wanted = JSON.parse(call.body) as GoogleEvent;
      if (wanted.attendees) {
        const refused = answer(call, mailbox, found, wanted);
        if (refused) return refused;
      } else {
        // Google merges the objects, so what sends no date keeps that of a whole day, which it refuses beside a time.
        if (appointment.isWholeDay && [wanted.start, wanted.end].some((time) => time?.dateTime && time.date !== null))
          return refusal(400, 'invalid', 'Invalid start time.');
        if (wanted.recurrence?.length) return refusal(400, 'invalid', 'No series is made here.');
        reshape(appointment, {
          // An array replaces the one before; what is not named stays.
          ...(wanted.recurrence !== undefined && { repeat: null }),
          ...(wanted.start?.dateTime && { isWholeDay: false }),
        });
        Object.assign(ownOf(appointment).properties, wanted.extendedProperties?.private);
        mailboxes.change(mailbox, appointment, factsOf(wanted), found.originalStart);
      }
    }
    return { status: 200, body: write(mailbox, findEvent(mailbox, id)!) };
  }

  function perform(call: Call): Reply {
    const path = call.path.slice('/calendar/v3'.length);
    if (path === '/channels/stop' && call.method === 'POST') return channels.stop(call.body);
    const [, name, rest = ''] = /^\/calendars\/([^/]+)\/events(\/.*)?$/.exec(path) ?? [];
    const mailbox = name === undefined ? undefined : mailboxes.find(decodeURIComponent(name));
    if (!mailbox?.isAccessible) return refusal(404, 'notFound', 'Not Found');
    if (call.method !== 'GET' && rest !== '/watch' && mailbox.isReadOnly)
      return refusal(403, 'requiredAccessLevel', 'You need to have writer access to this calendar.');
    if (rest === '/watch' && call.method === 'POST') return channels.watch(mailbox, call.body);
    if (rest === '') return call.method === 'POST' ? insert(call, mailbox) : list(call, mailbox);
    return one(call, mailbox, decodeURIComponent(rest.slice(1)));
  }

  async function answerTo(call: Call): Promise<Reply> {
    if (call.path === '/google/token') return await giveToken(call);
    const planned = faults.ofRequest('Google', `${call.method} ${call.path}`);
    if (planned === 'busy') return refusal(403, 'rateLimitExceeded', 'Rate Limit Exceeded');
    if (planned === 'unavailable') return refusal(503, 'backendError', 'Backend Error');
    const token = /^Bearer (.+)$/.exec(call.headers.authorization ?? '')?.[1] ?? '';
    if (!((tokens.get(token) ?? 0) > clock.now())) return refusal(401, 'authError', 'Invalid Credentials');
    try {
      return { ...perform(call), isCut: planned === 'reset' };
    } catch (error) {
      if (error instanceof SyntaxError) return refusal(400, 'parseError', 'Parse Error');
      return refusal(500, 'backendError', String(error));
    }
  }

  return {
    /** The key of the service account, as Google gives it. */
    key: () => ({
      type: 'service_account',
      project_id: 'roomgate',
      client_email: account,
      private_key: keys().privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    }),
    serve: (request: IncomingMessage, response: ServerResponse, body: string): Promise<void> =>
      answerCall(request, response, body, 'application/json; charset=UTF-8', answerTo),
  };
}

export type Google = ReturnType<typeof openGoogle>;
