/** A new database has the encoding and the locale of the server's template0, unless it is told others. */

/** SQL: the options of `create database` that give an empty database the encoding and locale of the present one. */
export const likeThis = `
  select format('template template0 encoding %L lc_collate %L lc_ctype %L locale_provider %s',
      pg_encoding_to_char(encoding), datcollate, datctype, provider)
    || coalesce(format(' %s_locale ', provider) || quote_literal(locale), '')
    || coalesce(' icu_rules ' || quote_literal(daticurules), '')
  from pg_database this
  cross join lateral (
    -- PostgreSQL 16 calls the column daticulocale.
    select case datlocprovider when 'i' then 'icu' when 'b' then 'builtin' else 'libc' end as provider,
      coalesce(to_jsonb(this) ->> 'datlocale', to_jsonb(this) ->> 'daticulocale') as locale
  ) further
  where datname = current_database()`;

/**
 * SQL: whether every name can be stored, and names match regardless of case, beyond ASCII too. Letters are written as
 * numbers, because a database in another encoding may not be able to read them.
 */
export const isUnicode = `coalesce((
  select lower(chr(umlaut)) = chr(umlaut + 32) from generate_series(196, 196) as umlaut
  where getdatabaseencoding() = 'UTF8'), false)`;

export const notUnicode = {
  text: "the encoding is not UTF8, or lower('Ä') is not 'ä': some names cannot be stored, or names that differ in the case of an umlaut are treated as different",
  remedy: 'Create the database again with the encoding UTF8 and a Unicode locale, such as C.UTF-8 or de_DE.UTF-8.',
};
