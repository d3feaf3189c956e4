import { jest } from '@jest/globals';

const timers = ['setImmediate', 'setInterval', 'setTimeout', 'clearImmediate', 'clearInterval', 'clearTimeout'];
const others = ['hrtime', 'nextTick', 'performance', 'queueMicrotask'];

/** Stops the clock at an instant, or moves it there; timers are not affected. */
export function setClock(now: number): void {
  jest.useFakeTimers({ now, doNotFake: [...timers, ...others] as never });
}

export function releaseClock(): void {
  jest.useRealTimers();
}
