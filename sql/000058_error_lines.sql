-- Where in the file of a timetable an error stands.
alter table batch_error add column line integer check (line > 0);
