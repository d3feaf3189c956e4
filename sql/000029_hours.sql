-- What the operator does with a tenant file is audited like the acts of Admins over the API: there is then no person.
alter table audit
  alter column person_id drop not null,
  -- The person, who may be null, led to the tenant before.
  add foreign key (mandator_id) references mandator on delete cascade;
