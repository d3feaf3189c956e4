import leven from 'leven';

/** The way out of a name that is not known: the one that was probably meant, or all. */
export function remedyFor(name: string, known: readonly string[], what: string): string {
  const far = (other: string) => leven(name.slice(0, 64).toLowerCase(), other.toLowerCase());
  const nearest = known.toSorted((one, other) => far(one) - far(other))[0]!;
  return far(nearest) <= nearest.length / 2 ? `did you mean ${nearest}?` : `the ${what} are ${known.join(', ')}`;
}
