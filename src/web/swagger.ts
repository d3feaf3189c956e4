/** Swagger UI at `{base_url}/swagger`, when the setting SwaggerEnabled is true (specification, section 1). */
import fs from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Router } from 'express';
import type { Config } from '../config.ts';
import {
  contentPolicy,
  makeWebFile,
  readOnce,
  refuseMethod,
  sendWebFile,
  serveAssets,
  signInScript,
  type WebFile,
} from './files.ts';
import { signInWith } from './sign-in.ts';

const ours = path.join(import.meta.dirname, 'swagger');
const theirs = path.dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist/package.json')));

const assets = new Map([
  ['page.css', ours],
  ['swagger-ui-bundle.js', theirs],
  ['swagger-ui.css', theirs],
  ['favicon-32x32.png', theirs],
]);

async function readAsset(name: string, folder: string): Promise<WebFile> {
  return await makeWebFile(path.extname(name), await fs.readFile(path.join(folder, name)));
}

async function renderPage(config: Config): Promise<WebFile> {
  const { scheme, client } = signInWith(config);
  const page = await fs.readFile(path.join(ours, 'page.html'), 'utf8');
  return await makeWebFile('html', page.replace('{{scheme}}', scheme).replace('{{client}}', client));
}

/**
 * The page, its files and the OpenAPI document. It loads nothing from other hosts, and its calls need a credential as any
 * others.
 * @param describe makes the document; called once, on the first request
 */
export function swaggerRoutes(config: Config, describe: () => object): Router {
  const router = Router({ strict: true });
  const files = new Map([...assets].map(([name, folder]) => [name, readOnce(() => readAsset(name, folder))]));
  const readDocument = readOnce(() => makeWebFile('json', JSON.stringify(describe())));
  const readPage = readOnce(() => renderPage(config));

  router.get('/swagger', async (request, response) => {
    sendWebFile(request, response.set('Content-Security-Policy', contentPolicy()), await readPage());
  });
  // The page's links are relative to the parent, so that it also works below a path prefix of a proxy.
  router.get('/swagger/', (_request, response) => response.redirect('../swagger'));
  router.get('/swagger/openapi.json', async (request, response) => {
    sendWebFile(request, response, await readDocument());
  });
  router.get('/swagger/:file', async (request, response, next) => {
    const read = files.get(request.params.file);
    if (!read) return next();
    sendWebFile(request, response, await read());
  });
  serveAssets(router, { ...signInScript, 'swagger/page.js': () => fs.readFile(path.join(ours, 'page.js')) });
  router.all(['/swagger', '/swagger/openapi.json'], refuseMethod);
  return router;
}
