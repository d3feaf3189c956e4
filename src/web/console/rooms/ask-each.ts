/** One question about each of many things, of which a few are under way at a time: the server refuses a person too many. */

const atOnce = 6;

/** @returns the answers, in the order of `items` @throws Refused */
export async function askEach<Item, Answer>(
  items: readonly Item[],
  question: (item: Item) => Promise<Answer>,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  const waiting = items.entries();
  const askOn = async () => {
    for (const [at, item] of waiting) answers[at] = await question(item);
  };
  await Promise.all(Array.from({ length: atOnce }, askOn));
  return answers;
}
