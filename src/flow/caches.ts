/** Bounds an LRUCache to so many entries, and lets it grow to them: with `max` it would allocate the room for all at once. */
export const atMost = (entries: number) => ({ maxSize: entries, sizeCalculation: () => 1 });
