/** EWS on /EWS/Exchange.asmx. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extendedKey, itemIdOf, readItem, wantedProperties, writeItem } from './ews-items.ts';
import { failure, faultText, Refused, SoapFault, success, version } from './ews-messages.ts';
import type { Push } from './ews-push.ts';
import { findFault } from './ews-schema.ts';
import { type Appointment, changeKeyOf, isWithin, type Mailbox, occurrencesOf } from './mailboxes.ts';
import type { World } from './world.ts';
import { bothSpaces, child, type Element, el, envelope, leaf, parseXml } from './xml.ts';

const findLimit = 1_000;
const twoYearsMs = 2 * 366 * 86_400_000;

type Call = {
  mailbox: Mailbox;
  isImpersonated: boolean;
  request: Element;
  version: string;
  after: (() => unknown)[];
};

export function openEws(world: World, push: Push) {
  const { mailboxes, options } = world;

  /** Whose calendar it is; a delegate sees none. */
  function folderOf({ mailbox }: Call, folder: Element | undefined): Mailbox {
    const named = child(folder, 't:Mailbox', 't:EmailAddress')?.text.toLowerCase();
    const isCalendar =
      folder?.name === 't:DistinguishedFolderId'
        ? folder.attributes['Id'] === 'calendar'
        : folder?.attributes['Id'] === mailbox.calendarId;
    if ((named !== undefined && named !== mailbox.address) || !isCalendar)
      throw new Refused('ErrorFolderNotFound', 'The specified folder could not be found in the store.');
    return mailbox;
  }

  function itemOf({ mailbox }: Call, id: Element | undefined) {
    const found = mailboxes.item(mailbox, id?.attributes['Id'] ?? id?.attributes['OccurrenceId'] ?? '');
    if (!found) throw new Refused('ErrorItemNotFound', 'The specified object was not found in the store.');
    if (id?.name === 't:RecurringMasterItemId') return { ...found, occurrence: null };
    return found;
  }

  async function subscribe(call: Call): Promise<string[]> {
    const wanted = child(call.request, 'm:PushSubscriptionRequest');
    if (!wanted) throw new Refused('ErrorInvalidSubscriptionRequest', 'Only push subscriptions are kept here.');
    if (!call.isImpersonated)
      throw new Refused(
        'ErrorSubscriptionDelegateAccessNotSupported',
        'Subscriptions are not supported for delegate user access.',
      );
    const watermarkSent = child(wanted, 't:Watermark')?.text;
    if (watermarkSent !== undefined && !push.isWatermark(watermarkSent))
      throw new Refused('ErrorInvalidWatermark', 'The watermark is invalid.');
    const folders = child(wanted, 't:FolderIds')?.children ?? [];
    if (folders.length !== 1)
      throw new Refused('ErrorInvalidSubscriptionRequest', 'One calendar is subscribed at a time here.');
    for (const folder of folders) folderOf(call, folder);
    const { subscription, sendFirst } = push.add(call.mailbox, {
      url: child(wanted, 't:URL')!.text.trim(),
      eventTypes: child(wanted, 't:EventTypes')!.children.map(({ text }) => text.trim()),
      statusMinutes: Number(child(wanted, 't:StatusFrequency')!.text),
      version: call.version,
    });
    const { watermark } = subscription;
    if (options.statusBeforeAnswer) await sendFirst();
    else call.after.push(sendFirst);
    return [success('Subscribe', leaf('m:SubscriptionId', subscription.id), leaf('m:Watermark', watermark))];
  }

  function sync(call: Call): string[] {
    const mailbox = folderOf(call, child(call.request, 'm:SyncFolderId')?.children[0]);
    const given = child(call.request, 'm:SyncState')?.text ?? '';
    const parts = Buffer.from(given, 'base64').toString().split('|');
    const isKnown = given === '' || (parts[0] === mailbox.address && parts[1] === String(world.generation));
    if (!isKnown)
      throw new Refused('ErrorInvalidSyncStateData', 'Synchronization state data is corrupt or otherwise invalid.');
    const since = given ? Number(parts[2]) : 0;
    const wanted = wantedProperties(child(call.request, 'm:ItemShape'));
    const most = Number(child(call.request, 'm:MaxChangesReturned')?.text);
    const fresh = mailbox.log.filter(({ number }) => number > since);
    /** Each item once, where it changed last. */
    const last = [...new Map(fresh.map((entry) => [entry.id, entry])).values()].toSorted((a, b) => a.number - b.number);
    const page = last.slice(0, most);
    const born = new Set(fresh.filter(({ what }) => what === 'created').map(({ id }) => id));
    const changes = page.map(({ id, what }) => {
      const appointment = mailbox.items.get(id);
      if (what === 'deleted' || !appointment) return born.has(id) ? '' : el('t:Delete', {}, el('t:ItemId', { Id: id }));
      const item = writeItem({ appointment, occurrence: null, mailbox }, wanted, true);
      return el(born.has(id) ? 't:Create' : 't:Update', {}, item);
    });
    const reached = page.length < last.length ? page.at(-1)!.number : (mailbox.log.at(-1)?.number ?? 0);
    const state = Buffer.from(`${mailbox.address}|${world.generation}|${reached}`).toString('base64');
    return [
      success(
        'SyncFolderItems',
        leaf('m:SyncState', state),
        leaf('m:IncludesLastItemInRange', page.length === last.length),
        el('m:Changes', {}, ...changes),
      ),
    ];
  }

  /** Of restrictions those are kept that ask for the value of an extended property, or for one of several. */
  function passes(appointment: Appointment, restriction: Element | undefined): boolean {
    const [asked] = restriction?.children ?? [];
    if (!asked) return true;
    if (asked.name === 't:Or')
      return asked.children.some((one) => passes(appointment, { ...restriction!, children: [one] }));
    const [uri, wanted] = asked.children;
    if (asked.name !== 't:IsEqualTo' || uri?.name !== 't:ExtendedFieldURI')
      throw new Refused('ErrorUnsupportedQueryFilter', 'This restriction is not kept here.');
    return appointment.extended[extendedKey(uri)] === child(wanted, 't:Constant')?.attributes['Value'];
  }

  function find(call: Call): string[] {
    const mailbox = folderOf(call, child(call.request, 'm:ParentFolderIds')?.children[0]);
    if (child(call.request, 'm:CalendarView') && child(call.request, 'm:Restriction'))
      throw new Refused('ErrorInvalidRequest', 'A CalendarView takes no restriction.');
    const wanted = wantedProperties(child(call.request, 'm:ItemShape'));
    const view = child(call.request, 'm:CalendarView');
    const [from, to] = [view?.attributes['StartDate'], view?.attributes['EndDate']].map((text) =>
      Date.parse(text ?? ''),
    );
    if (view && to! - from! > twoYearsMs)
      throw new Refused(
        'ErrorCalendarViewRangeTooBig',
        'The specified viewing range is too large. The maximum range is two years.',
      );
    const masters = () =>
      [...mailbox.items.values()].map((appointment) => ({ appointment, occurrence: null, mailbox }));
    const all = view
      ? [...mailbox.items.values()]
          .flatMap(occurrencesOf)
          .filter(isWithin(from!, to!))
          .toSorted((a, b) => a.start - b.start)
          .map((occurrence) => ({ appointment: occurrence.appointment, occurrence, mailbox }))
      : masters().filter(({ appointment }) => passes(appointment, child(call.request, 'm:Restriction')));
    const most = Math.min(Number(view?.attributes['MaxEntriesReturned'] ?? findLimit), findLimit);
    const items = all.slice(0, most).map((shape) => writeItem(shape, wanted, true));
    const counts = { TotalItemsInView: all.length, IncludesLastItemInRange: items.length === all.length };
    return [success('FindItem', el('m:RootFolder', counts, el('t:Items', {}, ...items)))];
  }

  const perItem = (operation: string, elements: readonly Element[], act: (one: Element) => string[]) =>
    elements.map((one) => {
      try {
        if (world.faults.hasFailed('Ews', operation))
          throw new Refused('ErrorInternalServerError', 'An internal server error occurred. The operation failed.');
        return success(operation, ...act(one));
      } catch (error) {
        if (error instanceof Refused) return failure(operation, error);
        throw error;
      }
    });

  function getItem(call: Call): string[] {
    const wanted = wantedProperties(child(call.request, 'm:ItemShape'));
    return perItem('GetItem', child(call.request, 'm:ItemIds')!.children, (id) => [
      el('m:Items', {}, writeItem({ ...itemOf(call, id), mailbox: call.mailbox }, wanted, false)),
    ]);
  }

  /** Clients find their way from the root. */
  function rootOf({ mailbox }: Call, id: Element): string | undefined {
    const name = id.attributes['Id'];
    if (id.name !== 't:DistinguishedFolderId' || (name !== 'root' && name !== 'msgfolderroot')) return undefined;
    const folderId = el('t:FolderId', { Id: `${mailbox.calendarId}${name}`, ChangeKey: 'AgAAAA==' });
    return el('t:Folder', {}, folderId, leaf('t:DisplayName', name), leaf('t:TotalCount', 0));
  }

  function getFolder(call: Call): string[] {
    return perItem('GetFolder', child(call.request, 'm:FolderIds')!.children, (id) => {
      const root = rootOf(call, id);
      if (root) return [el('m:Folders', {}, root)];
      const mailbox = folderOf(call, id);
      const folder = el(
        't:CalendarFolder',
        {},
        el('t:FolderId', { Id: mailbox.calendarId, ChangeKey: 'AgAAAA==' }),
        ...[leaf('t:FolderClass', 'IPF.Appointment'), leaf('t:DisplayName', 'Calendar')],
        ...[leaf('t:TotalCount', mailbox.items.size), leaf('t:ChildFolderCount', 0)],
      );
      return [el('m:Folders', {}, folder)];
    });
  }

  /** What is declined is among the deleted items afterwards, as another item. */
  function decline(call: Call, answer: Element): string[] {
    if (!/^(SendOnly|SendAndSaveCopy)$/.test(call.request.attributes['MessageDisposition'] ?? ''))
      throw new Refused('ErrorMessageDispositionRequired', 'MessageDisposition is required for this operation.');
    const reference = child(answer, 't:ReferenceItemId');
    const { appointment, occurrence } = itemOf(call, reference);
    const { ChangeKey } = reference!.attributes;
    if (ChangeKey !== undefined && ChangeKey !== changeKeyOf(appointment.revision))
      throw new Refused('ErrorStaleObject', 'The ChangeKey attribute does not match the current change key.');
    if (appointment.organizer === null)
      throw new Refused('ErrorCalendarIsOrganizerForDecline', 'The organizer cannot decline the meeting.');
    if (appointment.isCancelled)
      throw new Refused('ErrorCalendarIsCancelledForDecline', 'The meeting has been cancelled.');
    const comment = child(answer, 't:Body')?.text ?? '';
    const at = occurrence?.originalStart ?? null;
    mailboxes.decline(call.mailbox, appointment, at, { comment, isSent: true, keeps: false });
    const deleted = { Id: `${call.mailbox.deletedItemsId}${appointment.revision}`, ChangeKey: 'CwAAAA==' };
    return [el('m:Items', {}, el('t:CalendarItem', {}, el('t:ItemId', deleted)))];
  }

  function createItem(call: Call): string[] {
    const folder = child(call.request, 'm:SavedItemFolderId')?.children[0];
    if (folder) folderOf(call, folder);
    return perItem('CreateItem', child(call.request, 'm:Items')!.children, (item) => {
      if (item.name === 't:DeclineItem') return decline(call, item);
      const { start, end, ...others } = readItem(item, call.mailbox);
      if (start === undefined || end === undefined || end < start)
        throw new Refused('ErrorCalendarEndDateIsEarlierThanStartDate', 'The end date is earlier than the start date.');
      const made = mailboxes.invite(call.mailbox, { start, end, ...others });
      return [el('m:Items', {}, el('t:CalendarItem', {}, itemIdOf(made!)))];
    });
  }

  function updateItem(call: Call): string[] {
    return perItem('UpdateItem', child(call.request, 'm:ItemChanges')!.children, (change) => {
      const { appointment, occurrence } = itemOf(call, change.children[0]);
      const { ChangeKey } = change.children[0]!.attributes;
      if (call.request.attributes['ConflictResolution'] === 'NeverOverwrite') {
        if (!ChangeKey)
          throw new Refused(
            'ErrorChangeKeyRequiredForWriteOperations',
            'The ChangeKey attribute is required for this operation.',
          );
        if (ChangeKey !== changeKeyOf(appointment.revision))
          throw new Refused(
            'ErrorIrresolvableConflict',
            'The send or update operation could not be performed because the change key passed in the request does not match the current change key for the item.',
          );
      }
      const said = child(change, 't:Updates')!.children.flatMap((one) => child(one, 't:CalendarItem') ?? []);
      const facts = Object.assign({}, ...said.map((item) => readItem(item, call.mailbox)));
      mailboxes.change(call.mailbox, appointment, facts, occurrence?.originalStart ?? null);
      const item = el('t:CalendarItem', {}, itemIdOf(appointment));
      return [el('m:Items', {}, item), el('m:ConflictResults', {}, leaf('t:Count', 0))];
    });
  }

  function deleteItem(call: Call): string[] {
    const toDeletedItems = call.request.attributes['DeleteType'] === 'MoveToDeletedItems';
    return perItem('DeleteItem', child(call.request, 'm:ItemIds')!.children, (id) => {
      const { appointment, occurrence } = itemOf(call, id);
      mailboxes.remove(call.mailbox, appointment, occurrence?.originalStart ?? null, toDeletedItems);
      return [];
    });
  }

  const operations: Record<string, (call: Call) => string[] | Promise<string[]>> = {
    Subscribe: subscribe,
    SyncFolderItems: sync,
    FindItem: find,
    GetItem: getItem,
    GetFolder: getFolder,
    CreateItem: createItem,
    UpdateItem: updateItem,
    DeleteItem: deleteItem,
    Unsubscribe() {
      throw new Refused('ErrorInvalidSubscription', 'The subscription is not a pull or streaming subscription.');
    },
  };

  function whoseCall(root: Element): Pick<Call, 'mailbox' | 'isImpersonated'> {
    const as = child(root, 's:Header', 't:ExchangeImpersonation', 't:ConnectingSID')?.children[0]?.text.trim();
    const mailbox = mailboxes.find(as ?? options.user);
    if (as !== undefined && !mailbox)
      throw new SoapFault('ErrorNonExistentMailbox', 'No mailbox with such guid.', { SmtpAddress: as });
    if (as !== undefined && !mailbox!.isAccessible)
      throw new SoapFault(
        'ErrorImpersonateUserDenied',
        'The account does not have permission to impersonate the requested user.',
      );
    return { mailbox: mailbox ?? mailboxes.add(options.user), isImpersonated: as !== undefined };
  }

  function throttled(): SoapFault {
    const wait = String(world.faults.retryAfterSeconds() * 1_000);
    return new SoapFault('ErrorServerBusy', 'The server cannot service this request right now. Try again later.', {
      BackOffMilliseconds: wait,
    });
  }

  /** @returns the status and the text */
  async function answerTo(
    text: string,
    after: Call['after'],
  ): Promise<{ status: number; body: string; isCut: boolean }> {
    let root: Element;
    try {
      root = parseXml(text);
    } catch (error) {
      throw new SoapFault('ErrorSchemaValidation', `The request failed schema validation: ${(error as Error).message}`);
    }
    const fault = root.name === 's:Envelope' ? findFault(root) : 'There is no envelope.';
    if (fault) throw new SoapFault('ErrorSchemaValidation', `The request failed schema validation: ${fault}`);
    const request = child(root, 's:Body')!.children[0]!;
    const operation = request.name.slice(2);
    const perform = operations[operation];
    if (!perform) throw new SoapFault('ErrorInvalidOperation', `There is no ${operation} here.`);
    const planned = world.faults.ofRequest('Ews', operation);
    if (planned === 'busy') {
      const told = throttled();
      // Some operations are refused as a whole, others in their message.
      if (world.faults.roll() < 0.5) throw told;
      const body = el(`m:${operation}Response`, bothSpaces, el('m:ResponseMessages', {}, failure(operation, told)));
      return { status: 200, body, isCut: false };
    }
    if (planned === 'unavailable') return { status: 503, body: '', isCut: false };
    const asked = child(root, 's:Header', 't:RequestServerVersion')?.attributes['Version'] ?? 'Exchange2007';
    const call: Call = { ...whoseCall(root), request, version: asked, after };
    let told: string[];
    try {
      if (call.mailbox.isReadOnly && /^(Create|Update|Delete)Item$/.test(operation))
        throw new Refused('ErrorAccessDenied', 'Access is denied. Check credentials and try again.');
      told = await perform(call);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      told = [failure(operation, error)];
    }
    const body = el(`m:${operation}Response`, bothSpaces, el('m:ResponseMessages', {}, ...told));
    return { status: 200, body, isCut: planned === 'reset' };
  }

  const credentials = () => `Basic ${Buffer.from(`${options.user}:${options.password}`).toString('base64')}`;

  return async function serve(request: IncomingMessage, response: ServerResponse, text: string): Promise<void> {
    if (request.headers.authorization !== credentials()) {
      response.writeHead(401, { 'www-authenticate': ['Negotiate', 'NTLM', 'Basic realm="mail"'] }).end();
      return;
    }
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const after: Call['after'] = [];
    const answer = await answerTo(text, after).catch((error: unknown) => {
      const known = error instanceof SoapFault ? error : new SoapFault('ErrorInternalServerError', String(error));
      return { status: 500, body: faultText(known), isCut: false };
    });
    if (answer.isCut) request.socket.destroy();
    else if (answer.status === 503)
      response.writeHead(503, { 'retry-after': String(world.faults.retryAfterSeconds()) }).end();
    else
      response
        .writeHead(answer.status, { 'content-type': 'text/xml; charset=utf-8' })
        .end(envelope('s', version, answer.body));
    for (const act of after) setImmediate(() => void act());
  };
}
