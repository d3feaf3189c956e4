-- The W3C trace context of the request that sent a batch, so that the spans of its import belong to that trace.
alter table batch add column trace_parent text;
