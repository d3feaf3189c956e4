/** The table of docs/reliability.md, out of a run. */
import os from 'node:os';
import { upperFirst } from '../../src/fields.ts';
import { faults } from './faults.ts';
import { harms, type Ledger } from './ledger.ts';
import type { Site } from './site.ts';

type Run = { ledger: Ledger; site: Site; seed: number; mostSilenceMs: number; ms: number; figures: string };

const headings = ['Fault', 'Times', 'Batches in flight', 'Bookings in flight', ...harms, 'Worst takeover (s)'];

const lineOf = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;

export function reportOf({ ledger, site, seed, mostSilenceMs, ms, figures }: Run): {
  text: string;
  isGood: boolean;
} {
  const { rounds, findings } = ledger;
  const countOf = (fault: string) =>
    harms.map((harm) => findings.filter((one) => one.fault === fault && one.harm === harm).length);
  const rows = faults.map(({ title, missing }) => {
    const own = rounds.filter(({ fault }) => fault === title);
    const why = missing?.(site);
    if (own.length === 0)
      return [title, why ? `SKIPPED: ${why}` : 'not in this run', ...headings.slice(2).map(() => '')];
    const worst = Math.max(...own.map(({ silenceMs }) => silenceMs)) / 1_000;
    const times = own.reduce((sum, round) => sum + round.times, 0);
    return [
      title,
      times,
      ledger.inFlight(title, 'batch'),
      ledger.inFlight(title, 'booking'),
      ...countOf(title),
      worst.toFixed(1),
    ];
  });
  const between = countOf('none');
  if (between.some(Boolean)) rows.push(['none', '', '', '', ...between, '']);
  const isGood = findings.length === 0 && rounds.every(({ silenceMs }) => silenceMs <= mostSilenceMs);
  const text = [
    lineOf(headings.map(upperFirst)),
    lineOf(headings.map((_, at) => (at === 0 ? '---' : '---:'))),
    ...rows.map(lineOf),
    '',
    `${rounds.length} rounds in ${Math.round(ms / 60_000)} minutes, seed ${seed}: ${figures}. Node.js ${process.versions.node}, ${os.availableParallelism()} cores.`,
  ].join('\n');
  return { text, isGood };
}
