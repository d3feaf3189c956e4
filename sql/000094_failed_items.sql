-- An item that the mail server refuses, or fails at, is retried after growing pauses: the number of consecutive failures.
alter table mail_writing add column failures integer not null default 0;
