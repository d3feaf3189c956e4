/** Sends one query for each of many items, a few at a time, because the server limits those of a person. */

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
