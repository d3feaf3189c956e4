-- A file that closes nothing says why: how many events were read, and how many of them close nothing to come, by reason.
alter table holiday_calendar add column reading jsonb;
