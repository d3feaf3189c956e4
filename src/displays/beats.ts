/** Things that happen once in a period, for each id at another moment of it: thousands at once would be a burst. */

/** Always the same for an id. */
export const phaseOf = (id: number, period: number) => Math.floor(((id * 0.618_033_988_75) % 1) * period);

export type Beats = { start(): void; stop(): void };

/** @param period milliseconds */
export function openBeats(id: number, period: number, beat: () => void): Beats {
  let timer: NodeJS.Timeout | undefined;
  const phase = phaseOf(id, period);
  function wait(least: number): void {
    const rest = period - ((((Date.now() - phase) % period) + period) % period);
    timer = setTimeout(
      () => {
        // A timer may be early: it must not beat again at the right moment.
        wait(period / 2);
        beat();
      },
      rest < least ? rest + period : rest,
    ).unref();
  }
  return { start: () => wait(0), stop: () => clearTimeout(timer) };
}
