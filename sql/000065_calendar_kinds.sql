-- Two more kinds of calendars: Google calendars, and those published as iCalendar at a URL.
-- An older release does not know these kinds.
update schema_floor set migration = '000065_calendar_kinds';

alter table mail_calendar
  drop constraint mail_calendar_kind_check,
  add constraint mail_calendar_kind_check check (kind in ('Ews', 'Graph', 'CalDav', 'Google', 'ICalendar')),
  -- How often it is read where nothing pushes, as its source wishes; null: every minute.
  add column poll_minutes smallint,
  -- The items that the last reading of a published calendar lacked: they are gone when the next one lacks them too.
  add column missing_items bigint[] not null default '{}';
