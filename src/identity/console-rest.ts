/** The OpenAPI descriptions of the sessions of the console. */
import type { ZodOpenApiOperationObject, ZodOpenApiResponseObject } from 'zod-openapi';
import { commonHeaders, headerRefs, parameterRefs, problemAnswer } from '../rest/openapi-parts.ts';
import { fault, type PathsAtRoot, plainAnswer } from '../rest/openapi-root.ts';
import { newSession, sessionEnd, sessionExample, sessionOptions, sessionRecord } from './session-wire.ts';

const limits = ['RateLimit', 'RateLimit-Policy'] as const;

/** Answers that every call about a session may get. */
const problems: Record<number, string> = {
  403: "The call does not come from the console's own page: `X-Roomgate-Console`, the origin or the type of the body is wrong.",
  404: 'No tenant can have this name, or the session belongs to another tenant.',
  503: 'The database does not answer; send the same request again after `Retry-After`.',
};

function answers(
  own: Record<number, ZodOpenApiResponseObject | string>,
): NonNullable<ZodOpenApiOperationObject['responses']> {
  const all = { ...problems, ...own };
  return Object.fromEntries([
    ...Object.entries(all).map(([status, answer]) => [
      status,
      typeof answer === 'string' ? problemAnswer(Number(status), answer, commonHeaders) : answer,
    ]),
    [500, fault],
  ]);
}

const parameters = [
  ...parameterRefs('mandator', 'X-JsonPropertyFormat', 'X-Request-Id'),
  {
    // Not among the parameters of all: CORS allows those.
    name: 'X-Roomgate-Console',
    in: 'header' as const,
    required: true,
    description: 'A header that no form and no page of another site can send.',
    schema: { type: 'string' as const, enum: ['1'] },
  },
];
const tooMany = 'A limit is exceeded; `Retry-After` says when to repeat the request.';

const getSession: ZodOpenApiOperationObject = {
  operationId: 'getSession',
  summary: 'Read who is signed in',
  description:
    'The session of the cookie. The call counts as a use, so a page that is only watched calls it to keep its session.',
  tags: ['Console'],
  security: [{ Session: [] }],
  parameters,
  responses: answers({
    200: plainAnswer('The session.', sessionRecord, sessionExample, 'Vary', 'Cache-Control', ...limits),
    401: 'Nobody is signed in, or the session has ended.',
    429: tooMany,
  }),
};

const postSession: ZodOpenApiOperationObject = {
  operationId: 'postSession',
  summary: 'Sign in by PIN',
  description:
    'Begins a session, whose id is set as a cookie that no script can read. An earlier session of the browser ends.',
  tags: ['Console'],
  security: [],
  parameters,
  requestBody: {
    required: true,
    content: { 'application/json': { schema: newSession, example: { Pin: 'ABCDE-FGHJK-MNPQR-STVWX' } } },
  },
  responses: answers({
    201: plainAnswer('The session.', sessionRecord, sessionExample, 'Vary', 'Cache-Control', ...limits, 'Set-Cookie'),
    400: 'The body is not JSON.',
    401: 'The PIN is not valid, or belongs to another tenant; or PINs are not accepted here.',
    408: 'The body arrives too slowly.',
    413: 'The body is larger than 4 KiB.',
    415: 'The body is not in UTF-8, plain or as gzip.',
    422: 'A member of the body is missing, unknown or breaks a rule; `Errors` lists every fault.',
    429: 'Too many sign-ins, or too many wrong PINs; `Retry-After` says when to go on.',
  }),
};

const deleteSession: ZodOpenApiOperationObject = {
  operationId: 'deleteSession',
  summary: 'Sign out',
  description:
    'Ends the session on the server: its cookie is no longer valid, and its streams and WebSockets are closed. Repeating it, or calling it without a session, changes nothing; with `Everywhere`, a valid session is needed. A session at an outside identity provider continues.',
  tags: ['Console'],
  security: [],
  parameters: [...parameters, ...parameterRefs('Prefer')],
  requestParams: { query: sessionEnd },
  responses: answers({
    204: { description: 'Nobody is signed in.', headers: headerRefs('X-Request-Id', 'Cache-Control', 'Set-Cookie') },
    400: 'A value of the query is invalid, or strict handling finds an unknown parameter.',
    401: '`Everywhere` without a valid session: nothing has ended.',
  }),
};

const getOptions: ZodOpenApiOperationObject = {
  operationId: 'getSessionOptions',
  summary: 'Read how people sign in',
  description: 'The answer is the same for existing and unknown tenants.',
  tags: ['Console'],
  security: [],
  parameters: parameterRefs('mandator', 'X-JsonPropertyFormat', 'X-Request-Id'),
  responses: {
    200: plainAnswer(
      'How people sign in.',
      sessionOptions,
      { Pin: true, Provider: { Name: 'login.example.org', Start: 'session/start' } },
      'Cache-Control',
    ),
    404: problemAnswer(404, 'No tenant can have this name.', commonHeaders),
    500: fault,
  },
};

const location = (example: string) => ({
  Location: {
    description: 'The next address for the browser.',
    schema: { type: 'string' as const, maxLength: 8_000 },
    example,
  },
});
const noProvider = problemAnswer(404, 'Sign-in at an outside provider is not available here.', commonHeaders);
const ofBrowser = { tags: ['Console'], security: [], parameters: parameterRefs('mandator', 'X-Request-Id') };
const common = [...limits, 'X-Request-Id', 'Cache-Control', 'Set-Cookie'] as const;
const onFailure =
  'A failure redirects to the console too, with `fault` (`SignInDenied`, `SignInExpired`, `PersonUnknown`, `ProviderUnavailable`, `ProviderRefused`, `LimitExceeded`, `Unavailable`) and `trace` in the query.';

const startSignIn: ZodOpenApiOperationObject = {
  ...ofBrowser,
  operationId: 'startSignIn',
  summary: 'Go to the outside provider',
  description: `The start of a sign-in in a browser: authorization code flow with PKCE. ${onFailure}`,
  responses: {
    303: {
      description: 'To the provider.',
      headers: { ...headerRefs(...common), ...location('https://login.example.org/authorize?response_type=code') },
    },
    404: noProvider,
    500: fault,
  },
};

const finishSignIn: ZodOpenApiOperationObject = {
  ...ofBrowser,
  operationId: 'finishSignIn',
  summary: 'Come back from the outside provider',
  description: `The redirect address that is registered at the provider. It begins a session for the person whom the provider names. ${onFailure}`,
  responses: {
    303: { description: 'To the console.', headers: { ...headerRefs(...common), ...location('../console') } },
    404: noProvider,
    500: fault,
  },
};

export const sessionPaths: PathsAtRoot = () => ({
  '/{mandator}/session': { get: getSession, post: postSession, delete: deleteSession },
  '/{mandator}/session/options': { get: getOptions },
  '/{mandator}/session/start': { get: startSignIn },
  '/{mandator}/session/return': { get: finishSignIn },
});
