-- Lessons are found by what they are about without reading all of them.
create index lesson_terms on lesson
  using gin (search_terms(mandator_id, beginn, klassen, lehrpersonen, fach, titel, bemerkung));
