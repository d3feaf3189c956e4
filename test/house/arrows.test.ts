import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

const project = path.join(import.meta.dirname, '..', '..');
const rulesFile = path.join(project, '.dependency-cruiser.cjs');
const { forbidden } = createRequire(import.meta.url)(rulesFile) as { forbidden: { name: string }[] };

/** For each rule imports that it must catch: who imports, and what. Packages are written without a path. */
const planted: Record<string, [importer: string, imported: string][]> = {
  main: [['src/main.js', 'src/server.ts']],
  beginning: [['src/beginning.ts', 'src/db/database.ts']],
  host: [
    ['src/host.ts', 'src/lessons/service.ts'],
    ['src/host.ts', 'src/app.ts'],
  ],
  'health-app': [['src/health-app.ts', 'src/bookings/rest.ts']],
  server: [
    ['src/server.ts', 'src/lessons/service.ts'],
    ['src/server.ts', 'src/cli/program.ts'],
  ],
  supervisor: [
    ['src/supervisor.ts', 'src/server.ts'],
    ['src/supervisor.ts', 'src/db/database.ts'],
  ],
  app: [
    ['src/app.ts', 'src/lessons/service.ts'],
    ['src/app.ts', 'src/graphql/builder.ts'],
  ],
  'rest-faces-in-app': [['src/rest/openapi.ts', 'src/lessons/rest.ts']],
  'graphql-faces-in-schema': [
    ['src/graphql/server.ts', 'src/lessons/graphql.ts'],
    ['src/lessons/graphql.ts', 'src/bookings/graphql.ts'],
  ],
  'task-faces-in-runner': [['src/worker/queue.ts', 'src/lessons/tasks.ts']],
  'cli-faces-in-program': [['src/main.js', 'src/lessons/cli.ts']],
  'parts-in-their-face': [['src/lessons/service.ts', 'src/lessons/job-rest.ts']],
  face: [
    ['src/lessons/job-rest.ts', 'src/bookings/service.ts'],
    ['src/lessons/rest.ts', 'src/bookings/service.ts'],
    ['src/lessons/rest.ts', 'src/access.ts'],
    ['src/lessons/rest.ts', 'src/graphql/builder.ts'],
    ['src/lessons/graphql.ts', 'src/db/database.ts'],
    ['src/lessons/cli.ts', 'src/rest/route.ts'],
  ],
  door: [['src/lessons/rest.ts', 'src/lessons/import.ts']],
  'task-face': [
    ['src/lessons/tasks.ts', 'src/bookings/service.ts'],
    ['src/lessons/tasks.ts', 'src/rest/route.ts'],
  ],
  room: [
    ['src/lessons/service.ts', 'src/rest/route.ts'],
    ['src/lessons/service.ts', 'src/bookings/recurrence.ts'],
    ['src/lessons/import.ts', 'src/worker/runner.ts'],
  ],
  'room-knows-context-as-type': [
    ['src/lessons/service.ts', 'src/context.ts'],
    ['src/access.ts', 'src/context.ts'],
  ],
  authenticate: [['src/identity/authenticate.ts', 'src/db/database.ts']],
  hallway: [
    ['src/rest/route.ts', 'src/lessons/service.ts'],
    ['src/web/pages.ts', 'src/rest/route.ts'],
    ['src/cli/output.ts', 'src/db/database.ts'],
  ],
  'graphql-schema': [['src/graphql/schema.ts', 'src/lessons/service.ts']],
  worker: [['src/worker/queue.ts', 'src/lessons/service.ts']],
  'worker-runner': [['src/worker/runner.ts', 'src/lessons/service.ts']],
  'cli-program': [
    ['src/cli/program.ts', 'src/lessons/import.ts'],
    ['src/cli/program.ts', 'src/db/database.ts'],
  ],
  'mail-servers': [
    ['src/mail-servers/service.ts', 'src/db/database.ts'],
    ['src/mail-servers/connector.ts', 'src/tenants/service.ts'],
  ],
  access: [
    ['src/access.ts', 'src/tenants/service.ts'],
    ['src/access.ts', 'src/log.ts'],
  ],
  records: [
    ['src/records.ts', 'src/tenants/service.ts'],
    ['src/records.ts', 'src/log.ts'],
  ],
  context: [['src/context.ts', 'src/lessons/service.ts']],
  db: [
    ['src/db/database.ts', 'src/context.ts'],
    ['src/db/database.ts', 'src/lessons/service.ts'],
  ],
  time: [
    ['src/time/zones.ts', 'src/log.ts'],
    ['src/time/rule.ts', 'src/opening-hours/service.ts'],
  ],
  flow: [
    ['src/flow/turns.ts', 'src/db/database.ts'],
    ['src/flow/retry.ts', 'src/context.ts'],
  ],
  http: [
    ['src/http/request-body.ts', 'src/input.ts'],
    ['src/http/safe-fetch.ts', 'src/flow/retry.ts'],
    ['src/http/body-memory.ts', 'src/rest/route.ts'],
  ],
  input: [['src/input.ts', 'src/log.ts']],
  fields: [['src/fields.ts', 'src/errors.ts']],
  nouns: [['src/nouns.ts', 'src/fields.ts']],
  'query-parameters': [['src/query-parameters.ts', 'src/errors.ts']],
  config: [['src/config.ts', 'src/log.ts']],
  'setting-names': [['src/setting-names.ts', 'src/config.ts']],
  settings: [['src/settings.ts', 'src/config.ts']],
  ground: [
    ['src/errors.ts', 'src/log.ts'],
    ['src/setting-values.ts', 'src/settings.ts'],
  ],
  'src-without-tests': [
    ['src/lessons/service.ts', 'test/_util/factories.ts'],
    ['src/lessons/service.ts', 'bench/import.ts'],
  ],
  'home-of-pg': [['src/lessons/service.ts', 'pg']],
  'home-of-kysely': [
    ['src/lessons/rest.ts', 'kysely'],
    ['src/mail-servers/dav.ts', 'kysely'],
    ['src/rest/health.ts', 'kysely'],
    ['src/identity/authenticate.ts', 'kysely'],
  ],
  'home-of-express': [
    ['src/lessons/service.ts', 'express'],
    ['src/graphql/server.ts', 'express'],
  ],
  'home-of-graphql': [
    ['src/lessons/service.ts', 'graphql'],
    ['src/lessons/rest.ts', '@pothos/core'],
    ['src/main.js', 'ws'],
    ['src/app.ts', 'graphql-yoga'],
    ['src/rest/route.ts', 'graphql-ws'],
  ],
  'home-of-the-queue': [['src/lessons/service.ts', 'graphile-worker']],
  'home-of-identity': [
    ['src/lessons/service.ts', 'jose'],
    ['src/rest/route.ts', 'openid-client'],
  ],
  'home-of-event-signatures': [['src/mail-inbox/receiving.ts', 'standardwebhooks']],
  'home-of-traces': [
    ['src/worker/runner.ts', '@opentelemetry/api'],
    ['src/server.ts', '@opentelemetry/sdk-trace'],
  ],
  'tracing-export': [['src/tracing-export.ts', 'src/context.ts']],
  'home-of-xml': [['src/calendar-feed/service.ts', 'saxes']],
  'home-of-qr-codes': [['src/calendar-feed/service.ts', 'qr']],
  'home-of-the-command-line': [['src/main.js', 'commander']],
  'no-cycle': [['src/bookings/recurrence.ts', 'src/bookings/service.ts']],
  // Imported by nobody but itself.
  'no-orphan': [
    ['src/bookings/forgotten.ts', 'src/bookings/forgotten.ts'],
    ['src/web/display/forgotten.ts', 'src/web/display/forgotten.ts'],
  ],
  page: [
    ['src/web/swagger/page.js', 'src/config.ts'],
    ['src/web/display/sign.ts', 'src/displays/display.ts'],
    ['src/web/display/sign.ts', 'src/web/files.ts'],
  ],
  'no-index': [['src/lessons/service.ts', 'src/lessons/index.ts']],
  'no-drawer': [
    ['src/lessons/service.ts', 'src/lessons/utils/text.ts'],
    ['src/app.ts', 'src/helpers/text.ts'],
  ],
  'src-runs-without-dev-packages': [['src/lessons/service.ts', 'jest']],
};

