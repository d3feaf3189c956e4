/**
 * The web console at `/{mandator}/console`: one page, which holds no data. The address of a module has the version of all, so
 * that browsers may keep it.
 */
import fs from 'node:fs/promises';
import path from 'node:path';
import { type Response, Router } from 'express';
import type { Config } from '../config.ts';
import { NotFound } from '../errors.ts';
import { isMandator } from '../names.ts';
import { contentPolicy, deniedPermissions, makeAnswerFile, readOnce, refuseMethod, sendWebFile } from './files.ts';
import { preloadLinks, readModules, versionOf } from './modules.ts';

const folder = 'web/console';
const start = `${folder}/start.ts`;
/** The screens, in the order of routes.ts: the console opens with the first. */
const screenImports = /\bimport\(['"]\.\/screens\/(\w+)\.ts['"]\)/g;
const pages = ['/:mandator/console', '/:mandator/console/{*below}'];

/** Texts never become markup or code; nothing is loaded from other hosts, and the page has no inline scripts or styles. */
const policy = contentPolicy({
  'img-src': "'self'",
  'font-src': "'self'",
  'form-action': "'self'",
  'require-trusted-types-for': "'script'",
  'trusted-types': "'none'",
});

async function readConsole() {
  const modules = await readModules(folder);
  const markup = await fs.readFile(path.join(import.meta.dirname, 'console', 'index.html'), 'utf8');
  const version = versionOf(modules, markup);
  /** The page with the links of each screen, by its name. */
  const markups = new Map<string, string>();
  for (const [, screen = ''] of String(modules.get(`${folder}/routes.ts`)?.bytes).matchAll(screenImports)) {
    const links = preloadLinks(modules, start, `${folder}/screens/${screen}.ts`, '{{modules}}');
    markups.set(screen, markup.replace('{{preloads}}', links));
  }
  const [first = ''] = markups.values();
  return { modules, version, markups, first };
}

/** The limits of the files that the console sends. */
type ConsoleLimits = Pick<Config['Limits'], 'JobBodyBytes' | 'LessonsPerBatch'>;

/** The page for a screen, whose addresses are relative, so that it also works below a path prefix of a proxy. */
function renderPage(
  { version, markups, first }: Awaited<ReturnType<typeof readConsole>>,
  screen: unknown,
  mandator: string,
  root: string,
  { JobBodyBytes, LessonsPerBatch }: ConsoleLimits,
) {
  const text = (markups.get(String(screen)) ?? first)
    .replaceAll('{{jobBodyBytes}}', String(JobBodyBytes))
    .replaceAll('{{lessonsPerBatch}}', String(LessonsPerBatch))
    .replaceAll('{{modules}}', `${root}assets/console/${version}`)
    .replaceAll('{{root}}', root)
    .replaceAll('{{mandator}}', mandator);
  return makeAnswerFile('html', text);
}

export function consoleRoutes(limits: ConsoleLimits): Router {
  const router = Router({ strict: true });
  const read = readOnce(readConsole);
  const guard = (response: Response) =>
    response.set({ 'Content-Security-Policy': policy, 'Permissions-Policy': deniedPermissions });
  router.get('/assets/console/:version/*name', async (request, response) => {
    const { modules, version } = await read();
    const file = request.params.version === version && modules.get(request.params.name.join('/'));
    if (!file) throw new NotFound(`There is nothing at ${request.path}; load the page of the console again.`);
    sendWebFile(request, guard(response), file, 'public, max-age=31536000, immutable');
  });
  router.all('/assets/console/*name', refuseMethod);
  router.get(pages, async (request, response) => {
    const { mandator } = request.params as { mandator: string };
    if (!isMandator(mandator))
      throw new NotFound(
        'There is no such console: the first part of its address is the short name of a tenant, of letters, digits, - and _.',
      );
    const root = '../'.repeat(request.path.split('/').length - 2);
    const name = mandator.toLowerCase();
    if (name === mandator) {
      const page = renderPage(await read(), request.query['screen'], name, root, limits);
      return sendWebFile(request, guard(response), page);
    }
    // The path of a session's cookie has the tenant's name in lower case.
    const { search } = new URL(request.originalUrl, 'http://console.invalid');
    response.redirect(`${root}${name}/console${search}`);
  });
  router.all(pages, refuseMethod);
  return router;
}
