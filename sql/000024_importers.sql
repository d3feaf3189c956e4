-- Who sends the timetable is an Importer: a User's PIN alone no longer changes or deletes the lessons of a whole school.

alter table person drop constraint person_role_check;
alter table person add constraint person_role_check check (role in ('Admin', 'Importer', 'User', 'Display'));

-- An older release takes an Importer for somebody who may change everybody's bookings.
update schema_floor set migration = '000024_importers';
