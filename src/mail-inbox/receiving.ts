/** Handles one request of a mail server: reads, authenticates and records it, and answers as its sender expects. */
import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Config } from '../config.ts';
import { Malformed, TooLarge } from '../errors.ts';
import {
  type CallbackQuery,
  callbackPaths,
  openSecrets,
  readCallbackQuery,
  type Secrets,
} from '../mail-subscriptions/service.ts';
import { readBody } from './dialects/detection.ts';
import { acknowledgeEws } from './dialects/ews.ts';
import { isGoogle, readGoogle } from './dialects/google.ts';
import {
  DialectFault,
  DialectOverflow,
  type MailNotification,
  notification,
  type ReadNotifications,
} from './dialects/notification.ts';
import { openIds } from './ids.ts';
import type { Inbox } from './inbox.ts';
import { type InboxRow, keptBytes, type RecordedNotification } from './recording.ts';

export const inboxPaths = callbackPaths;

export type Post = {
  /** The path and query. */
  url: string;
  body: Buffer;
  headers: IncomingHttpHeaders;
  address: string;
  /** The result of `findSender`. */
  sender: Sender;
  requestId: string;
};

export type Acknowledgement = { status: 200 | 202; headers: Record<string, string>; body: string };

/** Whose limit a request counts towards: that of the subscription that its secret proves, or else of the address. */
export type Sender = { subscriptionId: number } | { address: string };

type Receiver = {
  makeId: () => string;
  secrets: Secrets;
  inbox: Inbox;
  /**
   * Counts the cost of a request: its KiB or its notifications, whichever is greater, as each costs about the same.
   * @throws LimitExceeded when the sender had exceeded its limit before
   */
  count(sender: Sender, cost: number): void;
};

export function openReceiver(config: Config, inbox: Inbox, count: Receiver['count']): Receiver {
  return { makeId: openIds(), secrets: openSecrets(config), inbox, count };
}

const longestToken = 2_048;
const nothing = Buffer.alloc(0);
const text = (type: string) => ({ 'Content-Type': `${type}; charset=utf-8` });

function readQuery(url: string): CallbackQuery {
  try {
    return readCallbackQuery(url);
  } catch {
    throw new Malformed('The query is not percent-encoded UTF-8.');
  }
}

/**
 * @throws Malformed when the body is not a notification (it is recorded nevertheless); TooLarge; Unavailable when it could not be
 *   recorded; LimitExceeded
 */
export async function receive(receiver: Receiver, post: Post): Promise<Acknowledgement> {
  const query = readQuery(post.url);
  const { sender } = post;
  const caller = 'subscriptionId' in sender ? sender.subscriptionId : undefined;
  const kibibytes = Math.ceil(post.body.length / 1_024) || 1;
  // Counted before the body is parsed, as parsing costs more.
  receiver.count(sender, kibibytes);
  if (query.tokens.length > 0) return await shakeHands(receiver, post, query, caller);
  const reading = await readPost(receiver, post);
  if (reading === 'Object') return await receiveObject(receiver, post);
  const more = reading.notifications.length - kibibytes;
  if (more > 0) receiver.count(sender, more);
  return await receiveReading(receiver, post, caller, reading);
}

/** Finds the subscription that the secret of the callback URL proves, or else the address. @throws Malformed */
export function findSender(
  { secrets }: Pick<Receiver, 'secrets'>,
  { url, address }: Pick<Post, 'url' | 'address'>,
): Sender {
  for (const secret of readQuery(url).secrets) {
    const subscriptionId = secrets.read('callback', secret);
    if (subscriptionId !== undefined) return { subscriptionId };
  }
  return { address };
}

type Kept = Pick<InboxRow, 'body' | 'bodyBytes' | 'bodyHash'>;

const keep = (body: Buffer): Kept => ({
  body,
  bodyBytes: body.length,
  bodyHash: hash('sha256', body, 'buffer'),
});

/** A row with the data of the request. Members that `of` lacks have the values of an unrecognised body. */
function rowOf(
  { makeId }: Receiver,
  post: Post,
  of: Partial<Omit<InboxRow, keyof Kept>>,
  kept = keep(post.body),
): InboxRow {
  const { headers, address, requestId } = post;
  return {
    ...notification({}),
    id: makeId(),
    dialect: 'Unknown',
    subscriptionId: null,
    claim: 'Unrecognised',
    count: 1,
    contentType: headers['content-type']?.slice(0, 200) ?? null,
    address,
    requestId,
    ...of,
    ...kept,
    // A copy: a slice would keep the whole body in memory while it waits.
    body: of.claim === 'Proven' ? kept.body : Buffer.from(kept.body.subarray(0, keptBytes)),
  };
}

