/** The statements that record notifications and apply their effects. */
import type { Database } from '../db/database.ts';
import { runPrepared, type Statement } from '../db/prepared.ts';
import { live, moveHeard, type SubscriptionState } from '../mail-subscriptions/service.ts';
import type { Dialect, MailNotification, Verdict } from './dialects/notification.ts';

/** A notification as it is to be stored. */
export type InboxRow = MailNotification & {
  /** UUIDv7. */
  id: string;
  dialect: Dialect | 'Unknown';
  /** The subscription that the secret proves; null: none. */
  subscriptionId: number | null;
  claim: 'Proven' | 'Rejected' | 'Unrecognised';
  contentType: string | null;
  address: string;
  requestId: string;
  /** The whole body if the notification is accepted, otherwise its first KiB. */
  body: Buffer;
  bodyBytes: number;
  /** SHA-256 of the whole body. */
  bodyHash: Buffer;
  /** The number of notifications that this row stands for. */
  count: number;
};

export type RecordedNotification = {
  verdict: Verdict;
  /** The tenant of the subscription; null if that is unknown. */
  mandatorId: number | null;
  /** The new state of the subscription; null if there is none. */
  state: SubscriptionState | null;
  /** Ews: the subscription is unknown, and its first rejected notification came more than ten minutes ago. */
  isStale: boolean;
};

/** How many bytes are stored of a body that is not accepted. */
export const keptBytes = 1_024;
const graceMinutes = 10;
const hashBytes = 32;

type Column = readonly [name: string, type: string, read: (row: InboxRow) => unknown];

/** The columns of both statements; `pack` computes `body_from` from the lengths of the bodies before. */
const stored: readonly Column[] = [
  ['id', 'uuid', (row) => row.id],
  ['subscription_id', 'integer', (row) => row.subscriptionId],
  ['dialect', 'text', (row) => row.dialect],
  ['kind', 'text', (row) => row.kind],
  ['external_id', 'text', (row) => row.externalId],
  ['content_type', 'text', (row) => row.contentType],
  ['address', 'text', (row) => row.address],
  ['request_id', 'text', (row) => row.requestId],
  ['body_from', 'integer', () => 0],
  ['body_length', 'integer', (row) => row.body.length],
  ['body_bytes', 'integer', (row) => row.bodyBytes],
  ['count', 'integer', (row) => row.count],
];

/** Additional columns of proven notifications. */
const asked: readonly Column[] = [
  ['watermark', 'text', (row) => row.watermark],
  ['previous_watermark', 'text', (row) => row.previousWatermark],
  ['marks', 'boolean', (row) => row.marks],
  ['renews', 'boolean', (row) => row.renews],
  ['ends', 'text', (row) => row.ends],
];

/** The parameters are the concatenated bodies, hashes and dedupe keys of all rows, then an array for each column. */
const [bodies, hashes, keys] = ['$1::bytea', '$2::bytea', '$3::bytea'];
const packed = 3;
const tableOf = (columns: readonly (readonly [name: string, type: string, ...unknown[]])[]) =>
  `rows from (${columns.map(([, type], index) => `unnest($${packed + index + 1}::${type}[])`).join(', ')})
    with ordinality as sent(${columns.map(([name]) => name).join(', ')}, position)`;
const hashOf = (all: string | undefined) =>
  `substring(${all} from (position::integer - 1) * ${hashBytes} + 1 for ${hashBytes})`;
const noKey = Buffer.alloc(hashBytes);
const keyOf = `nullif(${hashOf(keys)}, '\\x${noKey.toString('hex')}')`;

const intoNotification = `
  insert into mail_notification (id, mandator_id, subscription_id, dialect, kind, verdict, dedupe_key, external_id,
    content_type, address, request_id, body, body_bytes, body_hash, count)`;
const values = (mandator: string, verdict: string, most: string) => `
  sent.id, ${mandator}, sent.subscription_id, sent.dialect, sent.kind, ${verdict}, ${keyOf}, sent.external_id,
  sent.content_type, sent.address, sent.request_id, substring(${bodies} from sent.body_from for ${most}), sent.body_bytes, ${hashOf(hashes)}, sent.count`;

