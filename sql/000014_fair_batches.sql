-- A batch keeps to the lane of its size, waits longer after each start that came to nothing, and holds a bounded number of findings.
alter table batch
  -- Its jobs and the lessons that they list, or KiB of its body where that is more; null when an earlier release took it in.
  add column weight integer,
  -- Starts in a row that came to nothing through no fault of the batch; they are not among its attempts.
  add column setbacks integer not null default 0,
  -- What ended the last start that came to nothing, in words, and since when that has been going on.
  add column trouble text,
  add column troubled_since timestamptz,
  -- When it may be started again. Each start sets it, so that one whose process dies is followed by a pause too.
  add column not_before timestamptz,
  -- Findings that are not kept: [{"Severity", "Code", "Count"}].
  add column omitted jsonb not null default '[]' check (jsonb_typeof(omitted) = 'array');
