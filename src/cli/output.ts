/** Formats rows under headings in aligned columns. Line breaks and control characters become spaces. */
export function formatTable(headings: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const cells = [headings, ...rows].map((row) => row.map((cell) => String(cell ?? '').replace(/\p{Cc}+/gu, ' ')));
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
