/** A clock that runs, and that tests advance: due tasks run in their order, each when the one before is done. */

type Entry = { at: number; act(): unknown };

export function openClock() {
  let offset = 0;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const agenda = new Set<Entry>();
  const now = () => Date.now() + offset;
  const next = () => [...agenda].reduce<Entry | undefined>((a, b) => (a && a.at <= b.at ? a : b), undefined);

  function arm(): void {
    clearTimeout(timer);
    const first = next();
    if (!first || isStopped) return;
    timer = setTimeout(runDue, Math.min(Math.max(0, first.at - now()), 2 ** 31 - 1));
  }
  function runDue(): void {
    for (const entry of [...agenda].toSorted((a, b) => a.at - b.at))
      if (entry.at <= now() && agenda.delete(entry)) void entry.act();
    arm();
  }

  return {
    now,
    /** @returns a function that cancels it */
    at(at: number, act: () => unknown): () => void {
      const entry = { at, act };
      agenda.add(entry);
      arm();
      return () => void agenda.delete(entry);
    },
    /** @param settle resolves when what has begun is done */
    async advance(ms: number, settle: () => Promise<void>): Promise<void> {
      const target = now() + ms;
      await settle();
      for (let entry = next(); entry && entry.at <= target; entry = next()) {
        offset += Math.max(0, entry.at - now());
        agenda.delete(entry);
        await entry.act();
        await settle();
      }
      offset += Math.max(0, target - now());
      arm();
    },
    /** When the next thing is due; undefined when nothing is. */
    due: () => next()?.at,
    /** Nothing happens any more. */
    stop(): void {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

export type Clock = ReturnType<typeof openClock>;
