-- A reading that ends its process, or takes long: who reads is noted before it begins, and what was read so far is kept.

alter table mail_calendar
  -- Since when somebody reads it; null: nobody does. Whoever dies at it leaves this as it is.
  add column reading_since timestamptz,
  -- How many have died at it in a row.
  add column deaths integer not null default 0,
  -- Where a reading of several steps goes on, opaque; null: none is under way. What it has brought so far is in mail_reading_page.
  add column continuation text,
  add column continuation_since timestamptz,
  add column continuation_items integer not null default 0,
  add check ((continuation is null) = (continuation_since is null));

-- What a reading that is not at its end has brought, in the order in which it came.
create table mail_reading_page (
  mandator_id integer not null,
  calendar_id integer not null,
  page integer not null,
  -- JSON, as the mail server's values may hold what no text of the database can.
  content bytea not null,
  primary key (mandator_id, calendar_id, page),
  foreign key (mandator_id, calendar_id) references mail_calendar on delete cascade
);
