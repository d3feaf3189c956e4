/**
 * The pages of the door signs and boards (contract 9), and the files that they load. They are the same for every tenant and
 * room and hold no data: a page reads what it shows with the token of its device.
 */
import fs from 'node:fs/promises';
import path from 'node:path';
import { type RequestHandler, type Response, Router } from 'express';
import { NotFound } from '../errors.ts';
import {
  contentPolicy,
  deniedPermissions,
  makeWebFile,
  readOnce,
  refuseMethod,
  sendWebFile,
  type WebFile,
} from './files.ts';
import { stripScript, stripStyle, withoutIndents } from './minify.ts';
import { shared, versionOf } from './modules.ts';
import { makePhoneCode, picturePolicy } from './phone.ts';

const source = path.join(import.meta.dirname, '..');
const folder = 'web/display';
/** Files that the pages load from other folders. */
const others = ['bookings/walk-in.ts', 'displays/state.ts', ...shared];

const isId = /^[1-9]\d*$/;

/** The page may use what a kiosk needs, and nothing else. */
const permissions = `screen-wake-lock=(self), fullscreen=(self), ${deniedPermissions}`;

/** Trusted types keep texts from becoming markup or code; only the address of the worker is exempt. */
const pagePolicy = contentPolicy({ 'require-trusted-types-for': "'script'", 'trusted-types': 'worker' });

type Files = {
  /** By its path below `/assets/`. */
  assets: ReadonlyMap<string, WebFile>;
  /** By its name: sign.html. */
  pages: ReadonlyMap<string, WebFile>;
};

async function readAsset(name: string): Promise<WebFile> {
  const text = await fs.readFile(path.join(source, name), 'utf8');
  return name.endsWith('.ts')
    ? await makeWebFile('text/javascript', await stripScript(text))
    : await makeWebFile('css', stripStyle(text));
}

/**
 * Reads all pages, styles and scripts at once, so that they are of one version; `{{version}}` in a page is the hash of all.
 */
async function readFiles(): Promise<Files> {
  const own = (await fs.readdir(path.join(source, folder))).sort().map((name) => `${folder}/${name}`);
  const isPage = (name: string) => name.endsWith('.html');
  const assets = new Map<string, WebFile>();
  for (const name of [...own.filter((name) => !isPage(name)), ...others]) assets.set(name, await readAsset(name));
  const markup = new Map<string, string>();
  for (const name of own.filter(isPage))
    markup.set(path.basename(name), withoutIndents(await fs.readFile(path.join(source, name), 'utf8')));
  const version = versionOf(assets, ...markup.values());
  const pages = new Map<string, WebFile>();
  for (const [name, text] of markup)
    pages.set(name, await makeWebFile('html', text.replaceAll('{{version}}', version)));
  return { assets, pages };
}

/**
 * `/{mandator}/door-sign/{resourceId}` with its `…/phone.svg`, `/{mandator}/board/{locationId}` and `/assets/…`, without a
 * credential.
 * @param base where browsers reach the service
 */
export function pageRoutes(base: string): Router {
  const router = Router({ strict: true, caseSensitive: true });
  const read = readOnce(readFiles);
  const guard = (response: Response) =>
    response.set('Content-Security-Policy', pagePolicy).set('Permissions-Policy', permissions);

  const serve =
    (file: string, record: string): RequestHandler<{ id: string }> =>
    async (request, response) => {
      const { id } = request.params;
      if (!isId.test(id))
        throw new NotFound(`There is nothing at ${request.path}: the address ends in the id of a ${record}.`);
      const { pages } = await read();
      sendWebFile(request, guard(response), pages.get(file) as WebFile);
    };
  router.get('/:mandator/door-sign/:id', serve('sign.html', 'resource'));
  router.get('/:mandator/board/:id', serve('board.html', 'location'));
  router.get('/:mandator/door-sign/:id/phone.svg', async (request, response) => {
    const { mandator, id } = request.params;
    if (!isId.test(id)) throw new NotFound(`There is nothing at ${request.path}.`);
    const code = await makePhoneCode(base, mandator, id, request.query['day']);
    sendWebFile(request, response.set('Content-Security-Policy', picturePolicy), code);
  });
  router.get('/assets/*name', async (request, response) => {
    const { assets } = await read();
    const asset = assets.get(request.params.name.join('/'));
    if (!asset) throw new NotFound(`There is nothing at ${request.path}.`);
    // Its scope is the pages, outside of its own folder.
    if (request.path.endsWith('/worker.ts')) response.set('Service-Worker-Allowed', '/');
    sendWebFile(request, guard(response), asset);
  });
  router.all(
    ['/:mandator/door-sign/:id', '/:mandator/door-sign/:id/phone.svg', '/:mandator/board/:id', '/assets/*name'],
    refuseMethod,
  );
  return router;
}
