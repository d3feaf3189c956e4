/**
 * SQL for JSON lists of bounded size, from rows with a column `content` of type json. A list of any size would be one value of one
 * row, which the process has to take as a whole; of a huge one it dies.
 */

/** Adds the column that `boundedList` needs: the size of what comes before a row in this order. */
export const octetsBefore = (order: string) =>
  `sum(octet_length(content::text)) over (order by ${order} rows unbounded preceding) - octet_length(content::text) as octets_before`;

/** The rows with at most `most` octets before them, in this order; so always the first. */
export const boundedList = (order: string, most: number) =>
  `json_agg(content order by ${order}) filter (where octets_before <= ${most})`;
