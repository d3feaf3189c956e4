-- Readings that crash their process or take long: the reader is recorded before it begins, and partial results are kept.

alter table mail_calendar
  -- Since when it is being read; null: it is not. A reader that dies leaves this set.
  add column reading_since timestamptz,
  -- How many readers died in a row.
  add column deaths integer not null default 0,
  -- Where a reading of several steps continues, opaque; null: none is under way. Its results so far are in mail_reading_page.
  add column continuation text,
  add column continuation_since timestamptz,
  add column continuation_items integer not null default 0,
  add check ((continuation is null) = (continuation_since is null));

-- The results of an unfinished reading, in order.
create table mail_reading_page (
  mandator_id integer not null,
  calendar_id integer not null,
  page integer not null,
  -- JSON, as the mail server's values may hold what no text of the database can.
  content bytea not null,
  primary key (mandator_id, calendar_id, page),
  foreign key (mandator_id, calendar_id) references mail_calendar on delete cascade
);
