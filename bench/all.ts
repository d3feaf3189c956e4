/**
 * `npm run bench -- --all`: runs every bench except the soak in turn, and ends with one table of all comparisons: each side with its CPU
 * and its ratio to the yardstick of the same run. The other measurements of each bench are printed above.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { Command } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { print, say, type Table } from './_util/figures.ts';

const known = Object.keys(packageJson.scripts).flatMap((name) => /^bench:(.*)/.exec(name)?.[1] ?? []);

const command = new Command('npm run bench --')
  .argument('[names...]', `which ones: ${known.join(', ')}`)
  .option('--all', 'all of them but soak, which lasts an hour')
  .option('--smoke', 'all steps, with next to nothing to do: shows that they run', false)
  .showHelpAfterError()
  .parse();
const { all, smoke } = command.opts<{ all?: true; smoke: boolean }>();
const names = all ? known.filter((name) => name !== 'soak') : command.args;
const unknown = names.find((name) => !known.includes(name));
if (unknown !== undefined) command.error(`error: there is no bench ${unknown}`);
if (names.length === 0) command.error('error: name the benches, or --all');

type Row = [side: string, cpu: string, ratio: string];

/**
 * The sides of a table, with the CPU and the ratio of each, which benches print under headings with these words; all figures of a
 * table without a ratio.
 */
function sidesOf(bench: string, { what, headings, rows }: Table): Row[] {
  return rows.map(([side, ...figures]) => {
    const told = headings.map((heading, at) => ({ heading, text: `${figures[at]} ${heading}` }));
    const find = (words: RegExp) => told.find(({ heading }) => words.test(heading))?.text;
    const all = told.map(({ text }) => text).join(', ');
    return [`${bench}: ${what}, ${side}`, find(/^us CPU/) ?? '', find(/ratio to/) ?? all];
  });
}

const sides: Row[] = [];
const failed: string[] = [];
for (const name of names) {
  say(`\n== ${name}`);
  const bench = fork(path.join(import.meta.dirname, `${name}.ts`), smoke ? ['--smoke'] : []);
  const end = () => bench.kill();
  process.once('exit', end);
  bench.on('message', (table: Table) => sides.push(...sidesOf(name, table)));
  const [code] = await once(bench, 'exit');
  process.off('exit', end);
  if (code !== 0) failed.push(name);
}
say('');
print([['bench', 'CPU', 'compared'], ...sides]);
if (failed.length > 0) throw new Error(`These benches have failed: ${failed.join(', ')}`);
