-- Sessions of browsers: a cookie's random id is stored as a keyed hash. A session ends for good with its PIN or its person.
create table session (
  mandator_id integer not null,
  id integer generated always as identity,
  person_id integer not null,
  -- Null: signed in at an outside identity provider.
  pin_id integer,
  hash bytea not null,
  created_at timestamptz not null default now(),
  used_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (mandator_id, id),
  constraint session_hash unique (hash),
  foreign key (mandator_id, person_id) references person on delete cascade,
  foreign key (mandator_id, pin_id) references pin on delete cascade
);
create index session_person on session (mandator_id, person_id, id);
create index session_pin on session (mandator_id, pin_id);
create index session_used on session (used_at);

-- Every process closes the streams of a session that has ended.
create function notify_session() returns trigger language plpgsql as $$
begin
  perform pg_notify('roomgate', 'session:' || old.id);
  return null;
end $$;
create trigger session_ended after delete on session for each row execute function notify_session();

create function end_sessions_of_pin() returns trigger language plpgsql as $$
begin
  delete from session where mandator_id = new.mandator_id and pin_id = new.id;
  return null;
end $$;
create trigger pin_ends_sessions after update of revoked_at on pin
  for each row when (new.revoked_at is not null) execute function end_sessions_of_pin();

create function end_sessions_of_person() returns trigger language plpgsql as $$
begin
  delete from session where mandator_id = new.mandator_id and person_id = new.id;
  return null;
end $$;
create trigger person_ends_sessions after update of active on person
  for each row when (old.active and not new.active) execute function end_sessions_of_person();
