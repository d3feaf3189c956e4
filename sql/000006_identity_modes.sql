-- Processes are notified whose credentials become invalid or valid again: those without a PIN of ours, and all of a tenant whose parameters change.
create function notify_changed() returns trigger language plpgsql as $$
begin
  perform pg_notify('roomgate', tg_table_name || ':' || new.id);
  return null;
end $$;
create trigger person_changed after update of active, role, email on person
  for each row
  when ((old.active, old.role, old.email) is distinct from (new.active, new.role, new.email))
  execute function notify_changed();
create trigger mandator_changed after update of parameters on mandator
  for each row when (old.parameters is distinct from new.parameters) execute function notify_changed();
