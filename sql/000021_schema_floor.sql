-- Which releases can run on this schema: those that know the migration named here; later migrations do not harm them.

-- One row. A migration that breaks older releases (it renames, drops or narrows something) writes its own name here.
create table schema_floor (
  one boolean primary key default true check (one),
  migration text not null
);
insert into schema_floor (migration) values ('000021_schema_floor');
