-- Whether bookings are written into a room's calendar on its mail server, and whether edits there count; null: as the tenant's
-- parameters CalendarWriting and CalendarEdits say.
alter table resource
  add column calendar_writing text check (calendar_writing in ('Off', 'Busy', 'Full')),
  add column calendar_edits text check (calendar_edits in ('PutBack', 'TakeOver'));
create or replace trigger resource_version before update on resource for each row
  when ((old.location_id, old.name, old.kind, old.capacity, old.equipment, old.mailbox, old.check_in_minutes, old.policy_id, old.active,
      old.calendar_writing, old.calendar_edits)
    is distinct from (new.location_id, new.name, new.kind, new.capacity, new.equipment, new.mailbox, new.check_in_minutes, new.policy_id,
      new.active, new.calendar_writing, new.calendar_edits))
  execute function count_version();
