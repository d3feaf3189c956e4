/** The one statement that records notifications and does what they ask for. */
import type { Database } from '../db/database.ts';
import { runPrepared, type Statement } from '../db/prepared.ts';
import type { Notification } from './dialects/notification.ts';
import type { Dialect, SubscriptionState, Verdict } from './mail.ts';

/** A notification with all that is known of it before the database is asked. */
export type Row = Notification & {
  /** UUIDv7. */
  id: string;
  dialect: Dialect | 'Unknown';
  /** Of the subscription that its secret proves; null: none, and so it is rejected unless it says otherwise. */
  subscriptionId: number | null;
  /** `Anonymous`: a handshake without any secret, admitted while some subscription of Graph is being made. */
  claim: 'Proven' | 'Rejected' | 'Unrecognised' | 'Anonymous';
  contentType: string | null;
  address: string;
  requestId: string;
  /** What is kept if it is accepted; of the rest the first KiB. */
  body: Buffer;
  bodyBytes: number;
  /** SHA-256 of all of the body. */
  bodyHash: Buffer;
};

export type Recorded = {
  verdict: Verdict;
  /** Of its subscription, afterwards; null where it has none. */
  state: SubscriptionState | null;
  /** Ews: it is unknown, and what the sender calls its subscription has been coming for longer than ten minutes. */
  isStale: boolean;
};

/** Of a body that is not accepted. */
export const keptBytes = 1_024;
const graceMinutes = 10;
const hashBytes = 32;
const live = `('Provisioning', 'AwaitingFirstPush', 'Active', 'Suspect')`;

const columns: readonly [name: string, type: string, read: (row: Row) => unknown][] = [
  ['id', 'uuid', (row) => row.id],
  ['dialect', 'text', (row) => row.dialect],
  ['kind', 'text', (row) => row.kind],
  ['claim', 'text', (row) => row.claim],
  ['subscription_id', 'integer', (row) => row.subscriptionId],
  ['external_id', 'text', (row) => row.externalId],
  ['watermark', 'text', (row) => row.watermark],
  ['previous_watermark', 'text', (row) => row.previousWatermark],
  ['marks', 'boolean', (row) => row.marks],
  ['renews', 'boolean', (row) => row.renews],
  ['ends', 'text', (row) => row.ends],
  ['content_type', 'text', (row) => row.contentType],
  ['address', 'text', (row) => row.address],
  ['request_id', 'text', (row) => row.requestId],
  ['body_from', 'integer', () => 0],
  ['body_length', 'integer', (row) => row.body.length],
  ['body_bytes', 'integer', (row) => row.bodyBytes],
];

/** After the columns: dedupe keys and hashes of all rows behind one another, their bodies, and the accounts of Jmap. */
const [keys, hashes, bodies, accountPositions, accounts] = [1, 2, 3, 4, 5].map(
  (more) => `$${columns.length + more}`,
);

const stored = `id, mandator_id, subscription_id, dialect, kind, verdict, dedupe_key, external_id, content_type, address,
  request_id, body, body_bytes, body_hash`;
/** @param verdict an expression @param most bytes of the body */
const storedValues = (verdict: string, most: string) => `
  id, mandator_id, known_id, dialect, kind, ${verdict}, dedupe_key, external_id, content_type, address, request_id,
  substring(${bodies}::bytea from body_from for ${most}), body_bytes,
  substring(${hashes}::bytea from (position::integer - 1) * ${hashBytes} + 1 for ${hashBytes})`;

