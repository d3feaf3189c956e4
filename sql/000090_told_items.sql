-- Whether a mail server has told, in a reading, that an item stands there: one that is made and deleted between two readings is
-- never told by some, so that what was written and is not told then is gone.
alter table mail_writing add column told boolean not null default true;
create index mail_writing_untold on mail_writing (mandator_id, calendar_id) where not told;
