/** Headers, parameters and problems that many operations of the OpenAPI document share. */
import type { ZodOpenApiOperationObject, ZodOpenApiResponseObject } from 'zod-openapi';
import { statusOfCode } from '../errors.ts';
import { nodeHttp } from '../http/node-http.ts';
import { versionProblems } from './versions.ts';

/** All examples are from the demo tenant on the day of its set-up. */
const exampleRequestId = '6f1c2b0a-9f0e-4c57-9d0b-2f6a5f6f3b1d';

const text = (maxLength: number, more: object = {}) => ({ type: 'string' as const, maxLength, ...more });
const seconds = { type: 'integer' as const, format: 'int32', minimum: 1, maximum: 86_400 };
const printable = '^[\\x20-\\x7e]+$';

/** Response headers (contract 2, 6 and 10). */
export const headers = {
  'X-Request-Id': {
    description: 'The id of the request, as sent or generated; `TraceId` in every problem.',
    required: true,
    schema: text(128, { pattern: printable }),
    example: exampleRequestId,
  },
  Vary: {
    description: 'The request headers that the answer depends on.',
    schema: text(200),
    example: 'Authorization, X-JsonPropertyFormat',
  },
  RateLimit: {
    description: 'What is left of the limit: `r` requests for `t` seconds (draft-ietf-httpapi-ratelimit-headers).',
    schema: text(200),
    example: '"requests"; r=599; t=60',
  },
  'RateLimit-Policy': {
    description: 'The limit: `q` requests in a window of `w` seconds.',
    schema: text(300),
    example: '"requests"; q=600; w=60; pk=:ZGVtbyAxNw==:',
  },
  Deprecation: {
    description: 'When the called feature became deprecated (RFC 9745); with the header APIKEY.',
    schema: text(20, { pattern: '^@[0-9]+$' }),
    example: '@1795132800',
  },
  Sunset: {
    description: 'When it will stop working, at the earliest (RFC 8594).',
    schema: text(40),
    example: 'Sat, 01 Jan 2028 00:00:00 GMT',
  },
  Link: {
    description: 'With `rel="deprecation"`: what is deprecated and what replaces it.',
    schema: text(1_000),
    example: '<https://roomgate.example/swagger>; rel="deprecation"; type="text/html"',
  },
  'Retry-After': {
    description: 'Seconds to wait before the next call.',
    schema: seconds,
    example: 2,
  },
  ETag: {
    description: 'The version of the record, for `If-None-Match`.',
    schema: text(200, { pattern: '^(W/)?"[\\x21\\x23-\\x7e]*"$' }),
    example: '"5f2a1c"',
  },
  Location: {
    description: 'The address of the new record.',
    schema: text(2_000, { format: 'uri' }),
    example: 'http://127.0.0.1:8080/demo/api/v2.0/jobs/batches/01a1f8da-707e-77b2-927f-0b8eb9707a33',
  },
  'WWW-Authenticate': {
    description: 'The credential that is required.',
    schema: text(500),
    example: 'Bearer realm="roomgate", error="invalid_token"',
  },
  'Set-Cookie': {
    description: 'The cookie of the session: `HttpOnly`, and only for the paths of the tenant.',
    schema: text(4_000),
    example: 'roomgate_session=3q2-7wAA; Path=/demo/; HttpOnly; SameSite=Strict',
  },
  'Cache-Control': {
    description: 'Whether and for how long the answer may be cached.',
    schema: text(200),
    example: 'no-store',
  },
};

export type HeaderName = keyof typeof headers;

/** References to response headers. */
export function headerRefs(...names: readonly HeaderName[]) {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Headers of every answer below a tenant. */
export const commonHeaders: readonly HeaderName[] = [
  'X-Request-Id',
  'Vary',
  'Cache-Control',
  'RateLimit',
  'RateLimit-Policy',
  'Deprecation',
  'Sunset',
  'Link',
];

/** Request parameters (specification 4.1, contract 2 and 4.2). */
export const parameters = {
  mandator: {
    name: 'mandator',
    in: 'path' as const,
    required: true,
    description: 'The tenant, in any case.',
    schema: text(64, { minLength: 1, pattern: '^[A-Za-z0-9_-]+$' }),
    example: 'demo',
  },
  'X-JsonPropertyFormat': {
    name: 'X-JsonPropertyFormat',
    in: 'header' as const,
    description:
      'With `camel`, the first letter of every property name of the answer is lower case; Pascal case by default.',
    schema: { type: 'string' as const, enum: ['camel'] },
  },
  'X-Request-Id': {
    name: 'X-Request-Id',
    in: 'header' as const,
    description: 'Printable ASCII that identifies the request in answer and log; generated if absent.',
    schema: text(128, { pattern: printable }),
  },
  Prefer: {
    name: 'Prefer',
    in: 'header' as const,
    description:
      'With `handling=strict` (RFC 7240), an unknown query parameter is refused with 400 instead of ignored; the answer then carries `Preference-Applied`.',
    schema: text(200),
    example: 'handling=strict',
  },
  'If-None-Match': {
    name: 'If-None-Match',
    in: 'header' as const,
    description: 'The `ETag` of an earlier answer: 304 without a body if nothing has changed.',
    schema: text(1_000),
  },
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header' as const,
    description:
      'Makes repeating the request safe: for 24 hours the same key with the same body gets the same answer, and nothing is done twice.',
    schema: text(255, { minLength: 1, pattern: '^[\\x21-\\x7e]+$' }),
  },
  'If-Match': {
    name: 'If-Match',
    in: 'header' as const,
    description:
      'The `ETag` of the record as it was read: the change is made only if the record has not been changed since. `*` stands for any version.',
    schema: text(1_000, { minLength: 1 }),
    example: '"1"',
  },
  'X-timezone-locationId': {
    name: 'X-timezone-locationId',
    in: 'header' as const,
    description: "The location whose time zone is used instead of the person's.",
    schema: { type: 'integer' as const, format: 'int32', minimum: 1, maximum: 2_147_483_647 },
  },
};

