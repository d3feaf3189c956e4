import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds between two parts of what is loaded, in which this process goes on with other requests. */
const pause = 20;

/** Loads the module that answers calls, in parts, as this process does nothing else while one is loaded. */
export async function loadCalls() {
  await import('graphql-yoga');
  await sleep(pause);
  const { wholeSchema } = await import('./schema.ts');
  await sleep(pause);
  wholeSchema();
  await sleep(pause);
  return await import('./calls.ts');
}
