-- What a mail server answered is kept as data beside its words, and both rooms that see it answer again end the waits of its calendars.

alter table mail_calendar
  -- The HTTP status of the answer behind `fault`; null where there was no answer.
  add column fault_status smallint,
  -- Nothing is asked before, as the mail server wishes or as it has refused the account; null: it depends on `not_before` alone.
  add column fault_until timestamptz;

-- Calendars of a tenant that wait after a fault are read now, all but one that has shown that it has passed; waits for nobody.
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
