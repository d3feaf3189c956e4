/** Every bench runs all its steps with tiny data (`--smoke`); its figures then have no meaning. */
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from '@jest/globals';

const project = path.join(import.meta.dirname, '..', '..');
const { scripts } = JSON.parse(fs.readFileSync(path.join(project, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};
const benches = Object.entries(scripts).filter(([name]) => name.startsWith('bench:'));

/** Runs `node …` of package.json on the database server of this test run. */
function run(script: string, ...options: string[]) {
  const [, ...args] = script.split(' ');
  return new Promise<{ code: number | string | null | undefined; stdout: string; stderr: string }>((resolve) => {
    const child = execFile(process.execPath, [...args, ...options], { cwd: project }, (error, stdout, stderr) => {
      process.off('exit', end);
      resolve({ code: error ? error.code : 0, stdout, stderr });
    });
    // Jest may give this process up without running any hook.
    const end = () => child.kill();
    process.on('exit', end);
  });
}

/** A heading with the processor's time and a ratio, and below it a row whose last columns are figures. */
const table = /^.*us CPU.*ratio to .*\n.*? (?: +-?\d+(?:\.\d+)?){3,}$/m;

/** At the end the sides of a bench, each with its CPU and its ratio. */
const sides = /^bench +CPU +compared\n(?:.*\n)*.*: .*, .* [\d.]+ us CPU.* -?\d+\.\d+ .*ratio to .*\n/m;

if (!fs.existsSync('/proc/self/stat'))
  test.skip('SKIPPED: the benches read the time of the processor in /proc, which is not there', () => {});
else {
  test.each(benches)('%s --smoke ends well and prints its figures, and npm run bench its sides', async (name) => {
    const { code, stdout, stderr } = await run(scripts['bench']!, '--smoke', name.replace('bench:', ''));
    // On a busy machine the programs may say that the database keeps them waiting.
    const said = stderr.replace(/^\{"level":"warn".*\n/gm, '');
    expect({ code, said }).toEqual({ code: 0, said: '' });
    expect(stdout).toMatch(table);
    expect(stdout).toMatch(sides);
    for (const [line] of stdout.matchAll(/^.*SKIPPED.*$/gm)) process.stderr.write(`${line}\n`);
  });

  test('npm run bench has a column for each of two checkouts', async () => {
    const { code, stdout } = await run(scripts['bench']!, '--smoke', 'fairness', '--before=.');
    expect(code).toBe(0);
    expect(stdout.match(/^== fairness, in /gm)).toHaveLength(2);
    expect(stdout).toMatch(
      /^bench +CPU before +CPU +compared before +compared\n(?:.*\n)*fairness: .*(?: +[\d.]+ us CPU.*){2}(?: +[\d.]+ .*ratio to .*){2}\n/m,
    );
  });

  test('npm run bench refuses what there is not', async () => {
    const [none, unknown, elsewhere] = await Promise.all([
      run(scripts['bench']!),
      run(scripts['bench']!, 'reads'),
      run(scripts['bench']!, 'read', '--before=sql'),
    ]);
    expect(elsewhere).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: .*sql\/bench\/all.ts is not there; name a checkout after npm ci\n/),
    });
    expect(none).toMatchObject({ code: 1, stderr: expect.stringMatching(/^error: name the benches, or --all\n/) });
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringMatching(/^error: there is no bench reads\n/) });
  });

  test('an option that is not there, or has a wrong value, is refused with the options that there are', async () => {
    const [unknown, wrong] = await Promise.all([
      run(scripts['bench:import']!, '--smoke', '--unheard=1'),
      run(scripts['bench:import']!, '--smoke', '--rounds=many'),
    ]);
    expect(unknown).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^error: unknown option '--unheard=1'\n.*--smoke .*--sizes <value>/s),
    });
    expect(wrong).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/'--rounds <value>' argument 'many'.* It must be a whole number from 1 on\./),
    });
  });
}
