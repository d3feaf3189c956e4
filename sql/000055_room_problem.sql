-- Problems of rooms, which people report at door signs and Admins settle.
create table room_problem (
  mandator_id integer not null,
  id integer generated always as identity,
  resource_id integer not null,
  display_id integer not null,
  -- Chosen by the display: a report that is sent again is stored once.
  key text not null check (length(key) between 1 and 255),
  kind text not null check (kind in ('Heating', 'Light', 'Projector', 'Network', 'Furniture', 'Cleaning', 'Other')),
  text text check (length(text) between 1 and 300),
  -- When somebody reported it, which a display without network sends later.
  reported_at timestamptz not null,
  done_at timestamptz,
  done_by integer,
  version integer not null default 1,
  primary key (mandator_id, id),
  constraint room_problem_key unique (mandator_id, display_id, key),
  check ((done_at is null) = (done_by is null)),
  foreign key (mandator_id, resource_id) references resource on delete cascade,
  foreign key (mandator_id, display_id) references display on delete cascade,
  foreign key (mandator_id, done_by) references person on delete restrict
);
create index room_problem_open on room_problem (mandator_id, display_id) where done_at is null;
create index room_problem_resource on room_problem (mandator_id, resource_id, id);
create index room_problem_done on room_problem (done_at) where done_at is not null;

create trigger room_problem_version before update on room_problem for each row
  when (old.done_at is distinct from new.done_at) execute function count_version();
create trigger room_problem_told after insert or update on room_problem for each row execute function notify_of_tenant();
