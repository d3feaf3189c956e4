/** The HTTP requests that this process makes from now on, in order. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';

const channel = 'http.client.request.created';

export function watchOutgoing() {
  const addresses: string[] = [];
  const add = (message: unknown) => {
    const { request } = message as { request: ClientRequest };
    addresses.push(`${request.protocol}//${String(request.getHeader('host'))}${request.path}`);
  };
  subscribe(channel, add);
  return { addresses, stop: () => void unsubscribe(channel, add) };
}
