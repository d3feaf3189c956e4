-- Of two items at one time the answer of the room decides.

-- Who comes first: 0 the room has accepted it or has made it itself, 1 tentatively, 2 it has not answered; null: not read since this is kept.
alter table mail_item add column precedence smallint check (precedence between 0 and 2);
