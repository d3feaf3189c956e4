/** Authenticates every call below a tenant (contract 1 and 3). */
import type { Request, RequestHandler } from 'express';
import type { Credentials, Viewer } from '../context.ts';
import { Forbidden, NotAuthenticated, NotFound, TenantAway } from '../errors.ts';
import { schemesOf } from '../http/schemes.ts';
import { markDeprecated } from '../rest/deprecation.ts';
import {
  howToSignIn,
  type Identity,
  isDisplayToken,
  isMoving,
  sessionOf,
  tokenSource,
  viewerOfDisplay,
  viewerOfPin,
  viewerOfSession,
  viewerOfToken,
} from './service.ts';

// The app reaches this room only through this file and the routes.
export { claimPepper, hasRightPepper, openIdentity } from './service.ts';
export { sessionOf };

/** RFC 6750, 2.1. */
const bearer = /^bearer +([\w.~+/-]+=*) *$/i;
const longestHeader = 8_192;

/**
 * Chooses between a token and a PIN in one call: the one that the mode asks for, as programs made for several products send
 * both. Beside a PIN, another scheme in Authorization belongs to a proxy and is ignored.
 */
function chooseCredential(schemes: readonly string[], header: string, pin: string): [header: string, pin: string] {
  if (!header || !pin) return [header, pin];
  const isToken = /^bearer\b/i.test(header) && schemes.includes('Bearer');
  return isToken || !schemes.includes('APIKEY') ? [header, ''] : ['', pin];
}

/** Whether a call carries a token or, where they are accepted, a PIN. Another scheme in Authorization is a proxy's. */
const showsCredential = ({ authorization, apiKey }: Credentials, schemes: readonly string[]): boolean =>
  [authorization ?? []].flat().some((header) => /^bearer\b/i.test(header)) ||
  (apiKey !== undefined && schemes.includes('APIKEY'));

function identify(identity: Identity, credentials: Credentials): Promise<Viewer> {
  const { authorization, apiKey, session, address } = credentials;
  const { config } = identity.context;
  const schemes = schemesOf(config);
  if (session && !showsCredential(credentials, schemes)) {
    if ('fault' in session) throw new Forbidden(session.fault);
    return viewerOfSession(identity, session.id);
  }
  const refuse = (what: string) => new NotAuthenticated(`${what}; ${howToSignIn(config)}`);
  const [headers, pins] = [[authorization ?? []].flat(), [apiKey ?? []].flat()];
  if (headers.length > 1 || pins.length > 1) throw refuse('A call may carry only one credential');
  if ((headers[0] ?? '').length + (pins[0] ?? '').length > longestHeader) throw refuse('The credential is too long');
  const [header, pin] = chooseCredential(schemes, headers[0] ?? '', pins[0] ?? '');
  if (pin && !schemes.includes('APIKEY')) throw refuse('The header APIKEY is not accepted here');
  if (pin) return viewerOfPin(identity, pin, address);
  const token = bearer.exec(header)?.[1];
  // Displays need no identity provider, so every mode takes their tokens.
  if (token && isDisplayToken(token)) return viewerOfDisplay(identity, token, address);
  if (header && !schemes.includes('Bearer')) throw refuse('There is no identity provider here');
  if (!token) throw refuse(schemes.includes('Bearer') ? 'This needs a single bearer token' : 'This needs a PIN');
  return viewerOfToken(identity, token, address);
}

/**
 * Who is calling, for HTTP and for the connection parameters of a WebSocket.
 * @param mandator the path segment, in any case
 * @throws NotAuthenticated without one valid credential of a scheme that is taken, whether or not the mandator exists;
 * LimitExceeded after too many wrong PINs, forged tokens or unknown tokens of displays; NotFound with another tenant's
 * credential; Forbidden for a cookie in a call of another page than the console; TenantAway while the tenant is moved
 */
export async function authenticateCall(
  identity: Identity,
  mandator: string,
  credentials: Credentials,
): Promise<Viewer> {
  try {
    const viewer = await identify(identity, credentials);
    if (viewer.mandator === mandator.toLowerCase()) return viewer;
  } catch (error) {
    if (!(error instanceof NotAuthenticated) || !(await isMoving(identity, mandator))) throw error;
  }
  if (await isMoving(identity, mandator)) throw new TenantAway();
  throw new NotFound('There is no such tenant, or the credential belongs to another one.');
}

/** All values of a header; `request.headers` hides repeated ones, and `headersDistinct` parses every header. */
function valuesOf({ rawHeaders }: Request, name: string): string[] | undefined {
  const values: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === name.length && rawHeaders[at]?.toLowerCase() === name)
      values.push(rawHeaders[at + 1] as string);
  // A copy, because what is pushed to has room for more, and streams keep it.
  return values.length > 0 ? values.slice() : undefined;
}

function credentialsOf(request: Request, config: Identity['context']['config']): Credentials {
  return {
    authorization: valuesOf(request, 'authorization'),
    apiKey: valuesOf(request, 'apikey'),
    session: sessionOf(request, config),
    address: request.ip ?? '',
  };
}

/**
 * For routers mounted below `/:mandator`: sets `viewer`, `credentials` and `viewerNow` (reads the viewer anew) in
 * `response.locals`. The answer to a call with the header APIKEY says that the header is deprecated (contract 10).
 */
export function authenticate(identity: Identity): RequestHandler {
  const { config } = identity.context;
  const replacement = {
    documentation: config.SwaggerEnabled ? `${config.BaseUrl}/swagger` : undefined,
    successor: tokenSource(config),
  };
  const takesPins = schemesOf(config).includes('APIKEY');
  const varies = takesPins ? 'Authorization, APIKEY' : 'Authorization';
  return async (request, response, next) => {
    // A calendar token has authenticated the call already.
    if (response.locals['viewer']) return next();
    const credentials = credentialsOf(request, config);
    // Appending costs more than setting, and is only needed behind CORS.
    if (response.hasHeader('Vary')) response.vary(varies);
    else response.setHeader('Vary', varies);
    if (takesPins && credentials.apiKey !== undefined) markDeprecated(response, replacement);
    response.locals['credentials'] = credentials;
    const mandator = String(request.params['mandator']);
    const viewerNow = () => authenticateCall(identity, mandator, credentials);
    const viewer = await viewerNow();
    if (viewer.sessionId !== undefined) {
      response.vary('Cookie');
      await identity.noteUse(viewer);
    }
    response.locals['viewer'] = viewer;
    response.locals['viewerNow'] = viewerNow;
    next();
  };
}
