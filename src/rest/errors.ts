import { STATUS_CODES } from 'node:http';
import type { ErrorRequestHandler, Request, Response } from 'express';
import {
  type DomainError,
  Malformed,
  MethodNotAllowed,
  statusOfCode,
  TooLarge,
  UnsupportedMediaType,
} from '../errors.ts';
import { asDomainError } from '../flow/database-errors.ts';
import type { Log } from '../log.ts';
import { writeJson } from './json.ts';

function challengesFor(request: Request, schemes: readonly string[]): string {
  const error = request.get('authorization') ? ', error="invalid_token"' : '';
  return schemes.map((scheme) => `${scheme} realm="roomgate"${scheme === 'Bearer' ? error : ''}`).join(', ');
}

type ProblemOptions = {
  /** Those that are taken, which a 401 names. */
  schemes?: readonly string[];
  /** What rooms tell of their own errors, in Pascal case. */
  membersOf?: (error: DomainError) => object;
};

/** RFC 9457. The standard members keep their lower case; extension members follow the caller's casing. */
function writeProblem(
  request: Request,
  response: Response,
  error: DomainError,
  { schemes, membersOf }: Pick<Required<ProblemOptions>, 'schemes' | 'membersOf'>,
): void {
  const status = statusOfCode[error.code];
  if (status === 401) response.set('WWW-Authenticate', challengesFor(request, schemes));
  if (error instanceof MethodNotAllowed) response.set('Allow', error.allow.join(', '));
  if (error.retryAfter !== undefined) response.set('Retry-After', String(Math.max(1, Math.ceil(error.retryAfter))));
  const errors = error.errors.map(({ field, pointer, code, message }) => ({
    Field: field,
    Pointer: pointer,
    Code: code,
    Message: message,
  }));
  response.status(status);
  writeProblemBody(request, response, {
    type: 'about:blank',
    title: STATUS_CODES[status],
    status,
    detail: error.message,
    instance: request.originalUrl.split('?')[0],
    Code: error.code,
    TraceId: response.locals['requestId'],
    ...(errors.length > 0 ? { Errors: errors } : {}),
    ...membersOf(error),
  });
}

/** Errors of Express and its body parsers carry a status: they speak of the request, never of us. */
function asExpressError(error: { status?: unknown; message?: string }): DomainError | undefined {
  if (error?.status === 400) return new Malformed(error.message ?? 'The request could not be read.');
  if (error?.status === 413) return new TooLarge('The body is larger than this route takes.');
  if (error?.status === 415) return new UnsupportedMediaType('The encoding of the body is not supported.');
  return undefined;
}

function writeProblemBody(request: Request, response: Response, body: object): void {
  response.set('Cache-Control', 'no-store');
  writeJson(request, response, body, 'application/problem+json');
}

/**
 * The last handler: domain errors as they are, everything else as a masked 500 that only the log explains.
 */
export function handleErrors(
  log: Log,
  { schemes = ['Bearer'], membersOf = () => ({}) }: ProblemOptions = {},
): ErrorRequestHandler {
  return (error, request, response, _next) => {
    const requestId = response.locals['requestId'];
    // The request has lost its socket when its body was not read to the end; the response has not.
    if (response.headersSent || !response.socket || response.socket.destroyed) {
      log.info({ requestId, err: String(error?.message) }, 'request aborted');
      response.destroy();
      return;
    }
    const known = asDomainError(error) ?? asExpressError(error);
    if (known) {
      if (known !== error)
        log.warn({ requestId, err: String(error?.message) }, 'answered as an error of the caller or the database');
      writeProblem(request, response, known, { schemes, membersOf });
      return;
    }
    log.error({ requestId, err: error?.stack ?? String(error) }, 'unexpected error');
    response.status(500);
    writeProblemBody(request, response, {
      type: 'about:blank',
      title: STATUS_CODES[500],
      status: 500,
      detail: 'Something went wrong on our side. Quote the TraceId when you report it.',
      instance: request.originalUrl.split('?')[0],
      Code: 'InternalError',
      TraceId: requestId,
    });
  };
}
