import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import { shorten } from '../errors.ts';
import { asDomainError } from '../flow/database-errors.ts';
import type { Log } from '../log.ts';
import { extensionsOf, type GraphqlCode, graphqlCodeOf, graphqlCodes, internal, ourFault } from './failures.ts';

/** The error that our code threw; undefined if GraphQL itself made it. */
function causeOf(error: GraphQLError): unknown {
  const { originalError } = error;
  return originalError instanceof GraphQLError ? causeOf(originalError) : originalError;
}

const longestMessage = 4_000;

/** An error with one of our codes. */
export const refusal = (message: string, code: GraphqlCode, status?: number): GraphQLError =>
  new GraphQLError(message, { extensions: { code, ...(status !== undefined && { http: { status } }) } });

/** The error of a call that does not name one of its document's operations. */
export const notNamed = (): GraphQLError =>
  refusal(
    'operationName: must name an operation of the document, unless the document has just one.',
    'BAD_REQUEST',
    400,
  );

/** Yoga's code of such a call. */
const yogaNotNamed = 'OPERATION_RESOLUTION_FAILURE';

/** Shortens a message, as GraphQL's errors quote input of any length; replaces an error that has a code of Yoga's. */
export function shortenMessage(error: GraphQLError): GraphQLError {
  error.message = shorten(error.message, longestMessage);
  const { code } = error.extensions;
  if (code === yogaNotNamed) return notNamed();
  if (code !== undefined && !graphqlCodes.includes(code as GraphqlCode)) error.extensions['code'] = internal;
  return error;
}

/** An error for the client: GraphQL's own and domain errors with their code, all others masked, with a traceId for the log. */
export function presentError(error: GraphQLError, requestId: string, log: Log): GraphQLError {
  const cause = causeOf(error);
  if (cause === undefined) {
    // Only GraphQL's errors about variables have no code.
    error.extensions['code'] ??= graphqlCodeOf.InvalidInput;
    return shortenMessage(error);
  }
  const known = asDomainError(cause);
  const err = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
  if (!known) log.error({ requestId, path: error.path?.join('.'), err }, 'unexpected error');
  else if (known !== cause) log.warn({ requestId, err }, 'answered as an error of the database');
  const message = known?.message ?? ourFault;
  const extensions = known ? extensionsOf(known) : { code: internal, traceId: requestId };
  return new GraphQLError(message, { nodes: error.nodes, path: error.path, extensions });
}

/** `presentError` for what our code threw outside of execution. */
export const presentCause = (cause: unknown, requestId: string, log: Log): GraphQLError =>
  presentError(
    cause instanceof GraphQLError ? cause : new GraphQLError('Failed.', { originalError: cause as Error }),
    requestId,
    log,
  );

/** An error as it is written where there is no HTTP status. */
export function withoutHttp(error: GraphQLError | GraphQLFormattedError): GraphQLFormattedError {
  const { http: _, ...extensions } = error.extensions ?? {};
  return { ...(error instanceof GraphQLError ? shortenMessage(error).toJSON() : error), extensions };
}
