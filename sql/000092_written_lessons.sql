-- A batch counts the lessons that it has changed, moved and removed, as the number of new lessons says little about an update.
alter table batch add column changed_count integer, add column moved_count integer, add column removed_count integer;
