-- A batch stays in the lane of its size, waits longer after each fruitless start, and stores a bounded number of findings.
alter table batch
  -- The number of its jobs and their lessons, or the KiB of its body if that is more; null if an earlier release accepted it.
  add column weight integer,
  -- Consecutive starts that failed through no fault of the batch; they do not count as its attempts.
  add column setbacks integer not null default 0,
  -- Why the last such start ended, in words, and since when they have been failing.
  add column trouble text,
  add column troubled_since timestamptz,
  -- When it may be started again. Each start sets it, so that a pause follows even if the process dies.
  add column not_before timestamptz,
  -- Findings that are not kept: [{"Severity", "Code", "Count"}].
  add column omitted jsonb not null default '[]' check (jsonb_typeof(omitted) = 'array');
