-- Whether items of a room's calendar are declined on its mail server if the room is taken here; null: as the tenant's parameter
-- DeclineConflicts says.
alter table resource add column decline_conflicts boolean;
create or replace trigger resource_version before update on resource for each row
  when ((old.location_id, old.name, old.kind, old.capacity, old.equipment, old.mailbox, old.check_in_minutes, old.policy_id, old.active,
      old.calendar_writing, old.calendar_edits, old.decline_conflicts)
    is distinct from (new.location_id, new.name, new.kind, new.capacity, new.equipment, new.mailbox, new.check_in_minutes, new.policy_id,
      new.active, new.calendar_writing, new.calendar_edits, new.decline_conflicts))
  execute function count_version();

-- Of items that have no booking as their room is taken: what their organizers were told of it, through the mail server.
create table mail_decline (
  mandator_id integer not null,
  item_id bigint not null,
  calendar_id integer not null,
  -- The content_hash of the item that this is about: with another one it is told anew.
  version bytea not null,
  -- Telling: the mail server is asked to tell, and it is not known whether it has. Told: it has. Nobody: nobody has invited the
  -- room. Impossible: the mail server has no means. Refused: it does not decline this item.
  state text not null check (state in ('Telling', 'Told', 'Nobody', 'Impossible', 'Refused')),
  -- Since when it is so.
  at timestamptz not null default now(),
  -- The change key or ETag that the item had on the mail server when it was declined.
  change_key text,
  -- What was in the way; or why it is not told. For people.
  reason text,
  -- How often this item was told of, since when: an item that something accepts again and again is left to people.
  times integer not null default 0,
  times_since timestamptz,
  -- Of Refused: when it is tried again.
  not_before timestamptz,
  primary key (mandator_id, item_id),
  foreign key (mandator_id, item_id) references mail_item on delete cascade,
  check ((times = 0) = (times_since is null)),
  check ((state = 'Refused') = (not_before is not null))
);
create index mail_decline_of_calendar on mail_decline (mandator_id, calendar_id, at);
create index mail_decline_telling on mail_decline (mandator_id, calendar_id) where state = 'Telling';

-- What got its room, and loses it again, is told again.
create function forget_decline() returns trigger language plpgsql as $$
begin
  delete from mail_decline where mandator_id = new.mandator_id and item_id = new.id;
  return null;
end $$;
create trigger mail_item_booked after update on mail_item for each row
  when (new.state = 'Booked' and old.state <> 'Booked') execute function forget_decline();

-- Subscribers to mail calendars are notified when an organizer has been told.
create function notify_of_decline() returns trigger language plpgsql as $$
begin
  perform pg_notify('roomgate', 'mail_calendar:' || new.mandator_id || ':' || new.calendar_id);
  return null;
end $$;
create trigger mail_decline_told after insert or update on mail_decline for each row
  when (new.state <> 'Telling') execute function notify_of_decline();
