-- What the limits per minute count, of all processes together. Nothing of it is worth keeping over a crash of the database.
create unlogged table rate_count (
  window_start timestamptz not null,
  key text not null,
  used integer not null,
  primary key (window_start, key)
);
