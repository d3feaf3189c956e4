-- Door signs: devices that are paired with a code, the rooms that they show, and notifications that a room looks different now.
create table display (
  mandator_id integer not null,
  id integer generated always as identity,
  -- The person as whom it books: of role Display and created with it. The name of that person is the name of the display.
  person_id integer not null,
  -- All active resources of the location, besides those of display_resource.
  location_id integer,
  may_book boolean not null default false,
  privacy text not null check (privacy in ('Title', 'Organizer', 'BusyOnly')),
  token_hash bytea not null,
  created_at timestamptz not null default now(),
  created_by integer not null,
  version integer not null default 1,
  -- Extended whenever the display is heard from.
  expires_at timestamptz not null,
  revoked_at timestamptz,
  heard_at timestamptz,
  -- When the display should be heard from next.
  due_at timestamptz,
  silent_since timestamptz,
  -- Its last report on itself.
  health jsonb,
  primary key (mandator_id, id),
  constraint display_id_alone unique (id),
  constraint display_token_hash unique (token_hash),
  unique (mandator_id, person_id),
  foreign key (mandator_id, person_id) references person on delete restrict,
  foreign key (mandator_id, created_by) references person on delete restrict,
  foreign key (mandator_id, location_id) references location on delete restrict
);
create index display_location on display (mandator_id, location_id) where location_id is not null;
create index display_due on display (due_at) where revoked_at is null and silent_since is null;

create table display_resource (
  mandator_id integer not null,
  display_id integer not null,
  resource_id integer not null,
  primary key (mandator_id, display_id, resource_id),
  foreign key (mandator_id, display_id) references display on delete cascade,
  foreign key (mandator_id, resource_id) references resource on delete cascade
);
create index display_resource_resource on display_resource (mandator_id, resource_id);

-- A device that waits for an Admin to confirm the code on its screen, which makes its token valid. The tenant is stored as the device
-- has named it: whether it exists is only checked at the confirmation.
create table display_pairing (
  code text primary key,
  mandator text not null,
  token_hash bytea not null unique,
  resource_id integer,
  expires_at timestamptz not null
);
create index display_pairing_expiry on display_pairing (expires_at);

create trigger display_version before update on display for each row
  when ((old.location_id, old.may_book, old.privacy, old.revoked_at) is distinct from (new.location_id, new.may_book, new.privacy, new.revoked_at))
  execute function count_version();

-- The grant of a display has changed, or its token has become valid or invalid.
create function notify_display() returns trigger language plpgsql as $$
begin
  perform pg_notify('roomgate', 'display:' || new.id);
  return null;
end $$;
create trigger display_changed after update on display for each row
  when ((old.version, old.expires_at > now()) is distinct from (new.version, new.expires_at > now()))
  execute function notify_display();
create function notify_display_rooms() returns trigger language plpgsql as $$
begin
  perform pg_notify('roomgate', 'display:' || coalesce(new.display_id, old.display_id));
  return null;
end $$;
create trigger display_rooms_changed after insert or update or delete on display_resource
  for each row execute function notify_display_rooms();

-- Displays of a whole location are notified of new rooms; rooms that leave notify them by their own change.
create function notify_location_displays() returns trigger language plpgsql as $$
begin
  perform pg_notify('roomgate', 'display:' || id) from display
    where mandator_id = new.mandator_id and location_id = new.location_id;
  return null;
end $$;
create trigger resource_displays_created after insert on resource for each row execute function notify_location_displays();
create trigger resource_displays_changed after update on resource for each row
  when (new.active and not old.active) execute function notify_location_displays();

-- The feed of changes also reports displays that are paired, changed, revoked, silent or back.
alter table change drop constraint change_kind_check,
  add constraint change_kind_check check (kind in ('Booking', 'Batch', 'Resource', 'Location', 'Display'));
create trigger display_created_change after insert on display for each row execute function record_change();
create trigger display_changed_change after update on display for each row
  when ((old.version, old.silent_since) is distinct from (new.version, new.silent_since)) execute function record_change();

-- Opening hours have no version, but signs show them.
create function notify_hours() returns trigger language plpgsql as $$
begin
  perform pg_notify('roomgate', 'hours:' || coalesce(new.mandator_id, old.mandator_id) || ':' || coalesce(new.location_id, old.location_id));
  return null;
end $$;
create trigger opening_rule_changed after insert or update or delete on opening_rule
  for each row execute function notify_hours();
create trigger opening_exception_changed after insert or update or delete on opening_exception
  for each row execute function notify_hours();

-- Signs name the person whom a booking is for.
create function notify_name() returns trigger language plpgsql as $$
begin
  perform pg_notify('roomgate', 'name:' || new.mandator_id || ':' || new.id);
  return null;
end $$;
create trigger person_renamed after update of name on person
  for each row when (old.name <> new.name) execute function notify_name();

-- The room of a lesson before its first change: the sign of that room shows where the lesson is now.
alter table lesson add column origin_resource_id integer,
  add foreign key (mandator_id, origin_resource_id) references resource on delete set null (origin_resource_id);
-- For earlier changes it is found by the room's name, and stays unknown if two rooms have that name, or none has it any more.
update lesson set origin_resource_id = named.id
from (select mandator_id, name, min(id) as id from resource group by mandator_id, name having count(*) = 1) as named
where lesson.mandator_id = named.mandator_id and lesson.ursprung ->> 'RessourceName' = named.name;
create function keep_origin() returns trigger language plpgsql as $$
begin
  new.origin_resource_id := old.resource_id;
  return new;
end $$;
create trigger lesson_origin before update on lesson for each row
  when (old.ursprung is null and new.ursprung is not null) execute function keep_origin();
create index lesson_of_origin on lesson (mandator_id, origin_resource_id, ((ursprung ->> 'Beginn')))
  where origin_resource_id is not null;
-- Per statement, not per row: an import may change all lessons, which are in few rooms.
create function notify_origins() returns trigger language plpgsql as $$
begin
  perform pg_notify('roomgate', 'booking:' || mandator_id || ':' || origin_resource_id)
    from (select distinct mandator_id, origin_resource_id from replaced where origin_resource_id is not null) as room;
  return null;
end $$;
create trigger lesson_origin_changed after update on lesson
  referencing old table as replaced for each statement execute function notify_origins();
create trigger lesson_origin_deleted after delete on lesson
  referencing old table as replaced for each statement execute function notify_origins();

-- The last act of a display on a booking, so that a mistaken tap can be undone.
create table booking_undo (
  mandator_id integer not null,
  booking_id bigint not null,
  person_id integer not null,
  -- The version of the booking after that act; any later change makes the act final.
  version integer not null,
  action text not null check (action in ('Booked', 'CheckedIn', 'Extended', 'Released')),
  -- What the booking occupied before it was extended.
  occupied tstzrange,
  -- What it was before it was released.
  status text check (status in ('Confirmed', 'Tentative')),
  at timestamptz not null default now(),
  -- When it was undone: a second undo changes nothing.
  undone_at timestamptz,
  primary key (mandator_id, booking_id),
  check ((action = 'Extended') = (occupied is not null)),
  check ((action = 'Released') = (status is not null)),
  foreign key (mandator_id, booking_id) references booking on delete cascade,
  foreign key (mandator_id, person_id) references person on delete cascade
);
create index booking_undo_age on booking_undo (at);
