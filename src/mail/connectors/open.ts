import type { MailServerSettings } from '../../config.ts';
import type { Log } from '../../log.ts';
import { openCalDav } from './caldav.ts';
import type { Connector } from './connector.ts';
import { givingUpCursors } from './cursors.ts';
import { openEws } from './ews.ts';
import { openGraph } from './graph.ts';

const openers = { Ews: openEws, Graph: openGraph, CalDav: openCalDav };
const opened = new WeakMap<MailServerSettings, Connector>();

/** The way to the mail server of these settings, always the same one, as it keeps a token. Nothing is asked of it yet. */
export function openConnector(settings: MailServerSettings, log: Log): Connector {
  const known = opened.get(settings);
  if (known) return known;
  const connector = openers[settings.Kind](settings, log);
  const careful = { ...connector, pages: givingUpCursors(connector.pages) };
  opened.set(settings, careful);
  return careful;
}
