/** The entries `/` and `/{mandator}`: programs get links as JSON; browsers are led to the console, or asked for their tenant. */
import { type Request, type Response, Router } from 'express';
import { z } from 'zod';
import type { Config } from '../config.ts';
import { MethodNotAllowed, NotAcceptable } from '../errors.ts';
import { isMandator } from '../names.ts';
import { acceptedType } from './accept.ts';
import { writeTagged } from './json.ts';
import { parameterRefs } from './openapi-parts.ts';
import { type PathsAtRoot, plainAnswer, plainGet, unchangedAnswer } from './openapi-root.ts';

const link = z.string().max(2_000);

const entry = z
  .object({
    Product: z.enum(['roomgate']),
    Mandator: z.string().max(64).nullable().meta({ description: 'The tenant of the address; null at the root.' }),
    Rest: link.meta({ description: 'The root URL of REST.' }),
    GraphQL: link.meta({ description: 'GraphQL, for POST and WebSocket.' }),
    Tokens: link
      .nullable()
      .meta({ description: 'Where a PIN is exchanged for a token, or the issuer of tokens; null in legacy mode.' }),
    OpenIdConfiguration: link
      .nullable()
      .meta({ description: 'The discovery document; null if tokens are not issued here.' }),
    GraphiQL: link.nullable().meta({ description: 'GraphiQL, if it is enabled.' }),
    Swagger: link.nullable().meta({ description: 'Swagger UI, if it is enabled.' }),
    ApiDocument: link.nullable().meta({ description: 'The OpenAPI document, if Swagger is enabled.' }),
    Health: link,
  })
  .meta({
    id: 'Entry',
    description: 'The addresses of the service; at the root with `{mandator}` in place of a tenant.',
  });

export type Entry = z.output<typeof entry>;

/** The answer is the same for existing and unknown tenants. */
function describeEntry(config: Config, mandator: string | null): Entry {
  const { BaseUrl, IdpUrl, SwaggerEnabled, GraphiQLEnabled } = config;
  const { Mode, Authority } = config.IdentityProvider;
  const tenant = `${BaseUrl}/${mandator ?? '{mandator}'}`;
  const isOurs = Mode === 'Embedded';
  return {
    Product: 'roomgate',
    Mandator: mandator,
    Rest: `${tenant}/api`,
    GraphQL: `${tenant}/graphql`,
    Tokens: isOurs ? `${IdpUrl}/connect/token` : (Authority ?? null),
    OpenIdConfiguration: isOurs ? `${IdpUrl}/.well-known/openid-configuration` : null,
    GraphiQL: GraphiQLEnabled ? `${tenant}/graphql` : null,
    Swagger: SwaggerEnabled ? `${BaseUrl}/swagger` : null,
    ApiDocument: SwaggerEnabled ? `${BaseUrl}/swagger/openapi.json` : null,
    Health: `${BaseUrl}/healthz`,
  };
}

/**
 * @param findOnlyTenant the code of the tenant, if there is exactly one
 * @param showPage answers with the page that asks for the tenant
 */
export function entryRoutes(
  config: Config,
  findOnlyTenant: () => Promise<string | undefined>,
  showPage: (entry: Entry, request: Request, response: Response) => void,
): Router {
  const router = Router();
  router.all(['/', '/:mandator'], async (request, response, next) => {
    const { mandator = null } = request.params as { mandator?: string };
    if (mandator !== null && !isMandator(mandator)) return next();
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw new MethodNotAllowed(request.method, ['GET', 'HEAD']);
    response.vary('Accept').setHeader('Cache-Control', 'no-cache');
    // `*/*` gets JSON, the first of the list; a browser prefers HTML.
    const wanted = acceptedType(request, ['application/json', 'text/html']);
    if (!wanted) throw new NotAcceptable('This answers with application/json or text/html only; allow one in Accept.');
    const told = describeEntry(config, mandator);
    if (wanted !== 'text/html') return writeTagged(request, response, told);
    // The form of the page sends the name that somebody has entered.
    const named = String(request.query['mandator'] ?? '').trim();
    const tenant = mandator ?? (isMandator(named) ? named : await findOnlyTenant());
    if (tenant === undefined) return showPage(told, request, response);
    // Relative, so that it also works below a path prefix of a proxy.
    const up = mandator !== null && request.path.endsWith('/') ? '../' : '';
    response.redirect(`${up}${tenant.toLowerCase()}/console`);
  });
  return router;
}

const example: Entry = {
  Product: 'roomgate',
  Mandator: 'demo',
  Rest: 'http://127.0.0.1:8080/demo/api',
  GraphQL: 'http://127.0.0.1:8080/demo/graphql',
  Tokens: 'http://127.0.0.1:8080/connect/token',
  OpenIdConfiguration: 'http://127.0.0.1:8080/.well-known/openid-configuration',
  GraphiQL: 'http://127.0.0.1:8080/demo/graphql',
  Swagger: 'http://127.0.0.1:8080/swagger',
  ApiDocument: 'http://127.0.0.1:8080/swagger/openapi.json',
  Health: 'http://127.0.0.1:8080/healthz',
};

const text =
  'JSON for programs. With `Accept: text/html` a browser is redirected to the console; at the root, a page asks for the tenant unless there is exactly one. It needs no credential.';

/** @param mandator the tenant of the example */
const describeGet = (operationId: string, summary: string, mandator: string | null) => ({
  ...plainGet({
    operationId,
    summary,
    description: text,
    tags: ['Entry'],
    responses: {
      200: plainAnswer(
        'The addresses of the service.',
        entry,
        { ...example, Mandator: mandator },
        'Cache-Control',
        'ETag',
      ),
      304: unchangedAnswer('Cache-Control', 'ETag'),
    },
  }),
  parameters: parameterRefs(
    ...(mandator === null ? [] : (['mandator'] as const)),
    'X-JsonPropertyFormat',
    'X-Request-Id',
    'If-None-Match',
  ),
});

/** The OpenAPI descriptions. */
export const entryPaths: PathsAtRoot = () => ({
  '/': { get: describeGet('getEntry', 'Read the addresses of the service', null) },
  '/{mandator}': {
    get: describeGet('getEntryOfTenant', 'Read the addresses of the service for a tenant', example.Mandator),
  },
});
