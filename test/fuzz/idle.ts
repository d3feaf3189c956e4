/** How late a thread wakes that has nothing to do: what of a loop's delay is the machine's, not the program's. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parentPort } from 'node:worker_threads';

const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();
parentPort?.on('message', () => {
  parentPort?.postMessage(delay.percentile(99) / 1e6);
  delay.reset();
});
