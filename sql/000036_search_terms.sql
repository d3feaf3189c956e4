-- Bookings and lessons are found by their content without reading all years: by search terms, each prefixed with the tenant and the
-- thirty-day period in which the booking begins.

-- Terms of two lists of names, a name and texts: 'k', 'l' and 'f' with whole names, as names are compared everywhere; 'w' with
-- the words of all, in 500 characters. Of each list a tsvector has room for half a megabyte.
create function search_terms(mandator_id integer, begin timestamptz, classes text[], teachers text[], subject text,
  title text, remark text) returns tsvector language plpgsql immutable parallel safe
  -- Who builds an index or analyzes a table has another path.
  set search_path from current as $$
declare
  -- Before each term: a mark that no text needs, the tenant, the days.
  gap text := E'\x1f' || mandator_id || ':' || floor(extract(epoch from begin) / 2592000)::integer || ':';
  terms text := '';
  words text := btrim(left(search_key(array[title, subject] || classes || teachers || remark), 500));
  name text;
begin
  if subject is not null then
    terms := gap || 'f' || left(name_key(subject), 500);
  end if;
  foreach name in array coalesce(classes[1:500], '{}') loop
    terms := terms || gap || 'k' || name_key(name);
  end loop;
  foreach name in array coalesce(teachers[1:500], '{}') loop
    terms := terms || gap || 'l' || name_key(name);
  end loop;
  if words <> '' then
    terms := terms || gap || 'w' || replace(words, ' ', gap || 'w');
  end if;
  return array_to_tsvector(string_to_array(substr(terms, 2), E'\x1f'));
end $$;

-- The terms of what begins in a time and has all that is asked for: each word of `text` begins one of its words, or is one where
-- it has a single letter.
create function search_query(mandator_id integer, first timestamptz, last timestamptz, class text, teacher text, subject text,
  text text) returns tsquery language plpgsql immutable parallel safe
  set search_path from current as $$
declare
  wanted text[];
begin
  select array_agg(replace(replace(term, '\', '\\'), '''', '''''') || '''' || suffix) into wanted from (
    select 'k' || name_key(class) as term, '' as suffix union all select 'l' || name_key(teacher), ''
    union all select 'f' || left(name_key(subject), 500), ''
    union all select 'w' || word, case when length(word) > 1 then ':*' else '' end
      from string_to_table(btrim(search_key(array[text])), ' ') as word where word <> '') as asked
  where term is not null;
  return (select string_agg(
      (select string_agg('''' || mandator_id || ':' || days || ':' || term, ' & ') from unnest(wanted) as term), ' | ')
    from generate_series(floor(extract(epoch from first) / 2592000)::integer,
      floor(extract(epoch from last) / 2592000)::integer) as days)::tsquery;
end $$;
