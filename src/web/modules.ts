/** Modules for browsers without a build step: types are stripped, and the names of packages become relative addresses. */
import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import path from 'node:path';
import { makeWebFile, type WebFile } from './files.ts';

const source = path.join(import.meta.dirname, '..');

/** The only packages that browsers get, by the names under which modules import them. */
const packages = ['preact', 'preact/hooks', '@preact/signals', '@preact/signals-core', 'htm', 'graphql-ws/client'];
const conditions = new Set(['browser', 'import', 'default']);

/** Modules that the console and the pages of the signs share. */
export const shared = [
  'time/clock-changes.ts',
  'time/durations.ts',
  'web/bidi.ts',
  'web/ink.ts',
  'web/random-key.ts',
  'web/retry-after.ts',
  'web/room-states.ts',
  'web/zone-names.ts',
];
/** Modules of other folders that the console loads. */
const ofConsole = [
  ...shared,
  'names.ts',
  'time/days.ts',
  'timetable-files/cells.ts',
  'timetable-files/headings.ts',
  'timetable-files/text.ts',
];

/** Media types by file extension, as Express writes them. */
const types: Record<string, string> = {
  '.ts': 'text/javascript',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.css': 'css',
  '.json': 'json',
  '.png': 'png',
  '.svg': 'svg',
  '.woff2': 'woff2',
};

/** Removes types and comments. */
export async function stripTypes(text: string): Promise<string> {
  // Loaded with the first page: most processes need no compiler.
  const { transformSync } = await import('amaro');
  return transformSync(text, { mode: 'transform' }).code;
}

/** The version of files: a hash of all of them. */
export function versionOf(files: ReadonlyMap<string, WebFile>, ...texts: string[]): string {
  const hash = createHash('sha256').update(texts.join());
  for (const [name, file] of files) hash.update(`${name} ${file.hash}\n`);
  return hash.digest('base64url').slice(0, 16);
}

type Exports = string | { [condition: string]: Exports };

/** The file that the `exports` of a package name for browsers. */
function choose(target: Exports | undefined): string | undefined {
  if (typeof target !== 'object') return target;
  for (const [condition, inner] of Object.entries(target)) if (conditions.has(condition)) return choose(inner);
  return undefined;
}

/** The address of a package's file, `packages/preact/dist/preact.mjs`, and where the file lies. */
type Found = { name: string; file: string };

async function findPackage(specifier: string): Promise<Found> {
  const [, name = '', inner = ''] = /^((?:@[^/]+\/)?[^/]+)(.*)$/.exec(specifier) ?? [];
  const manifest = findPackageJSON(name, import.meta.url);
  const { exports } = JSON.parse(await fs.readFile(manifest ?? '', 'utf8')) as { exports: Record<string, Exports> };
  const target = choose(exports[`.${inner}`]);
  if (!manifest || !target) throw new Error(`package ${specifier} names no file for browsers`);
  return { name: path.posix.join('packages', name, target), file: path.join(path.dirname(manifest), target) };
}

const imports = /(\bfrom\s*|\bimport\s*\(?\s*)(["'])([^"'\n]+)\2/g;

const staticImports = /\b(?:from|import)\s*(["'])(\.[^"'\n]+)\1/g;

/** A module with all that it imports before it runs, the nearest first. */
function withImports(files: ReadonlyMap<string, WebFile>, entry: string): Set<string> {
  const names = new Set([entry]);
  // Iterating over a set includes what is added meanwhile.
  for (const name of names)
    for (const [, , specifier = ''] of String(files.get(name)?.bytes).matchAll(staticImports))
      names.add(path.posix.join(path.posix.dirname(name), specifier));
  return names;
}

/**
 * Links by which a browser loads modules side by side, instead of each after it was found in another.
 * @param files the modules by their addresses below `base`
 * @param entry the module that is run first
 * @param next the module that is run after it: what only that one imports has a low priority
 */
export function preloadLinks(files: ReadonlyMap<string, WebFile>, entry: string, next: string, base: string): string {
  const early = withImports(files, entry);
  const late = [...withImports(files, next)].filter((name) => !early.has(name));
  return [
    ...[...early].map((name) => `<link rel="modulepreload" href="${base}/${name}">\n`),
    ...late.map((name) => `<link rel="modulepreload" fetchpriority="low" href="${base}/${name}">\n`),
  ].join('');
}

/** Writes the names of packages as addresses that are relative to the module. */
function linkPackages(text: string, name: string, found: ReadonlyMap<string, Found>): string {
  return text.replace(imports, (whole, before: string, quote: string, specifier: string) => {
    const target = found.get(specifier);
    if (!target) return whole;
    const address = path.posix.relative(path.posix.dirname(name), target.name);
    return `${before}${quote}${address.startsWith('.') ? address : `./${address}`}${quote}`;
  });
}

/** The files of the allowed packages, and those that they import of their own package. */
async function readPackages(found: ReadonlyMap<string, Found>): Promise<Map<string, WebFile>> {
  const files = new Map<string, WebFile>();
  const open = [...found.values()];
  for (let next = open.pop(); next; next = open.pop()) {
    const { name, file } = next;
    if (files.has(name)) continue;
    const text = (await fs.readFile(file, 'utf8')).replace(/\/\/# sourceMappingURL=.*$/m, '');
    files.set(name, await makeWebFile('text/javascript', linkPackages(text, name, found)));
    for (const [, , , specifier = ''] of text.matchAll(imports))
      if (specifier.startsWith('./'))
        open.push({
          name: path.posix.join(path.posix.dirname(name), specifier),
          file: path.join(path.dirname(file), specifier),
        });
  }
  return files;
}

/**
 * All that a page may load, by its address: the files of a folder under their paths in `src`, and the packages.
 * @param folder `web/console`, with the folders in it
 */
export async function readModules(folder: string): Promise<Map<string, WebFile>> {
  const found = new Map<string, Found>();
  for (const specifier of packages) found.set(specifier, await findPackage(specifier));
  const files = await readPackages(found);
  const entries = await fs.readdir(path.join(source, folder), { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => path.join(parentPath, name));
  for (const file of [...paths, ...ofConsole.map((name) => path.join(source, name))]) {
    const name = path.relative(source, file).replaceAll(path.sep, '/');
    const end = path.extname(name);
    const type = types[end];
    if (!type) continue;
    const bytes = await fs.readFile(file);
    const content = end === '.ts' ? linkPackages(await stripTypes(bytes.toString()), name, found) : bytes;
    files.set(name, await makeWebFile(type, content));
  }
  return new Map([...files].sort(([one], [other]) => (one < other ? -1 : 1)));
}