async function readPost(receiver: Receiver, post: Post): Promise<ReadNotifications | 'Object'> {
  try {
    return isGoogle(post.headers) ? readGoogle(post.headers) : readBody(post.body);
  } catch (error) {
    if (error instanceof DialectOverflow) throw new TooLarge(error.message);
    if (!(error instanceof DialectFault)) throw error;
    await receiver.inbox.record([rowOf(receiver, post, {})]);
    throw new Malformed(error.message);
  }
}

function checkToken(tokens: readonly string[]): string {
  const [token = '', ...more] = tokens;
  if (more.length > 0) throw new Malformed('validationToken is sent more than once.');
  if (token === '' || token.length > longestToken || /[<>\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(token))
    throw new Malformed(
      `validationToken must have 1 to ${longestToken} characters, without < and >, control and format characters.`,
    );
  return token;
}

/**
 * Answers Graph's handshake, which tests the callback URL before a subscription is granted. Every caller gets its token back as
 * text, which browsers do not render as a page. Only a request with a valid secret counts as a handshake.
 */
async function shakeHands(
  receiver: Receiver,
  post: Post,
  query: CallbackQuery,
  caller: number | undefined,
): Promise<Acknowledgement> {
  const token = checkToken(query.tokens);
  const claim = caller === undefined ? 'Rejected' : 'Proven';
  await receiver.inbox.record([
    rowOf(receiver, post, { dialect: 'Graph', kind: 'Handshake', claim, subscriptionId: caller ?? null }),
  ]);
  return {
    status: 200,
    headers: { ...text('text/plain'), 'Content-Security-Policy': "default-src 'none'; sandbox" },
    body: token,
  };
}

/** Stores JSON of no known dialect, such as JMAP's PushVerification, without any effect. */
async function receiveObject(receiver: Receiver, post: Post): Promise<Acknowledgement> {
  const row = rowOf(receiver, post, {});
  await receiver.inbox.record([row]);
  return received(row.id);
}

const received = (id: string): Acknowledgement => ({
  status: 202,
  headers: text('application/json'),
  body: JSON.stringify({ Received: true, NotificationId: id }),
});

/** The subscription of a notification: Graph and Google prove each by a secret of its own, the others all by the callback URL. */
function provenBy(
  { secrets }: Receiver,
  dialect: ReadNotifications['dialect'],
  { clientState }: MailNotification,
  caller: number | undefined,
): number | undefined {
  if (dialect !== 'Graph' && dialect !== 'Google') return caller;
  return clientState === null ? undefined : secrets.read('client state', clientState);
}

async function receiveReading(
  receiver: Receiver,
  post: Post,
  caller: number | undefined,
  { dialect, notifications }: ReadNotifications,
): Promise<Acknowledgement> {
  const whole = keep(post.body);
  const keptOf = ({ body }: MailNotification) => (body === null ? whole : keep(body));
  const unproven: MailNotification[] = [];
  const rows: InboxRow[] = [];
  for (const one of notifications) {
    const subscriptionId = provenBy(receiver, dialect, one, caller);
    if (subscriptionId === undefined) {
      unproven.push(one);
      continue;
    }
    // A shared body is stored only in the first row, as a request may have a thousand notifications in a megabyte.
    const kept = one.body === null && rows.length > 0 ? { ...whole, body: nothing } : keptOf(one);
    rows.push(rowOf(receiver, post, { ...one, dialect, subscriptionId, claim: 'Proven' }, kept));
  }
  const [first] = unproven;
  if (first)
    rows.push(rowOf(receiver, post, { ...first, dialect, claim: 'Rejected', count: unproven.length }, keptOf(first)));
  if (rows.length === 0) rows.push(rowOf(receiver, post, { dialect }, whole));
  const recorded = await receiver.inbox.record(rows);
  if (dialect === 'Google') return { status: 200, headers: {}, body: '' };
  if (dialect === 'Graph') return { status: 202, headers: {}, body: '' };
  if (dialect === 'Jmap') return received((rows[0] as InboxRow).id);
  return {
    status: 200,
    headers: text('text/xml'),
    body: acknowledgeEws(recorded.every(isUnwanted) ? 'Unsubscribe' : 'OK'),
  };
}

/** Whether the answer must tell Exchange to end the subscription: it has ended here, or has been unknown for ten minutes. */
function isUnwanted({ state, isStale }: RecordedNotification): boolean {
  return isStale || state === 'Dead' || state === 'Failed' || state === 'Replaced' || state === 'Disabled';
}
