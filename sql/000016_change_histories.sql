-- A cursor of the feed contains the time of the change at its position, which proves that it belongs to this history: a database that
-- was restored from a backup assigns later positions again, to other changes.
alter table mandator add column changes_forgotten_at timestamptz;

-- Of a time only what is a date-time of ISO 8601 with a year of four digits, in UTC too: a Date of JavaScript ends before
-- PostgreSQL's instants do.
create or replace function iso_instant(written text, instant timestamptz) returns timestamptz
  language sql stable parallel safe
  return case
    when instant >= '0001-01-01T00:00:00Z'::timestamptz and instant < '10000-01-01T00:00:00Z'::timestamptz
      and (written like '%T%Z' and instant::text = replace(replace(written, 'T', ' '), 'Z', '+00')
        or written ~ '^\d{4}-\d\d-\d\d[Tt]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d([.,]\d{1,9})?)?([Zz]|[+-]([01]\d|2[0-3])(:?[0-5]\d)?)?$')
    then instant
  end;
