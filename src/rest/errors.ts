import type { ErrorRequestHandler, Request, Response } from 'express';
import {
  type DomainError,
  InvalidInput,
  Malformed,
  MethodNotAllowed,
  statusOfCode,
  TooLarge,
  UnsupportedMediaType,
} from '../errors.ts';
import { inPascal } from '../fields.ts';
import { asDomainError } from '../flow/database-errors.ts';
import { nodeHttp } from '../http/node-http.ts';
import type { Log } from '../log.ts';
import { writeJson } from './json.ts';

function challengesFor(request: Request, schemes: readonly string[]): string {
  const error = request.get('authorization') ? ', error="invalid_token"' : '';
  return schemes.map((scheme) => `${scheme} realm="roomgate"${scheme === 'Bearer' ? error : ''}`).join(', ');
}

/** The body of an error for clients that expect another form than a problem. */
export type FailureBody = { type: string; body: object };
/** @param error undefined for a fault of ours @returns undefined for clients that accept a problem */
export type InOtherForm = (
  request: Request,
  error: DomainError | undefined,
  requestId: string,
) => FailureBody | undefined;

type ProblemOptions = {
  /** The authentication schemes that a 401 names. */
  schemes?: readonly string[];
  /** Members that rooms add for their own errors, in Pascal case. */
  membersOf?: (error: DomainError) => object;
  inOtherForm?: InOtherForm;
};

/** `error` is undefined for a fault of ours. */
type Failure = { error: DomainError | undefined; status: number; detail: string; code: string; members?: object };

/** Writes an RFC 9457 problem, or the other form. Standard members stay in lower case; the others follow the caller's casing. */
function writeFailure(
  request: Request,
  response: Response,
  inOtherForm: InOtherForm,
  { error, status, detail, code, members }: Failure,
): void {
  const requestId = response.locals['requestId'];
  response.status(status).set('Cache-Control', 'no-store');
  const other = inOtherForm(request, error, String(requestId));
  if (other) {
    response.vary('Accept');
    writeJson(request, response, other.body, other.type);
    return;
  }
  const problem = {
    type: 'about:blank',
    title: nodeHttp.STATUS_CODES[status],
    status,
    detail,
    instance: request.originalUrl.split('?')[0],
    Code: code,
    TraceId: requestId,
    ...members,
  };
  writeJson(request, response, problem, 'application/problem+json');
}

function writeError(
  request: Request,
  response: Response,
  error: DomainError,
  { schemes, membersOf, inOtherForm }: Required<ProblemOptions>,
): void {
  const status = statusOfCode[error.code];
  if (status === 401) response.set('WWW-Authenticate', challengesFor(request, schemes));
  if (error instanceof MethodNotAllowed) response.set('Allow', error.allow.join(', '));
  if (error instanceof UnsupportedMediaType && error.codings.length > 0)
    response.set('Accept-Encoding', error.codings.join(', '));
  if (error.retryAfter !== undefined) response.set('Retry-After', String(Math.max(1, Math.ceil(error.retryAfter))));
  const errors = error.errors.map(({ field, pointer, otherPointer, code, message, line, column, limit }) => ({
    Field: field,
    Pointer: pointer,
    ...(otherPointer !== undefined && { OtherPointer: otherPointer }),
    Code: code,
    Message: message,
    ...(line === undefined ? {} : { Line: line, Column: column }),
    ...(limit && { Limit: inPascal(limit) }),
  }));
  const members = {
    ...(errors.length > 0 ? { Errors: errors } : {}),
    ...(error instanceof InvalidInput && error.faultCount > errors.length ? { FaultCount: error.faultCount } : {}),
    ...membersOf(error),
  };
  writeFailure(request, response, inOtherForm, { error, status, detail: error.message, code: error.code, members });
}

/** Errors of Express and its parsers that carry one of these statuses are faults of the request. */
function asExpressError(error: { status?: unknown; message?: string }): DomainError | undefined {
  if (error instanceof URIError) return new Malformed('The path is not percent-encoded UTF-8.');
  if (error?.status === 400) return new Malformed(error.message ?? 'The request could not be read.');
  if (error?.status === 413) return new TooLarge('The body is larger than this route takes.');
  if (error?.status === 415) return new UnsupportedMediaType('The encoding of the body is not supported.');
  return undefined;
}

/** The last handler: answers domain errors as they are, and everything else with a masked 500 that only the log explains. */
export function handleErrors(
  log: Log,
  { schemes = ['Bearer'], membersOf = () => ({}), inOtherForm = () => undefined }: ProblemOptions = {},
): ErrorRequestHandler {
  return (error, request, response, _next) => {
    const requestId = response.locals['requestId'];
    // The response's socket, because the request's may be gone when its body was not read to the end. That of a pipelined request
    // has none before its turn.
    if (response.headersSent || response.destroyed || response.socket?.destroyed) {
      log.info({ requestId, err: String(error?.message) }, 'request aborted');
      response.destroy();
      return;
    }
    const known = asDomainError(error) ?? asExpressError(error);
    if (known) {
      if (known !== error)
        log.warn({ requestId, err: String(error?.message) }, 'answered as an error of the caller or of the database');
      writeError(request, response, known, { schemes, membersOf, inOtherForm });
      return;
    }
    log.error({ requestId, err: error?.stack ?? String(error) }, 'unexpected error');
    writeFailure(request, response, inOtherForm, {
      error: undefined,
      status: 500,
      detail: 'Something went wrong on our side. Quote the TraceId when you report it.',
      code: 'InternalError',
    });
  };
}
