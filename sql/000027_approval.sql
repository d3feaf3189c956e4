-- A booking may wait for approval. It is stored as Tentative until then, and as Cancelled where it is declined: so it occupies its
-- resource, or does not, for the constraint, for every query and for an older release; clients see Requested and Declined.
-- An older release would let whoever asks for a booking confirm it.
update schema_floor set migration = '000027_approval';

-- Bookings are audited, too.
alter table audit alter column subject_id type bigint;

lock table person in share row exclusive mode;
alter table booking
  -- Null: nobody had to approve it. What else has happened to the booking is told by `status` alone.
  add column approval text check (approval in ('Requested', 'Approved', 'Declined')),
  add column decided_at timestamptz,
  -- Null where nobody decided in time.
  add column decided_by integer,
  add column decision_reason text,
  add check ((decided_at is not null) = coalesce(approval in ('Approved', 'Declined'), false)),
  add check (decided_at is not null or (decided_by, decision_reason) is null),
  add foreign key (mandator_id, decided_by) references person on delete restrict;
