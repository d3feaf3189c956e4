-- Rooms and persons are found by the beginnings of words, without regard to case and accents.

-- The words of texts: lower case, without accents, each after one space.
create function search_key(texts text[]) returns text
  language sql immutable strict parallel safe
  return ' ' || btrim(regexp_replace(
    replace(replace(replace(translate(
      lower(regexp_replace(normalize(array_to_string(texts, ' '), nfkd), '[\u0300-\u036f]', '', 'g')),
      'øłđħı', 'oldhi'), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'),
    '[\s!-/:-@\[-`{-~\u00a1-\u00bf\u2010-\u2027\u2044]+', ' ', 'g'));

-- The patterns that match words by their beginnings: `search_key(array[name]) like all (search_patterns('al ein'))`.
create function search_patterns(search text) returns text[]
  language sql immutable strict parallel safe
  return array(
    select '% ' || word || '%' from unnest(string_to_array(btrim(search_key(array[search])), ' ')) as word
  );

-- The lists of a tenant are short enough to be scanned without an index.
alter table location add column search_key text not null generated always as (search_key(array[name])) stored;
alter table resource add column search_key text not null
  generated always as (search_key(array[name, kind] || equipment)) stored;
alter table person add column search_key text not null generated always as (search_key(array[name, email])) stored;
