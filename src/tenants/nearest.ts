import leven from 'leven';

/** The remedy for an unknown name: suggests a similar known name, or lists all. */
export function remedyFor(name: string, known: readonly string[], what: string): string {
  const far = (other: string) => leven(name.slice(0, 64).toLowerCase(), other.toLowerCase());
  const nearest = known.toSorted((one, other) => far(one) - far(other))[0]!;
  return far(nearest) <= nearest.length / 2 ? `did you mean ${nearest}?` : `the ${what} are ${known.join(', ')}`;
}
