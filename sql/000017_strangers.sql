-- What strangers send must not cost more than one row each, nor take what others need; and a database knows the Pepper of its secrets.

-- How many notifications the row stands for: those of one request that prove nothing are kept as one.
alter table mail_notification add column count integer not null default 1;
