/** Who gets its place in a room when items of its mailbox come or change. Pure. */

/** Half-open, in milliseconds. */
export type MailPlace = { from: number; to: number };

/** What asks for a place. */
export type Asking = MailPlace & {
  /** Whether it has this very place already. */
  isThere: boolean;
  /** The lower comes first. */
  precedence: number;
  /** Decides between those that begin at one instant. */
  key: string;
};

/** The places that are taken, in their order; none overlaps another. */
type Taken<Holder extends MailPlace> = Holder[];

/** How many of the places begin before an instant. */
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

/** The first that overlaps a place. */
function findOverlap<Holder extends MailPlace>(taken: Taken<Holder>, { from, to }: MailPlace): Holder | null {
  let found: Holder | null = null;
  for (let at = countBefore(taken, to) - 1; at >= 0; at--) {
    const holder = taken[at] as Holder;
    if (holder.to <= from) break;
    found = holder;
  }
  return found;
}

/**
 * What is in the way of each that asks; null where nothing is, and it gets its place. What others have stays. Of those of one
 * precedence who has its place already keeps it, and of the rest who begins first comes first.
 * @param others who overlap neither each other nor those that have their places already
 */
export function planPlaces<Other extends MailPlace, Item extends Asking>(
  items: readonly Item[],
  others: readonly Other[],
): (Other | Item | null)[] {
  const taken: Taken<Other | Item> = others.toSorted((one, other) => one.from - other.from);
  const ways = new Map<Item, Other | Item | null>();
  const inTurn = items.toSorted(
    (one, other) =>
      one.precedence - other.precedence ||
      Number(other.isThere) - Number(one.isThere) ||
      one.from - other.from ||
      (one.key < other.key ? -1 : 1),
  );
  for (const item of inTurn) {
    const way = findOverlap(taken, item);
    ways.set(item, way);
    if (!way) taken.splice(countBefore(taken, item.from), 0, item);
  }
  return items.map((item) => ways.get(item) ?? null);
}
