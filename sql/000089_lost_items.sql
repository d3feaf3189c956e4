-- The generations of an item that were asked for, were not found, and may still be done: by a server that makes another item each time.
alter table mail_writing add column lost_generations integer[] not null default '{}';
