-- A holiday calendar reports how many events were read, and how many of them close no future day, by reason.
alter table holiday_calendar add column reading jsonb;
