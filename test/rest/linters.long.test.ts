/** Linters of the OpenAPI document. */
import { type ExecException, exec } from 'node:child_process';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import { project } from '../_util/generate.ts';

type Finish = (error: ExecException | null, out: string, err: string) => void;

const options = {
  cwd: project,
  env: {
    PATH: `${path.join(project, 'node_modules/.bin')}:${process.env['PATH']}`,
    NO_COLOR: '1',
    REDOCLY_TELEMETRY: 'off',
    REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
  },
};

// Each command stands in a call of exec: there knip reads which packages the project uses as tools.
const linters: [name: string, lint: (finish: Finish) => void][] = [
  [
    'Spectral with the OWASP rules',
    (finish) =>
      exec(
        'spectral lint --fail-severity hint --ruleset test/_util/spectral.yaml src/rest/openapi.json',
        options,
        finish,
      ),
  ],
  [
    'Redocly',
    (finish) =>
      exec(
        'redocly lint --max-problems 20 --config test/_util/redocly.yaml src/rest/openapi.json',
        options,
        (error, out, err) =>
          finish(error ?? (/You have \d+ warning/.test(out + err) ? new Error(out) : null), out, err),
      ),
  ],
];

test.each(linters)('%s finds no fault', async (_name, lint) => {
  expect(await new Promise((resolve) => lint((error, out, err) => resolve(error ? out + err : '')))).toBe('');
});
