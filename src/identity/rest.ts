/** The endpoints of the identity provider (contract 3), as in RFC 6749; and the PINs of persons. */
import { type ErrorRequestHandler, type Request, type RequestHandler, Router } from 'express';
import { z } from 'zod';
import { MethodNotAllowed, NotFound, UnsupportedMediaType } from '../errors.ts';
import { asDomainError } from '../flow/database-errors.ts';
import { type BodyLimits, codingOf, readBytes } from '../http/request-body.ts';
import { id } from '../query-parameters.ts';
import { anonymousSender, limitTokenRequests } from '../rest/limits.ts';
import { listOf, listRoute, pageAnswer } from '../rest/lists.ts';
import { type Route, readIdempotencyKey, route } from '../rest/route.ts';
import {
  apiScope,
  createPinFor,
  grantType,
  howToSignIn,
  type Identity,
  issueToken,
  listPinsOf,
  OAuthError,
  pinList,
  revokePinOf,
  type TokenRequest,
} from './service.ts';
import { createdPin, examples, newPin, pinRecord, toCreatedPin, toPinRecord } from './wire.ts';

export { sessionPaths } from './console-rest.ts';
export { identityPaths } from './openapi-rest.ts';
export { sessionRoutes } from './session-rest.ts';

const tokenPath = '/connect/token';
const configurationPath = '/.well-known/openid-configuration';
const keysPath = '/.well-known/openid-configuration/jwks';
/** The same for one tenant: a proxy finds the cell of a tenant by the first segment of the path. */
const alsoOfTenant = (path: string) => [path, `/:mandator${path}`];

/** The token endpoint, discovery and the public keys; in other modes of IdentityProvider, only a 404 that says how to sign in. */
export function identityRoutes(identity: Identity): Router {
  const router = Router();
  const { config } = identity.context;
  if (config.IdentityProvider.Mode !== 'Embedded')
    return router.all([tokenPath, configurationPath, keysPath].flatMap(alsoOfTenant), () => {
      throw new NotFound(`There is no identity provider here; ${howToSignIn(config)}`);
    });

  const tokenPaths = alsoOfTenant(tokenPath);
  router.use(tokenPaths, (_request, response, next) => {
    response.set({ 'Cache-Control': 'no-store', Pragma: 'no-cache' });
    next();
  });
  router.use(tokenPaths, limitTokenRequests(identity.context));
  const answerToken: RequestHandler = async (request, response) => {
    const form = await readForm(request, config.Limits);
    const { mandator } = request.params;
    const wanted = { ...readRequest(request, form), mandator: mandator === undefined ? undefined : String(mandator) };
    const { accessToken, expiresIn } = await issueToken(identity, wanted);
    response.json({
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: expiresIn,
      scope: apiScope,
    });
  };
  for (const path of tokenPaths) router.post(path, answerToken);
  router.all(tokenPaths, (_request, response) => {
    response.set('Allow', 'POST');
    throw new OAuthError('invalid_request', 'Request tokens with POST.', 405);
  });
  router.use(tokenPaths, writeOAuthError);

  const answerConfiguration: RequestHandler = ({ params: { mandator } }, response) => {
    const base = mandator === undefined ? config.IdpUrl : `${config.IdpUrl}/${encodeURIComponent(String(mandator))}`;
    response.set('Cache-Control', 'public, max-age=300').json({
      issuer: config.IdpUrl,
      token_endpoint: base + tokenPath,
      jwks_uri: base + keysPath,
      grant_types_supported: [grantType],
      token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic', 'none'],
      scopes_supported: [apiScope],
      response_types_supported: [],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    });
  };
  // Cached for a short time only: a new key signs at once.
  const answerKeys: RequestHandler = async (_request, response) => {
    const keys = await identity.keys.publicKeys();
    response.set('Cache-Control', 'public, max-age=60').json({ keys });
  };
  for (const path of alsoOfTenant(configurationPath)) router.get(path, answerConfiguration);
  for (const path of alsoOfTenant(keysPath)) router.get(path, answerKeys);
  router.all([configurationPath, keysPath].flatMap(alsoOfTenant), (request) => {
    throw new MethodNotAllowed(request.method, ['GET', 'HEAD']);
  });
  return router;
}

/** Parameters come from the body and the Basic header, never from the URL. */
function readRequest(request: Request, form: ReadonlyMap<string, string>): TokenRequest {
  const basic = readBasic(request.get('authorization'));
  const [id, secret] = [form.get('client_id'), form.get('client_secret')];
  if (basic && (secret || (id && id !== basic.id)))
    throw new OAuthError('invalid_request', 'The client identifies itself twice: use the header or the body.');
  return {
    grantType: form.get('grant_type'),
    scope: form.get('scope'),
    clientId: basic?.id ?? id,
    clientSecret: basic?.secret ?? secret,
    apiKey: form.get('apikey'),
    address: request.ip ?? '',
  };
}

const mostFormBytes = 16 * 1024;

