/**
 * What is new for one reader, which takes it when it can: the present state, never a queue. Thousands may wait at a time, so
 * waiting makes nothing, neither a promise nor a closure.
 */
export type Latest<T> = {
  /** What is new; undefined when nothing is. */
  take(): T | undefined;
  /** Nothing will follow what was taken last. */
  readonly isOver: boolean;
  /** Called when there may be something to take, and at the end; set by the reader. */
  onNews: (() => void) | undefined;
  /** Ends it. May be called twice. */
  close(): void;
};

/** Waits for the next; undefined at the end. Only one may be waited for at a time. @throws what `take` throws */
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

/** What an iterator yields; it is asked for the next only when there is a reader who takes. */
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
      // Not waited for: a generator that waits notices its return only after what it waits for.
      iterator.return?.().catch(() => {});
      source.onNews?.();
    },
  };
  return source;
}
