-- Bookings, lessons and the batches that import them. The database itself refuses overlaps, changed terminal batches and impossible transitions.
create table booking (
  mandator_id integer not null,
  id bigint generated always as identity,
  resource_id integer not null,
  kind text not null check (kind in ('Booking', 'Lesson', 'MailItem', 'Block')),
  status text not null check (status in ('Confirmed', 'Tentative', 'Cancelled', 'Released')),
  origin text not null check (origin in ('Api', 'Import', 'Mail', 'Display')),
  subject text,
  is_private boolean not null default false,
  -- Half-open [start - setup, end + teardown): what the constraint keeps apart.
  occupied tstzrange not null check (not isempty(occupied) and lower_inc(occupied) and not upper_inc(occupied)),
  -- An imported booking was made by whoever sent its batch.
  batch_id uuid,
  coupling_id text,
  created_by integer,
  created_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  version integer not null default 1,
  primary key (mandator_id, id),
  foreign key (mandator_id, resource_id) references resource on delete restrict,
  foreign key (mandator_id, created_by) references person on delete restrict,
  -- Deferrable, so that the lessons of one statement may swap rooms; checked at the end of each statement otherwise.
  constraint booking_no_overlap exclude using gist (resource_id with =, occupied with &&)
    where (status in ('Confirmed', 'Tentative')) deferrable initially immediate
);
-- Coupled classes find the booking that they share.
create index booking_coupling on booking (mandator_id, coupling_id) where coupling_id is not null;

create table batch (
  mandator_id integer not null references mandator on delete cascade,
  id uuid not null,
  -- The order in which a tenant's batches run.
  arrival bigint generated always as identity,
  operation text not null check (operation in ('Create', 'Update', 'Delete')),
  import_status text not null default 'AwaitingLessonCreation'
    check (import_status in ('AwaitingLessonCreation', 'AwaitingLessonProcessing', 'LessonsCreated', 'LessonsImportFailed')),
  job_count integer not null,
  lesson_count integer,
  processed_count integer not null default 0,
  created_count integer not null default 0,
  error_count integer not null default 0,
  warning_count integer not null default 0,
  failure_kind text check (failure_kind in ('Data', 'Technical', 'Cancelled')),
  error_messages text,
  cancel_requested boolean not null default false,
  validate_only boolean not null default false,
  -- Starts of a worker on this batch; one that is handed over in an orderly way is not counted.
  attempts integer not null default 0,
  request_id text not null,
  created_by integer not null,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  primary key (mandator_id, id),
  foreign key (mandator_id, created_by) references person on delete restrict,
  check ((import_status = 'LessonsImportFailed') = (failure_kind is not null)),
  check ((import_status = 'LessonsImportFailed') = (error_messages is not null)),
  check ((import_status in ('LessonsCreated', 'LessonsImportFailed')) = (finished_at is not null))
);
create unique index batch_arrival on batch (mandator_id, arrival desc);
create index batch_open on batch (mandator_id, arrival)
  where import_status in ('AwaitingLessonCreation', 'AwaitingLessonProcessing');

create function guard_batch() returns trigger language plpgsql as $$
begin
  if old.import_status in ('LessonsCreated', 'LessonsImportFailed') then
    raise exception 'batch % has ended in % and never changes again', old.id, old.import_status using errcode = 'RG001';
  end if;
  if new.import_status <> old.import_status and (old.import_status, new.import_status) not in (
    ('AwaitingLessonCreation', 'AwaitingLessonProcessing'),
    ('AwaitingLessonCreation', 'LessonsImportFailed'),
    ('AwaitingLessonProcessing', 'LessonsCreated'),
    ('AwaitingLessonProcessing', 'LessonsImportFailed')
  ) then
    raise exception 'batch % cannot go from % to %', old.id, old.import_status, new.import_status using errcode = 'RG001';
  end if;
  if new.processed_count < old.processed_count then
    raise exception 'the processed count of batch % cannot fall from % to %', old.id, old.processed_count, new.processed_count
      using errcode = 'RG001';
  end if;
  return new;
