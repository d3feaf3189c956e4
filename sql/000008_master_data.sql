-- Persons, resources and locations are managed over the API: each has a version for its ETag, locations can be retired like resources, and every change by an Admin is recorded.
alter table location add column active boolean not null default true;
alter table location add column version integer not null default 1;
alter table resource add column version integer not null default 1;
alter table person add column version integer not null default 1;

-- Applies to all writers, including tenant files, as a client's version is outdated after any change.
create function count_version() returns trigger language plpgsql as $$
begin
  new.version := old.version + 1;
  return new;
end $$;
create trigger location_version before update on location for each row
  when ((old.name, old.time_zone, old.active) is distinct from (new.name, new.time_zone, new.active))
  execute function count_version();
create trigger resource_version before update on resource for each row
  when ((old.location_id, old.name, old.kind, old.capacity, old.equipment, old.mailbox, old.active)
    is distinct from (new.location_id, new.name, new.kind, new.capacity, new.equipment, new.mailbox, new.active))
  execute function count_version();
create trigger person_version before update on person for each row
  when ((old.name, old.email, old.time_zone, old.role, old.active)
    is distinct from (new.name, new.email, new.time_zone, new.role, new.active))
  execute function count_version();

-- The acts of Admins over the API, for the operator to read with SQL. Never contains a PIN.
create table audit (
  mandator_id integer not null,
  id bigint generated always as identity,
  person_id integer not null,
  action text not null,
  subject_id integer not null,
  request_id text not null,
  at timestamptz not null default now(),
  primary key (mandator_id, id),
  foreign key (mandator_id, person_id) references person on delete cascade
);