export function parameterRefs(...names: readonly (keyof typeof parameters)[]) {
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

export const unchanged = 'Nothing has changed since the answer with the `ETag` of `If-None-Match`.';

/** Problems that every operation below a tenant may answer. */
const commonProblems: Record<number, string> = {
  400: 'A parameter or the body cannot be read, or is not supported by this operation.',
  401: 'There is no valid credential, whether or not the tenant exists.',
  404: 'The tenant has no such record, or the credential belongs to another tenant.',
  406: '`Accept` excludes every type that the operation can answer with.',
  429: 'A limit is exceeded; `Retry-After` says when to repeat the request.',
  500: 'Something went wrong on the server; quote the `TraceId`.',
  503: 'The record is locked, too many such requests are in progress, or the database does not answer; repeat the request after `Retry-After`.',
};

/** Problems of operations that read a JSON body. */
const bodyProblems: Record<number, string> = {
  408: 'The body arrives too slowly.',
  413: 'The body is larger than its limit.',
  415: 'The body is not `application/json` in UTF-8, plain or as gzip.',
};

const keyInUse = 'A request with this `Idempotency-Key` is still being answered.';
const keyOfAnother = 'The `Idempotency-Key` was used for another request.';
const brokenRule =
  'A member of the body is missing, unknown or breaks a rule; `Errors` lists every fault that can be found in the body alone or, if there is none, those found by comparing it with stored data.';

const codeOfStatus = new Map<number, string>(Object.entries(statusOfCode).map(([code, status]) => [status, code]));

/** @param names the headers of the answer */
export function problemAnswer(
  status: number,
  description: string,
  names: readonly HeaderName[],
): ZodOpenApiResponseObject {
  const extra: Record<number, HeaderName> = {
    401: 'WWW-Authenticate',
    429: 'Retry-After',
    503: 'Retry-After',
  };
  const example = {
    type: 'about:blank',
    title: nodeHttp.STATUS_CODES[status] ?? '',
    status,
    detail: description.replaceAll('`', ''),
    instance: '/demo/api/v2.0/jobs/batches',
    Code: codeOfStatus.get(status) ?? 'InternalError',
    TraceId: exampleRequestId,
  };
  return {
    description,
    headers: headerRefs(...names, ...(extra[status] ? [extra[status]] : [])),
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' }, example } },
  };
}

/** The problems of one operation; common ones are references to components. */
export function problemAnswers(
  own: Record<number, string>,
  reads: Record<'body' | 'checked' | 'idempotencyKey' | 'ifMatch' | 'anonymous', boolean>,
): ZodOpenApiOperationObject['responses'] {
  const unprocessable = [...(reads.checked ? [brokenRule] : []), ...(reads.idempotencyKey ? [keyOfAnother] : [])].join(
    ' ',
  );
  const specific = {
    ...(reads.body ? bodyProblems : {}),
    ...(reads.idempotencyKey ? { 409: keyInUse } : {}),
    ...(reads.ifMatch ? versionProblems : {}),
    ...(unprocessable ? { 422: unprocessable } : {}),
    ...own,
  };
  const common = Object.keys(commonProblems).filter((status) => !(reads.anonymous && status === '401'));
  return {
    ...Object.fromEntries(common.map((status) => [status, { $ref: `#/components/responses/Problem${status}` }])),
    ...Object.fromEntries(
      Object.entries(specific).map(([status, description]) => [
        status,
        problemAnswer(Number(status), description, [
          ...commonHeaders,
          ...(status === '409' && reads.idempotencyKey ? (['Retry-After'] as const) : []),
        ]),
      ]),
    ),
  };
}

export const problemComponents = Object.fromEntries(
  Object.entries(commonProblems).map(([status, description]) => [
    `Problem${status}`,
    problemAnswer(Number(status), description, commonHeaders),
  ]),
);
