/**
 * Exchange Web Services: Exchange Server on the premises. Its account signs in with Basic over TLS or with tokens; NTLM is not
 * spoken.
 */
import type { MailServerSettings } from '../../config.ts';
import type { Log } from '../../log.ts';
import { escapeXml, textOf } from '../xml.ts';
import { type CalendarChanges, type Connector, ServerFault } from './connector.ts';
import { groupFound } from './ews-items.ts';
import { messages, openEwsCalls, refuseError } from './ews-soap.ts';
import { calendarFolder, openEwsView } from './ews-view.ts';
import { openHttp } from './http.ts';

const events = ['CreatedEvent', 'DeletedEvent', 'ModifiedEvent', 'MovedEvent'];
/** Readings of all items until nothing changes meanwhile: what is moved during one may be missed by it. */
const mostViews = 3;

export function openEws(settings: MailServerSettings, log: Log): Connector {
  const { origin } = new URL(settings.Url);
  const call = openEwsCalls(settings, openHttp(settings, log));
  const view = openEwsView(call, origin);

  const subscriptions: Connector['subscriptions'] = {
    heartbeat: true,
    async subscribe({ mailbox }, { callback, heartbeatMinutes }, signal) {
      const wanted = events.map((event) => `<t:EventType>${event}</t:EventType>`).join('');
      const body = `<m:PushSubscriptionRequest><t:FolderIds>${calendarFolder(mailbox)}</t:FolderIds><t:EventTypes>${wanted}</t:EventTypes><t:StatusFrequency>${heartbeatMinutes}</t:StatusFrequency><t:URL>${escapeXml(callback)}</t:URL></m:PushSubscriptionRequest>`;
      const [response] = await call('Subscribe', mailbox, '', body, signal);
      refuseError(response!, origin);
      const externalId = textOf(response, messages, 'SubscriptionId');
      if (!externalId || externalId.length > 1_000)
        throw new ServerFault('Unreadable', `${origin} answers Subscribe without a SubscriptionId.`);
      const watermark = textOf(response, messages, 'Watermark') || null;
      return { externalId, expiresAt: null, watermark };
    },
    renew: null,
    probe: null,
    list: null,
    end: null,
  };

  return {
    kind: 'Ews',
    subscriptions,
    async read({ mailbox, address }, cursor, window, signal): Promise<CalendarChanges> {
      const first = await view.sync(mailbox, readCursor(cursor), signal);
      let { state } = first;
      if (!first.hasChanged)
        return { whole: false, groups: [], removed: [], cursor: writeCursor(state), address };
      for (let views = 1; ; views += 1) {
        const found = await view.find(mailbox, window, signal);
        const next = await view.sync(mailbox, state, signal);
        if (next.hasChanged && views < mostViews) {
          state = next.state;
          continue;
        }
        // What has changed once more is found by the next reading.
        const reached = next.hasChanged ? state : next.state;
        return { whole: true, groups: groupFound(found), removed: [], cursor: writeCursor(reached), address };
      }
    },
  };
}

const writeCursor = (syncState: string) => JSON.stringify({ syncState });

/** @throws ServerFault StateLost for what is no cursor of ours */
function readCursor(cursor: string | null): string | null {
  if (cursor === null) return null;
  try {
    const { syncState } = JSON.parse(cursor) as { syncState?: unknown };
    if (typeof syncState === 'string' && syncState !== '') return syncState;
  } catch {
    // It is none.
  }
  throw new ServerFault('StateLost', 'The cursor is not one of Exchange.');
}
