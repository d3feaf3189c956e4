-- Holidays close a location, or all: calendars of them come from .ics files that Admins send or whose address they give.

create table holiday_calendar (
  mandator_id integer not null references mandator on delete cascade,
  id integer generated always as identity,
  -- Null: of all locations of the tenant.
  location_id integer,
  name text not null,
  name_key text not null generated always as (name_key(name)) stored,
  -- Whether its holidays close, or are only shown.
  closes boolean not null,
  -- Null: its file was sent.
  url text,
  -- When the address is read next; null where there is none. Whoever reads it sets it first.
  due_at timestamptz,
  -- Of the answer that was read last.
  etag text,
  read_at timestamptz,
  -- Why the latest reading failed; null: it did not.
  fault text,
  fault_at timestamptz,
  version integer not null default 1,
  check ((url is null) = (due_at is null)),
  primary key (mandator_id, id),
  constraint holiday_calendar_name unique (mandator_id, name_key),
  foreign key (mandator_id, location_id) references location on delete cascade
);
create index holiday_calendar_due on holiday_calendar (due_at) where due_at is not null;
-- Readings do not change the version of the record.
create trigger holiday_calendar_version before update on holiday_calendar for each row
  when ((old.location_id, old.name, old.closes, old.url) is distinct from (new.location_id, new.name, new.closes, new.url))
  execute function count_version();

create table holiday (
  mandator_id integer not null,
  id integer generated always as identity,
  calendar_id integer not null,
  -- Local dates, inclusive.
  from_date date not null,
  to_date date not null check (to_date >= from_date),
  name text not null,
  primary key (mandator_id, id),
  foreign key (mandator_id, calendar_id) references holiday_calendar on delete cascade
);
create index holiday_dates on holiday (mandator_id, calendar_id, from_date);
