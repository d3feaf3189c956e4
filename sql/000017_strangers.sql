-- A request of a stranger costs at most one row and takes nothing that others need; a wrong Pepper is detected at once.

-- How many notifications the row represents: the unproven ones of a request are stored as one.
alter table mail_notification add column count integer not null default 1;

-- The network of the device (of IPv6 the /48): requests for many codes displace those of the same network.
alter table display_pairing add column network inet;
create index display_pairing_network on display_pairing (network, expires_at);
create index display_pairing_tenant on display_pairing (mandator, network, expires_at);

-- The Pepper applied to a constant: it detects a process with another Pepper, which could verify and decrypt nothing here.
create table pepper (
  is_only boolean primary key default true check (is_only),
  hash bytea not null
);
