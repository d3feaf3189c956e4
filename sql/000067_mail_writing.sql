-- The items written into the calendars of rooms: for each booking, its item there as far as is known.
create table mail_writing (
  mandator_id integer not null,
  calendar_id integer not null,
  -- Without foreign key: bookings have no row here before they are written, and rows are forgotten on their own.
  booking_id bigint not null,
  -- Grows when the item has to be made again under another name, as some servers keep the names of deleted ones.
  generation integer not null default 1,
  -- Absent: nothing stands there. Writing, Deleting: asked for, and not known to be done. Written: it stands there as the row
  -- says. Doubtful: a reading has found it otherwise. Overruled: others had changed it when it was written. Conflict: it was
  -- changed there too often. Failed: the server refuses it.
  state text not null check (state in ('Absent', 'Writing', 'Written', 'Deleting', 'Doubtful', 'Overruled', 'Conflict', 'Failed')),
  -- What stands there, or was asked for last; of the subject a hash.
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  subject_hash bytea not null,
  is_private boolean not null,
  -- Where it stands; null: it was never there under this name.
  native_id text,
  change_key text,
  -- How often it had to be put back, since when.
  put_backs integer not null default 0,
  put_backs_since timestamptz,
  -- Of Conflict and Failed: when it is tried again, and why, for people.
  not_before timestamptz,
  reason text,
  primary key (mandator_id, calendar_id, booking_id),
  foreign key (mandator_id, calendar_id) references mail_calendar on delete cascade,
  check ((put_backs = 0) = (put_backs_since is null)),
  check ((state in ('Conflict', 'Failed')) = (reason is not null)),
  check ((reason is null) = (not_before is null))
);
create index mail_writing_unsettled on mail_writing (mandator_id, calendar_id)
  where state in ('Writing', 'Deleting', 'Doubtful', 'Overruled');
create index mail_writing_in_trouble on mail_writing (mandator_id, calendar_id) where state in ('Conflict', 'Failed');
create index mail_writing_native on mail_writing (mandator_id, calendar_id, native_id);

-- Writing has pauses and faults of its own, as reading goes on meanwhile.
alter table mail_calendar
  add column writing_not_before timestamptz,
  add column writing_failures integer not null default 0,
  add column writing_fault text,
  -- When all that is booked stood there last, and by which CalendarWriting.
  add column compared_at timestamptz,
  add column compared_as text,
  add column items_written bigint not null default 0,
  add column put_backs bigint not null default 0,
  add column taken_over bigint not null default 0;

-- Queues the writing of calendars behind their readings: one of both at a time. `why` tells jobs apart, so that no transaction
-- waits for the job of another.
create function write_mail_calendars(calendars integer[], why text, run_at timestamptz default null) returns void language plpgsql as $$
begin
  if cardinality(calendars) > 0 then
    perform graphile_worker.add_jobs(array(
      select row('WriteMailCalendar', json_build_object('mandatorId', calendar.mandator_id, 'calendarId', calendar.id),
        'mail calendar ' || calendar.id, run_at, null, 'mail writing ' || calendar.id || ' ' || why, 10, null)::graphile_worker.job_spec
      from mail_calendar as calendar where id = any (calendars) and retired_at is null order by id));
  end if;
end $$;

-- The calendars of these rooms that are written.
create function write_calendars_of(mandators integer[], resources integer[]) returns void language plpgsql as $$
begin
  perform write_mail_calendars(array(
    select calendar.id from unnest(mandators, resources) as room (mandator, resource)
    join mail_calendar as calendar
      on calendar.mandator_id = room.mandator and calendar.resource_id = room.resource and calendar.retired_at is null
    join mandator on mandator.id = room.mandator
    join resource on resource.mandator_id = room.mandator and resource.id = room.resource
    where coalesce(resource.calendar_writing, mandator.parameters ->> 'CalendarWriting') in ('Busy', 'Full')
  ), pg_current_xact_id()::text);
end $$;
