-- An index of the bookings that wait for approval: deciders list them, and those that start undecided are declined.
create index booking_requested on booking (mandator_id, lower(occupied), id)
  where approval = 'Requested' and status = 'Tentative';
