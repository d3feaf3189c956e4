-- One subscription for all calendars of a tenant (CalDav) may push the changes of some of them only, so each calendar knows its own last push.
alter table mail_calendar
  -- When a notification last marked it; null: none has.
  add column pushed_at timestamptz;

create or replace function mark_mail_calendars(calendars integer[], by text, spread integer default 0) returns void language plpgsql as $$
declare
  queued record;
begin
  with marked as (
    update mail_calendar as one set dirty_since = coalesce(one.dirty_since, now()),
      dirty_by = case when by = 'Push' then by else coalesce(one.dirty_by, by) end,
      marks = one.marks + 1,
      pushed_at = case when by = 'Push' then now() else one.pushed_at end,
      queued_for = case
        when wanted.is_due then one.queued_for
        when one.queued_for between greatest(clock_timestamp() + interval '100 ms', one.not_before) and wanted.run_at then one.queued_for
        else greatest(wanted.run_at, clock_timestamp())
          + case when one.dirty_by = 'Push' and (one.not_before <= now()) is not false then 0 else random() end
            * make_interval(secs => spread) end
    from (
      select id, queued_for, run_at, run_at <= clock_timestamp() and exists (
        select from graphile_worker._private_jobs as job
        where job.key = 'mail calendar ' || locked.id and job.is_available and job.attempts = 0 and job.run_at <= clock_timestamp()) as is_due
      from (
        select id, queued_for, case when dirty_since is not null and not_before > clock_timestamp() then not_before else
          greatest(least(clock_timestamp() + interval '300 ms', coalesce(dirty_since, now()) + interval '1.5 s'), not_before) end as run_at
        from mail_calendar where id = any (calendars) and retired_at is null order by id for no key update
      ) as locked
    ) as wanted
    where one.id = wanted.id
    returning one.id, one.mandator_id, one.queued_for, one.queued_for is distinct from wanted.queued_for as is_new
  )
  select array_agg(id) as ids, array_agg(mandator_id) as mandators, array_agg(queued_for) as times into queued
  from marked where is_new;
  if queued.ids is not null then
    perform graphile_worker.add_jobs(array(
      select row('SynchroniseMailCalendar', json_build_object('mandatorId', job.mandator, 'calendarId', job.id),
        'mail calendar ' || job.id, job.run_at, null, 'mail calendar ' || job.id, null, null)::graphile_worker.job_spec
      from unnest(queued.ids, queued.mandators, queued.times) as job(id, mandator, run_at)));
  end if;
end $$;
