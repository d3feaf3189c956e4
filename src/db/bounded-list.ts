/**
 * SQL for JSON lists of bounded size, from rows with a column `content` of type json. An unbounded list would be one
 * value, which a process must hold as a whole: a huge one would exhaust its memory.
 */

/** Adds the column that `boundedList` needs: the size of all rows before this one, in this order. */
export const octetsBefore = (order: string) =>
  `sum(octet_length(content::text)) over (order by ${order} rows unbounded preceding) - octet_length(content::text) as octets_before`;

/** The rows with at most `most` octets before them, in this order; always including the first. */
export const boundedList = (order: string, most: number) =>
  `json_agg(content order by ${order}) filter (where octets_before <= ${most})`;
