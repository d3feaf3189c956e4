-- Each start of a batch gets a number, so that a process that was frozen writes nothing about a batch that another process has started since.
alter table batch add column fence integer not null default 0;
