-- Admins change the tenant itself, move resources to other locations, and erase persons.

alter table mandator add column version integer not null default 1;
create trigger mandator_version before update on mandator for each row
  when ((old.name, old.parameters) is distinct from (new.name, new.parameters))
  execute function count_version();

-- An erased person never comes back.
alter table person add column erased_at timestamptz,
  add constraint person_erased check (erased_at is null or not active);

-- Displays of a whole location see the rooms that move to it or away from it. At an insert `old` is null.
create or replace function notify_location_displays() returns trigger language plpgsql as $$
begin
  perform pg_notify('roomgate', 'display:' || id) from display
    where mandator_id = new.mandator_id and location_id in (new.location_id, old.location_id);
  return null;
end $$;
create trigger resource_displays_moved after update on resource for each row
  when (new.location_id <> old.location_id) execute function notify_location_displays();
