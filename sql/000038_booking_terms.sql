-- Bookings are found by their texts without reading all of them; those of lessons by their lessons, so that imports write to one
-- index less.
create index booking_terms on booking
  using gin (search_terms(mandator_id, lower(occupied), null, null, null, subject, description)) where kind <> 'Lesson';
