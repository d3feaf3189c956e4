/**
 * What is thrown beside every promise, as by a listener of a socket or a timer, would end the process. Here it ends the piece
 * of work that it belongs to: Node carries the work along (AsyncLocalStorage) to whatever that has set in motion.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

type Log = Record<'error' | 'fatal', (facts: object, message: string) => void>;

const running = new AsyncLocalStorage<(error: unknown) => void>();

/** Runs a piece of work, which fails also with what is thrown beside its promise once `watchForUncaught` is called. */
export function contain<T>(work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    running.run(reject, () => work().then(resolve, reject));
  });
}

/** Of this process: what belongs to no contained work ends it, as ever. To be called once. */
export function watchForUncaught(log: Log): void {
  process.on('uncaughtException', (error: unknown) => {
    const err = error instanceof Error ? error.stack : String(error);
    const fail = running.getStore();
    if (fail) {
      log.error({ err }, 'uncaught in a piece of work, which ends');
      fail(error);
      return;
    }
    log.fatal({ err }, 'uncaught; the process ends');
    process.exit(1);
  });
}
