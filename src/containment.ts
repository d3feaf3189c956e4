/**
 * What is thrown beside every promise, as by a listener of a socket or a timer, would end the process. Here it ends the piece
 * of work that it belongs to: Node carries the work along (AsyncLocalStorage) to whatever that has set in motion.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

type FaultLog = Record<'error' | 'fatal', (facts: object, message: string) => void>;

/** `fail` is there until the work has ended: what it has left behind, such as a timer, may be thrown in long after. */
type Work = { fail?: ((error: unknown) => void) | undefined };

const running = new AsyncLocalStorage<Work>();

/** Runs a piece of work, which fails also with what is thrown beside its promise once `watchForUncaught` is called. */
export async function contain<T>(work: () => Promise<T>): Promise<T> {
  const thrown = Promise.withResolvers<never>();
  const own: Work = { fail: thrown.reject };
  const done = running
    .run(own, async () => work())
    .finally(() => {
      own.fail = undefined;
    });
  return await Promise.race([done, thrown.promise]);
}

/** Begins what outlives the piece of work that happens to begin it, and serves others: it belongs to none. */
export const uncontained = <T>(begin: () => T): T => running.exit(begin);

/** Of this process: what belongs to no contained work ends it, as ever. To be called once. */
export function watchForUncaught(log: FaultLog): void {
  process.on('uncaughtException', (error: unknown) => {
    const err = error instanceof Error ? error.stack : String(error);
    const fail = running.getStore()?.fail;
    if (fail) {
      log.error({ err }, 'uncaught in a piece of work, which ends');
      fail(error);
      return;
    }
    log.fatal({ err }, 'uncaught; the process ends');
    process.exit(1);
  });
}
