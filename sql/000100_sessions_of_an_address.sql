-- At an outside provider the address is what names a person: a session that it has begun ends when the person gets another one.
create function end_provider_sessions_of_person() returns trigger language plpgsql as $$
begin
  delete from session where mandator_id = new.mandator_id and person_id = new.id and pin_id is null;
  return null;
end $$;
create trigger person_ends_provider_sessions after update of email on person
  for each row when (lower(old.email) <> lower(new.email)) execute function end_provider_sessions_of_person();
