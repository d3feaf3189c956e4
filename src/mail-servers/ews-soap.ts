/** Calls operations of Exchange Web Services: SOAP 1.1 over POST, impersonating the room that owns the calendar. */

import type { MailServerSettings } from '../config.ts';
import { minute } from '../time/durations.ts';
import { ServerFault } from './connector.ts';
import { faultOf, quote, restUntil, ServerFailed } from './faults.ts';
import { type AskServer, readDeadlineMs, type ServerAnswer } from './http.ts';
import { childOf, escapeXml, readXml, textOf, withoutForbidden, type XmlElement, XmlFault } from './xml.ts';

export const ewsNamespaces = {
  soap: 'http://schemas.xmlsoap.org/soap/envelope/',
  messages: 'http://schemas.microsoft.com/exchange/services/2006/messages',
  types: 'http://schemas.microsoft.com/exchange/services/2006/types',
};
export const { messages, types } = ewsNamespaces;
const { soap } = ewsNamespaces;
/** The schema that Exchange Server 2016, 2019 and Subscription Edition all support. */
const version = 'Exchange2013_SP1';
const mostElements = 300_000;

export type EwsOperation =
  | 'Subscribe'
  | 'SyncFolderItems'
  | 'FindItem'
  | 'GetItem'
  | 'CreateItem'
  | 'UpdateItem'
  | 'DeleteItem';
/** Resolves with all response messages, also those of errors. `body` is the content of the operation's element. */
export type CallEws = (
  operation: EwsOperation,
  mailbox: string,
  attributes: string,
  body: string,
  signal: AbortSignal,
) => Promise<XmlElement[]>;

/** The faults of Exchange's error codes; every other code is Unreadable. */
const meanings: readonly [meaning: ServerFault['fault'] | 'Failed', codes: RegExp][] = [
  ['StateLost', /^Error(InvalidSyncStateData|InvalidWatermark|WatermarkNotFound)$/],
  ['Throttled', /^Error(ServerBusy|ExceededConnectionCount|ExceededSubscriptionCount|TooManyObjectsOpened)$/],
  ['AccessLost', /^Error(AccessDenied|NonExistentMailbox|NonPrimarySmtpAddress|MissingEmailAddress|FolderNotFound)$/],
  ['AccessLost', /^Error(SyncFolderNotFound|ImpersonateUserDenied|Impersonation(Denied|Failed|Required))$/],
  ['AccessLost', /^Error(InvalidExchangeImpersonationHeaderData|AccountDisabled|PasswordExpired)$/],
  ['AccessLost', /^ErrorSubscription(AccessDenied|DelegateAccessNotSupported)$/],
  ['Failed', /^ErrorInternalServer(Transient)?Error$/],
  ['Unreachable', /^Error(MailboxMoveInProgress|MailboxStoreUnavailable|ConnectionFailed|TimeoutExpired)$/],
];

const hints: Record<string, string> = {
  ErrorSubscriptionDelegateAccessNotSupported: 'the account needs the role ApplicationImpersonation',
  ErrorImpersonateUserDenied: 'the account needs the role ApplicationImpersonation for this room',
};

/** A room that is `settings.User` itself needs no impersonation. */
export function openEwsCalls(settings: MailServerSettings, ask: AskServer): CallEws {
  const { origin } = new URL(settings.Url);

  function envelope(mailbox: string, content: string): string {
    const impersonation =
      settings.User?.toLowerCase() === mailbox.toLowerCase()
        ? ''
        : `<t:ExchangeImpersonation><t:ConnectingSID><t:PrimarySmtpAddress>${escapeXml(mailbox)}</t:PrimarySmtpAddress></t:ConnectingSID></t:ExchangeImpersonation>`;
    return `<?xml version="1.0" encoding="utf-8"?>
<s:Envelope xmlns:s="${soap}" xmlns:m="${messages}" xmlns:t="${types}"><s:Header><t:RequestServerVersion Version="${version}"/>${impersonation}<t:TimeZoneContext><t:TimeZoneDefinition Id="UTC"/></t:TimeZoneContext></s:Header><s:Body>${content}</s:Body></s:Envelope>`;
  }

  return async (operation, mailbox, attributes, body, signal) => {
    const element = `<m:${operation}${attributes}>${body}</m:${operation}>`;
    const answer = await ask(
      {
        method: 'POST',
        address: settings.Url,
        headers: {
          'content-type': 'text/xml; charset=utf-8',
          accept: 'text/xml',
          soapaction: `"${messages}/${operation}"`,
          // Routes the request to the server that holds the mailbox.
          ...(/^[\x21-\x7e]+$/.test(mailbox) && { 'x-anchormailbox': mailbox }),
        },
        body: envelope(mailbox, element),
        what: operation,
        deadlineMs: readDeadlineMs,
        reads: [500],
      },
      signal,
    );
    return responsesOf(answer, operation, origin);
  };
}

