-- The bookings that wait for approval: whoever decides lists them, and those that begin undecided are declined.
create index booking_requested on booking (mandator_id, lower(occupied), id)
  where approval = 'Requested' and status = 'Tentative';
