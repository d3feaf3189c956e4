-- A tenant that moves to another installation rests: for some seconds it cannot be written at its origin, and not at all at its
-- destination. The guard refuses writers, and costs nothing while no tenant rests: its triggers are created for each move.
create table resting_tenant (
  mandator_id integer primary key,
  code text not null unique,
  -- Coming: its rows arrive here. Frozen: it is read here, not written. Away: it is served elsewhere, or will be.
  state text not null check (state in ('Coming', 'Frozen', 'Away')),
  -- When the rest ends by itself, so that the tenant can be written again if the mover dies; null: only the mover ends it.
  until timestamptz check ((until is null) = (state <> 'Frozen')),
  -- Of a tenant that is Away: the installation that it left for; null while it is being removed for good.
  destination text check (destination is null or state = 'Away')
);

-- What the mover writes last where a tenant leaves: once it is read where the tenant comes to, all before it has arrived.
create table move_mark (
  mandator_id integer primary key,
  mark uuid not null
);

-- Whoever writes for a resting tenant is refused with an error that means "again". Work for all tenants at once (sweeps)
-- passes its rows over where none of the tenant's transactions can be under way. The row is locked, so that a rest whose time
-- is over cannot be prolonged behind the back of a writer.
create function guard_resting_tenant() returns trigger language plpgsql as $$
declare
  tenant integer := (case tg_op when 'DELETE' then to_jsonb(old) else to_jsonb(new) end ->> tg_argv[0])::integer;
  rest resting_tenant;
begin
  select * into rest from resting_tenant where mandator_id = tenant for share;
  if not found or rest.until <= clock_timestamp() then
    return case tg_op when 'DELETE' then old else new end;
  elsif rest.state <> 'Frozen' and current_setting('roomgate.background', true) = '1' then
    return null;
  end if;
  raise exception 'tenant % is being moved', rest.code using errcode = 'RG001';
end $$;
