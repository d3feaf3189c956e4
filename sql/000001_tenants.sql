-- Tenants and their master data: every other table hangs below these, with the tenant in each key.
create extension if not exists btree_gist;

-- The key by which names are compared everywhere: trimmed, Unicode NFC, case-insensitive.
create function name_key(name text) returns text
  language sql immutable strict parallel safe
  return lower(normalize(btrim(name, E' \t\n\r\u00a0'), nfc));

create table mandator (
  id integer generated always as identity primary key,
  code text not null unique check (code ~ '^[a-z0-9_-]{1,64}$'),
  name text not null,
  parameters jsonb not null default '{}',
  created_at timestamptz not null default now()
);

create table person (
  mandator_id integer not null references mandator on delete cascade,
  id integer generated always as identity,
  name text not null,
  email text not null,
  time_zone text not null,
  role text not null check (role in ('Admin', 'User', 'Display')),
  active boolean not null default true,
  created_at timestamptz not null default now(),
  primary key (mandator_id, id)
);
create unique index person_email on person (mandator_id, lower(email));

create table location (
  mandator_id integer not null references mandator on delete cascade,
  id integer generated always as identity,
  name text not null,
  name_key text not null generated always as (name_key(name)) stored,
  time_zone text not null,
  primary key (mandator_id, id),
  constraint location_name unique (mandator_id, name_key)
);

create table resource (
  mandator_id integer not null,
  id integer generated always as identity,
  location_id integer not null,
  name text not null,
  name_key text not null generated always as (name_key(name)) stored,
  kind text not null default 'Room',
  capacity integer check (capacity >= 0),
  equipment text[] not null default '{}',
  mailbox text,
  active boolean not null default true,
  primary key (mandator_id, id),
  constraint resource_name unique (mandator_id, name_key, location_id),
  foreign key (mandator_id, location_id) references location on delete restrict
);
create index resource_location on resource (mandator_id, location_id);

-- Opening hours are local clock times. `closes` may be 24:00; closes <= opens means the next day.
-- resource_id null: the hours of the location, which apply to resources without hours of their own.
create table opening_rule (
  mandator_id integer not null,
  id integer generated always as identity,
  location_id integer not null,
  resource_id integer,
  weekdays smallint[] not null check (weekdays <@ '{1,2,3,4,5,6,7}' and cardinality(weekdays) > 0),
  opens time not null,
  closes time not null,
  valid_from date,
  valid_to date,
  check (valid_to >= valid_from),
  primary key (mandator_id, id),
  foreign key (mandator_id, location_id) references location on delete cascade,
  foreign key (mandator_id, resource_id) references resource on delete cascade
);
create index opening_rule_location on opening_rule (mandator_id, location_id, resource_id);

-- An exception replaces every interval that starts on one of its local dates: by its periods, [{"opens", "closes"}], or by
-- nothing when it is closed.
create table opening_exception (
  mandator_id integer not null,
  id integer generated always as identity,
  location_id integer not null,
  resource_id integer,
  from_date date not null,
  to_date date not null,
  closed boolean not null,
  periods jsonb not null default '[]',
  reason text,
  check (to_date >= from_date),
  check (closed = (periods = '[]')),
  primary key (mandator_id, id),
  foreign key (mandator_id, location_id) references location on delete cascade,
  foreign key (mandator_id, resource_id) references resource on delete cascade
);
create index opening_exception_location on opening_exception (mandator_id, location_id, resource_id);
