/** Folds a line that has more than 75 bytes (RFC 5545, 3.1); 18 characters have at most 72. */
export const foldLine = (line: string): string =>
  Buffer.byteLength(line) <= 75 ? line : (line.match(/.{1,18}/gsu) ?? ['']).join('\r\n ');