/** The same forbidden arrow, in every form that an import can have. */
const forms = {
  'import type': `import type { Booking } from '../bookings/service.ts';`,
  'import of a type': `import { type Booking } from '../bookings/service.ts';`,
  'export from': `export { getBooking } from '../bookings/service.ts';`,
  'dynamic import': `export const later = () => import('../bookings/service.ts');`,
};
const formFile = (form: string) => `src/${form.replaceAll(' ', '-')}/rest.ts`;

let tree = '';
const caught = new Set<string>();

function write(file: string, text: string): void {
  fs.mkdirSync(path.dirname(path.join(tree, file)), { recursive: true });
  fs.appendFileSync(path.join(tree, file), text);
}

beforeAll(() => {
  tree = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-arrows-'));
  const packages = new Set<string>();
  for (const [importer, imported] of Object.values(planted).flat())
    if (/^(src|test|bench)\//.test(imported)) {
      const relative = path.posix.relative(path.dirname(importer), imported);
      write(imported, 'export {};\n');
      write(importer, `import '${relative.startsWith('.') ? relative : `./${relative}`}';\n`);
    } else {
      packages.add(imported);
      write(importer, `import type {} from '${imported}';\n`);
    }
  // What the planted imports need around them: the way back of the cycle, and a package that is needed at run time.
  write('src/bookings/service.ts', `import './recurrence.ts';\n`);
  write('src/lessons/service.ts', `import 'jest';\n`);
  for (const [form, text] of Object.entries(forms)) write(formFile(form), `${text}\n`);
  for (const name of packages) write(`node_modules/${name}/index.js`, '');
  const versions = (names: string[]) => Object.fromEntries(names.map((name) => [name, '1.0.0']));
  write(
    'package.json',
    JSON.stringify({
      dependencies: versions([...packages].filter((name) => name !== 'jest')),
      devDependencies: versions(['jest']),
    }),
  );
  const run = spawnSync(
    process.execPath,
    [
      path.join(project, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs'),
      ...['--config', rulesFile, '--output-type', 'json', 'src'],
    ],
    { cwd: tree, encoding: 'utf8' },
  );
  const { summary } = JSON.parse(run.stdout) as {
    summary: { violations: { rule: { name: string }; from: string; to: string }[] };
  };
  for (const { rule, from, to } of summary.violations)
    caught.add(`${rule.name}: ${from} -> ${to.replace(/^node_modules\/(.+)\/index\.js$/, '$1')}`);
});

afterAll(() => fs.rmSync(tree, { recursive: true, force: true }));

test('each rule has a planted violation, and each planted violation a rule', () => {
  expect(Object.keys(planted).sort()).toEqual(forbidden.map(({ name }) => name).sort());
});

describe('each rule catches what is planted against it', () => {
  test.each(forbidden.map(({ name }) => name))('%s', (name) => {
    const expected = (planted[name] ?? []).map(([importer, imported]) => `${name}: ${importer} -> ${imported}`);
    expect([...caught]).toEqual(expect.arrayContaining(expected));
  });
});

test.each(Object.keys(forms))('%s counts as an import', (form) => {
  expect([...caught]).toContain(`face: ${formFile(form)} -> src/bookings/service.ts`);
});

const outside: [what: string, rule: string, files: Record<string, string>][] = [
  [
    'in a circle, types neither',
    'suspicious/noImportCycles',
    {
      'test/one.ts': "export type { B as A } from './two.ts';\n",
      'test/two.ts': "export type { A as B } from './one.ts';\n",
    },
  ],
  ['from a barrel', 'style/noRestrictedImports', { 'bench/one.ts': "import './_util/index.ts';\n" }],
];
test.each(outside)('tests, benches and examples import nothing %s', (_what, rule, files) => {
  const biome = path.join(project, 'node_modules/.bin/biome');
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-circles-'));
  fs.copyFileSync(path.join(project, 'biome.json'), path.join(folder, 'biome.json'));
  for (const [file, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    fs.writeFileSync(path.join(folder, file), text);
  }
  const { stdout, stderr } = spawnSync(biome, ['lint', '--vcs-enabled=false'], { cwd: folder, encoding: 'utf8' });
  for (const file of Object.keys(files)) expect(stdout + stderr).toMatch(new RegExp(`${file}:.* lint/${rule}`));
  fs.rmSync(folder, { recursive: true });
});

test('no type is imported inside an expression, where the checker does not see it', () => {
  const hidden = /\btypeof import\(|\bimport\([^)]*\)\s*\.\s*[A-Z]/;
  const sources = fs.globSync('src/**/*.ts', { cwd: project });
  expect(sources.length).toBeGreaterThan(10);
  expect(sources.filter((file) => hidden.test(fs.readFileSync(path.join(project, file), 'utf8')))).toEqual([]);
});

/** Where something is decided, by what would decide it elsewhere. Pages run in browsers. */
const oneHome: [subject: string, home: string, elsewhere: RegExp][] = [
  ['what a role may do', 'src/access.ts', /\bviewer\.role [!=]==|\{[^{}]*\brole\b[^{}]*\}: Viewer\b/],
  ['what clocks show', 'src/time/zones.ts', /\bIntl\.DateTimeFormat\b|\bTemporal\.|\.getTimezoneOffset\(|\.getHours\(/],
  ['how long a day is', 'src/time/days.ts', /\b86_?400_?000\b/],
];
test.each(oneHome)('%s is told by %s alone', (_subject, home, elsewhere) => {
  const sources = fs.globSync('src/**/*.ts', { cwd: project, exclude: ['src/web/**'] });
  const telling = sources.filter((file) => elsewhere.test(fs.readFileSync(path.join(project, file), 'utf8')));
  expect(telling).toEqual([home]);
});
