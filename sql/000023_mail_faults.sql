-- The mail server's answer is stored as data beside its text, and whoever sees the server answer again ends the waits of its calendars.

alter table mail_calendar
  -- The HTTP status of the answer behind `fault`; null where there was no answer.
  add column fault_status smallint,
  -- Nothing is asked before, as the mail server wishes or as it has refused the account; null: it depends on `not_before` alone.
  add column fault_until timestamptz;

-- Queues the reading of a tenant's calendars that wait after a fault, except the one that showed its end; waits for no lock.
create function release_mail_calendars(mandator integer, except_calendar integer, passed_fault text) returns void
language plpgsql as $$
declare
  released integer[];
begin
  with waiting as materialized (
    select id from mail_calendar
    where mandator_id = mandator and id <> except_calendar and retired_at is null and not_before > now() and fault = passed_fault
    order by id for no key update skip locked
  ), freed as (
    update mail_calendar as one set not_before = null
    from waiting where one.mandator_id = mandator and one.id = waiting.id
    returning one.id
  )
  select array_agg(id) into released from freed;
  if released is not null then
    perform mark_mail_calendars(released, 'Poll', 5);
  end if;
end $$;
