-- The decline of an item that the mail server fails at is retried after growing pauses, as a write is.
-- failures: how many times in a row it has failed. fault: how the last attempt failed, for people.
-- may_be_told: of Refused, whether the mail server may have declined the item nevertheless.
alter table mail_decline
  add column failures integer not null default 0,
  add column fault text,
  add column may_be_told boolean not null default false;
