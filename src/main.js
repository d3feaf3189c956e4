#!/usr/bin/env node
/**
 * The program `roomgate`. It caches what Node.js compiles for the next start, if it may write beside its packages. It is
 * JavaScript, because TypeScript would load the type stripper for this file alone, and because an older Node.js must be able to
 * run it, to report its version.
 */
// The default export: importing a name that an older Node.js lacks would be a syntax error there.
import module from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const project = fileURLToPath(new URL('..', import.meta.url));
const install = `run "npm ci --omit=dev" in ${project}`;

/** @param {string} fault */
function stop(fault) {
  process.stderr.write(`${fault}\n`);
  // The exit code for unusable settings: another start would fail in the same way.
  process.exit(78);
}

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 9))
  stop(
    `roomgate needs Node.js 24.9 or later, but ${process.execPath} is ${process.version}: ${install}, which installs one ` +
      'unless optional packages are left out',
  );

// A library asks for a home as it is loaded, and fails where neither HOME nor the list of accounts names one.
try {
  os.homedir();
} catch {
  process.env['HOME'] = '/';
}

/** @type {Promise<import('./beginning.ts').ServingBegun> | undefined} */
let begun;
module.enableCompileCache(path.join(project, 'node_modules/.cache/roomgate-compiled'));
try {
  // Dynamic imports: static ones would be compiled before the cache is enabled.
  if (process.argv.slice(2).join(' ') === 'serve') begun = (await import('./beginning.ts')).beginServing();
  // PostgreSQL starts while the rest is loaded; the command reports an error.
  await begun?.catch(() => {});
  const { run } = await import('./host.ts');
  process.exitCode = await run(process.argv, begun);
} catch (error) {
  if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error;
  // The local PostgreSQL would keep running.
  const settled = await begun?.then((beginning) => beginning.settled).catch(() => undefined);
  await settled?.local?.stop();
  stop(`Some packages are missing: ${install}\n${error.message}`);
}
