-- The counters of the limits per minute, shared by all processes. They need not survive a crash of the database.
create unlogged table rate_count (
  window_start timestamptz not null,
  key text not null,
  used integer not null,
  primary key (window_start, key)
);
