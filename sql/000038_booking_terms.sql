-- An index to find bookings by their texts, without those of lessons, which are found by their lessons, so that imports write to one
-- index less.
create index booking_terms on booking
  using gin (search_terms(mandator_id, lower(occupied), null, null, null, subject, description)) where kind <> 'Lesson';
