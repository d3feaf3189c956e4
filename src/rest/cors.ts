/**
 * CORS for the pages of other sites (setting Cors.Origins; the Fetch standard, 3.2). No answer allows credentials: a page sends
 * its token in a header, and the cookie of a session is for the console alone, which is of this origin.
 */
import type { RequestHandler } from 'express';
import { headers, parameters } from './openapi-parts.ts';
import type { Route } from './route.ts';

/** The paths with CORS. */
export const corsPaths = [
  '/connect/token',
  '/:mandator/connect/token',
  '/.well-known/openid-configuration',
  '/:mandator/.well-known/openid-configuration',
  '/:mandator/api',
  '/:mandator/graphql',
];

/** Calendar feeds have no CORS: their URL holds the token, and calendar programs are not browsers. */
const feedPath = /\/calendar\.ics\/?$/i;

/** How long a browser may keep the answer to a preflight request; Chromium's maximum. */
const maxAgeSeconds = 7_200;

/** Request headers that are no parameters in the OpenAPI document. */
const credentials = ['Authorization', 'APIKEY'];
const ofBodies = ['Content-Type', 'Content-Encoding', 'Last-Event-ID'];
const ofParameters = Object.values(parameters).flatMap(({ name, in: place }) => (place === 'header' ? [name] : []));

/**
 * Sends the CORS headers. It is mounted before authentication and limits, so that errors carry the headers too, and
 * preflight requests, which have no credential, are answered.
 * @param routes the routes whose methods are allowed
 */
export function allowOrigins(origins: readonly string[], routes: readonly Route[]): RequestHandler {
  const allowed = new Set(origins);
  const preflight = {
    'Access-Control-Allow-Methods': [...new Set(['GET', 'HEAD', ...routes.map(({ method }) => method)])].join(', '),
    'Access-Control-Allow-Headers': [...credentials, ...ofBodies, ...ofParameters].join(', '),
    'Access-Control-Max-Age': String(maxAgeSeconds),
  };
  const exposed = [...Object.keys(headers), 'Accept-Encoding', 'Allow', 'Preference-Applied'].join(', ');
  return (request, response, next) => {
    if (feedPath.test(request.path)) return next();
    response.vary('Origin');
    const { origin } = request.headers;
    if (origin === undefined || !allowed.has(origin)) return next();
    response.setHeader('Access-Control-Allow-Origin', origin);
    if (request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined) {
      response.status(204).set(preflight).end();
      return;
    }
    response.setHeader('Access-Control-Expose-Headers', exposed);
    next();
  };
}
