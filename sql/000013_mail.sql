-- Mail servers: the calendars of their rooms, the subscriptions that push changes, what was pushed, and the booking of each item.

-- A room's calendar on the mail server of its tenant, as the settings name it, and how far it has been read.
create table mail_calendar (
  mandator_id integer not null references mandator on delete cascade,
  id integer generated always as identity,
  resource_id integer not null,
  kind text not null check (kind in ('Ews', 'Graph', 'CalDav')),
  mailbox text not null,
  -- Where it was found in the room's mailbox: a folder, or the address of a collection; null until it was first looked up.
  address text,
  -- Set when the settings no longer name it: it is neither read nor subscribed to, and its future bookings are cancelled.
  retired_at timestamptz,
  -- The opaque cursor of the mail server; null: everything is to be read again. Items outside the window are not read.
  cursor text,
  window_start timestamptz,
  window_end timestamptz,
  -- Since when there are unread changes; null: none are known. `dirty_by` says who reported the first.
  dirty_since timestamptz,
  dirty_by text check (dirty_by in ('Push', 'Poll', 'Request')),
  -- Counts these reports: a reader clears `dirty_since` only if no further report came meanwhile.
  marks bigint not null default 0,
  -- The time for which its reading was last queued.
  queued_for timestamptz,
  -- Not read before then, because of the mail server's wish or the last failure.
  not_before timestamptz,
  failures integer not null default 0,
  -- The error of the last reading; null if it succeeded.
  fault text check (fault in ('Unreachable', 'AccessLost', 'Throttled', 'StateLost', 'Unreadable', 'TooLarge')),
  fault_text text,
  read_at timestamptz,
  read_whole_at timestamptz,
  readings bigint not null default 0,
  found_by_push bigint not null default 0,
  found_by_poll bigint not null default 0,
  created_at timestamptz not null default now(),
  primary key (mandator_id, id),
  constraint mail_calendar_id_alone unique (id),
  unique (mandator_id, resource_id),
  foreign key (mandator_id, resource_id) references resource on delete cascade,
  check ((dirty_since is null) = (dirty_by is null)),
  check ((fault is null) = (fault_text is null))
);
-- Says that calendars may have changed, and queues their reading in the same transaction: when nobody has said so for some 300 ms,
-- and at most 3 s after the first; of many at a time spread over so many seconds. A job that is to come soon enough, and not at
-- once, stays as it is: a storm of notifications costs few. One reading of a calendar at a time: its jobs share a queue.
create function mark_mail_calendars(calendars integer[], by text, spread integer default 0) returns void language plpgsql as $$
declare
  queued record;
begin
  with marked as (
    update mail_calendar as one set dirty_since = coalesce(one.dirty_since, now()), dirty_by = coalesce(one.dirty_by, by),
      marks = one.marks + 1,
      queued_for = case
        when one.queued_for between greatest(clock_timestamp() + interval '100 ms', one.not_before) and wanted.run_at then one.queued_for
        else wanted.run_at + random() * make_interval(secs => spread) end
    from (
      select id, queued_for, greatest(
        least(clock_timestamp() + interval '300 ms', coalesce(dirty_since, now()) + interval '3 s'), not_before) as run_at
      from mail_calendar where id = any (calendars) and retired_at is null order by id for no key update
    ) as wanted
    where one.id = wanted.id
    returning one.id, one.mandator_id, one.queued_for, one.queued_for is distinct from wanted.queued_for as is_new
  )
  select array_agg(id) as ids, array_agg(mandator_id) as mandators, array_agg(queued_for) as times into queued
  from marked where is_new;
  if queued.ids is not null then
    perform graphile_worker.add_jobs(array(
      select row('SynchroniseMailCalendar', json_build_object('mandatorId', job.mandator, 'calendarId', job.id),
        'mail calendar ' || job.id, job.run_at, null, 'mail calendar ' || job.id, null, null)::graphile_worker.job_spec
      from unnest(queued.ids, queued.mandators, queued.times) as job(id, mandator, run_at)));
  end if;
end $$;

