-- Indexes for lists of few bookings among many: of kinds other than lessons, and in states that imports never set. Imports write to neither.
create index booking_kind on booking (mandator_id, resource_id, kind, lower(occupied), id) where kind <> 'Lesson';
create index booking_status on booking (mandator_id, resource_id, status, lower(occupied), id)
  where status in ('Tentative', 'Released');
