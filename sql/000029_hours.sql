-- Changes by tenant files are audited like the acts of Admins over the API, but without a person.
alter table audit
  alter column person_id drop not null,
  -- The person, who may be null, led to the tenant before.
  add foreign key (mandator_id) references mandator on delete cascade;
