/** Exchange's push (MS-OXWSPSNTIF): SendNotification in a SOAP envelope, with any namespace prefixes. */
import { childOf, childrenOf, ewsNamespaces, readXml, textOf, type XmlElement } from '../../mail-servers/service.ts';
import {
  checkCount,
  DialectFault,
  dedupeKeyOf,
  type MailNotification,
  nameOf,
  notification,
  type ReadNotifications,
} from './notification.ts';

const { soap, messages, types } = ewsNamespaces;

/** The most elements and attributes of a body; 1,000 of Exchange's largest notifications have fewer. */
const mostNodes = 20_000;

/** @throws XmlFault; DialectFault when it is not a SendNotification; DialectOverflow */
export function readEws(body: Buffer): ReadNotifications {
  const root = readXml(body, mostNodes);
  const envelope = root.name === 'Envelope' && root.namespace === soap ? root : undefined;
  const sent = childOf(childOf(envelope, soap, 'Body'), messages, 'SendNotification');
  const responses = childrenOf(
    childOf(sent, messages, 'ResponseMessages'),
    messages,
    'SendNotificationResponseMessage',
  );
  if (responses.length === 0) throw new DialectFault('The XML is not a SendNotification of Exchange Web Services.');
  checkCount(responses.length);
  return { dialect: 'Ews', notifications: responses.map(readResponse) };
}

function readResponse(response: XmlElement): MailNotification {
  const told = childOf(response, messages, 'Notification');
  if (response.attributes.get('ResponseClass') === 'Error' || !told) return readFault(response);
  const externalId = nameOf(textOf(told, types, 'SubscriptionId'));
  const previousWatermark = nameOf(textOf(told, types, 'PreviousWatermark'));
  const events = told.children.filter(({ name, namespace }) => namespace === types && name.endsWith('Event'));
  const watermark = nameOf(textOf(events.at(-1), types, 'Watermark'));
  const isStatus = events.length > 0 && events.every(({ name }) => name === 'StatusEvent');
  return notification({
    kind: isStatus ? 'Status' : 'Change',
    externalId,
    dedupeKey: watermark === null ? null : dedupeKeyOf(externalId, watermark, ...(isStatus ? [previousWatermark] : [])),
    watermark,
    previousWatermark,
    // The kind of event does not matter, as the calendar is read anyway.
    marks: !isStatus,
  });
}

/** Reads the end of a subscription. Contrary to Exchange's own schema, it has no Notification, and its id is in MessageXml. */
function readFault(response: XmlElement): MailNotification {
  const values = childrenOf(childOf(response, messages, 'MessageXml'), types, 'Value');
  const externalId = nameOf(values.find(({ attributes }) => attributes.get('Name') === 'SubscriptionId')?.text.trim());
  const code = /^\w{1,80}$/.exec(textOf(response, messages, 'ResponseCode') ?? '')?.[0] ?? 'an error';
  return notification({
    kind: 'Fault',
    externalId,
    dedupeKey: dedupeKeyOf(externalId, 'Fault', code),
    marks: true,
    ends: `The mail server says that it has ended: ${code}.`,
  });
}

/** The answer to Exchange, which takes any other one for a failed delivery. */
export function acknowledgeEws(status: 'OK' | 'Unsubscribe'): string {
  return `<?xml version="1.0" encoding="utf-8"?><s:Envelope xmlns:s="${soap}"><s:Body><SendNotificationResult xmlns="${messages}"><SubscriptionStatus>${status}</SubscriptionStatus></SendNotificationResult></s:Body></s:Envelope>`;
}
