-- A board that an Admin confirms without naming what it shows is given the location whose board it has open.
alter table display_pairing add column location_id integer;
