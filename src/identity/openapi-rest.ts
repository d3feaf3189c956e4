/** The OpenAPI descriptions of the identity provider's own endpoints. */
import { z } from 'zod';
import type { ZodOpenApiOperationObject } from 'zod-openapi';
import { type HeaderName, parameterRefs, problemAnswer } from '../rest/openapi-parts.ts';
import { fault, type PathsAtRoot, plainAnswer, plainGet } from '../rest/openapi-root.ts';

const address = z.url().max(2_000);
const names = z.array(z.string().max(100)).max(20);

const tokenRequest = z.object({
  grant_type: z.enum(['apikey']),
  scope: z.enum(['service_api']).optional(),
  client_id: z.string().min(1).max(200).optional().meta({ description: 'Required unless it is sent by HTTP Basic.' }),
  client_secret: z.string().max(500).optional().meta({ description: 'Required if the client needs one.' }),
  apikey: z.string().min(1).max(200).meta({ description: 'The PIN of the person.', format: 'password' }),
});

const token = z
  .object({
    access_token: z.string().max(4_096).meta({ description: 'For `Authorization: Bearer …`.' }),
    token_type: z.enum(['Bearer']),
    expires_in: z.int().min(1).max(86_400).meta({ description: 'Seconds.' }),
    scope: z.enum(['service_api']),
  })
  .meta({ id: 'Token' });

const oauthError = z
  .object({
    error: z.enum([
      'invalid_request',
      'invalid_client',
      'invalid_grant',
      'invalid_scope',
      'unauthorized_client',
      'unsupported_grant_type',
      'slow_down',
      'temporarily_unavailable',
    ]),
    error_description: z.string().max(1_000),
  })
  .meta({ id: 'OAuthError', description: 'An error of the token endpoint (RFC 6749, section 5.2).' });

const configuration = z
  .object({
    issuer: address,
    token_endpoint: address,
    jwks_uri: address,
    grant_types_supported: names,
    token_endpoint_auth_methods_supported: names,
    scopes_supported: names,
    response_types_supported: names,
    subject_types_supported: names,
    id_token_signing_alg_values_supported: names,
  })
  .meta({ id: 'ProviderConfiguration' });

const keys = z
  .object({
    keys: z
      .array(
        z.object({
          kty: z.string().max(10),
          kid: z.string().max(100),
          use: z.string().max(10).optional(),
          alg: z.string().max(10).optional(),
          n: z.string().max(2_000).optional(),
          e: z.string().max(20).optional(),
        }),
      )
      .max(20),
  })
  .meta({ id: 'KeySet' });

const refusal = (description: string, error: string, text: string, ...more: HeaderName[]) =>
  plainAnswer(description, oauthError, { error, error_description: text }, 'Cache-Control', ...more);

