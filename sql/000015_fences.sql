-- Each start of a batch gets a number, so that a process which was frozen meanwhile writes nothing about a batch that another has started.
alter table batch add column fence integer not null default 0;
