-- Items that cannot be read are reported for as long as they exist.
create index mail_item_unreadable on mail_item (mandator_id, calendar_id) where state = 'Unreadable';
