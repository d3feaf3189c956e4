-- A batch tells how many lessons it has changed, moved to another room or time, and removed: of an update, what is new says little.
alter table batch add column changed_count integer, add column moved_count integer, add column removed_count integer;
