/** Every bench does all that it does, with next to nothing to do: `--smoke`. What it measures then says nothing. */
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
  const NODE_COMPILE_CACHE = path.join(project, 'node_modules', '.cache', 'roomgate-compiled');
  const env = { ...process.env, NODE_COMPILE_CACHE };
  return new Promise<{ code: number | string | null | undefined; stdout: string; stderr: string }>((resolve) => {
    const child = execFile(process.execPath, [...args, ...options], { cwd: project, env }, (error, stdout, stderr) => {
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

if (!fs.existsSync('/proc/self/stat'))
  test.skip('SKIPPED: the benches read the time of the processor in /proc, which is not there', () => {});
else {
  test.each(benches)('%s --smoke ends well and prints its figures', async (_name, script) => {
    const { code, stdout, stderr } = await run(script, '--smoke');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(table);
    for (const [line] of stdout.matchAll(/^.*SKIPPED.*$/gm)) process.stderr.write(`${line}\n`);
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
