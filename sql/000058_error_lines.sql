-- The line and column of an error in a timetable file.
alter table batch_error add column line integer check (line > 0);
