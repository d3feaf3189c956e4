-- Profiles store how the timetable files of a source are read: a name, and the members of a request.

create table timetable_profile (
  mandator_id integer not null references mandator on delete cascade,
  id integer generated always as identity,
  name text not null,
  name_key text not null generated always as (name_key(name)) stored,
  -- The members of the body of POST timetables that have a value, and Format.
  reading jsonb not null,
  version integer not null default 1,
  primary key (mandator_id, id),
  constraint timetable_profile_name unique (mandator_id, name_key)
);
create trigger timetable_profile_version before update on timetable_profile for each row
  when ((old.name, old.reading) is distinct from (new.name, new.reading))
  execute function count_version();
