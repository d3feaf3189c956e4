/** Swagger UI at `{base_url}/swagger`, when the setting SwaggerEnabled is true (specification, section 1). */
import fs from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Router } from 'express';
import type { Config } from '../config.ts';
import { MethodNotAllowed } from '../errors.ts';

/** No script or style but ours, and no call to anywhere else; Swagger UI brings its icons as data. */
const contentPolicy = [
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self'`,
  `img-src 'self' data:`,
  `connect-src 'self'`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ');

const ours = path.join(import.meta.dirname, 'swagger');
const theirs = path.dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist/package.json')));

const assets = new Map([
  ['page.js', ours],
  ['page.css', ours],
  ['swagger-ui-bundle.js', theirs],
  ['swagger-ui.css', theirs],
  ['favicon-32x32.png', theirs],
]);

/** How a PIN signs in: for a token by a client that needs no secret, for a page can keep none; or as it is; or not at all. */
function signInWith({ IdentityProvider, Clients }: Config): { scheme: string; client: string } {
  if (IdentityProvider.Mode === 'None') return { scheme: 'APIKEY', client: '' };
  const client = Clients.find(
    ({ Enabled, RequireClientSecret, AllowedGrantTypes }) =>
      Enabled && !RequireClientSecret && AllowedGrantTypes.includes('apikey'),
  );
  if (IdentityProvider.Mode !== 'Embedded' || !client) return { scheme: '', client: '' };
  return { scheme: 'Bearer', client: encodeURIComponent(client.ClientId) };
}

async function renderPage(config: Config): Promise<string> {
  const { scheme, client } = signInWith(config);
  const page = await fs.readFile(path.join(ours, 'page.html'), 'utf8');
  return page.replace('{{scheme}}', scheme).replace('{{client}}', client);
}

/**
 * The page, its files and the OpenAPI document; nothing of it comes from elsewhere, and it holds no data: its calls need a
 * credential, as any others.
 * @param describe makes the document; called once, when it is first asked for
 */
export function swaggerRoutes(config: Config, describe: () => object): Router {
  const router = Router({ strict: true });
  let document: object | undefined;
  let page: Promise<string> | undefined;

  router.get('/swagger', async (_request, response) => {
    page ??= renderPage(config);
    response
      .set('Content-Security-Policy', contentPolicy)
      .type('html')
      .send(await page);
  });
  // The page names its files from one level above, so that it also works below a path prefix of a proxy.
  router.get('/swagger/', (_request, response) => response.redirect('../swagger'));
  router.get('/swagger/openapi.json', (_request, response) => {
    response.json((document ??= describe()));
  });
  router.get('/swagger/:file', (request, response, next) => {
    const root = assets.get(request.params.file);
    if (root) response.sendFile(request.params.file, { root });
    else next();
  });
  router.all(['/swagger', '/swagger/openapi.json'], (request) => {
    throw new MethodNotAllowed(`${request.method} is not possible here; use GET.`, ['GET', 'HEAD']);
  });
  return router;
}
