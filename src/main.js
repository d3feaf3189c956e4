#!/usr/bin/env node
/**
 * The program `roomgate`. It keeps what Node.js has compiled for the next start, where it may write beside its packages; not
 * TypeScript, as the stripper of types would be loaded for this file alone, and as an older Node.js is to be told so.
 */
// The default export, as an older Node.js does not begin with a name that it does not have.
import module from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const project = fileURLToPath(new URL('..', import.meta.url));
const install = `run "npm ci --omit=dev" in ${project}`;

/** @param {string} fault */
function stop(fault) {
  process.stderr.write(`${fault}\n`);
  // As for settings that cannot be used: another start would end the same.
  process.exit(78);
}

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 9))
  stop(
    `roomgate needs Node.js 24.9 or later, and ${process.execPath} is ${process.version}: ${install}, which brings one ` +
      'unless optional packages are left out',
  );

/** @type {Promise<import('./beginning.ts').ServingBegun> | undefined} */
let begun;
module.enableCompileCache(path.join(project, 'node_modules/.cache/roomgate-compiled'));
try {
  // Not static imports, which would be compiled before the cache is there.
  if (process.argv.slice(2).join(' ') === 'serve') begun = (await import('./beginning.ts')).beginServing();
  // PostgreSQL starts while the rest is loaded; what fails is told by the command.
  await begun?.catch(() => {});
  const { run } = await import('./host.ts');
  process.exitCode = await run(process.argv, begun);
} catch (error) {
  if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error;
  // The local PostgreSQL would go on.
  const settled = await begun?.then((beginning) => beginning.settled).catch(() => undefined);
  await settled?.local?.stop();
  stop(`Its packages are not all there: ${install}\n${error.message}`);
}