-- The mail server's promise to notify us. Each attempt to subscribe is a row of its own, whose id is part of the callback's secret.
create table mail_subscription (
  mandator_id integer not null,
  id integer generated always as identity,
  -- Null: one for all calendars of the tenant, which the mail server's operator has set up (CalDav).
  calendar_id integer,
  kind text not null check (kind in ('Ews', 'Graph', 'CalDav')),
  -- The server it was requested from, and the mailbox (null: all); it is obsolete once the settings name others.
  server_url text not null,
  mailbox text,
  state text not null default 'Provisioning' check (state in
    ('Provisioning', 'AwaitingFirstPush', 'Active', 'Suspect', 'Dead', 'Failed', 'Replaced', 'Disabled')),
  -- What the mail server calls it; null until it has answered.
  external_id text,
  -- Without its secret.
  callback_url text not null,
  heartbeat_minutes integer,
  expires_at timestamptz,
  -- When it is to be renewed (Graph) or replaced (Ews); null: never.
  renew_at timestamptz,
  created_at timestamptz not null default now(),
  -- Since when it is in its state.
  state_since timestamptz not null default now(),
  -- When it last delivered a notification; its handshake does not count.
  seen_at timestamptz,
  watermark text,
  -- When MailSubscriptionManagement checks it next; of a failed one: when the next is requested.
  due_at timestamptz not null default now(),
  -- Consecutive failed attempts to renew or probe it.
  failures integer not null default 0,
  -- The mail server's last failure; and the reason for its state, in words.
  fault text check (fault in ('Unreachable', 'AccessLost', 'Throttled', 'StateLost', 'Unreadable', 'TooLarge')),
  fault_text text,
  primary key (mandator_id, id),
  constraint mail_subscription_id_alone unique (id),
  foreign key (mandator_id) references mandator on delete cascade,
  foreign key (mandator_id, calendar_id) references mail_calendar on delete cascade
);
-- Prevents two workers from requesting one at once. A subscription that is being replaced stays until its successor is Active, so that
-- one always pushes.
create unique index mail_subscription_coming on mail_subscription (mandator_id, coalesce(calendar_id, 0))
  where state in ('Provisioning', 'AwaitingFirstPush');
create index mail_subscription_of_calendar on mail_subscription (mandator_id, calendar_id, id);
create index mail_subscription_due on mail_subscription (due_at)
  where state in ('Provisioning', 'AwaitingFirstPush', 'Active', 'Suspect');
create index mail_subscription_ended on mail_subscription (mandator_id, state_since)
  where state in ('Dead', 'Failed', 'Replaced', 'Disabled');

-- When the subscriptions on a tenant's mail server were last listed, to end those that are unknown here, and when that was last tried.
create table mail_server (
  mandator_id integer primary key references mandator on delete cascade,
  listed_at timestamptz,
  tried_at timestamptz not null
);

create table mail_subscription_history (
  mandator_id integer not null,
  subscription_id integer not null,
  id bigint generated always as identity,
  -- Null: it was made.
  from_state text,
  to_state text not null,
  -- Why.
  text text,
  at timestamptz not null default now(),
  primary key (mandator_id, subscription_id, id),
  foreign key (mandator_id, subscription_id) references mail_subscription on delete cascade
);

create function guard_mail_subscription() returns trigger language plpgsql as $$
begin
  if (old.state, new.state) not in (
    ('Provisioning', 'AwaitingFirstPush'), ('Provisioning', 'Active'), ('Provisioning', 'Failed'),
    ('AwaitingFirstPush', 'Active'), ('AwaitingFirstPush', 'Failed'), ('AwaitingFirstPush', 'Dead'),
    ('Active', 'Suspect'), ('Active', 'Dead'), ('Suspect', 'Active'), ('Suspect', 'Dead'),
    ('Provisioning', 'Replaced'), ('AwaitingFirstPush', 'Replaced'), ('Active', 'Replaced'), ('Suspect', 'Replaced'),
    ('Provisioning', 'Disabled'), ('AwaitingFirstPush', 'Disabled'), ('Active', 'Disabled'), ('Suspect', 'Disabled')
  ) then
    raise exception 'mail subscription % cannot go from % to %', old.id, old.state, new.state using errcode = 'RG001';
  end if;
  new.state_since := now();
  if new.state in ('AwaitingFirstPush', 'Active') then
    new.fault := null;
    new.fault_text := null;
  end if;
  return new;
