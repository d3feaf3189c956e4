/** Periodic events, for each id at another moment of the period, so that thousands do not happen at once. */

/** When in its period an id beats; the same in every process. */
export const phaseOf = (id: number, periodMs: number) => Math.floor(((id * 0.618_033_988_75) % 1) * periodMs);

export type Beats = { start(): void; stop(): void };

export function openBeats(id: number, periodMs: number, beat: () => void): Beats {
  let timer: NodeJS.Timeout | undefined;
  const phase = phaseOf(id, periodMs);
  function wait(least: number): void {
    const rest = periodMs - ((((Date.now() - phase) % periodMs) + periodMs) % periodMs);
    timer = setTimeout(
      () => {
        // A timer may fire early; it must not beat twice.
        wait(periodMs / 2);
        beat();
      },
      rest < least ? rest + periodMs : rest,
    ).unref();
  }
  return { start: () => wait(0), stop: () => clearTimeout(timer) };
}
