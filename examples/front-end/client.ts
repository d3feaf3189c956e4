/**
 * A client of roomgate's GraphQL, as a front end would write it: Apollo Client with its default cache, typed by documents that
 * are generated from the schema. Queries and mutations go over HTTP, subscriptions over a WebSocket.
 */
import { ApolloClient, ApolloLink, HttpLink, InMemoryCache } from '@apollo/client';
import { SetContextLink } from '@apollo/client/link/context';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { OperationTypeNode } from 'graphql';
import { createClient } from 'graphql-ws';

/** The codes of errors that a server means by closing a WebSocket. */
const codes: Record<number, string> = { 4401: 'NOT_AUTHENTICATED', 4403: 'FORBIDDEN' };

/** Makes an error with its code, as any other answer has it, of the close of a WebSocket that is refused. */
function withCode(cause: unknown): unknown {
  const { code = 0, reason = '' } = cause as { code?: number; reason?: string };
  return codes[code] ? [{ message: reason, extensions: { code: codes[code] } }] : cause;
}

/** Between two pings of a socket, and to wait for the answer to one. */
const pingMs = 10_000;

/**
 * @param url of GraphQL, such as http://127.0.0.1:8080/demo/graphql
 * @param token gives a valid token; asked before each call
 * @param every milliseconds between two pings
 */
export function connect(url: string, token: () => Promise<string>, every = pingMs) {
  const authorize = async () => ({ authorization: `Bearer ${await token()}` });
  let deadline: ReturnType<typeof setTimeout> | undefined;
  const socket = createClient({
    url: url.replace(/^http/, 'ws'),
    connectionParams: authorize,
    // A client that only listens is not told that a network has gone: it must ask.
    keepAlive: every,
    on: {
      ping(isReceived) {
        if (!isReceived) deadline = setTimeout(() => socket.terminate(), every);
      },
      pong: () => clearTimeout(deadline),
      closed: () => clearTimeout(deadline),
    },
    // Who subscribes goes on behind what it has received; a retry of the socket would begin anew.
    retryAttempts: 0,
  });
  const calls = new GraphQLWsLink({
    ...socket,
    subscribe: (call, sink) => socket.subscribe(call, { ...sink, error: (cause) => sink.error(withCode(cause)) }),
  });
  const link = ApolloLink.split(
    ({ operationType }) => operationType === OperationTypeNode.SUBSCRIPTION,
    calls,
    new HttpLink({ uri: url }),
  );
  const client = new ApolloClient({
    link: new SetContextLink(async () => ({ headers: await authorize() })).concat(link),
    cache: new InMemoryCache(),
  });
  return {
    client,
    async close() {
      client.stop();
      await socket.dispose();
    },
  };
}

export type Client = ReturnType<typeof connect>['client'];
