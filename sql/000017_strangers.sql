-- What strangers send must not cost more than one row each, nor take what others need; what cannot be read or proven is found at once.

-- How many notifications the row stands for: those of one request that prove nothing are kept as one.
alter table mail_notification add column count integer not null default 1;

-- Items that cannot be read are told of, and never end by themselves.
create index mail_item_unreadable on mail_item (mandator_id, calendar_id) where state = 'Unreadable';
