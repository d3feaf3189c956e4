-- The generations of an item that were requested and not found, but may still appear on a server that creates another item each time.
alter table mail_writing add column lost_generations integer[] not null default '{}';
