/** Failures that end a request before GraphQL runs, for clients that expect a GraphQL body (contract 8). */
import type { IncomingMessage } from 'node:http';
import type { DomainError } from '../errors.ts';
import { extensionsOf } from './errors.ts';

const response = 'application/graphql-response+json';

/** The errors of GraphQL in place of a problem; undefined for other paths, and for clients that name neither media type. */
export function graphqlFailure(
  { headers: { accept = '' }, originalUrl = '' }: IncomingMessage & { originalUrl?: string },
  error: DomainError | undefined,
  requestId: string,
): { type: string; body: object } | undefined {
  if (!/^\/[^/?]+\/graphql\/?(\?|$)/i.test(originalUrl)) return undefined;
  const types = accept
    .toLowerCase()
    .split(',', 20)
    .map((entry) => entry.split(';', 1)[0]?.trim());
  const type = [response, 'application/json'].find((name) => types.includes(name));
  if (!type) return undefined;
  const told = error
    ? { message: error.message, extensions: { ...extensionsOf(error), traceId: requestId } }
    : {
        message: 'Something went wrong on our side. Quote the traceId when you report it.',
        extensions: { code: 'INTERNAL_ERROR', traceId: requestId },
      };
  return { type, body: { errors: [told] } };
}
