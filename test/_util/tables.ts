import { spawnSync } from 'node:child_process';
import path from 'node:path';

const project = path.join(import.meta.dirname, '..', '..');

/** Writes the row types of the migrated database at `url` to src/db/tables.ts, or checks that they are up to date. */
export function generateTables(url: string, verify: boolean): { ok: boolean; output: string } {
  const run = spawnSync(
    process.execPath,
    [
      path.join(project, 'node_modules/kysely-codegen/dist/cli/bin.js'),
      ...['--dialect', 'postgres', '--url', url, '--out-file', 'src/db/tables.ts'],
      ...['--default-schema', 'public', '--include-pattern', 'public.*', '--exclude-pattern', 'kysely_*'],
      ...['--date-parser', 'string', '--type-mapping', '{"int8":"number"}'],
      ...(verify ? ['--verify'] : []),
    ],
    { cwd: project, encoding: 'utf8' },
  );
  return { ok: run.status === 0, output: run.stdout + run.stderr };
}
