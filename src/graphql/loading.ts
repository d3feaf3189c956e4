import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds between two parts of what is loaded, in which this process goes on with other requests. */
const pauseMs = 20;

/** Loads the module that answers calls, in parts, as this process does nothing else while one is loaded. */
export async function loadCalls() {
  await import('graphql-yoga');
  await sleep(pauseMs);
  const { wholeSchema } = await import('./schema.ts');
  await sleep(pauseMs);
  wholeSchema();
  await sleep(pauseMs);
  return await import('./calls.ts');
}
