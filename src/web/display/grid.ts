/** How many tiles fit on a screen, and how big they are. */

export type Grid = {
  columns: number;
  rows: number;
  pages: number;
  /** Font size in CSS pixels. */
  type: number;
};

/** The minimum size of a tile, in multiples of its font size. */
const tile = { width: 16, height: 9.2 };
const smallest = 14;
const biggest = 40;

/** The smallest readable font size: from 4 m on a screen of 55 inches, or in the hand on a small one. */
export const leastType = (width: number, height: number) =>
  Math.max(smallest, Math.round(Math.min(width / 68, height / 38)));

/** The largest font size with which all tiles fit on one page; with the smallest there may be several pages. */
export function spread(count: number, width: number, height: number, least = smallest): Grid {
  for (let type = Math.max(biggest, least); type >= least; type--) {
    const columns = Math.max(1, Math.floor(width / (tile.width * type)));
    const rows = Math.max(1, Math.floor(height / (tile.height * type)));
    const pages = Math.ceil(count / (columns * rows));
    if (pages > 1 && type > least) continue;
    const perPage = Math.ceil(count / pages);
    const neededRows = Math.ceil(perPage / columns);
    return { columns: Math.ceil(perPage / neededRows), rows: neededRows, pages, type };
  }
  return { columns: 1, rows: 1, pages: count, type: least };
}

export function pageOf<T>(items: readonly T[], { columns, rows }: Grid, page: number): T[] {
  return items.slice(page * columns * rows, (page + 1) * columns * rows);
}
