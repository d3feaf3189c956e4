-- Subscribers to displays are notified of the displays' reports on themselves, as they are of silence and of changes.
create function notify_of_tenant() returns trigger language plpgsql as $$
begin
  perform pg_notify('roomgate', tg_table_name || ':' || new.mandator_id || ':' || new.id);
  return null;
end $$;
create trigger display_health_told after update on display for each row
  when (old.health is distinct from new.health) execute function notify_of_tenant();
