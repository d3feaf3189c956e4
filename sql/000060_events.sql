-- What a change means, for webhooks: the record itself, when it is read later, only shows its state at that time.
alter table change
  -- Of a booking `Cancelled`, `Released` or, for the resource that it has left, `Left`; of a batch its new state; of a display
  -- `Silent` or `Back`. Null: nothing of these.
  add column became text,
  -- An item of the calendar of the resource that is in conflict with others: no change of the resource itself, so that readers
  -- of the feed are not told of it. An earlier release tells them that the resource has changed.
  add column mail_item_id bigint;

-- Without a join, whose plan could be that of an earlier and much smaller statement.
create or replace function record_changed_bookings() returns trigger language plpgsql as $$
begin
  insert into change (mandator_id, kind, action, subject_id, resource_id, became)
    select mandator_id, 'Booking', 'Changed', id, resource_id, case
      when not bool_or(is_new) then 'Left'
      when min(status) <> max(status) and max(status) filter (where is_new) in ('Cancelled', 'Released')
        then max(status) filter (where is_new) end
    from (
      select mandator_id, id, resource_id, status, true as is_new from written
      union all select mandator_id, id, resource_id, status, false from replaced) as moved
    group by mandator_id, id, resource_id;
  perform pg_notify('roomgate', 'booking:' || mandator_id || ':' || resource_id)
    from (select mandator_id, resource_id from written union select mandator_id, resource_id from replaced) as room;
  return null;
end $$;

create or replace function record_batch() returns trigger language plpgsql as $$
begin
  insert into change (mandator_id, kind, action, subject_id, became)
    values (new.mandator_id, 'Batch', case tg_op when 'INSERT' then 'Created' else 'Changed' end, new.id, new.import_status);
  return null;
end $$;

create or replace trigger display_changed_change after update on display for each row
  when ((old.version, old.silent_since) is distinct from (new.version, new.silent_since)
    and (old.silent_since is null) = (new.silent_since is null))
  execute function record_change();

create function record_silence() returns trigger language plpgsql as $$
begin
  insert into change (mandator_id, kind, action, subject_id, became)
    values (new.mandator_id, 'Display', 'Changed', new.id, case when new.silent_since is null then 'Back' else 'Silent' end);
  perform pg_notify('roomgate', 'display:' || new.mandator_id || ':' || new.id);
  return null;
end $$;
create trigger display_silence_change after update on display for each row
  when ((old.silent_since is null) <> (new.silent_since is null)) execute function record_silence();
