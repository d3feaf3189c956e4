-- Whether a reading has ever returned a written item: some servers never report an item that was created and deleted between two
-- readings, so a written item that a reading does not return is gone.
alter table mail_writing add column told boolean not null default true;
create index mail_writing_untold on mail_writing (mandator_id, calendar_id) where not told;