/** RFC 6749, 3.2: an empty parameter counts as absent, and none may come twice. */
async function readForm(request: Request, limits: BodyLimits): Promise<Map<string, string>> {
  const type = 'application/x-www-form-urlencoded';
  if (!request.is(type)) throw new OAuthError('invalid_request', `Send the parameters as ${type}.`);
  codingOf(request);
  const tooLarge = () => new OAuthError('invalid_request', `The form is larger than ${mostFormBytes} bytes.`, 413);
  const body = (
    await readBytes(request, limits, { most: mostFormBytes, sender: anonymousSender(request.ip), tooLarge })
  ).toString();
  const form = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(body)) {
    if (form.has(name)) throw new OAuthError('invalid_request', 'A parameter was sent twice.');
    form.set(name, value);
  }
  for (const [name, value] of form) if (value === '') form.delete(name);
  return form;
}

function readBasic(authorization: string | undefined): { id: string; secret: string } | undefined {
  const encoded = /^basic +([\w+/=-]+) *$/i.exec(authorization ?? '')?.[1];
  if (!encoded) return undefined;
  const [, id, secret] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? [];
  try {
    const decode = (part = '') => decodeURIComponent(part.replaceAll('+', ' '));
    return { id: decode(id), secret: decode(secret) };
  } catch {
    throw new OAuthError('invalid_client', 'The Basic header is not form-urlencoded.', 401);
  }
}

const writeOAuthError: ErrorRequestHandler = (error, request, response, next) => {
  const refusal = asOAuthError(error);
  if (!refusal || response.headersSent || request.socket.destroyed) return next(error);
  if (error instanceof UnsupportedMediaType) response.set('Accept-Encoding', error.codings.join(', '));
  if (refusal.status === 401) response.set('WWW-Authenticate', 'Basic realm="roomgate"');
  if (refusal.retryAfter !== undefined) response.set('Retry-After', String(Math.max(1, Math.ceil(refusal.retryAfter))));
  response.status(refusal.status).json({ error: refusal.code, error_description: refusal.message });
};

function asOAuthError(error: unknown): OAuthError | undefined {
  if (error instanceof OAuthError) return error;
  const known = asDomainError(error);
  if (known?.code === 'Unavailable')
    return new OAuthError('temporarily_unavailable', known.message, 503, known.retryAfter);
  if (known?.code === 'LimitExceeded') return new OAuthError('slow_down', known.message, 429, known.retryAfter);
  if (known?.code === 'UnsupportedMediaType') return new OAuthError('invalid_request', known.message, 415);
  if (known?.code === 'RequestTimeout') return new OAuthError('invalid_request', known.message, 408);
  return undefined;
}

const pinPath = '/v1.0/persons/:id/pins';
const personId = id('person', 'The Id of the person.');
const forAdmins = { 403: 'Only an Admin may manage PINs.' };

export const routes: Route[] = [
  listRoute({
    path: pinPath,
    summary: 'List the PINs of a person',
    description: 'Oldest first, including revoked and expired ones; the PINs themselves are not shown.',
    params: z.object({ id: personId }),
    page: pageAnswer('One page of PINs.', listOf(pinRecord, 'PinList'), examples.page),
    problems: forAdmins,
    of: pinList,
    run: (db, viewer, _filter, page, named) => listPinsOf(db, viewer, named.id, page),
    toRecord: toPinRecord,
  }),
  route({
    method: 'POST',
    path: pinPath,
    summary: 'Make a PIN',
    description:
      'Creates a PIN for an active person. Only this answer contains it; it must not be cached. A request that is repeated with an `Idempotency-Key` creates no second PIN, but is answered 409 with the PinId of the first.',
    headers: ['Idempotency-Key'],
    params: z.object({ id: personId }),
    body: { schema: newPin, example: examples.new },
    answers: { 201: { description: 'The PIN.', body: createdPin, example: examples.created } },
    problems: {
      ...forAdmins,
      409: 'The person is not active, or the `Idempotency-Key` has already created a PIN or is still doing so.',
    },
    handle: async (context, call) => {
      const { Label, ExpiresAt } = call.body;
      const idempotencyKey = readIdempotencyKey(call.request);
      const made = await createPinFor(context, call, call.params.id, {
        label: Label,
        expiresAt: ExpiresAt,
        idempotencyKey,
      });
      return { status: 201, body: toCreatedPin(made) };
    },
  }),
  route({
    method: 'DELETE',
    path: `${pinPath}/:pinId`,
    summary: 'Revoke a PIN',
    description: 'Its tokens are refused at once and its streams end. Repeating it changes nothing.',
    params: z.object({ id: personId, pinId: id('pin', 'The PinId.') }),
    answers: {
      200: { description: 'The revoked PIN.', body: pinRecord, example: examples.revoked },
    },
    problems: forAdmins,
    handle: async ({ db }, call) => ({
      status: 200,
      body: toPinRecord(await revokePinOf(db, call, call.params.pinId, call.params.id)),
    }),
  }),
];
