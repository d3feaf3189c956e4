/**
 * Jest runs each test file as Node.js itself does: with its own modules, its own way to strip types, and its own globals. A worker
 * loads the sources once for all of its files, where Jest would do it anew for each, in half of the time of a whole run. The
 * files do not notice: no module keeps state (docs/architecture.md). Spies and timers end with their file.
 */
import { createRequire, enableCompileCache, flushCompileCache, registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import circus from 'jest-circus/runner';

const compiled = path.join(import.meta.dirname, '../../node_modules/.cache/roomgate-compiled');
enableCompileCache(compiled);
// For programs of Node.js that tests start.
process.env['NODE_COMPILE_CACHE'] ??= compiled;

// What @jest/globals exports is another thing in each file. Helpers import it once: each name leads to that of the present file.
const present = {};
globalThis.jestOfPresentFile = present;
const source = ['afterAll', 'afterEach', 'beforeAll', 'beforeEach', 'describe', 'expect', 'jest', 'test']
  .map(
    (name) => `export const ${name} = new Proxy(() => {}, {
      get: (_, key) => globalThis.jestOfPresentFile.${name}[key],
      apply: (_, self, given) => globalThis.jestOfPresentFile.${name}(...given),
    });`,
  )
  .join('\n');
const url = 'jest:globals';
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === '@jest/globals' ? { url, format: 'module', shortCircuit: true } : next(specifier, context),
  load: (asked, context, next) =>
    asked === url ? { source, format: 'module', shortCircuit: true } : next(asked, context),
});

// A worker whose work is done has half a second before Jest kills it and complains: no time to tidy its memory first.
process.once('beforeExit', () => process.exit());

const bind = (owner, names) => Object.fromEntries(names.map((name) => [name, owner[name].bind(owner)]));

export default async function run(globalConfig, config, environment, runtime, testPath, send) {
  Object.assign(globalThis, config.globals);
  // Those of the environment are made for other globals.
  const mocks = new environment.moduleMocker.constructor(globalThis);
  // Each project of a configuration loads a file for itself.
  const project = config.displayName ? `?${config.displayName.name}` : '';
  const timers = new environment.fakeTimersModern.constructor({ config, global: globalThis });
  const jest = {
    ...bind(mocks, ['fn', 'restoreAllMocks', 'spyOn']),
    ...bind(timers, [
      'advanceTimersByTime',
      'advanceTimersByTimeAsync',
      'getTimerCount',
      'useFakeTimers',
      'useRealTimers',
    ]),
  };
  Object.assign(runtime, {
    requireInternalModule(file) {
      // Anew for each file, whose tests it keeps; so does whoever has required it.
      const require = createRequire(import.meta.url);
      delete require.cache[file];
      return require(file);
    },
    setGlobalsForRuntime: (globals) => Object.assign(present, globals, { jest }),
    unstable_shouldLoadAsEsm: () => true,
    unstable_importModule: (file) => import(pathToFileURL(file).href + project),
  });
  // Those of earlier files stay there: each would report the tests of this one as well.
  delete globalThis[Symbol.for('EVENT_HANDLERS')];
  try {
    return await circus.default(globalConfig, config, environment, runtime, testPath, send);
  } finally {
    timers.useRealTimers();
    mocks.restoreAllMocks();
    // Not left to the end of the worker, which Jest kills where it takes longer than half a second: it would complain, and
    // what has been compiled would be lost.
    flushCompileCache();
  }
}
