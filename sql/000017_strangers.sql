-- What strangers send must not cost more than one row each, nor take what others need; a wrong Pepper is found at once.

-- How many notifications the row stands for: those of one request that prove nothing are kept as one.
alter table mail_notification add column count integer not null default 1;

-- Where the device is (of IPv6 the /48): whoever asks for many codes takes the place of its own.
alter table display_pairing add column network inet;
create index display_pairing_network on display_pairing (network, expires_at);
create index display_pairing_tenant on display_pairing (mandator, network, expires_at);

-- What the Pepper makes of a constant: a process with another one cannot prove or open anything that is kept here.
create table pepper (
  is_only boolean primary key default true check (is_only),
  hash bytea not null
);
