/** Decides which items of a room's mailbox get their places. Pure. */

/** Half-open, in milliseconds. */
export type MailPlace = { from: number; to: number };

/** An item that asks for a place. */
export type Asking = MailPlace & {
  /** Whether the item has this place already. */
  isThere: boolean;
  /** The lowest goes first. */
  precedence: number;
  /** Orders items that begin at the same instant. */
  key: string;
};

/** The number of places that begin before an instant. */
function countBefore(taken: readonly MailPlace[], instant: number): number {
  let low = 0;
  let high = taken.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((taken[middle] as MailPlace).from < instant) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Finds the first holder that overlaps a place. @param taken disjoint places, ordered by their beginning */
function findOverlap<Holder extends MailPlace>(taken: readonly Holder[], { from, to }: MailPlace): Holder | null {
  let found: Holder | null = null;
  for (let at = countBefore(taken, to) - 1; at >= 0; at--) {
    const holder = taken[at] as Holder;
    if (holder.to <= from) break;
    found = holder;
  }
  return found;
}

/**
 * Returns the obstacle to each item, or null for an item that gets its place. `others` keep their places. Items go in the
 * order of their precedence; within one precedence, items that have their places go first, then those that begin earlier.
 * @param others overlap neither each other nor the items that have their places
 */
export function planPlaces<Other extends MailPlace, Item extends Asking>(
  items: readonly Item[],
  others: readonly Other[],
): (Other | Item | null)[] {
  const taken: (Other | Item)[] = others.toSorted((one, other) => one.from - other.from);
  const obstacles = new Map<Item, Other | Item | null>();
  const inTurn = items.toSorted(
    (one, other) =>
      one.precedence - other.precedence ||
      Number(other.isThere) - Number(one.isThere) ||
      one.from - other.from ||
      (one.key < other.key ? -1 : 1),
  );
  for (const item of inTurn) {
    const obstacle = findOverlap(taken, item);
    obstacles.set(item, obstacle);
    if (!obstacle) taken.splice(countBefore(taken, item.from), 0, item);
  }
  return items.map((item) => obstacles.get(item) ?? null);
}
