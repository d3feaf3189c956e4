-- Lists of few among many: bookings of a kind that lessons are not, and in states in which no import puts any. Imports write to neither.
create index booking_kind on booking (mandator_id, resource_id, kind, lower(occupied), id) where kind <> 'Lesson';
create index booking_status on booking (mandator_id, resource_id, status, lower(occupied), id)
  where status in ('Tentative', 'Released');
