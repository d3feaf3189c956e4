const day = 86_400_000;

/** All of it lies ahead. */
export const nextYear = new Date().getUTCFullYear() + 1;

/** The last Sunday of March, when Europe's clocks are set ahead at 01:00Z. */
function springForwardOf(year: number): number {
  const last = Date.UTC(year, 2, 31);
  return last - new Date(last).getUTCDay() * day;
}

export const springForward = springForwardOf(nextYear);

/**
 * Moves the dates of 2027 in a text by whole weeks into the next year: each stays as many days before or after Europe's clocks
 * are set ahead. The first days of January may come into this year.
 */
export const ahead = (text: string): string =>
  text.replaceAll(/2027-\d\d-\d\d/g, (date) =>
    new Date(Date.parse(date) + springForward - springForwardOf(2027)).toISOString().slice(0, 10),
  );
