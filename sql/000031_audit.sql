-- The audit can be read without further look-ups: each act has the noun and name of its subject, and each changed member before and after.

-- Null only in rows that an older release writes.
alter table audit
  add column subject text,
  -- Null if the subject is a person, whose name is not copied, as the person may be erased.
  add column subject_name text,
  add column about_person_id integer,
  -- [{"member", "from", "to"}], each value as text.
  add column changes jsonb not null default '[]',
  add foreign key (mandator_id, about_person_id) references person on delete cascade;

update audit set
  subject = case
    when action like '% location' then 'Location'
    when action like '% person' then 'Person'
    when action like '% PIN' then 'Pin'
    when action like '% display' then 'Display'
    else 'Resource'
  end,
  about_person_id = case when action like '% person' then
    (select id from person where person.mandator_id = audit.mandator_id and person.id = audit.subject_id) end;

create index audit_subject on audit (mandator_id, subject, subject_id, id);
create index audit_person on audit (mandator_id, person_id, id);
create index audit_about_person on audit (mandator_id, about_person_id) where about_person_id is not null;
create index audit_at on audit (mandator_id, at);
