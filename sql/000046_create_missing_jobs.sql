-- Whether an update creates jobs that do not exist yet, and what a dry run would change: counts, and the first lessons.
alter table batch
  add column create_missing boolean not null default false,
  add column difference jsonb check (jsonb_typeof(difference) = 'object');