const provenColumns = [...stored, ...asked];
const accountsFrom = packed + provenColumns.length;

// Subscriptions, then calendars are locked in the order of their ids. So two such statements do not deadlock, and only one of them
// decides whether a notification is a duplicate.
const recordProven: Statement = {
  name: 'record proven mail notifications',
  sql: `
    with sent as materialized (select * from ${tableOf(provenColumns)}), subject as materialized (
      select id, mandator_id, calendar_id, kind, state, watermark from mail_subscription
      where id = any ($${packed + 2}::integer[]) order by id for no key update
    ), accepted as (
      ${intoNotification}
      select ${values('subject.mandator_id', "'Accepted'", 'sent.body_length')}
      from sent join subject on subject.id = sent.subscription_id
        and subject.kind = case sent.dialect when 'Jmap' then 'CalDav' else sent.dialect end
      order by subject.id, position
      on conflict (subscription_id, dedupe_key) where verdict = 'Accepted' do nothing
      returning id
    ), known as materialized (
      select sent.*, subject.mandator_id, subject.calendar_id, subject.state, subject.watermark as known_watermark,
        accepted.id is not null as is_new
      from sent join subject on subject.id = sent.subscription_id
        and subject.kind = case sent.dialect when 'Jmap' then 'CalDav' else sent.dialect end
      left join accepted on accepted.id = sent.id
    ), moved as (
      ${moveHeard}
    ), changed as (
      select calendar_id as id from known
      -- A channel of Google that was given up may send for days.
      where is_new and calendar_id is not null and (dialect <> 'Google' or state in ${live}) and (marks or (kind = 'Status' and previous_watermark <> known_watermark
        and not exists (select from known as other
          where other.subscription_id = known.subscription_id and other.watermark = known.previous_watermark)))
      union
      select calendar.id
      from rows from (unnest($${accountsFrom + 1}::integer[]), unnest($${accountsFrom + 2}::text[])) as account(position, name)
      join known on known.position = account.position and known.is_new
      join mail_calendar as calendar on calendar.mandator_id = known.mandator_id and calendar.kind = 'CalDav'
        and calendar.retired_at is null
        and account.name in (lower(calendar.mailbox), split_part(lower(calendar.mailbox), '@', 1))
    ), marked as materialized (
      select mark_mail_calendars(array_agg(id), 'Push')::text as done from changed having count(*) > 0
    )
    select known.position::integer as position, is_new as "isNew", known.mandator_id as "mandatorId",
      coalesce(moved.state, known.state) as state, marked.done
    from known left join moved on moved.id = known.subscription_id left join marked on true`,
};

/** A row without effect, and its verdict. The statement turns `Handshake` into `Rejected` if the subscription is not live. */
type Rest = { row: InboxRow; verdict: Verdict; mandatorId: number | null };

const restColumns: readonly (readonly [name: string, type: string, read: (rest: Rest) => unknown])[] = [
  ...stored.map(([name, type, read]) => [name, type, ({ row }: Rest) => read(row)] as const),
  ['verdict', 'text', ({ verdict }) => verdict],
  ['mandator_id', 'integer', ({ mandatorId }) => mandatorId],
];

const recordRest: Statement = {
  name: 'record other mail notifications',
  sql: `
    with recorded as (
      ${intoNotification}
      select ${values(
        'coalesce(sent.mandator_id, (select mandator_id from mail_subscription where id = sent.subscription_id))',
        `case when verdict = 'Handshake' and not exists (
          select from mail_subscription where id = sent.subscription_id and kind = 'Graph' and state in ${live})
          then 'Rejected' else verdict end`,
        `least(sent.body_length, ${keptBytes})`,
      )}
      from ${tableOf(restColumns)}
      returning id, verdict, dialect, external_id
    )
    select id, verdict, dialect = 'Ews' and verdict = 'Rejected' and exists (
      select from mail_notification as earlier
      where earlier.external_id = recorded.external_id and earlier.verdict = 'Rejected'
        and earlier.received_at < now() - interval '${graceMinutes} minutes') as "isStale"
    from recorded`,
};

