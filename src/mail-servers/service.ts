/**
 * Mail servers and their protocols. This room uses neither the database nor other rooms.
 *
 * Terms: a **connector** is the client of one mail server, with the account of its settings. A **page** is a part of a reading
 * that may be stored; a **group** is an appointment or a series with all its occurrences in the window that is read; a **cursor**
 * says from where on the next reading asks for changes.
 *
 * Invariants:
 * - Requests go only to the origin of the settings, within bounds of time and size.
 * - Every failure is a `ServerFault`, whose text holds no secrets.
 * - The contents of requests and answers are never logged.
 */
import type { Config, MailServerSettings } from '../config.ts';
import type { Log } from '../log.ts';
import { openCalDav } from './caldav.ts';
import type { Connector } from './connector.ts';
import { givingUpCursors } from './cursors.ts';
import { openEws } from './ews.ts';
import { openGoogle } from './google.ts';
import { openGraph } from './graph.ts';
import { openPublished } from './published.ts';

export {
  type CalendarChanges,
  type CalendarPage,
  type Connector,
  type Fault,
  faults,
  type GrantedSubscription,
  hasAnswered,
  type Invitation,
  type KnownItem,
  type KnownItems,
  type ReadingWindow,
  type RemoteGroup,
  type RemoteItem,
  ServerFault,
  type ServerKind,
  serverKinds,
  type Write,
  type WriteOutcome,
  type WrittenItem,
} from './connector.ts';
export { ewsNamespaces } from './ews-soap.ts';
export { mayConcernLookup, mayConcernOneItem } from './failed-writes.ts';
export { withoutId } from './groups.ts';
export { checkItemCount, mergePages, withoutVoid } from './pages.ts';
export { boundId, cutText, organizerOf } from './values.ts';
export { childOf, childrenOf, readXml, textOf, type XmlElement, XmlFault } from './xml.ts';

const openers = { Ews: openEws, Graph: openGraph, CalDav: openCalDav, Google: openGoogle, ICalendar: openPublished };

/** Opens connectors. The same settings always get the same connector, as it caches a token. Sends no request yet. */
export function openConnectors({ log }: { log: Log }): (settings: MailServerSettings) => Connector {
  const opened = new Map<MailServerSettings, Connector>();
  return (settings) => {
    const known = opened.get(settings);
    if (known) return known;
    const connector = openers[settings.Kind](settings, log);
    const careful = { ...connector, pages: givingUpCursors(connector.pages) };
    opened.set(settings, careful);
    return careful;
  };
}

/** The part of the settings that defines which calendars there are, and where. */
export const calendarSettings = ({ MailServer }: Config) =>
  Object.entries(MailServer)
    .map(([mandator, { Kind, Url, Calendars }]) => [mandator, Kind, Url, Calendars] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1));
