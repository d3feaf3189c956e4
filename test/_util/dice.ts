/** Random numbers in [0, 1), the same for the same seed: mulberry32. */
export function openDice(start: number) {
  let state = start;
  const roll = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (count: number) => Math.floor(roll() * count);
  const oneOf = <T>(choices: readonly T[]): T => choices[below(choices.length)] as T;
  return { roll, below, oneOf };
}
export type Dice = ReturnType<typeof openDice>;