end $$;
create trigger batch_guard before update on batch for each row execute function guard_batch();

create function notify_batch() returns trigger language plpgsql as $$
begin
  perform pg_notify('roomgate', 'batch:' || new.mandator_id || ':' || new.id);
  return null;
end $$;
create trigger batch_changed after insert or update on batch for each row execute function notify_batch();

-- The request body, one row per job, until the batch has ended.
create table batch_job (
  mandator_id integer not null,
  batch_id uuid not null,
  index integer not null,
  body jsonb not null,
  primary key (mandator_id, batch_id, index),
  foreign key (mandator_id, batch_id) references batch on delete cascade deferrable initially deferred
);
-- Each row is written once and read once: compression would cost more than it saves.
alter table batch_job alter column body set storage external;

create table batch_error (
  mandator_id integer not null,
  batch_id uuid not null,
  number integer not null,
  severity text not null check (severity in ('Error', 'Warning')),
  index integer,
  job_id text,
  lektion_index integer,
  lektion_id text,
  field text,
  code text not null,
  message text not null,
  pointer text,
  primary key (mandator_id, batch_id, number),
  foreign key (mandator_id, batch_id) references batch on delete cascade
);

create table lesson_job (
  mandator_id integer not null references mandator on delete cascade,
  id bigint generated always as identity,
  job_id text not null,
  bezeichnung text,
  quelle text,
  standort text,
  bemerkung text,
  batch_id uuid not null,
  created_at timestamptz not null default now(),
  primary key (mandator_id, id),
  constraint lesson_job_job_id unique (mandator_id, job_id)
);

-- A lesson occupies its room through its booking; coupled lessons share one, a cancelled lesson (Entfaellt) has none.
-- The booking guards its resource: one more foreign key would cost an import a tenth of its speed.
create table lesson (
  mandator_id integer not null,
  job bigint not null,
  lektion_id text not null,
  booking_id bigint,
  resource_id integer not null,
  beginn timestamptz not null,
  ende timestamptz not null,
  status text not null check (status in ('Geplant', 'Vertretung', 'Entfaellt')),
  titel text,
  fach text,
  klassen text[],
  lehrpersonen text[],
  bemerkung text,
  kopplung_id text,
  privat boolean not null default false,
  ursprung jsonb,
  check (ende > beginn),
  check ((status = 'Entfaellt') = (booking_id is null)),
  constraint lesson_lektion_id primary key (mandator_id, job, lektion_id),
  foreign key (mandator_id, job) references lesson_job on delete cascade,
  foreign key (mandator_id, booking_id) references booking on delete restrict
);
create index lesson_booking on lesson (mandator_id, booking_id);

-- The answers to requests with an Idempotency-Key, kept for 24 hours.
create table idempotent_request (
  mandator_id integer not null,
  person_id integer not null,
  key text not null,
  fingerprint bytea not null,
  response jsonb not null,
  created_at timestamptz not null default now(),
  primary key (mandator_id, person_id, key),
  foreign key (mandator_id, person_id) references person on delete cascade
);
create index idempotent_request_age on idempotent_request (created_at);

-- The instant, if it was written as an ISO 8601 date-time, else null: PostgreSQL itself also reads 'now', 24:00, second 60
-- and many other spellings. The usual one is proven by writing the instant out again, which is cheaper than a pattern.
-- Without an offset the session's zone counts, which must be UTC.
create function iso_instant(written text, instant timestamptz) returns timestamptz
  language sql stable parallel safe
  return case
    when written like '%T%Z' and instant::text = replace(replace(written, 'T', ' '), 'Z', '+00')
      or written ~ '^\d{4}-\d\d-\d\d[Tt]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d([.,]\d{1,9})?)?([Zz]|[+-]([01]\d|2[0-3])(:?[0-5]\d)?)?$'
    then instant
  end;
