/**
 * A source from which one reader takes the latest state whenever it can; there is no queue. Thousands of readers may
 * wait at a time, so waiting allocates neither a promise nor a closure.
 */
export type Latest<T> = {
  /** The latest state; undefined if nothing has changed since it was last taken. */
  take(): T | undefined;
  /** Whether the source has ended, so that nothing follows the last state taken. */
  readonly isOver: boolean;
  /** Set by the reader; called when there may be something to take, and at the end. */
  onNews: (() => void) | undefined;
  /** Ends it. May be called twice. */
  close(): void;
};

/** Waits for the next state; undefined at the end. Call it again only once the promise is settled. @throws what `take` throws */
export function nextOf<T>(source: Latest<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const look = () => {
      try {
        const taken = source.take();
        if (taken === undefined && !source.isOver) return;
        source.onNews = undefined;
        resolve(taken);
      } catch (error) {
        source.onNews = undefined;
        reject(error);
      }
    };
    source.onNews = look;
    look();
  });
}

/** The values of an iterator. It is asked for the next value only when a reader wants one. */
export function latestOf<T>(iterator: AsyncIterator<T>): Latest<T> {
  let isAsking = false;
  let yielded: T | undefined;
  let failure: { error: unknown } | undefined;
  async function ask(): Promise<void> {
    isAsking = true;
    try {
      const { value, done } = await iterator.next();
      if (done) source.isOver = true;
      else if (!source.isOver) yielded = value;
    } catch (error) {
      failure = { error };
    }
    isAsking = false;
    source.onNews?.();
  }
  const source = {
    isOver: false,
    onNews: undefined as (() => void) | undefined,
    take() {
      const taken = yielded;
      yielded = undefined;
      if (taken !== undefined || source.isOver) return taken;
      if (failure) {
        source.isOver = true;
        throw failure.error;
      }
      if (!isAsking) void ask();
      return undefined;
    },
    close() {
      if (source.isOver) return;
      source.isOver = true;
      yielded = undefined;
      // Not awaited: a generator that is waiting returns only after that wait.
      iterator.return?.().catch(() => {});
      source.onNews?.();
    },
  };
  return source;
}
