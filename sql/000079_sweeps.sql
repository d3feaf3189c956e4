-- What is forgotten in the course of time is forgotten by one worker at a time: when a sweep may begin again, whoever runs it.
create table sweep_run (
  name text primary key,
  next_at timestamptz not null
);
