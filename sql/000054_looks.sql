-- Signs and boards show the colour and the logo of their tenant. The logo is kept as it is sent: a data URL.

alter table mandator add column colour text check (colour ~ '^#[0-9a-f]{6}$'),
  add column logo text check (length(logo) <= 90000 and logo ~ '^data:image/(png|jpeg|webp);base64,[A-Za-z0-9+/]+={0,2}$');

create or replace trigger mandator_version before update on mandator for each row
  when ((old.name, old.parameters, old.colour, old.logo) is distinct from (new.name, new.parameters, new.colour, new.logo))
  execute function count_version();
