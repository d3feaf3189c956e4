-- Items that cannot be read are told of, and never end by themselves.
create index mail_item_unreadable on mail_item (mandator_id, calendar_id) where state = 'Unreadable';
