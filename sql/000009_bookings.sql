-- Bookings by people as well as by imports: with setup and teardown, series, check-in and release; and tokens for calendar programs.
-- Identifies the tenant in the UIDs of its bookings (RFC 5545), which no other installation may produce.
alter table mandator add column uid uuid not null default gen_random_uuid();

-- Minutes after its start by which a booking of this resource must be checked in, or else it is released; null: no check-in.
alter table resource add column check_in_minutes smallint check (check_in_minutes between 1 and 240);
drop trigger resource_version on resource;
create trigger resource_version before update on resource for each row
  when ((old.location_id, old.name, old.kind, old.capacity, old.equipment, old.mailbox, old.check_in_minutes, old.active)
    is distinct from (new.location_id, new.name, new.kind, new.capacity, new.equipment, new.mailbox, new.check_in_minutes, new.active))
  execute function count_version();

-- Ids are unique across tenants: the exclusion constraint, and queries that read only its index, rely on that.
alter table resource add constraint resource_id_alone unique (id);

-- How a series was expanded; afterwards its bookings are independent.
create table booking_series (
  mandator_id integer not null references mandator on delete cascade,
  id bigint generated always as identity,
  recurrence_rule text not null,
  created_at timestamptz not null default now(),
  primary key (mandator_id, id)
);

alter table booking
  add column description text,
  add column setup_minutes smallint not null default 0 check (setup_minutes between 0 and 1440),
  add column teardown_minutes smallint not null default 0 check (teardown_minutes between 0 and 1440),
  -- Null for a lesson, which has its own teachers.
  add column organizer_id integer,
  add column series_id bigint,
  add column check_in_from timestamptz,
  add column check_in_until timestamptz,
  add column checked_in_at timestamptz,
  add check ((check_in_from is null) = (check_in_until is null)),
  add check (checked_in_at is null or check_in_until is not null),
  add check (upper(occupied) - lower(occupied) > make_interval(mins => setup_minutes + teardown_minutes)),
  add foreign key (mandator_id, organizer_id) references person on delete restrict,
  add foreign key (mandator_id, series_id) references booking_series on delete restrict;

-- A room's bookings in order, whatever their status; the index of the exclusion constraint has only those that occupy it.
create index booking_room on booking (mandator_id, resource_id, lower(occupied), id);
create index booking_inactive on booking using gist (resource_id, occupied) where status in ('Cancelled', 'Released');
create index booking_changed on booking (mandator_id, changed_at);
create index booking_organizer on booking (mandator_id, organizer_id, lower(occupied)) where organizer_id is not null;
create index booking_of_series on booking (mandator_id, series_id) where series_id is not null;
create index booking_no_show on booking (check_in_until)
  where check_in_until is not null and checked_in_at is null and status in ('Confirmed', 'Tentative');

-- Calendar programs read a resource's feed with a token in the address, with the rights of the person who made the token.
create table calendar_token (
  mandator_id integer not null,
  id integer generated always as identity,
  resource_id integer not null,
  person_id integer not null,
  hash bytea not null,
  label text,
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  last_used_at timestamptz,
  primary key (mandator_id, id),
  constraint calendar_token_hash unique (hash),
  foreign key (mandator_id, resource_id) references resource on delete cascade,
  foreign key (mandator_id, person_id) references person on delete cascade
);
create index calendar_token_resource on calendar_token (mandator_id, resource_id);
