/**
 * An error thrown outside of any promise, such as by a socket's listener or a timer, would end the process. Here it ends only
 * the work that caused it: AsyncLocalStorage carries that work to every callback which it has started.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

type FaultLog = Record<'error' | 'fatal', (facts: object, message: string) => void>;

/** `fail` is absent once the work has ended: a timer that it left behind may throw long after. */
type Work = { fail?: ((error: unknown) => void) | undefined };

const running = new AsyncLocalStorage<Work>();

/** Runs work that also fails with errors thrown outside of its promise, once `watchForUncaught` has been called. */
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

/** Starts something shared, such as a pooled connection, that must not belong to the work that happens to start it. */
export const uncontained = <T>(begin: () => T): T => running.exit(begin);

/** Handles the uncaught errors of this process: one of no contained work still ends it. Call it once. */
export function watchForUncaught(log: FaultLog): void {
  process.on('uncaughtException', (error: unknown) => {
    const err = error instanceof Error ? error.stack : String(error);
    const fail = running.getStore()?.fail;
    if (fail) {
      log.error({ err }, 'uncaught error in a task or request, which ends');
      fail(error);
      return;
    }
    log.fatal({ err }, 'uncaught error; the process ends');
    process.exit(1);
  });
}
