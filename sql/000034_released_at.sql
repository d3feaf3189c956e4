-- Usage figures need the time of a release, which later changes of the booking do not alter.
alter table booking add column released_at timestamptz;

-- Bookings that were released before this migration have none: `changed_at` is theirs.
create function keep_release() returns trigger language plpgsql as $$
begin
  new.released_at := case when new.status = 'Released' then now() end;
  return new;
end $$;
create trigger booking_release before update of status on booking for each row
  when (old.status is distinct from new.status and 'Released' in (old.status, new.status))
  execute function keep_release();
