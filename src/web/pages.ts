/**
 * The pages of the door signs and boards (contract 9), and the files that they load. They are the same for every tenant and
 * room and hold no data: a page reads what it shows with the token of its device.
 */
import fs from 'node:fs/promises';
import path from 'node:path';
import { type RequestHandler, type Response, Router } from 'express';
import { NotFound } from '../errors.ts';
import { contentPolicy, makeWebFile, readOnce, refuseMethod, sendWebFile, type WebFile } from './files.ts';
import { shared, stripTypes, versionOf } from './modules.ts';
import { makePhoneCode, picturePolicy } from './phone.ts';

const source = path.join(import.meta.dirname, '..');
const folder = 'web/display';
/** Files that the pages load from other folders. */
const others = ['displays/state.ts', ...shared];

const isId = /^[1-9]\d*$/;

/** The page may use what a kiosk needs, and nothing else. */
const permissions =
  'screen-wake-lock=(self), fullscreen=(self), camera=(), microphone=(), geolocation=(), payment=(), usb=()';

/** Trusted types keep texts from becoming markup or code; only the address of the worker is exempt. */
const pagePolicy = `${contentPolicy}; require-trusted-types-for 'script'; trusted-types worker`;

type Files = {
  /** By its path below `/assets/`. */
  assets: ReadonlyMap<string, WebFile>;
  /** By its name: sign.html. */
  pages: ReadonlyMap<string, WebFile>;
};

const withoutIndents = (text: string) => text.replace(/^\s+/gm, '');

/** Strings, and templates whose values have neither templates nor braces of their own. */
const literals = /'[^'\\]*'|"[^"\\]*"|`(?:[^`\\$]|\$(?!\{)|\$\{[^`{}]*\})*`/g;

/** Removes spaces around operators, except in lines with regular expressions or open literals. */
function withoutSpaces(line: string): string {
  if (/['"`/\\]/.test(line.replace(literals, '').replaceAll(' / ', ''))) return line;
  const parts = new RegExp(`${literals.source}| ?[=,:?(){}[\\]<>&|!*] ?| [+/-] (?![+-])| (?=['"\`])`, 'g');
  return line.replace(parts, (part) => part.trim());
}

const declarationOf = (line: string | undefined) => /^(?:export )?(?:const|let)\b/.exec(line ?? '')?.[0];

/** Joins lines. Constants that follow each other need one `const`: the compiler begins each statement on a line of its own. */
const joinLines = (lines: readonly string[]): string =>
  lines.reduce((text, line, at) => {
    const declaration = declarationOf(line);
    const isNext = declaration && text.endsWith(';') && declarationOf(lines[at - 1]) === declaration;
    return isNext ? `${text.slice(0, -1)},${line.slice(declaration.length).trimStart()}` : `${text}\n${line}`;
  });

/**
 * Strips types, comments and layout. Line breaks can go, because the compiler ends each statement with a semicolon, and texts
 * of several lines are GraphQL. The semicolon at the end of a block can go, because no loop has an empty body.
 */
export async function stripScript(text: string): Promise<string> {
  return joinLines(
    withoutIndents(await stripTypes(text))
      .split('\n')
      .map(withoutSpaces),
  )
    .replace(/;?\n([}\])])/g, '$1')
    .replace(/([{,;([])\n/g, '$1')
    .replace(/(?<![\w$])\((\w+)\)=>/g, '$1=>');
}

const stripStyle = (text: string) =>
  text
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([{};,>~]) ?/g, '$1')
    .replace(/="([A-Za-z_]+)"/g, '=$1')
    .replaceAll(';}', '}')
    .replace(/: /g, ':')
    .replace(/([ :,(-])0\./g, '$1.');

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