const requestToken: ZodOpenApiOperationObject = {
  operationId: 'requestToken',
  summary: 'Exchange a PIN for a token',
  description:
    'An OAuth 2.0 token endpoint with the grant type `apikey`. The client identifies itself in the form or by HTTP Basic. There is no refresh token: the PIN is the lasting credential. The endpoint is also available below each tenant (`/{mandator}/connect/token`), for proxies that route by the tenant in the path. It does not exist if an outside identity provider issues the tokens.',
  tags: ['Identity'],
  security: [],
  parameters: parameterRefs('X-Request-Id'),
  requestBody: {
    required: true,
    content: {
      'application/x-www-form-urlencoded': {
        schema: tokenRequest,
        example: {
          grant_type: 'apikey',
          scope: 'service_api',
          client_id: 'timetable-import',
          apikey: 'ABCDE-FGHJK-MNPQR-STVWX',
        },
      },
    },
  },
  responses: {
    200: plainAnswer(
      'The token.',
      token,
      {
        access_token: 'eyJhbGciOiJSUzI1NiIsInR5cCI6ImF0K2p3dCJ9.eyJzdWIiOiI3In0.c2lnbmF0dXJl',
        token_type: 'Bearer',
        expires_in: 3_600,
        scope: 'service_api',
      },
      'Cache-Control',
      'RateLimit',
      'RateLimit-Policy',
    ),
    400: refusal(
      'The request is incomplete, or the PIN is not valid.',
      'invalid_grant',
      'The PIN is not valid.',
      'RateLimit',
      'RateLimit-Policy',
    ),
    401: refusal(
      'The client is unknown, disabled, or its secret is wrong.',
      'invalid_client',
      'The client could not be authenticated.',
      'WWW-Authenticate',
      'RateLimit',
      'RateLimit-Policy',
    ),
    408: refusal(
      'The form arrives too slowly.',
      'invalid_request',
      'The body arrives too slowly and was given up after 0 bytes.',
      'RateLimit',
      'RateLimit-Policy',
    ),
    413: refusal(
      'The form is larger than 16 KiB.',
      'invalid_request',
      'The form is larger than 16384 bytes.',
      'RateLimit',
      'RateLimit-Policy',
    ),
    429: refusal(
      'Too many calls, or too many wrong PINs.',
      'slow_down',
      'There were too many wrong PINs; wait.',
      'Retry-After',
      'RateLimit',
      'RateLimit-Policy',
    ),
    500: fault,
    503: refusal(
      'The database does not answer at the moment.',
      'temporarily_unavailable',
      'The database does not answer at the moment; send the same request again.',
      'Retry-After',
    ),
  },
};

const getConfiguration = plainGet({
  operationId: 'getProviderConfiguration',
  summary: 'Read the metadata of the identity provider',
  description: 'OpenID Connect discovery, so that standard clients find the token endpoint and the keys.',
  tags: ['Identity'],
  responses: {
    200: plainAnswer(
      'The configuration.',
      configuration,
      {
        issuer: 'http://127.0.0.1:8080',
        token_endpoint: 'http://127.0.0.1:8080/connect/token',
        jwks_uri: 'http://127.0.0.1:8080/.well-known/openid-configuration/jwks',
        grant_types_supported: ['apikey'],
        token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic', 'none'],
        scopes_supported: ['service_api'],
        response_types_supported: [],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
      },
      'Cache-Control',
    ),
    500: fault,
  },
});

const getKeys = plainGet({
  operationId: 'getKeys',
  summary: 'List the public keys that tokens are signed with',
  description:
    'A JSON Web Key Set (RFC 7517). A new key signs at once, so do not cache the set for longer than its headers say.',
  tags: ['Identity'],
  responses: {
    200: plainAnswer(
      'The keys.',
      keys,
      { keys: [{ kty: 'RSA', kid: 'nU1f3a', use: 'sig', alg: 'RS256', n: 'xjlCRBqk', e: 'AQAB' }] },
      'Cache-Control',
    ),
    500: fault,
    503: problemAnswer(503, 'The database does not answer at the moment.', ['X-Request-Id']),
  },
});

/** As it stands below each tenant. */
const ofTenant = (operation: ZodOpenApiOperationObject): ZodOpenApiOperationObject => ({
  ...operation,
  operationId: `${operation.operationId}OfTenant`,
  summary: `${operation.summary}, below a tenant`,
  parameters: parameterRefs('mandator', 'X-Request-Id'),
});

export const identityPaths: PathsAtRoot = (rootServer) => ({
  '/connect/token': { ...rootServer, post: requestToken },
  '/.well-known/openid-configuration': { ...rootServer, get: getConfiguration },
  '/.well-known/openid-configuration/jwks': { ...rootServer, get: getKeys },
  '/{mandator}/connect/token': { ...rootServer, post: ofTenant(requestToken) },
  '/{mandator}/.well-known/openid-configuration': { ...rootServer, get: ofTenant(getConfiguration) },
  '/{mandator}/.well-known/openid-configuration/jwks': { ...rootServer, get: ofTenant(getKeys) },
});
