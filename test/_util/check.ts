/** `npm run check`: all checks that need no running program, in parallel. */
import { type ExecException, exec } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { findDocumentFaults } from './documents.ts';
import { findSmuggled } from './doors.ts';
import { generators, project } from './generate.ts';
import { findLongFiles } from './lengths.ts';
import { findSharedNames } from './names.ts';
import { findForeignWriters } from './writers.ts';

type Finish = (error: ExecException | null, stdout: string, stderr: string) => void;

const options = {
  cwd: project,
  // The project's own node and tools come first, also without npm.
  env: {
    ...process.env,
    PATH: `${path.join(project, 'node_modules/.bin')}:${process.env['PATH']}`,
    NO_COLOR: '1',
    // tsc, a program of Go, ends soon and needs less than 2 GiB: collecting its garbage would only cost CPU.
    GOGC: 'off',
    GOMEMLIMIT: '3GiB',
    // Biome fills 700 MB: in huge pages that stay its own, the kernel has hardly any faults to serve.
    _RJEM_MALLOC_CONF: 'thp:always,metadata_thp:always,dirty_decay_ms:-1,muzzy_decay_ms:-1',
  },
  maxBuffer: 64 * 1024 * 1024,
};

/** The violations that a check found; empty without any. */
type Check = () => Promise<string | undefined>;

const tool =
  (start: (finish: Finish) => void): Check =>
  () =>
    new Promise((resolve) =>
      start((error, stdout, stderr) => resolve(error ? stdout + stderr || error.message : undefined)),
    );

/**
 * Each command stands in a call of exec: there knip reads which packages the project uses as tools. What knip.json
 * leaves out: the typed-document package comes with codegen's client preset, Spectral's
 * OWASP rules are named in spectral.yaml, and types may be exported because they stand in the signature of what is.
 * Further threads of tsc cost CPU of their own, and the other checks need the cores.
 */
const tools: Record<string, Check> = {
  types: tool((finish) => exec('tsc -p . --singleThreaded', options, finish)),
  'format and lint': tool((finish) => exec('biome ci --colors=off --error-on-warnings .', options, finish)),
  'types of pages': tool((finish) => exec('tsc -p src/web --singleThreaded', options, finish)),
  arrows: tool((finish) =>
    exec('depcruise --cache node_modules/.cache/arrows --cache-strategy content src', options, finish),
  ),
  'dead code': tool((finish) => exec('knip --cache --cache-location node_modules/.cache/knip', options, finish)),
};

async function findStale(generate: (typeof generators)[string]): Promise<string | undefined> {
  const stale = (await generate()).filter(
    ({ file, text }) => !fs.existsSync(file) || fs.readFileSync(file, 'utf8') !== text,
  );
  return stale.map(({ file }) => `${file} is out of date: npm run generate\n`).join('') || undefined;
}

/** A test that asserts an upper bound of a time fails on a busy machine. */
const clockAsBound = /expect\([^;]*?(?:performance\.now\(\)|Date\.now\(\)) -[^;]*?\.toBeLess/g;

/** Spreading a literal into another only saves lines; its members belong into the other. */
const spreadLiteral = /\.\.\.\{\s*[\w[.]/g;

/** Every match of `pattern` in `files`, with what to do instead. */
async function findText(files: string, pattern: RegExp, instead: string): Promise<string | undefined> {
  const found = fs.globSync(files).flatMap((file) => {
    const text = fs.readFileSync(file, 'utf8');
    return [...text.matchAll(pattern)].map(
      ({ index }) => `${file}:${text.slice(0, index).split('\n').length}: ${instead}\n`,
    );
  });
  return found.join('') || undefined;
}

const toLines = (faults: readonly string[]) => faults.map((fault) => `${fault}\n`).join('') || undefined;

/** Prints a check's line, and its violations below it. */
async function run(name: string, check: Check): Promise<boolean> {
  const start = performance.now();
  const wrong = await check().catch((error: Error) => `${error.stack}\n`);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  process.stdout.write(`${name.padEnd(24)} ${wrong ? 'failed' : 'ok    '} ${seconds.padStart(5)} s\n${wrong ?? ''}`);
  return !wrong;
}

process.chdir(project);
const results = await Promise.all([
  ...Object.entries(tools).map(([name, check]) => run(name, check)),
  run('tests without clocks', () => findText('test/**/*.test.ts', clockAsBound, 'wait for a condition instead')),
  run('literals', () =>
    findText(
      '{src,test,bench,examples}/**/*.ts',
      spreadLiteral,
      'write the members of the literal without spreading it',
    ),
  ),
  run('documents', async () => toLines(findDocumentFaults('.'))),
  run('doors', async () => toLines(findSmuggled('.'))),
  run('lengths of files', async () => toLines(findLongFiles('.'))),
  run('names of types', async () => toLines(findSharedNames('.'))),
  run('writers of tables', async () => toLines(findForeignWriters('.'))),
  ...Object.entries(generators).map(([name, generate]) => run(name, () => findStale(generate))),
]);
process.exitCode = results.every(Boolean) ? 0 : 1;
