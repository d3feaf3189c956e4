/**
 * Finds a room's calendar. A Url of the settings with `{mailbox}` or `{user}` names it. Otherwise the server is asked for three
 * things: the principal with the room's address, which is the account's own (RFC 5397) or found by a search (RFC 3744, 9.4); its
 * calendar home (RFC 4791, 6.2.1); and in that home the calendar for invitations (RFC 6638, 9.2), or the only calendar.
 */
import type { MailServerSettings } from '../config.ts';
import { ServerFault } from './connector.ts';
import {
  askResources,
  calDavNamespace,
  canonicalPath,
  type DavResource,
  davNamespace,
  hrefOf,
  propertyOf,
  readResources,
  rootElement,
  sendQuestion,
} from './dav.ts';
import type { AskServer } from './http.ts';
import { childrenOf, escapeXml } from './xml.ts';

const userOf = (mailbox: string) => mailbox.split('@', 1)[0] ?? '';

/** The address of the calendar that the Url names, with its placeholders filled; null for a Url without any. */
export function fillTemplate({ Url }: MailServerSettings, mailbox: string): string | null {
  if (!/\{(mailbox|user)\}/.test(Url)) return null;
  const filled = Url.replaceAll('{mailbox}', encodeURIComponent(mailbox));
  return new URL(filled.replaceAll('{user}', encodeURIComponent(userOf(mailbox)))).href;
}

const principalProperties =
  '<D:prop><D:current-user-principal/><D:principal-collection-set/><C:calendar-home-set/><C:calendar-user-address-set/></D:prop>';

/** Whether a principal has the room's address, regardless of case. */
function hasAddress(resource: DavResource, mailbox: string): boolean {
  const set = propertyOf(resource, calDavNamespace, 'calendar-user-address-set');
  const wanted = `mailto:${mailbox}`.toLowerCase();
  return childrenOf(set, davNamespace, 'href').some(({ text }) => text.trim().toLowerCase() === wanted);
}

type Place = { ask: AskServer; signal: AbortSignal; settings: MailServerSettings; mailbox: string };

const absolute = (path: string, { settings }: Place) => new URL(path, settings.Url).href;

/** Statuses of servers that lack the resource or do not support the method. */
const unable = [400, 404, 405, 415, 501];

/** @returns undefined where the path has no properties of CalDAV */
async function describe(place: Place, path: string): Promise<DavResource | undefined> {
  const address = absolute(path, place);
  const body = rootElement('D:propfind', principalProperties);
  const question = { method: 'PROPFIND', address, depth: 0, body } as const;
  const answer = await sendQuestion(place.ask, question, place.signal, unable);
  return answer.status === 207 ? readResources(answer).resources[0] : undefined;
}

/** Finds the resource that names the account's principal: the Url itself, or the well-known path (RFC 6764). */
async function discoverEntrance(place: Place): Promise<DavResource> {
  const { origin, pathname } = new URL(place.settings.Url);
  for (const path of new Set([pathname, '/.well-known/caldav'])) {
    const entrance = await describe(place, path);
    if (entrance && propertyOf(entrance, davNamespace, 'current-user-principal')) return entrance;
  }
  throw new ServerFault(
    'Unreachable',
    `${origin} does not say where its calendars are; give their Url with {mailbox} or {user} in it.`,
  );
}

const homeOf = (principal: DavResource | undefined, { settings }: Place) =>
  principal && hrefOf(principal, calDavNamespace, 'calendar-home-set', settings.Url);

