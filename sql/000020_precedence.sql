-- If two items are at the same time, the room's response decides.

-- The precedence: 0 if the room has accepted or created it, 1 tentatively, 2 if it has not responded; null: not read since this column exists.
alter table mail_item add column precedence smallint check (precedence between 0 and 2);
