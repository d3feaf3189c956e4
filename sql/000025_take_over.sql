-- A lesson may take over an equal booking of its sender, if the batch asks for that.

alter table batch add column take_over boolean not null default false;
