/**
 * Puts an installation to the test: `npm run test:faults -- --minutes=20`. Prints what it does and finds, then the table of
 * docs/reliability.md; exits with 1 when anything was lost, doubled, half-applied, stuck or otherwise wrong.
 */
import { parseArgs } from 'node:util';
import { faults } from './faults.ts';
import { type Options, runFaults, smoke } from './harness.ts';

const names = faults.map(({ name }) => name).join(', ');

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '20' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      only: { type: 'string', default: '' },
      smoke: { type: 'boolean', default: false },
    },
  });
  const only = values.only.split(',').filter(Boolean);
  const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
  const unknown = only.find((name) => !faults.some((fault) => fault.name === name));
  if (unknown) throw new Error(`--only=${unknown}: there are ${names}`);
  if (!(minutes >= 0)) throw new Error(`--minutes=${values.minutes}: must be a number`);
  if (!Number.isSafeInteger(seed)) throw new Error(`--seed=${values.seed}: must be a whole number`);
  const say = (line: string) => void process.stdout.write(`${line}\n`);
  if (values.smoke) return { ...smoke, seed, say };
  return { seed, minutes, only, processes: 2, withMail: true, say };
}

let options: Options;
try {
  options = readOptions();
} catch (error) {
  process.stderr.write(
    `${(error as Error).message}\nusage: npm run test:faults -- [--minutes=20] [--seed=…] [--only=${names}] [--smoke]\n`,
  );
  process.exit(2);
}
// What was started ends with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    options.say(`ended by ${signal}`);
    process.exit(130);
  });
options.say(`seed ${options.seed}`);
const { text, isGood } = await runFaults(options);
options.say(`\n${text}`);
process.exit(isGood ? 0 : 1);