function responsesOf(answer: ServerAnswer, operation: EwsOperation, origin: string): XmlElement[] {
  const { status, bytes } = answer;
  const body = bodyOf(bytes);
  const fault = childOf(body, soap, 'Fault');
  if (fault) throw refusalOf(fault, origin);
  if (status === 500) throw faultOf(answer, origin);
  const responses = childOf(childOf(body, messages, `${operation}Response`), messages, 'ResponseMessages');
  const found = responses?.children.filter(({ name }) => name === `${operation}ResponseMessage`) ?? [];
  if (found.length === 0)
    throw new ServerFault(
      'Unreadable',
      `${origin} does not answer ${operation} as Exchange does; is the Url of the settings that of …/EWS/Exchange.asmx?`,
    );
  return found;
}

/** @returns undefined if the answer is not a SOAP envelope */
function bodyOf(bytes: Buffer): XmlElement | undefined {
  try {
    const root = readXml(withoutControls(bytes), mostElements);
    return root.name === 'Envelope' && root.namespace === soap ? childOf(root, soap, 'Body') : undefined;
  } catch (error) {
    if (error instanceof XmlFault) return undefined;
    throw error;
  }
}

/** Replaces control characters, which XML forbids but Exchange sends in subjects: one invitation must not block all reading. */
function withoutControls(bytes: Buffer): Buffer {
  const text = bytes.toString('utf8').replace(/&#(?:x([\da-f]{1,8})|(\d{1,8}));/gi, (whole, hex, decimal) => {
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    const isAllowed = code >= 0x20 || code === 0x9 || code === 0xa || code === 0xd;
    const isSpecial = (code >= 0xd800 && code <= 0xdfff) || code === 0xfffe || code === 0xffff;
    return isAllowed && !isSpecial && code <= 0x10ffff ? whole : '\ufffd';
  });
  return Buffer.from(withoutForbidden(text));
}

/** 'NoError', or Exchange's code of the error. */
export function codeOf(response: XmlElement): string {
  if (response.attributes.get('ResponseClass') !== 'Error') return 'NoError';
  return textOf(response, messages, 'ResponseCode') ?? 'Error';
}

/** @throws ServerFault for a response of an error */
export function refuseError(response: XmlElement, origin: string): void {
  if (codeOf(response) !== 'NoError') throw refusalOf(response, origin);
}

/** The fault of a response message or of a SOAP fault. */
export function refusalOf(element: XmlElement, origin: string): ServerFault {
  const text = (name: string) => findIn(element, (one) => one.name === name)?.text.trim();
  const code = text('ResponseCode') ?? text('faultcode')?.split(':').at(-1) ?? 'Error';
  const words = text('MessageText') ?? text('faultstring') ?? '';
  const hint = hints[code] ? ` (${hints[code]})` : '';
  const said = `${origin} answers ${quote(code)}: ${quote(words)}${hint}`;
  const meaning = meanings.find(([, codes]) => codes.test(code))?.[0] ?? 'Unreadable';
  if (meaning === 'Failed') return new ServerFailed(said);
  return new ServerFault(meaning, said, meaning === 'Throttled' ? restOf(element, code) : null);
}

function restOf(element: XmlElement, code: string): Date | null {
  const told = findIn(element, ({ attributes }) => attributes.get('Name') === 'BackOffMilliseconds')?.text;
  if (told && /^\s*\d{1,12}\s*$/.test(told)) return restUntil(Number(told));
  return code === 'ErrorExceededSubscriptionCount' ? restUntil(10 * minute) : null;
}

function findIn(element: XmlElement, isIt: (one: XmlElement) => boolean): XmlElement | undefined {
  for (const child of element.children) {
    const found = isIt(child) ? child : findIn(child, isIt);
    if (found) return found;
  }
  return undefined;
}
