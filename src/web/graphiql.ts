/** GraphiQL for a browser at `/{mandator}/graphql`, when the setting GraphiQLEnabled is true (contract 8). */
import fs from 'node:fs/promises';
import path from 'node:path';
import { type Request, Router } from 'express';
import type { Config } from '../config.ts';
import { contentPolicy, makeWebFile, readOnce, sendWebFile, serveAssets, signInScript, type WebFile } from './files.ts';
import { signInWith } from './sign-in.ts';

const folder = path.join(import.meta.dirname, 'graphiql');

/**
 * Scripts and workers load from this server only, none inline. The Monaco editor positions its lines by inline styles, and
 * its style sheet holds fonts as data URLs.
 */
const policy = contentPolicy({
  'style-src': "'self' 'unsafe-inline'",
  'font-src': 'data:',
  'worker-src': "'self'",
});

/** Loaded on the first request: 9 MB. */
const theirs = () => import('@graphql-yoga/render-graphiql/graphiql');

const own = (name: string) => () => fs.readFile(path.join(folder, name));

async function renderPage(config: Config): Promise<WebFile> {
  const { scheme, client } = signInWith(config);
  const page = await fs.readFile(path.join(folder, 'page.html'), 'utf8');
  const label = scheme === '' ? 'Access token' : 'PIN';
  return await makeWebFile(
    'html',
    page.replace('{{scheme}}', scheme).replace('{{client}}', client).replace('{{label}}', label),
  );
}

/** Whether the client is a browser that wants the page. */
export const asksForPage = ({ headers }: Pick<Request, 'headers'>) => headers.accept?.includes('text/html') === true;

/** The page needs no credential and holds no data. Requests that do not ask for HTML are passed on. */
export function graphiqlRoutes(config: Config): Router {
  const router = Router();
  const readPage = readOnce(() => renderPage(config));
  router.get('/:mandator/graphql', async (request, response, next) => {
    response.vary('Accept');
    if (!asksForPage(request)) return next();
    // The page names its files from one level above, so that it also works below a path prefix of a proxy.
    if (request.path.endsWith('/')) return response.redirect('../graphql');
    sendWebFile(request, response.set('Content-Security-Policy', policy), await readPage());
  });
  serveAssets(router, {
    ...signInScript,
    'graphiql/page.js': own('page.js'),
    'graphiql/page.css': own('page.css'),
    'graphiql/event-stream.js': own('event-stream.js'),
    'graphiql/bundle.js': async () => (await theirs()).js,
    'graphiql/bundle.css': async () => (await theirs()).css,
    'graphiql/editor-worker.js': async () => (await theirs()).editorWorkerService,
    'graphiql/graphql-worker.js': async () => (await theirs()).graphqlWorker,
    'graphiql/json-worker.js': async () => (await theirs()).jsonWorker,
  });
  return router;
}
