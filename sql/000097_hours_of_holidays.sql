-- Signs learn at once of holidays that close: these change the hours of a location, or of all.
-- A place that is null stands for all locations of the tenant.
create function notify_hours_at(tenant integer, place integer) returns void language plpgsql as $$
begin
  perform pg_notify('roomgate', 'hours:' || mandator_id || ':' || id) from location
    where mandator_id = tenant and (place is null or id = place);
end $$;

create function notify_closing_calendar() returns trigger language plpgsql as $$
begin
  if old.closes then
    perform notify_hours_at(old.mandator_id, old.location_id);
  end if;
  if new.closes then
    perform notify_hours_at(new.mandator_id, new.location_id);
  end if;
  return null;
end $$;
create trigger holiday_calendar_moved after update on holiday_calendar for each row
  when ((old.location_id, old.closes) is distinct from (new.location_id, new.closes)) execute function notify_closing_calendar();
create trigger holiday_calendar_deleted after delete on holiday_calendar for each row execute function notify_closing_calendar();

-- Per statement, not per row: the holidays of a calendar are deleted and inserted all at once, never updated.
create function notify_closing_holidays() returns trigger language plpgsql as $$
begin
  perform notify_hours_at(calendar.mandator_id, calendar.location_id)
    from (select distinct mandator_id, calendar_id from touched) as one
    join holiday_calendar as calendar on calendar.mandator_id = one.mandator_id and calendar.id = one.calendar_id
    where calendar.closes;
  return null;
end $$;
create trigger holiday_created after insert on holiday
  referencing new table as touched for each statement execute function notify_closing_holidays();
create trigger holiday_deleted after delete on holiday
  referencing old table as touched for each statement execute function notify_closing_holidays();
