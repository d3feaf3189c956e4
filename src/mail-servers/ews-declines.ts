/** Declines invitations in calendars of Exchange, which then moves the item to Deleted Items. */
import type { DeclineOutcome, Invitation, ItemPlace, RemoteCalendar } from './connector.ts';
import { groupFound } from './ews-items.ts';
import { type CallEws, codeOf, refusalOf } from './ews-soap.ts';
import type { EwsView } from './ews-view.ts';
import { escapeXml } from './xml.ts';

/** Codes that mean that the item has changed or is gone. */
const changed = /^Error(IrresolvableConflict|StaleObject|ChangeKeyRequired.*|ItemNotFound|InvalidChangeKey)$/;

export function openEwsInvitations(call: CallEws, view: EwsView, origin: string) {
  async function decline(
    mailbox: string,
    { id, changeKey }: { id: string; changeKey: string | null },
    comment: string,
    signal: AbortSignal,
  ): Promise<DeclineOutcome> {
    const key = changeKey === null ? '' : ` ChangeKey="${escapeXml(changeKey)}"`;
    const reference = `<t:ReferenceItemId Id="${escapeXml(id)}"${key}/>`;
    const item = `<t:DeclineItem><t:Body BodyType="Text">${escapeXml(comment)}</t:Body>${reference}</t:DeclineItem>`;
    const body = `<m:Items>${item}</m:Items>`;
    const [response] = await call('CreateItem', mailbox, ' MessageDisposition="SendAndSaveCopy"', body, signal);
    const code = codeOf(response!);
    if (code === 'NoError') return { is: 'Done' };
    if (changed.test(code)) return { is: 'Changed' };
    const fault = refusalOf(response!, origin);
    if (fault.fault !== 'Unreadable') throw fault;
    return { is: 'Refused', reason: fault.message };
  }

  return async ({ mailbox }: RemoteCalendar, { id }: ItemPlace, signal: AbortSignal): Promise<Invitation> => {
    const found = await view.getItem(mailbox, id, signal);
    const item = found && groupFound([found])[0]?.items[0];
    if (!item || item.isCancelled) return { is: 'Gone' };
    if (item.response === 'Declined') return { is: 'Declined' };
    if (item.response === 'Organizer')
      return { is: 'Nobody', reason: 'It was created in the calendar of the room itself.' };
    return { is: 'Open', item, decline: (comment, within) => decline(mailbox, found, comment, within) };
  };
}
