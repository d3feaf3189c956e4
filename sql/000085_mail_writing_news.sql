-- Subscribers to mail calendars are also notified when one cannot be written, and when an item there differs from its booking, or no
-- longer does.
create or replace trigger mail_calendar_told after update on mail_calendar for each row
  when ((old.read_at, old.fault, old.fault_text, old.not_before, old.retired_at, old.continuation_items, old.dirty_since is null, old.writing_fault)
    is distinct from (new.read_at, new.fault, new.fault_text, new.not_before, new.retired_at, new.continuation_items, new.dirty_since is null, new.writing_fault))
  execute function notify_of_tenant();
create function notify_of_writing() returns trigger language plpgsql as $$
begin
  perform pg_notify('roomgate', 'mail_calendar:' || new.mandator_id || ':' || new.calendar_id);
  return null;
end $$;
create trigger mail_writing_told after update on mail_writing for each row
  when ((old.state in ('Conflict', 'Failed')) <> (new.state in ('Conflict', 'Failed'))) execute function notify_of_writing();
