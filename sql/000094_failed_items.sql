-- An item that the mail server refuses, or at which it fails, is tried again after pauses that grow: how often that was in a row.
alter table mail_writing add column failures integer not null default 0;
