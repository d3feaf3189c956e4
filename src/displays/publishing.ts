/**
 * Notifies the readers of rooms. Most rooms change at the same instant, at full hours: notifying thousands of readers takes
 * several turns of the event loop, between which it does other work.
 */

/** The milliseconds of one turn. */
const mostAtOnce = 20;

/** Calls `tell` soon, after all functions that were passed earlier. @returns a promise that is fulfilled then, or rejected with what it throws */
export type Publish = (tell: () => void) => Promise<void>;

export function openPublishing(clock = () => performance.now()): Publish {
  const waiting: (() => void)[] = [];
  let isUnderWay = false;

  function goOn(): void {
    const until = clock() + mostAtOnce;
    do waiting.shift()?.();
    while (waiting.length > 0 && clock() < until);
    isUnderWay = waiting.length > 0;
    if (isUnderWay) setImmediate(goOn);
  }

  return (tell) =>
    new Promise((resolve, reject) => {
      waiting.push(() => {
        try {
          resolve(tell());
        } catch (error) {
          reject(error);
        }
      });
      if (isUnderWay) return;
      isUnderWay = true;
      setImmediate(goOn);
    });
}