/** Concatenates bodies, hashes and dedupe keys, as arrays would cost much more. `starts` are the positions of the bodies, from 1. */
function pack(rows: readonly InboxRow[]): { packs: Buffer[]; starts: number[] } {
  let at = 1;
  const starts = rows.map(({ body }) => {
    const start = at;
    at += body.length;
    return start;
  });
  const packs = [
    Buffer.concat(rows.map(({ body }) => body)),
    Buffer.concat(rows.map(({ bodyHash }) => bodyHash)),
    Buffer.concat(rows.map(({ dedupeKey }) => dedupeKey ?? noKey)),
  ];
  return { packs, starts };
}

const plainTypes: ReadonlySet<string> = new Set(['uuid', 'integer', 'boolean']);

/** Writes an array literal of PostgreSQL several times faster than the driver does. */
function arrayOf(type: string, values: readonly unknown[]): string {
  const isPlain = plainTypes.has(type);
  const elements = values.map((value) => {
    if (value === null) return 'NULL';
    return isPlain ? value : `"${String(value).replace(/["\\]/g, '\\$&')}"`;
  });
  return `{${elements.join(',')}}`;
}

type Known = { position: number; isNew: boolean; mandatorId: number; state: SubscriptionState };

/** @returns the notifications whose subscription exists and is of their kind of mail server */
async function runProven(db: Database, rows: readonly InboxRow[]): Promise<Known[]> {
  const { packs, starts } = pack(rows);
  const named = rows.flatMap(({ accounts }, index) => accounts.map((account) => [index + 1, account] as const));
  return await runPrepared<Known>(db, recordProven, [
    ...packs,
    ...provenColumns.map(([name, type, read]) => arrayOf(type, name === 'body_from' ? starts : rows.map(read))),
    named.map(([position]) => position),
    named.map(([, account]) => account),
  ]);
}

type Noted = { id: string; verdict: Verdict; isStale: boolean };

async function runRest(db: Database, rest: readonly Rest[]): Promise<Map<string, Noted>> {
  const { packs, starts } = pack(rest.map(({ row }) => row));
  const noted = await runPrepared<Noted>(db, recordRest, [
    ...packs,
    ...restColumns.map(([name, type, read]) => arrayOf(type, name === 'body_from' ? starts : rest.map(read))),
  ]);
  return new Map(noted.map((one) => [one.id, one]));
}

const mayHaveEffect = ({ claim, kind }: InboxRow) => claim === 'Proven' && kind !== 'Handshake';

function verdictOf({ claim, kind }: InboxRow): Rest['verdict'] {
  if (claim === 'Proven') return kind === 'Handshake' ? 'Handshake' : 'Rejected';
  return claim;
}

/**
 * Stores notifications, moves their subscriptions and marks their calendars. One statement records those that may have an
 * effect; a second one records the rest, if any. @returns in the order of `rows`
 */
export async function recordNotifications(db: Database, rows: readonly InboxRow[]): Promise<RecordedNotification[]> {
  const proven = rows.filter(mayHaveEffect);
  const known = new Map<string, Known>();
  if (proven.length > 0)
    for (const one of await runProven(db, proven)) known.set((proven[one.position - 1] as InboxRow).id, one);
  const rest = rows.flatMap((row): Rest[] => {
    const of = known.get(row.id);
    if (of) return of.isNew ? [] : [{ row, verdict: 'Duplicate', mandatorId: of.mandatorId }];
    // The subscription no longer exists, or belongs to another kind of mail server.
    const unfounded = mayHaveEffect(row) ? { ...row, subscriptionId: null } : row;
    return [{ row: unfounded, verdict: verdictOf(row), mandatorId: null }];
  });
  const noted = rest.length > 0 ? await runRest(db, rest) : new Map<string, Noted>();
  return rows.map(({ id }) => ({
    verdict: noted.get(id)?.verdict ?? 'Accepted',
    mandatorId: known.get(id)?.mandatorId ?? null,
    state: known.get(id)?.state ?? null,
    isStale: noted.get(id)?.isStale ?? false,
  }));
}
