-- A batch may be complete for its source: jobs of this Quelle that it does not list are deleted, except lessons before a given day.
alter table batch
  add column replaces_quelle text check (length(replaces_quelle) <= 200),
  add column replaces_since timestamptz,
  -- Whether it may delete more than a fifth of what is stored of its source.
  add column allow_removal boolean not null default false;
