-- Every person has a timetable: the person's TeacherCode is the name by which lessons refer to the person.

alter table person add column teacher_code text;
create unique index person_teacher_code on person (mandator_id, name_key(teacher_code));
create or replace trigger person_version before update on person for each row
  when ((old.name, old.email, old.time_zone, old.role, old.active, old.teacher_code)
    is distinct from (new.name, new.email, new.time_zone, new.role, new.active, new.teacher_code))
  execute function count_version();

-- Calendar programs read timetables too: of a class or teacher, or else of the person who made the token.
alter table calendar_token
  alter column resource_id drop not null,
  add column class text,
  add column teacher text,
  add check (num_nonnulls(resource_id, class, teacher) <= 1);
create index calendar_token_timetable on calendar_token (mandator_id, person_id) where resource_id is null;
