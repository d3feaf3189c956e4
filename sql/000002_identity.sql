-- Who may call: PINs as keyed hashes (the key is outside the database), the failures that throttle guessing, and the token-signing keys.
create table pin (
  mandator_id integer not null,
  id integer generated always as identity,
  person_id integer not null,
  hash bytea not null,
  label text,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  primary key (mandator_id, id),
  constraint pin_hash unique (hash),
  foreign key (mandator_id, person_id) references person on delete cascade
);
create index pin_person on pin (mandator_id, person_id);

-- One row per wrong PIN; rows older than the window are swept.
create table pin_failure (
  client_id text not null,
  address inet not null,
  at timestamptz not null default now()
);
create index pin_failure_recent on pin_failure (client_id, address, at);
create index pin_failure_old on pin_failure (at);

-- Private keys are encrypted with a key derived from the pepper. The newest signs; older ones verify until their last token has expired.
create table signing_key (
  kid text primary key,
  public_jwk jsonb not null,
  private_key bytea not null,
  created_at timestamptz not null default now()
);

-- A revoked, expired or deleted PIN ends its tokens and streams at once, on every process.
create function notify_pin() returns trigger language plpgsql as $$
begin
  perform pg_notify('roomgate', 'pin:' || old.id);
  return null;
end $$;
create trigger pin_changed after update of revoked_at, expires_at or delete on pin
  for each row execute function notify_pin();
