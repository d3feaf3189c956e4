-- An index to find lessons by their content.
create index lesson_terms on lesson
  using gin (search_terms(mandator_id, beginn, klassen, lehrpersonen, fach, titel, bemerkung));
