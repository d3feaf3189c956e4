-- Webhooks: where events of a tenant are sent, how far each has got in the feed of changes, and which events wait.

create table webhook (
  mandator_id integer not null references mandator on delete cascade,
  id integer generated always as identity,
  name text not null,
  name_key text not null generated always as (name_key(name)) stored,
  url text not null,
  -- Which events are sent.
  kinds text[] not null,
  -- Encrypted with a key of the Pepper.
  secret bytea not null,
  -- The previous secret, which also signs until then.
  former_secret bytea,
  former_until timestamptz,
  -- The place in the feed up to which all has been sent, or waits in webhook_event; null: the oldest that is kept.
  seen_position bigint,
  seen_micros bigint,
  -- Counts changes of the place: a worker whose round was overtaken writes nothing.
  rounds bigint not null default 0,
  -- Nothing is sent before.
  due_at timestamptz not null default now(),
  -- Attempts that failed one after another, and when the first of them did.
  failures integer not null default 0,
  failing_since timestamptz,
  -- When an attempt succeeded last.
  succeeded_at timestamptz,
  -- Null: events are sent.
  disabled_at timestamptz,
  disabled_because text check (disabled_because in ('Admin', 'Gone', 'Failing', 'HistoryLost')),
  version integer not null default 1,
  check ((former_secret is null) = (former_until is null)),
  check ((seen_position is null) = (seen_micros is null)),
  check ((disabled_at is null) = (disabled_because is null)),
  check ((failures = 0) = (failing_since is null)),
  primary key (mandator_id, id),
  constraint webhook_name unique (mandator_id, name_key)
);
-- Deliveries do not change the version of the record.
create trigger webhook_version before update on webhook for each row
  when ((old.name, old.url, old.kinds, old.secret, old.disabled_at) is distinct from
    (new.name, new.url, new.kinds, new.secret, new.disabled_at))
  execute function count_version();

-- Events before the place of their webhook that were not accepted yet: failed ones, and those that wait behind them.
create table webhook_event (
  mandator_id integer not null,
  webhook_id integer not null,
  position bigint not null,
  micros bigint not null,
  -- What the event tells of, whose events are sent in their order.
  subject text not null,
  kind text not null,
  at timestamptz not null,
  attempts integer not null default 0,
  -- Of the first attempt that failed.
  failed_at timestamptz,
  -- When it is sent again; null: at once.
  due_at timestamptz,
  primary key (mandator_id, webhook_id, position),
  foreign key (mandator_id, webhook_id) references webhook on delete cascade
);

-- Attempts and their answers; kept for some days.
create table webhook_delivery (
  mandator_id integer not null,
  id bigint generated always as identity,
  webhook_id integer not null,
  -- The place of the event in the feed; null for a test.
  position bigint,
  micros bigint,
  message_id text not null,
  kind text not null,
  subject text,
  attempt integer not null,
  at timestamptz not null,
  milliseconds integer not null,
  -- Of HTTP; null: there was no answer.
  status integer,
  -- Its first characters.
  answer text,
  -- Why it failed; null: it was taken.
  fault text,
  primary key (mandator_id, id),
  foreign key (mandator_id, webhook_id) references webhook on delete cascade
);
create index webhook_delivery_listed on webhook_delivery (mandator_id, webhook_id, id);
create index webhook_delivery_age on webhook_delivery (at);

-- The feed of changes keeps that an item of a calendar is in conflict.
create function record_mail_conflict() returns trigger language plpgsql as $$
begin
  insert into change (mandator_id, kind, action, subject_id, mail_item_id)
    select mandator_id, 'Resource', 'Changed', resource_id, new.id
    from mail_calendar where mandator_id = new.mandator_id and id = new.calendar_id;
  return null;
end $$;
create trigger mail_item_conflict_created after insert on mail_item for each row
  when (new.state = 'Conflict') execute function record_mail_conflict();
create trigger mail_item_conflict_changed after update on mail_item for each row
  when (new.state = 'Conflict' and old.state <> 'Conflict') execute function record_mail_conflict();
