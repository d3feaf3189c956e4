-- Subscribers to mail calendars are notified when one is read, waits, cannot be read, is added or removed.
create trigger mail_calendar_found after insert on mail_calendar for each row execute function notify_of_tenant();
create trigger mail_calendar_told after update on mail_calendar for each row
  when ((old.read_at, old.fault, old.fault_text, old.not_before, old.retired_at, old.continuation_items, old.dirty_since is null)
    is distinct from (new.read_at, new.fault, new.fault_text, new.not_before, new.retired_at, new.continuation_items, new.dirty_since is null))
  execute function notify_of_tenant();
