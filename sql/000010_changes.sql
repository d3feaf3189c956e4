-- The outbox: every change of a booking, batch, resource or location adds a row in the same transaction. Readers follow positions,
-- which are assigned after the commit: in the order of transaction ids, a transaction that commits late would appear, unnoticed,
-- before rows that have been read already.
create table change (
  -- No foreign key: checking it for each row would slow imports down, and no tenant is ever deleted.
  mandator_id integer not null,
  id bigint generated always as identity,
  -- Its position in the feed of its tenant, from 1 without gaps; null until the feed is read.
  position bigint,
  kind text not null check (kind in ('Booking', 'Batch', 'Resource', 'Location')),
  action text not null check (action in ('Created', 'Changed')),
  subject_id text not null,
  -- The resource of a booking; a booking that moves adds a row for each of its two resources.
  resource_id integer,
  at timestamptz not null default now()
);
create unique index change_in_order on change (mandator_id, position) where position is not null;
create index change_unplaced on change (mandator_id, id) where position is null;

-- The last position that is no longer kept: readers that are not past it must start over.
alter table mandator add column changes_forgotten bigint not null default 0;

-- Assigns positions to the changes of a tenant that have none, at most `most` at a time, so that no reader waits for a whole import.
-- Calls for a tenant run one after another: whoever sees a position can see all positions before it.
create function place_changes(tenant integer, most integer) returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock(7004, tenant);
  -- A statement of its own, which sees what was placed while this waited.
  update change set position = next.position
  from (
    select ctid as place, row_number() over (order by id) + greatest(
      (select changes_forgotten from mandator where id = tenant),
      (select max(position) from change where mandator_id = tenant)) as position
    from change where mandator_id = tenant and position is null
    order by id limit most
  ) as next
  where change.ctid = next.place;
end $$;

create function record_new_bookings() returns trigger language plpgsql as $$
begin
  insert into change (mandator_id, kind, action, subject_id, resource_id)
    select mandator_id, 'Booking', 'Created', id, resource_id from written;
  perform pg_notify('roomgate', 'booking:' || mandator_id || ':' || resource_id)
    from (select distinct mandator_id, resource_id from written) as room;
  return null;
end $$;
create trigger booking_created after insert on booking
  referencing new table as written for each statement execute function record_new_bookings();

create function record_changed_bookings() returns trigger language plpgsql as $$
begin
  insert into change (mandator_id, kind, action, subject_id, resource_id)
    select mandator_id, 'Booking', 'Changed', id, resource_id from (
      select mandator_id, id, resource_id from written union select mandator_id, id, resource_id from replaced) as moved;
  perform pg_notify('roomgate', 'booking:' || mandator_id || ':' || resource_id)
    from (select mandator_id, resource_id from written union select mandator_id, resource_id from replaced) as room;
  return null;
end $$;
create trigger booking_changed after update on booking
  referencing old table as replaced new table as written for each statement execute function record_changed_bookings();

-- For resources and locations; the kind is the name of the table.
create function record_change() returns trigger language plpgsql as $$
begin
  insert into change (mandator_id, kind, action, subject_id)
    values (new.mandator_id, initcap(tg_table_name), case tg_op when 'INSERT' then 'Created' else 'Changed' end, new.id);
  perform pg_notify('roomgate', tg_table_name || ':' || new.mandator_id || ':' || new.id);
  return null;
end $$;
create trigger resource_created after insert on resource for each row execute function record_change();
create trigger resource_changed after update on resource for each row
  when (old.version <> new.version) execute function record_change();
create trigger location_created after insert on location for each row execute function record_change();
create trigger location_changed after update on location for each row
  when (old.version <> new.version) execute function record_change();

-- Only the states of a batch, not its progress, of which `notify_batch` notifies subscribers.
create function record_batch() returns trigger language plpgsql as $$
begin
  insert into change (mandator_id, kind, action, subject_id)
    values (new.mandator_id, 'Batch', case tg_op when 'INSERT' then 'Created' else 'Changed' end, new.id);
  return null;
end $$;
create trigger batch_created after insert on batch for each row execute function record_batch();
create trigger batch_moved after update of import_status on batch for each row
  when (old.import_status <> new.import_status) execute function record_batch();
