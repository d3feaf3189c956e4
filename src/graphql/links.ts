/** A **link** is a WebSocket as graphql-ws passes it on: with its upgrade request and its first message. */
import type { Context as Connection } from 'graphql-ws';
import type { Extra } from 'graphql-ws/use/ws';
import type { StreamClient } from './holders.ts';

export type LinkParams = Record<string, unknown> | undefined;
export type Link = Connection<LinkParams, Extra>;

/** A header of the upgrade request, or else a member of the first message, because browsers cannot set headers. */
export function headerOf({ extra, connectionParams }: Link, name: string): string | readonly string[] | undefined {
  const sent = extra.request.headersDistinct[name];
  if (sent) return sent;
  const [, given] = Object.entries(connectionParams ?? {}).find(([key]) => key.toLowerCase() === name) ?? [];
  return typeof given === 'string' ? given : undefined;
}

export function clientOf({ extra: { socket } }: Link): StreamClient {
  return {
    get closed() {
      return socket.readyState !== socket.OPEN;
    },
    on: (event, react) => socket.on(event, react),
    off: (event, react) => socket.off(event, react),
  };
}
