-- Old rows are deleted by one worker at a time: when each sweep may begin again, on any worker.
create table sweep_run (
  name text primary key,
  next_at timestamptz not null
);