/** Finds the calendar home of the room. */
async function discoverHome(place: Place): Promise<string> {
  const { settings, mailbox } = place;
  const { origin } = new URL(settings.Url);
  const entrance = await discoverEntrance(place);
  const path = hrefOf(entrance, davNamespace, 'current-user-principal', settings.Url);
  const own = path === undefined ? undefined : await describe(place, path);
  const isOwn = settings.User?.toLowerCase() === mailbox.toLowerCase();
  const ownHome = homeOf(own, place);
  if (own && ownHome !== undefined && (isOwn || hasAddress(own, mailbox))) return ownHome;
  const room = await searchPrincipal(place, entrance, own);
  const home = homeOf(room, place);
  // Cyrus names the home of the asking account for every principal.
  if (home !== undefined && home !== ownHome) return home;
  throw new ServerFault(
    'Unreachable',
    `${origin} ${room ? 'does not say where the calendars are of' : 'does not know the address'} ${mailbox}; ${room ? 'give' : 'is it right? Otherwise give'} the Url with {mailbox} or {user} in it.`,
  );
}

async function searchPrincipal(
  place: Place,
  ...describing: (DavResource | undefined)[]
): Promise<DavResource | undefined> {
  const { settings, mailbox } = place;
  const sets = describing.map((each) => each && hrefOf(each, davNamespace, 'principal-collection-set', settings.Url));
  const collection = sets.find((path) => path !== undefined);
  if (collection === undefined) return undefined;
  // Cyrus compares only the user name.
  for (const match of [`mailto:${mailbox}`, userOf(mailbox)]) {
    const found = await searchBy(place, collection, match);
    const room = found.find((resource) => hasAddress(resource, mailbox));
    // In Cyrus' answer, the other properties are those of the asking account.
    if (room) return describe(place, room.path);
  }
  return undefined;
}

async function searchBy(place: Place, collection: string, match: string): Promise<DavResource[]> {
  const searched = `<D:property-search><D:prop><C:calendar-user-address-set/></D:prop><D:match>${escapeXml(match)}</D:match></D:property-search>`;
  const body = rootElement('D:principal-property-search', `${searched}${principalProperties}`);
  const question = { method: 'REPORT', address: absolute(collection, place), depth: 0, body } as const;
  const answer = await sendQuestion(place.ask, question, place.signal, unable);
  return answer.status === 207 ? readResources(answer).resources : [];
}

const calendarProperties =
  '<D:prop><D:resourcetype/><C:supported-calendar-component-set/><C:schedule-default-calendar-URL/></D:prop>';

function isCalendar(resource: DavResource): boolean {
  const type = propertyOf(resource, davNamespace, 'resourcetype');
  if (childrenOf(type, calDavNamespace, 'calendar').length === 0) return false;
  const kinds = childrenOf(
    propertyOf(resource, calDavNamespace, 'supported-calendar-component-set'),
    calDavNamespace,
    'comp',
  );
  return kinds.length === 0 || kinds.some(({ attributes }) => attributes.get('name')?.toUpperCase() === 'VEVENT');
}

/**
 * Finds the address of the room's calendar.
 * @throws ServerFault that says what to set where there is none, or one of several
 */
export async function discoverCalendar(
  ask: AskServer,
  settings: MailServerSettings,
  mailbox: string,
  signal: AbortSignal,
): Promise<string> {
  const place: Place = { ask, signal, settings, mailbox };
  const home = await discoverHome(place);
  const question = { method: 'PROPFIND', address: absolute(home, place), depth: 1 } as const;
  const { resources } = await askResources(
    ask,
    { ...question, body: rootElement('D:propfind', calendarProperties) },
    signal,
  );
  const calendars = resources.filter(isCalendar);
  const invited = resources
    .map((resource) => hrefOf(resource, calDavNamespace, 'schedule-default-calendar-URL', settings.Url))
    .find((path) => path !== undefined);
  const chosen =
    calendars.find(({ path }) => invited !== undefined && canonicalPath(path) === canonicalPath(invited)) ??
    (calendars.length === 1 ? calendars[0] : undefined);
  if (chosen) return absolute(chosen.path, place);
  const { origin } = new URL(settings.Url);
  throw new ServerFault(
    'Unreachable',
    `${origin} has ${calendars.length === 0 ? 'no calendar' : `${calendars.length} calendars`} of ${mailbox}; give the Url of the right one, with {mailbox} or {user} in it.`,
  );
}