end $$;
create trigger mail_subscription_guard before update of state on mail_subscription for each row
  when (old.state <> new.state) execute function guard_mail_subscription();

create function record_mail_subscription() returns trigger language plpgsql as $$
begin
  insert into mail_subscription_history (mandator_id, subscription_id, from_state, to_state, text)
    values (new.mandator_id, new.id, case tg_op when 'UPDATE' then old.state end, new.state, new.fault_text);
  return null;
end $$;
create trigger mail_subscription_made after insert on mail_subscription
  for each row execute function record_mail_subscription();
create trigger mail_subscription_moved after update of state on mail_subscription for each row
  when (old.state <> new.state) execute function record_mail_subscription();

-- The inbox: every notification is stored before it is answered, for 30 days. It is only a hint and is not trusted. There are no
-- foreign keys, as what it names may be gone, and each would add a quarter to the cost of storing it.
create table mail_notification (
  id uuid primary key,
  received_at timestamptz not null default now(),
  -- Null if it names no subscription, or cannot prove that it belongs to it.
  mandator_id integer,
  subscription_id integer,
  dialect text not null check (dialect in ('Ews', 'Graph', 'Jmap', 'Unknown')),
  kind text not null check (kind in ('Change', 'Status', 'Lifecycle', 'Fault', 'Handshake', 'Unknown')),
  verdict text not null check (verdict in ('Accepted', 'Duplicate', 'Rejected', 'Unrecognised', 'Handshake')),
  -- Equal for repetitions of the same notification of a subscription.
  dedupe_key bytea,
  -- What the sender calls the subscription.
  external_id text,
  content_type text,
  address text not null,
  request_id text not null,
  -- The body as received, stored only with the first of several notifications; of rejected ones the first KiB.
  body bytea not null,
  body_bytes integer not null,
  body_hash bytea not null
);
create unique index mail_notification_once on mail_notification (subscription_id, dedupe_key) where verdict = 'Accepted';
create index mail_notification_age on mail_notification (received_at);
create index mail_notification_refused on mail_notification (received_at) where verdict in ('Rejected', 'Unrecognised', 'Handshake');
create index mail_notification_unknown on mail_notification (external_id, received_at) where verdict = 'Rejected';

-- An item of a calendar, or an occurrence of a series: its booking, or why it has none.
create table mail_item (
  mandator_id integer not null,
  id bigint generated always as identity,
  calendar_id integer not null,
  -- What the mail server lists and removes as one: an appointment, or a series with its exceptions.
  group_id text not null,
  -- One of the group: '' or the original start of an occurrence, as an instant.
  occurrence text not null,
  -- What the mail server calls this one.
  item_id text not null,
  -- RFC 5545; shared by a series.
  uid text,
  -- Hash of everything that a booking takes from it: if equal, nothing has changed.
  content_hash bytea not null,
  -- `Passed over`: shown as free, declined, or our own.
  state text not null check (state in ('Booked', 'Conflict', 'PassedOver', 'Unreadable', 'Gone')),
  booking_id bigint,
  subject text,
  is_private boolean not null default false,
  is_tentative boolean not null default false,
  organizer_name text,
  organizer_email text,
  -- Null where it is unreadable.
  occupied tstzrange,
  -- Why it is not booked, for people.
  reason text,
  changed_at timestamptz not null default now(),
  primary key (mandator_id, id),
  constraint mail_item_occurrence unique (mandator_id, calendar_id, group_id, occurrence),
  foreign key (mandator_id, calendar_id) references mail_calendar on delete cascade,
  foreign key (mandator_id, booking_id) references booking on delete restrict,
  check ((state = 'Booked') <= (booking_id is not null)),
  check ((state in ('Booked', 'Conflict')) <= (occupied is not null))
);
create index mail_item_of_booking on mail_item (mandator_id, booking_id) where booking_id is not null;
create index mail_item_of_id on mail_item (mandator_id, calendar_id, item_id);
create index mail_item_conflict on mail_item (mandator_id, calendar_id, upper(occupied)) where state = 'Conflict';

alter table booking
  -- Of a mail item whose organizer is no person here.
  add column organizer_name text,
  add column organizer_email text,
  -- Of a mail item: its UID there (RFC 5545), which the occurrences of a series share.
  add column mail_item_id text;
