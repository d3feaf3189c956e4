/**
 * A client of roomgate's GraphQL, as a front end would write it: Apollo Client with its default cache, typed by documents that
 * are generated from the schema. Queries and mutations go over HTTP, subscriptions over a WebSocket.
 */
import { ApolloClient, ApolloLink, HttpLink, InMemoryCache } from '@apollo/client';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { OperationTypeNode } from 'graphql';
import { createClient } from 'graphql-ws';

/** @param url of GraphQL, such as http://127.0.0.1:8080/demo/graphql */
export function connect(url: string, token: string) {
  const socket = createClient({
    url: url.replace(/^http/, 'ws'),
    connectionParams: { authorization: `Bearer ${token}` },
    // Who subscribes goes on behind what it has received; a retry of the socket would begin anew.
    retryAttempts: 0,
  });
  const link = ApolloLink.split(
    ({ operationType }) => operationType === OperationTypeNode.SUBSCRIPTION,
    new GraphQLWsLink(socket),
    new HttpLink({ uri: url, headers: { authorization: `Bearer ${token}` } }),
  );
  const client = new ApolloClient({ link, cache: new InMemoryCache() });
  return {
    client,
    async close() {
      client.stop();
      await socket.dispose();
    },
  };
}

export type Client = ReturnType<typeof connect>['client'];
