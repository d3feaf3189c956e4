/**
 * `npm run bench -- --all`: runs every bench except the soak in turn, and ends with one table of all comparisons: each side with its CPU
 * and its ratio to the yardstick of the same run. The other measurements of each bench are printed above. With `--before=<folder>`
 * each bench runs in that checkout, too, first or second by turns, and the table has the figures of both.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { print, say, type Table } from './_util/figures.ts';

const known = Object.keys(packageJson.scripts).flatMap((name) => /^bench:(.*)/.exec(name)?.[1] ?? []);

const command = new Command('npm run bench --')
  .argument('[names...]', `which ones: ${known.join(', ')}`)
  .option('--all', 'all of them but soak, which lasts an hour')
  .option('--before <folder>', 'another checkout, after npm ci, whose benches run beside these, once each')
  .option('--smoke', 'all steps, with next to nothing to do: shows that they run', false)
  .showHelpAfterError()
  .parse();
const { all, before, smoke } = command.opts<{ all?: true; before?: string; smoke: boolean }>();
const names = all ? known.filter((name) => name !== 'soak') : command.args;
const unknown = names.find((name) => !known.includes(name));
if (unknown !== undefined) command.error(`error: there is no bench ${unknown}`);
if (names.length === 0) command.error('error: name the benches, or --all');

const here = path.join(import.meta.dirname, '..');
// npm changes the folder.
const from = process.env['INIT_CWD'] ?? '.';
const checkouts = before === undefined ? [here] : [path.resolve(from, before), here];
const fileOf = (checkout: string, name: string) => path.join(checkout, 'bench', `${name}.ts`);
for (const checkout of checkouts)
  for (const needed of [fileOf(checkout, 'all'), path.join(checkout, 'node_modules')])
    if (!fs.existsSync(needed)) command.error(`error: ${needed} is not there; name a checkout after npm ci`);

type Figures = { cpu: string; ratio: string };

/**
 * The sides of a table, with the CPU and the ratio of each, which benches print under headings with these words; all figures of a
 * table without a ratio.
 */
function sidesOf(bench: string, { what, headings, rows }: Table): [side: string, figures: Figures][] {
  return rows.map(([side, ...figures]) => {
    const told = headings.map((heading, at) => ({ heading, text: `${figures[at]} ${heading}` }));
    const find = (words: RegExp) => told.find(({ heading }) => words.test(heading))?.text;
    const all = told.map(({ text }) => text).join(', ');
    return [`${bench}: ${what}, ${side}`, { cpu: find(/^us CPU/) ?? '', ratio: find(/ratio to/) ?? all }];
  });
}

/** The figures of each side by checkout. */
const sides = new Map<string, Map<number, Figures>>();
const failed: string[] = [];

async function run(name: string, at: number, checkout: string): Promise<void> {
  const file = fileOf(checkout, name);
  // A bench may be newer than the other checkout.
  if (!fs.existsSync(file)) return;
  say(`\n== ${name}${checkouts.length > 1 ? `, in ${checkout}` : ''}`);
  const bench = fork(file, smoke ? ['--smoke'] : [], { cwd: checkout });
  const end = () => bench.kill();
  process.once('exit', end);
  bench.on('message', (table: Table) => {
    for (const [side, figures] of sidesOf(name, table))
      sides.set(side, (sides.get(side) ?? new Map<number, Figures>()).set(at, figures));
  });
  const [code] = await once(bench, 'exit');
  process.off('exit', end);
  if (code !== 0) failed.push(file);
}

for (const [turn, name] of names.entries()) {
  const order = [...checkouts.entries()];
  for (const [at, checkout] of turn % 2 === 0 ? order : order.reverse()) await run(name, at, checkout);
}
say('');
const columns = (named: string) => (checkouts.length > 1 ? [`${named} before`, named] : [named]);
print([
  ['bench', ...columns('CPU'), ...columns('compared')],
  ...[...sides].map(([side, figures]) => {
    const cells = (one: keyof Figures) => checkouts.map((_, at) => figures.get(at)?.[one] ?? '');
    return [side, ...cells('cpu'), ...cells('ratio')];
  }),
]);
if (failed.length > 0) throw new Error(`These benches have failed: ${failed.join(', ')}`);
