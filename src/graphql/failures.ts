/** Failures that end a request before GraphQL runs, for clients that expect a GraphQL body (contract 8). */
import type { IncomingMessage } from 'node:http';
import type { DomainError, ErrorCode } from '../errors.ts';

/** Every `extensions.code` of a top-level error. */
export const graphqlCodes = [
  'BAD_REQUEST',
  'BAD_USER_INPUT',
  'CONFLICT',
  'FORBIDDEN',
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'INTERNAL_ERROR',
  'LIMIT',
  'NOT_AUTHENTICATED',
  'NOT_FOUND',
  'PERSISTED_QUERY_MISMATCH',
  'PERSISTED_QUERY_NOT_FOUND',
  'UNAVAILABLE',
] as const;
export type GraphqlCode = (typeof graphqlCodes)[number];

/** The code and the message of a fault of ours. */
export const internal: GraphqlCode = 'INTERNAL_ERROR';
export const ourFault = 'Something went wrong on our side. Quote the traceId when you report it.';

/** The code of each domain error. */
export const graphqlCodeOf: Record<ErrorCode, GraphqlCode> = {
  Malformed: 'BAD_USER_INPUT',
  NotAuthenticated: 'NOT_AUTHENTICATED',
  Forbidden: 'FORBIDDEN',
  NotFound: 'NOT_FOUND',
  MethodNotAllowed: 'BAD_REQUEST',
  NotAcceptable: 'BAD_REQUEST',
  RequestTimeout: 'BAD_REQUEST',
  Conflict: 'CONFLICT',
  PreconditionFailed: 'CONFLICT',
  TooLarge: 'LIMIT',
  UnsupportedMediaType: 'BAD_REQUEST',
  InvalidInput: 'BAD_USER_INPUT',
  PreconditionRequired: 'BAD_USER_INPUT',
  LimitExceeded: 'LIMIT',
  Unavailable: 'UNAVAILABLE',
};

export function extensionsOf({ code, retryAfter, errors }: DomainError) {
  return {
    code: graphqlCodeOf[code],
    ...(retryAfter !== undefined && { retryAfterSeconds: Math.ceil(retryAfter) }),
    ...(errors.length > 0 && { errors }),
  };
}

const response = 'application/graphql-response+json';

/** A GraphQL body in place of a problem; undefined for other paths, and for clients that accept neither media type by name. */
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
    : { message: ourFault, extensions: { code: internal, traceId: requestId } };
  return { type, body: { errors: [told] } };
}
