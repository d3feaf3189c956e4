-- Who may see and book which rooms: persons belong to groups, and a policy says what groups may do with the resources that name it.

-- `group` is a word of SQL.
create table person_group (
  mandator_id integer not null references mandator on delete cascade,
  id integer generated always as identity,
  name text not null,
  name_key text not null generated always as (name_key(name)) stored,
  version integer not null default 1,
  primary key (mandator_id, id),
  constraint person_group_name unique (mandator_id, name_key)
);
create trigger person_group_version before update on person_group for each row
  when (old.name is distinct from new.name) execute function count_version();

-- The lists are ids of groups. An empty may_see or may_book means everybody; the others, nobody. Null is no rule.
create table policy (
  mandator_id integer not null references mandator on delete cascade,
  id integer generated always as identity,
  name text not null,
  name_key text not null generated always as (name_key(name)) stored,
  may_see integer[] not null default '{}',
  may_book integer[] not null default '{}',
  needs_approval boolean not null default false,
  may_skip_approval integer[] not null default '{}',
  may_decide integer[] not null default '{}',
  may_book_for_others integer[] not null default '{}',
  lead_minutes integer check (lead_minutes > 0),
  ahead_days integer check (ahead_days > 0),
  longest_minutes integer check (longest_minutes > 0),
  quota_minutes_per_week integer check (quota_minutes_per_week > 0),
  quota_bookings_per_week integer check (quota_bookings_per_week > 0),
  version integer not null default 1,
  primary key (mandator_id, id),
  constraint policy_name unique (mandator_id, name_key)
);
create trigger policy_version before update on policy for each row
  when ((old.name, old.may_see, old.may_book, old.needs_approval, old.may_skip_approval, old.may_decide, old.may_book_for_others,
      old.lead_minutes, old.ahead_days, old.longest_minutes, old.quota_minutes_per_week, old.quota_bookings_per_week)
    is distinct from (new.name, new.may_see, new.may_book, new.needs_approval, new.may_skip_approval, new.may_decide, new.may_book_for_others,
      new.lead_minutes, new.ahead_days, new.longest_minutes, new.quota_minutes_per_week, new.quota_bookings_per_week))
  execute function count_version();
create index policy_hiding on policy (mandator_id) where may_see <> '{}';

-- In place of foreign keys, which arrays cannot have: a list without its last group would be open to everybody.
create function check_policy_groups() returns trigger language plpgsql as $$
declare
  named integer[] := new.may_see || new.may_book || new.may_skip_approval || new.may_decide || new.may_book_for_others;
  found integer[];
begin
  select array_agg(id) into found from (
    select id from person_group where mandator_id = new.mandator_id and id = any (named) for key share) as held;
  if not named <@ coalesce(found, '{}') then
    raise foreign_key_violation using message = 'a policy names a group that there is not', constraint = 'policy_groups';
  end if;
  return new;
end $$;
create trigger policy_groups before insert or update of may_see, may_book, may_skip_approval, may_decide, may_book_for_others on policy
  for each row execute function check_policy_groups();
create function check_group_unused() returns trigger language plpgsql as $$
begin
  if exists (select from policy where mandator_id = old.mandator_id
      and old.id = any (may_see || may_book || may_skip_approval || may_decide || may_book_for_others)) then
    raise foreign_key_violation using message = 'a policy names the group', constraint = 'policy_groups';
  end if;
  return old;
end $$;
create trigger person_group_unused before delete on person_group for each row execute function check_group_unused();

alter table resource add column policy_id integer,
  add constraint resource_policy foreign key (mandator_id, policy_id) references policy;
drop trigger resource_version on resource;
create trigger resource_version before update on resource for each row
  when ((old.location_id, old.name, old.kind, old.capacity, old.equipment, old.mailbox, old.check_in_minutes, old.policy_id, old.active)
    is distinct from (new.location_id, new.name, new.kind, new.capacity, new.equipment, new.mailbox, new.check_in_minutes, new.policy_id, new.active))
  execute function count_version();

create table person_group_member (
  mandator_id integer not null,
  group_id integer not null,
  person_id integer not null,
  primary key (mandator_id, group_id, person_id),
  foreign key (mandator_id, group_id) references person_group on delete cascade,
  foreign key (mandator_id, person_id) references person on delete cascade
);
create index person_group_member_person on person_group_member (mandator_id, person_id);

-- Callers are read again when what they may see has changed: one of a group, or all of a tenant.
create function notify_member() returns trigger language plpgsql as $$
begin
  perform pg_notify('roomgate', 'person:' || coalesce(new.person_id, old.person_id));
  return null;
end $$;
create trigger person_group_member_changed after insert or delete on person_group_member
  for each row execute function notify_member();
create function notify_sight() returns trigger language plpgsql as $$
begin
  perform pg_notify('roomgate', 'mandator:' || new.mandator_id);
  return null;
end $$;
create trigger policy_sight_changed after update of may_see on policy for each row
  when (old.may_see is distinct from new.may_see) execute function notify_sight();
create trigger resource_policy_created after insert on resource for each row
  when (new.policy_id is not null) execute function notify_sight();
create trigger resource_policy_changed after update of policy_id on resource for each row
  when (old.policy_id is distinct from new.policy_id) execute function notify_sight();

-- An older release would show and book rooms that a policy hides or closes.
update schema_floor set migration = '000026_rights';
