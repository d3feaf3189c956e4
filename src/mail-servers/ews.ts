/**
 * Exchange Web Services, for Exchange Server on premises. The account signs in with Basic authentication over TLS or with
 * tokens; NTLM is not supported.
 */
import { z } from 'zod';
import type { MailServerSettings } from '../config.ts';
import type { Log } from '../log.ts';
import { type Connector, ServerFault } from './connector.ts';
import { openEwsChanges } from './ews-changes.ts';
import { openEwsInvitations } from './ews-declines.ts';
import { groupFound } from './ews-items.ts';
import { messages, openEwsCalls, refuseError } from './ews-soap.ts';
import { calendarFolder, openEwsView } from './ews-view.ts';
import { openEwsWrites } from './ews-writes.ts';
import { openHttp } from './http.ts';
import { readPlace } from './places.ts';
import { firstSlice, slicePlace } from './slices.ts';
import { escapeXml, textOf } from './xml.ts';

const events = ['CreatedEvent', 'DeletedEvent', 'ModifiedEvent', 'MovedEvent'];
/** The most views of all items. A view is repeated if items changed meanwhile, as it may miss an item that moves. */
const mostViews = 3;
/** The most calls of SyncFolderItems in a row. */
const mostRounds = 1_000;

export function openEws(settings: MailServerSettings, log: Log): Connector {
  const { origin } = new URL(settings.Url);
  const call = openEwsCalls(settings, openHttp(settings, log));
  const view = openEwsView(call, origin);
  const takeChanges = openEwsChanges(view);

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
    writes: openEwsWrites(call, view, origin),
    invitation: openEwsInvitations(call, view, origin),
    subscriptions,
    async *pages({ mailbox, address }, { cursor, continuation, known }, window, signal) {
      const none = { groups: [], removed: [], address };
      let place = readPlace(ewsPlace, continuation) ?? beginAt(readPlace(ewsCursor, cursor)?.syncState ?? null);
      const goesOn = () => ({ whole: true, isLast: false, cursor: JSON.stringify(place) });
      for (;;) {
        if (place.slice) {
          for await (const { items, next } of view.find(mailbox, window, place.slice, signal)) {
            place = { ...place, slice: next };
            yield { ...none, ...goesOn(), groups: groupFound(items), isSlice: true };
          }
        }
        const { state, isLast, changes } = await view.sync(mailbox, place.state, signal);
        if (place.rounds === mostRounds)
          throw new ServerFault('Unreadable', `${origin} reports changes without an end.`);
        const isView = place.views > 0;
        const taken = place.hasChanged ? null : await takeChanges(mailbox, changes, { known, isView }, signal);
        place = { ...place, state, rounds: place.rounds + 1, hasChanged: taken === null };
        if (isLast && (!place.hasChanged || place.views === mostViews)) {
          // The next reading finds what has changed since the last view began.
          const reached = place.hasChanged ? (place.viewed as string) : state;
          yield { ...none, ...taken, whole: isView, isLast: true, cursor: writeCursor(reached) };
          return;
        }
        if (isLast) {
          const slice = firstSlice(window);
          place = { viewed: state, state, rounds: 0, hasChanged: false, views: place.views + 1, slice };
        }
        yield { ...none, ...taken, ...goesOn(), restarts: isLast };
      }
    },
  };
}

/** The progress of a reading: it asks for changes; if these are not enough, it views all items and asks again. */
const ewsPlace = z.strictObject({
  /** The state before the last view, which may have missed later changes. */
  viewed: z.string().nullable(),
  /** The state up to which changes are known, the rounds since the last view, and whether these require another view. */
  state: z.string().nullable(),
  rounds: z.int(),
  hasChanged: z.boolean(),
  views: z.int(),
  /** Where the view under way continues; null without one. */
  slice: slicePlace.nullable(),
});
type EwsPlace = z.infer<typeof ewsPlace>;

/** Without a state, all items are viewed. */
const beginAt = (state: string | null): EwsPlace => ({
  viewed: null,
  state,
  rounds: 0,
  hasChanged: state === null,
  views: 0,
  slice: null,
});

const ewsCursor = z.object({ syncState: z.string().min(1) });
const writeCursor = (syncState: string) => JSON.stringify({ syncState });
