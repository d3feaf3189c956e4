-- Bookings are written into the calendars of their rooms within seconds: the job is queued with the booking.
create or replace function record_new_bookings() returns trigger language plpgsql as $$
begin
  insert into change (mandator_id, kind, action, subject_id, resource_id)
    select mandator_id, 'Booking', 'Created', id, resource_id from written;
  perform pg_notify('roomgate', 'booking:' || mandator_id || ':' || resource_id)
    from (select distinct mandator_id, resource_id from written) as room;
  perform write_calendars_of(array_agg(mandator_id), array_agg(resource_id))
    from (select distinct mandator_id, resource_id from written where kind <> 'MailItem') as room;
  return null;
end $$;

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
  perform write_calendars_of(array_agg(mandator_id), array_agg(resource_id)) from (
    select mandator_id, resource_id from written where kind <> 'MailItem'
    union select mandator_id, resource_id from replaced where kind <> 'MailItem') as room;
  return null;
end $$;
