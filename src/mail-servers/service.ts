/**
 * Mail servers and the protocols that they speak: no database, and no other room.
 *
 * Terms: a **connector** is the way to one mail server as the account of its settings. A **page** is a part of a reading that
 * may be kept; a **group** is an appointment or a series with all its occurrences in the window that is read; a **cursor** tells
 * from where on the server is asked for changes the next time.
 *
 * Invariants:
 * - A mail server is asked at the origin of its settings alone, within bounds of time and size.
 * - Whatever goes wrong there is a `ServerFault`, whose text holds no secrets.
 * - Nothing that was asked or answered is logged.
 */
import type { Config, MailServerSettings } from '../config.ts';
import type { Log } from '../log.ts';
import { openCalDav } from './caldav.ts';
import type { Connector } from './connector.ts';
import { givingUpCursors } from './cursors.ts';
import { openEws } from './ews.ts';
import { openGraph } from './graph.ts';

export {
  type CalendarChanges,
  type CalendarPage,
  type Connector,
  type Fault,
  faults,
  type GrantedSubscription,
  hasAnswered,
  type ReadingWindow,
  type RemoteGroup,
  type RemoteItem,
  ServerFault,
  type ServerKind,
  serverKinds,
} from './connector.ts';
export { mergePages, withoutVoid } from './pages.ts';
export { boundId, cutText } from './values.ts';
export { childOf, childrenOf, readXml, textOf, type XmlElement, XmlFault } from './xml.ts';

const openers = { Ews: openEws, Graph: openGraph, CalDav: openCalDav };

/** The ways to mail servers, of the same settings always the same one, as it keeps a token. Nothing is asked of it yet. */
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

/** What of the settings decides which calendars there are, and where. */
export const calendarSettings = ({ MailServer }: Config) =>
  Object.entries(MailServer)
    .map(([mandator, { Kind, Url, Calendars }]) => [mandator, Kind, Url, Calendars] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1));
