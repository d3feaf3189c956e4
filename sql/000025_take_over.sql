-- A lesson that equals a booking of who sends it may take that booking over, where the batch says so.

alter table batch add column take_over boolean not null default false;
