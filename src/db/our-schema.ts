/** SQL: the schema of roomgate's tables, the first of the search path when they were made; null before that. */
export const ourSchema = `(select relnamespace from pg_class where oid = to_regclass('mandator'))`;

/** SQL: whether the sequence of a row of `pg_sequences` is in our schema. */
export const isOurSequence = `to_regnamespace(quote_ident(schemaname)) = ${ourSchema}`;