// Subscriptions are locked in the order of their ids, then calendars in that of theirs: so two of these do not wait for each
// other, and what is a duplicate is decided by one of them alone. In sub-selects PostgreSQL cannot see how many rows there are:
// so the general plan costs no more than one for these very values, and is the one that it keeps.
const statement: Statement = {
  name: 'record mail notifications',
  sql: `
    with sent as (
      select *, nullif(substring(${keys}::bytea from (position::integer - 1) * ${hashBytes} + 1 for ${hashBytes}),
        decode(repeat('00', ${hashBytes}), 'hex')) as dedupe_key
      from rows from (${columns.map(([, type], index) => `unnest((select $${index + 1}::${type}[]))`).join(', ')})
        with ordinality as sent(${columns.map(([name]) => name).join(', ')}, position)
    ), subject as materialized (
      select id, mandator_id, calendar_id, kind, state, watermark from mail_subscription
      where id = any (array(select subscription_id from sent)) order by id for no key update
    ), judged as materialized (
      select sent.*, subject.id as known_id, subject.mandator_id, subject.calendar_id, subject.state,
        subject.watermark as known_watermark,
        case
          when sent.claim = 'Unrecognised' then 'Unrecognised'
          when sent.kind = 'Handshake' then case
            when subject.state in ${live} or (sent.claim = 'Anonymous' and exists (
              select from mail_subscription where kind = 'Graph' and state = 'Provisioning')) then 'Handshake'
            else 'Rejected' end
          when subject.id is null then 'Rejected'
          else 'Accepted' end as verdict
      from sent left join subject on subject.id = sent.subscription_id
        and subject.kind = case sent.dialect when 'Jmap' then 'CalDav' else sent.dialect end
    ), accepted as (
      insert into mail_notification (${stored})
      select ${storedValues("'Accepted'", 'body_length')} from judged where verdict = 'Accepted' order by known_id, position
      on conflict (subscription_id, dedupe_key) where verdict = 'Accepted' do nothing
      returning id
    ), others as (
      insert into mail_notification (${stored})
      select ${storedValues("case verdict when 'Accepted' then 'Duplicate' else verdict end", `least(body_length, ${keptBytes})`)}
      from judged where verdict <> 'Accepted' or id not in (select id from accepted)
    ), news as materialized (
      select * from judged where id in (select id from accepted)
    ), heard as (
      select known_id, mandator_id, bool_or(is_new) as is_new, bool_or(is_new and renews) as renews,
        (array_agg(ends) filter (where is_new and ends is not null))[1] as ends,
        (array_agg(watermark order by position desc) filter (where is_new and watermark is not null))[1] as watermark
      from (select *, id in (select id from accepted) as is_new from judged where verdict = 'Accepted') as one
      group by known_id, mandator_id
    ), moved as (
      update mail_subscription as one set
        seen_at = now(),
        watermark = coalesce(heard.watermark, one.watermark),
        renew_at = case when heard.renews then now() else one.renew_at end,
        due_at = case when heard.renews or (heard.is_new and one.state in ('AwaitingFirstPush', 'Suspect')) then now() else one.due_at end,
        state = case
          when heard.ends is not null and one.state = 'Provisioning' then 'Failed'
          when heard.ends is not null and one.state in ${live} then 'Dead'
          when heard.is_new and one.state in ('AwaitingFirstPush', 'Suspect') then 'Active'
          else one.state end,
        fault_text = case
          when heard.ends is not null and one.state in ${live} then heard.ends
          when heard.is_new and one.state in ('AwaitingFirstPush', 'Suspect') then null
          else one.fault_text end
      from heard where one.mandator_id = heard.mandator_id and one.id = heard.known_id
      returning one.id, one.state
    ), changed as (
      select calendar_id as id from news
      where calendar_id is not null and (marks or (kind = 'Status' and previous_watermark <> known_watermark
        and not exists (select from judged as other where other.known_id = news.known_id and other.watermark = news.previous_watermark)))
      union
      select calendar.id
      from rows from (unnest((select ${accountPositions}::integer[])), unnest((select ${accounts}::text[]))) as account(position, name)
      join news on news.position = account.position
      join mail_calendar as calendar on calendar.mandator_id = news.mandator_id and calendar.kind = 'CalDav'
        and calendar.retired_at is null
        and account.name in (lower(calendar.mailbox), split_part(lower(calendar.mailbox), '@', 1))
    ), marked as materialized (
      select mark_mail_calendars(array_agg(id), 'Push')::text as done from changed having count(*) > 0
    )
    select
      case when verdict <> 'Accepted' then verdict when id in (select id from accepted) then 'Accepted' else 'Duplicate' end as verdict,
      coalesce((select state from moved where moved.id = known_id), state) as state,
      dialect = 'Ews' and verdict = 'Rejected' and exists (
        select from mail_notification as earlier
        where earlier.external_id = judged.external_id and earlier.verdict = 'Rejected'
          and earlier.received_at < now() - interval '${graceMinutes} minutes') as "isStale",
      (select count(done) from marked) as marked
    from judged order by position`,
};

/** Each with its end there. */
function pack(buffers: readonly Buffer[]): { packed: Buffer; starts: number[] } {
  let at = 1;
  const starts = buffers.map(({ length }) => {
    const start = at;
    at += length;
    return start;
  });
  return { packed: Buffer.concat(buffers), starts };
}

const noKey = Buffer.alloc(hashBytes);

/** Stores notifications, moves their subscriptions and marks their calendars, all or nothing. @returns in their order */
export async function recordNotifications(db: Database, rows: readonly Row[]): Promise<Recorded[]> {
  const { packed, starts } = pack(rows.map(({ body }) => body));
  const values = columns.map(([name, , read]) => (name === 'body_from' ? starts : rows.map(read)));
  const named = rows.flatMap(({ accounts }, index) =>
    accounts.map((account) => [index + 1, account] as const),
  );
  return await runPrepared<Recorded>(db, statement, [
    ...values,
    Buffer.concat(rows.map(({ dedupeKey }) => dedupeKey ?? noKey)),
    Buffer.concat(rows.map(({ bodyHash }) => bodyHash)),
    packed,
    named.map(([position]) => position),
    named.map(([, account]) => account),
  ]);
}
