-- Which releases can run on this schema: those that know the migration that is named here, and are not harmed by later ones.

-- One row. A migration that an older release cannot live with (it renames, drops or narrows something) puts its own name here.
create table schema_floor (
  one boolean primary key default true check (one),
  migration text not null
);
insert into schema_floor (migration) values ('000021_schema_floor');
