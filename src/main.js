#!/usr/bin/env node
/**
 * The program `roomgate`. It keeps what Node.js has compiled for the next start, where it may write beside its packages; not
 * TypeScript, as the stripper of types would be loaded for this file alone.
 */
import { enableCompileCache } from 'node:module';
import path from 'node:path';

enableCompileCache(path.join(import.meta.dirname, '../node_modules/.cache/roomgate-compiled'));
// Not a static import, which would be compiled before the cache is there.
const { run } = await import('./host.ts');
process.exitCode = await run(process.argv);
