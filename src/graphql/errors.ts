import { GraphQLError } from 'graphql';
import type { DomainError, ErrorCode } from '../errors.ts';
import { asDomainError } from '../flow/database-errors.ts';
import { shorten } from '../input.ts';
import type { Log } from '../log.ts';

/** `extensions.code` of a top-level error. */
export const graphqlCodeOf: Record<ErrorCode, string> = {
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

/** The error that our code threw; undefined if GraphQL itself made it. */
function causeOf(error: GraphQLError): unknown {
  const { originalError } = error;
  return originalError instanceof GraphQLError ? causeOf(originalError) : originalError;
}

const longestMessage = 4_000;

/** Shortens a message: GraphQL's own errors quote input of any length. */
export function shortenMessage(error: GraphQLError): GraphQLError {
  error.message = shorten(error.message, longestMessage);
  return error;
}

/** An error for the client: GraphQL's own and domain errors with their code, all others masked, with a traceId for the log. */
export function presentError(error: GraphQLError, requestId: string, log: Log): GraphQLError {
  const cause = causeOf(error);
  if (cause === undefined) {
    // GraphQL's errors without a code are those of variables.
    error.extensions['code'] ??= graphqlCodeOf.InvalidInput;
    return shortenMessage(error);
  }
  const known = asDomainError(cause);
  const err = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
  if (!known) log.error({ requestId, path: error.path?.join('.'), err }, 'unexpected error');
  else if (known !== cause) log.warn({ requestId, err }, 'answered as an error of the database');
  const message = known?.message ?? 'Something went wrong on our side. Quote the traceId when you report it.';
  const extensions = known ? extensionsOf(known) : { code: 'INTERNAL_ERROR', traceId: requestId };
  return new GraphQLError(message, { nodes: error.nodes, path: error.path, extensions });
}
