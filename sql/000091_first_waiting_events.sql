-- Which records have an event that is due is found without reading all that waits: of the events of one record only the first
-- has a time, and those that come after it have none.
create index webhook_event_due on webhook_event (mandator_id, webhook_id, due_at, position) where due_at is not null;
create index webhook_event_record on webhook_event (mandator_id, webhook_id, subject, position);
