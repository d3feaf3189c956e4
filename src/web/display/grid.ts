/** How many tiles fit on a screen, and how big they are. */

export type Grid = {
  columns: number;
  rows: number;
  pages: number;
  /** Font size in CSS pixels. */
  type: number;
};

/** The least size of a tile, in multiples of its font size. */
const tile = { width: 16, height: 7.6 };
const smallest = 14;
const biggest = 40;

/** The largest type with which all tiles fit on one page; with the smallest type there may be several pages. */
export function spread(count: number, width: number, height: number): Grid {
  for (let type = biggest; type >= smallest; type--) {
    const columns = Math.max(1, Math.floor(width / (tile.width * type)));
    const rows = Math.max(1, Math.floor(height / (tile.height * type)));
    const pages = Math.ceil(count / (columns * rows));
    if (pages > 1 && type > smallest) continue;
    const perPage = Math.ceil(count / pages);
    const neededRows = Math.ceil(perPage / columns);
    return { columns: Math.ceil(perPage / neededRows), rows: neededRows, pages, type };
  }
  return { columns: 1, rows: 1, pages: count, type: smallest };
}

export function pageOf<T>(items: readonly T[], { columns, rows }: Grid, page: number): T[] {
  return items.slice(page * columns * rows, (page + 1) * columns * rows);
}
