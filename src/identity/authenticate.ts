/** The door of everything below a tenant (contract 1 and 3). */
import type { RequestHandler } from 'express';
import type { Viewer } from '../context.ts';
import { NotAuthenticated, NotFound } from '../errors.ts';
import { type Identity, viewerOfToken } from './service.ts';
import { howToGetToken } from './tokens.ts';

// The app meets this room through its door and its routes alone.
export { openIdentity } from './service.ts';

const bearer = /^bearer +([\w-]+\.[\w-]+\.[\w-]+) *$/i;
const longestHeader = 4_096;

/**
 * Who is calling, for HTTP and for the connection parameters of a WebSocket.
 * @param mandator the path segment, in any case
 * @param authorization the header; a list of more than one is refused
 * @throws NotAuthenticated without a valid token, whether or not the mandator exists; NotFound with another tenant's
 */
export async function authenticateHeader(
  identity: Identity,
  mandator: string,
  authorization: string | readonly string[] | undefined,
): Promise<Viewer> {
  const [header = '', ...more] = [authorization ?? []].flat();
  const token = more.length === 0 && header.length <= longestHeader ? bearer.exec(header)?.[1] : undefined;
  if (!token)
    throw new NotAuthenticated(
      `This needs one bearer token; ${howToGetToken(identity.context.config.IdpUrl)}`,
    );
  const viewer = await viewerOfToken(identity, token);
  if (viewer.mandator !== mandator.toLowerCase())
    throw new NotFound('There is no such tenant, or the token belongs to another one.');
  return viewer;
}

/** For routers mounted below `/:mandator`: whoever passes is `response.locals.viewer`. */
export function authenticate(identity: Identity): RequestHandler {
  return async (request, response, next) => {
    // Of a header sent twice, `request.headers` would hide the second.
    const sent = request.headersDistinct['authorization'];
    response.locals['viewer'] = await authenticateHeader(identity, String(request.params['mandator']), sent);
    next();
  };
}
