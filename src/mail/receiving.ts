/** What becomes of one request of a mail server: read, proven, recorded, and answered as its sender expects. */
import { hash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { Context } from '../context.ts';
import { Malformed, TooLarge } from '../errors.ts';
import { type CallbackQuery, readCallbackQuery } from './callback-url.ts';
import { readBody } from './dialects/detection.ts';
import { acknowledgeEws } from './dialects/ews.ts';
import { DialectFault, DialectOverflow, notification, type Reading } from './dialects/notification.ts';
import type { Inbox } from './inbox.ts';
import { keptBytes, type Recorded, type Row } from './recording.ts';
import { subscriptionOf } from './secrets.ts';

export type Post = {
  /** With its query. */
  url: string;
  body: Buffer;
  contentType: string | undefined;
  address: string;
  requestId: string;
};

export type Acknowledgement = { status: 200 | 202; headers: Record<string, string>; body: string };

type Receiver = {
  config: Context['config'];
  inbox: Inbox;
  /** Called for a request of which nothing is proven; may throw. */
  onUnknown(address: string): void;
};

const longestToken = 2_048;
const text = (type: string) => ({ 'Content-Type': `${type}; charset=utf-8` });

function readQuery(url: string): CallbackQuery {
  try {
    return readCallbackQuery(url);
  } catch {
    throw new Malformed('The query is not percent-encoded UTF-8.');
  }
}

/**
 * @throws Malformed for what is no notification, which is recorded too; TooLarge; Unavailable when it could not be recorded;
 *   and what `onUnknown` throws
 */
export async function receive(receiver: Receiver, post: Post): Promise<Acknowledgement> {
  const query = readQuery(post.url);
  if (query.tokens.length > 0) return await shakeHands(receiver, post, query);
  const reading = await readPost(receiver, post);
  return reading === 'Object'
    ? await receiveObject(receiver, post, query)
    : await receiveReading(receiver, post, query, reading);
}

/** The subscription that the callback's secret proves. */
function callerOf({ config }: Receiver, { secrets }: CallbackQuery): number | undefined {
  for (const secret of secrets) {
    const id = subscriptionOf(config, 'callback', secret);
    if (id !== undefined) return id;
  }
  return undefined;
}

/** The parts of a row that are of the request, and what is recorded of it when nothing is known of it. */
function rowOf(post: Post, of: Partial<Row>): Row {
  const { contentType, address, requestId, body } = post;
  return {
    ...notification({}),
    ...{ id: uuidv7(), dialect: 'Unknown', subscriptionId: null, claim: 'Unrecognised' },
    ...{ contentType: contentType?.slice(0, 200) ?? null, address, requestId },
    ...of,
    body: body.subarray(0, of.claim === 'Proven' ? body.length : keptBytes),
    bodyBytes: body.length,
    bodyHash: hash('sha256', body, 'buffer'),
  };
}

async function readPost(receiver: Receiver, post: Post): Promise<Reading | 'Object'> {
  try {
    return readBody(post.body);
  } catch (error) {
    if (error instanceof DialectOverflow) throw new TooLarge(error.message);
    if (!(error instanceof DialectFault)) throw error;
    receiver.onUnknown(post.address);
    await receiver.inbox.record([rowOf(post, {})]);
    throw new Malformed(error.message);
  }
}

function checkToken(tokens: readonly string[]): string {
  const [token = '', ...more] = tokens;
  if (more.length > 0) throw new Malformed('validationToken is sent more than once.');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  if (token === '' || token.length > longestToken || /[<>\0-\x1f\x7f-\x9f\u2028\u2029]/.test(token))
    throw new Malformed(
      `validationToken must have 1 to ${longestToken} characters, without markup and control characters.`,
    );
  return token;
}

/** Graph asks whether the address answers before it promises to notify it. What it sends for that is echoed as text. */
async function shakeHands(receiver: Receiver, post: Post, query: CallbackQuery): Promise<Acknowledgement> {
  const token = checkToken(query.tokens);
  const caller = callerOf(receiver, query);
  if (caller === undefined) receiver.onUnknown(post.address);
  const claim = caller !== undefined ? 'Proven' : query.secrets.length === 0 ? 'Anonymous' : 'Rejected';
  const [recorded] = await receiver.inbox.record([
    rowOf(post, { dialect: 'Graph', kind: 'Handshake', claim, subscriptionId: caller ?? null }),
  ]);
  if (recorded?.verdict !== 'Handshake')
    throw new Malformed('No subscription is being made that this validationToken could belong to.');
  return {
    status: 200,
    headers: { ...text('text/plain'), 'Content-Security-Policy': "default-src 'none'; sandbox" },
    body: token,
  };
}

/** JSON of no dialect, such as JMAP's PushVerification: it is kept, and that is all. */
async function receiveObject(receiver: Receiver, post: Post, query: CallbackQuery): Promise<Acknowledgement> {
  if (callerOf(receiver, query) === undefined) receiver.onUnknown(post.address);
  const row = rowOf(post, {});
  await receiver.inbox.record([row]);
  return received(row.id);
}

const received = (id: string): Acknowledgement => ({
  status: 202,
  headers: text('application/json'),
  body: JSON.stringify({ Received: true, NotificationId: id }),
});

async function receiveReading(
  receiver: Receiver,
  post: Post,
  query: CallbackQuery,
  { dialect, notifications }: Reading,
): Promise<Acknowledgement> {
  const caller = callerOf(receiver, query);
  const rows = notifications.map(({ body, ...told }) => {
    const { clientState } = told;
    const proven =
      dialect !== 'Graph'
        ? caller
        : clientState === null
          ? undefined
          : subscriptionOf(receiver.config, 'client state', clientState);
    return rowOf(body === null ? post : { ...post, body }, {
      ...{ ...told, dialect, subscriptionId: proven ?? null },
      claim: proven === undefined ? 'Rejected' : 'Proven',
    });
  });
  if (rows.length === 0) rows.push(rowOf(post, { dialect }));
  if (rows.every(({ claim }) => claim !== 'Proven')) receiver.onUnknown(post.address);
  const recorded = await receiver.inbox.record(rows);
  if (dialect === 'Graph') return { status: 202, headers: {}, body: '' };
  if (dialect === 'Jmap') return received((rows[0] as Row).id);
  return {
    status: 200,
    headers: text('text/xml'),
    body: acknowledgeEws(recorded.every(isUnwanted) ? 'Unsubscribe' : 'OK'),
  };
}

/** Only an answer ends a subscription of Exchange: one that we gave up, or that is nobody's for some time. */
function isUnwanted({ state, isStale }: Recorded): boolean {
  return isStale || state === 'Dead' || state === 'Failed' || state === 'Replaced' || state === 'Disabled';
}
