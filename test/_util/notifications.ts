/** Notifications of mail servers in each dialect, and how they are sent. */
import { sql } from 'kysely';
import { openSecrets } from '../../src/mail-subscriptions/secrets.ts';
import type { Service } from './service.ts';

export const webhookPath = '/api/webhooks/mailserver';
const legacyPath = '/WebServices/SyncNotification.svc?school';
/** Both addresses; what follows is joined with `join`. */
export const paths = [
  ['default', webhookPath],
  ['legacy', legacyPath],
] as const;

export const join = (path: string, query: string) =>
  query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`;

type EwsOptions = {
  prefix?: string;
  id?: string;
  previous?: string;
  watermark?: string;
  events?: readonly string[];
};

const soap = 'http://schemas.xmlsoap.org/soap/envelope/';
const namespaces =
  'xmlns:t="http://schemas.microsoft.com/exchange/services/2006/types" xmlns:m="http://schemas.microsoft.com/exchange/services/2006/messages"';

const envelope = (prefix: string, inner: string) =>
  `<?xml version="1.0" encoding="utf-8"?>\n<${prefix}:Envelope xmlns:${prefix}="${soap}"><${prefix}:Header><t:RequestServerVersion ${namespaces} Version="Exchange2013" /></${prefix}:Header><${prefix}:Body><m:SendNotification ${namespaces}><m:ResponseMessages>${inner}</m:ResponseMessages></m:SendNotification></${prefix}:Body></${prefix}:Envelope>`;

function event(name: string, watermark: string): string {
  if (name === 'StatusEvent') return `<t:StatusEvent><t:Watermark>${watermark}</t:Watermark></t:StatusEvent>`;
  const old = /^(Moved|Copied)/.test(name) ? '<t:OldItemId Id="AAMk1" /><t:OldParentFolderId Id="AAMk3" />' : '';
  return `<t:${name}><t:Watermark>${watermark}</t:Watermark><t:TimeStamp>2026-11-20T09:00:00Z</t:TimeStamp><t:ItemId Id="AAMk1" ChangeKey="CQAAAA==" /><t:ParentFolderId Id="AAMk2" ChangeKey="AQAAAA==" />${old}</t:${name}>`;
}

export function ewsBody({
  prefix = 'soap11',
  id = 'HwBleA==',
  previous = 'AQAA0',
  watermark = 'AQAA1',
  events = ['ModifiedEvent'],
}: EwsOptions = {}): string {
  const told = events.map((name) => event(name, watermark)).join('');
  return envelope(
    prefix,
    `<m:SendNotificationResponseMessage ResponseClass="Success"><m:ResponseCode>NoError</m:ResponseCode><m:Notification><t:SubscriptionId>${id}</t:SubscriptionId><t:PreviousWatermark>${previous}</t:PreviousWatermark><t:MoreEvents>false</t:MoreEvents>${told}</m:Notification></m:SendNotificationResponseMessage>`,
  );
}

export const ewsFault = (id = 'HwBleA==') =>
  envelope(
    'soap11',
    `<m:SendNotificationResponseMessage ResponseClass="Error"><m:MessageText>Events could not be read.</m:MessageText><m:ResponseCode>ErrorReadEventsFailed</m:ResponseCode><m:DescriptiveLinkKey>0</m:DescriptiveLinkKey><m:MessageXml><t:Value Name="SubscriptionId">${id}</t:Value></m:MessageXml></m:SendNotificationResponseMessage>`,
  );

export const graphItem = (fields: object = {}) => ({
  subscriptionId: 'c6126aa3-0ed8-412f-a988-71e6cee627c4',
  changeType: 'updated',
  tenantId: 't',
  subscriptionExpirationDateTime: '2026-12-02T03:12:18.2257768+05:30',
  resource: "Users('622e')/Events('AAMk1')",
  resourceData: { '@odata.type': '#Microsoft.Graph.Event', '@odata.etag': 'W/"CQ1"', id: 'AAMk1' },
  ...fields,
});

export const graphBody = (...items: unknown[]) => JSON.stringify({ value: items });

export const stateChange = (changed: object) => JSON.stringify({ '@type': 'StateChange', changed });

export type Answer = { status: number; type: string | null; text: string; headers: Headers };

/** @param secret of the callback; '' for none */
export async function push(
  url: string,
  body: string | Uint8Array | null,
  { headers = {}, method = 'POST' }: { headers?: Record<string, string>; method?: string } = {},
): Promise<Answer> {
  const answer = await fetch(url, {
    method,
    headers,
    ...(body !== null && { body: typeof body === 'string' ? body : new Uint8Array(body) }),
  });
  return {
    status: answer.status,
    type: answer.headers.get('content-type'),
    text: await answer.text(),
    headers: answer.headers,
  };
}

/** The secrets of a subscription as its mail server knows them. */
export function secretsOf({ context }: Service, subscriptionId: number) {
  return {
    k: `k=${openSecrets(context.config).make('callback', subscriptionId)}`,
    clientState: openSecrets(context.config).make('client state', subscriptionId),
  };
}

export type Stored = {
  id: string;
  dialect: string;
  kind: string;
  verdict: string;
  subscription: number | null;
  externalId: string | null;
  text: string;
  bytes: number;
  /** How many notifications the row holds. */
  count: number;
};

/** The inbox in the order in which it was filled. */
export async function readInbox({ context }: Service): Promise<Stored[]> {
  const { rows } = await sql<Omit<Stored, 'text'> & { body: Buffer }>`
    select id, dialect, kind, verdict, subscription_id as subscription, external_id as "externalId",
      body, body_bytes as bytes, count
    from mail_notification order by id`.execute(context.db);
  return rows.map(({ body, ...row }) => ({ ...row, text: body.toString() }));
}

/** How often each calendar was marked, and how many readings wait. */
export async function readMarks({ context }: Service): Promise<{ id: number; marks: number; jobs: number }[]> {
  const { rows } = await sql<{ id: number; marks: number; jobs: number }>`
    select id, marks, (select count(*)::int from graphile_worker._private_jobs where key = 'mail calendar ' || calendar.id) as jobs
    from mail_calendar as calendar order by id`.execute(context.db);
  return rows;
}
