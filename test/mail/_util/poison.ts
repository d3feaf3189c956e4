/**
 * Preloaded into a program (`NODE_OPTIONS=--import`): an answer with the header `x-poison` does to it what a fault of Node's own
 * HTTP client would do: an exception that is thrown beside every promise.
 */
import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';

subscribe('http.client.response.finish', (message) => {
  const { headers } = (message as { response: IncomingMessage }).response;
  if (headers['x-poison'] === undefined) return;
  process.nextTick(() => {
    throw new Error(`poison: ${String(headers['x-poison'])}`);
  });
});
