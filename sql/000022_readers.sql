-- A death during a reading is counted for the worker that was reading, and taken back if that worker turns out to be alive.

alter table mail_calendar
  -- The runner that reads it, as leases name it; null beside `reading_since`: one of an older release.
  add column reading_by text,
  -- The runner whose end was counted in `deaths` last; null: there is none to take back.
  add column death_of text;
