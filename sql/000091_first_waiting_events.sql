-- Records with a due event are found without reading all waiting events: only the first event of each record has a time, those
-- behind it have none.
create index webhook_event_due on webhook_event (mandator_id, webhook_id, due_at, position) where due_at is not null;
create index webhook_event_record on webhook_event (mandator_id, webhook_id, subject, position);
