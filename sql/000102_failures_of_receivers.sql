-- One event that a receiver never takes makes no webhook pause: failures of repeated attempts that got an answer do not count for that.
alter table webhook add column receiver_failures integer not null default 0;
