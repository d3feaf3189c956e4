/** One run: faults, one after another, under a load that checks the promises of the contract. */
import type { Database } from '../../src/db/database.ts';
import { type Dice, openDice } from '../_util/dice.ts';
import { startMailServer } from '../mail/_util/mail-server.ts';
import { comesTrue } from './comes-true.ts';
import { type Fault, faults, type Scene } from './faults.ts';
import { type Finding, openLedger } from './ledger.ts';
import { type Load, mailTenant, startLoad } from './load.ts';
import { settingsFor } from './mail.ts';
import { openMonitor } from './monitor.ts';
import { openSite, type Site } from './site.ts';
import type { Station } from './station.ts';
import { reportOf } from './table.ts';

export type Options = {
  seed: number;
  /** For how long faults begin; each wanted one strikes at least once. */
  minutes: number;
  /** Names of faults; all when empty. */
  only: readonly string[];
  /** Processes of each role. */
  processes: number;
  withMail: boolean;
  /** A migrated database, where its server is not to be harmed. */
  databaseUrl?: string;
  /** Harms what is stored in the end, to see that it is found. */
  spoil?: (db: Database) => Promise<void>;
  say(line: string): void;
};

/** Seconds, to see that the harness itself runs. */
export const smoke = {
  minutes: 0,
  only: ['kill', 'cut-after-commit'],
  processes: 1,
  withMail: false,
} satisfies Partial<Options>;

/** What is promised (contract 4.3). */
const mostSilenceMs = 60_000;
/** For a process to be in the middle of an import. */
const mostPreparationMs = 40_000;
/** After it, hanging work is released, so that the run can continue. */
const patienceMs = 100_000;

/** The faults of a run: first each once, then at random, as often as their weights say. */
function* planOf(
  wanted: readonly Fault[],
  { below }: Dice,
  isOver: () => boolean,
): Generator<{ fault: Fault; isFirst: boolean }> {
  yield* wanted.map((fault) => ({ fault, isFirst: true }));
  while (!isOver()) {
    const deck = wanted.flatMap((fault) => Array<Fault>(fault.weight).fill(fault));
    while (deck.length > 0 && !isOver())
      yield { fault: deck.splice(below(deck.length), 1)[0] as Fault, isFirst: false };
  }
}

/** The process that is struck: of a fault's first round a worker. */
function draw({ workers, webs }: Site, fault: Fault, isFirst: boolean, { roll, oneOf }: Dice): Station {
  const isWorker = isFirst || fault.strikes === 'worker' || roll() < 0.6;
  return oneOf(isWorker ? workers : webs);
}

const isWell = async (one: Station, { isAnswering }: Load) =>
  (await one.isReady()) && (one.role === 'Worker' || (await isAnswering(one.url)));

/** Injects a fault into one process or the database, and follows the work that was under way. @returns the report of it */
async function watchRound(scene: Scene, load: Load, fault: Fault, station: Station): Promise<string> {
  const { site, monitor, ledger } = scene;
  const session = (await fault.prepare?.(scene, station)) ?? station.session;
  const isHit = await comesTrue(async () => {
    load.wantLarge();
    if (fault.strikes === 'database') return (await monitor.findOpen()).length > 0;
    return station.role === 'Web' || (await monitor.isImporting(session));
  }, mostPreparationMs);

  const round = ledger.begin(fault.title);
  const before = await monitor.findOpen();
  await fault.strike(scene, round, station);
  const healed = Date.now();
  const hits = [...before, ...(await monitor.findOpen())];
  const where = fault.strikes === 'database' ? 'PostgreSQL' : station.name;

  // A host that is lost does not come back.
  const living = site.stations.filter((one) => fault.strikes !== 'worker' || one !== station);
  await Promise.all(
    living.map(async (one) => {
      const left = Math.max(0, healed + mostSilenceMs - Date.now());
      if (!(await comesTrue(() => isWell(one, load), left)))
        ledger.blame('stuck', `${one.name} is not ready ${mostSilenceMs / 1_000} s after ${fault.title}`);
    }),
  );
  const readyMs = Date.now() - healed;
  const left = Math.max(0, round.begin + patienceMs - Date.now());
  const haveEnded = await comesTrue(async () => (await monitor.countOpen(hits)) === 0, left);
  round.silenceMs = await monitor.measureSilence(round, hits);
  if (!haveEnded) {
    const open = await monitor.countOpen(hits);
    if (round.silenceMs > mostSilenceMs)
      ledger.blame('stuck', `${open} batches have not ended ${patienceMs / 1_000} s after ${fault.title} of ${where}`);
    await site.ask(() => site.release());
  }
  round.over = Date.now();
  await monitor.check();
  return `${fault.title} of ${where}${isHit ? '' : ', idle'}: ${round.times} times, ${before.length} batches open, ready again after ${(readyMs / 1_000).toFixed(1)} s, longest pause of a tenant ${(round.silenceMs / 1_000).toFixed(1)} s`;
}

async function playRound(scene: Scene, load: Load, fault: Fault, isFirst: boolean): Promise<string> {
  const station = draw(scene.site, fault, isFirst, scene.dice);
  try {
    return await watchRound(scene, load, fault, station);
  } catch (error) {
    const text = `${fault.title} of ${station.name}: ${(error as Error).message}`;
    scene.ledger.blame('otherwise wrong', text);
    return text;
  } finally {
    await fault.clear?.(scene, station);
  }
}

/** @returns the report, what was found, and whether all is as promised */
export async function runFaults(
  options: Options,
): Promise<{ text: string; findings: readonly Finding[]; isGood: boolean }> {
  const { seed, minutes, only, processes, withMail, databaseUrl, spoil, say } = options;
  const started = Date.now();
  let drawn = 0;
  const nextDice = () => openDice(seed + 1_000_003 * drawn++);
  const ledger = openLedger(say);
  const mailServer = withMail ? await startMailServer() : undefined;
  const site = await openSite({
    processes,
    databaseUrl,
    onCrash: (text) => ledger.blame('otherwise wrong', text),
    settings: mailServer ? settingsFor(mailTenant, mailServer) : {},
  });
  const wanted = faults.filter(({ name }) => only.length === 0 || only.includes(name));
  const possible = wanted.filter(({ missing }) => missing?.(site) === undefined);
  try {
    const monitor = await openMonitor(site, ledger);
    const load = await startLoad({ site, ledger, nextDice, mailServer, say });
    const isReady = async () => (await Promise.all(site.stations.map((one) => one.isReady()))).every(Boolean);
    if (!(await comesTrue(isReady, 60_000))) throw new Error('the processes did not become ready');
    say(`ready ${Math.round((Date.now() - started) / 1_000)} s after the start`);
    const begin = Date.now();
    const isOver = () => Date.now() > begin + minutes * 60_000;
    for (const { fault, isFirst } of planOf(possible, nextDice(), isOver)) {
      const told = await playRound({ site, monitor, ledger, dice: nextDice() }, load, fault, isFirst);
      say(`${String(Math.round((Date.now() - begin) / 1_000)).padStart(5)} s  ${told}`);
    }
    await load.verify(patienceMs / 1_000, spoil);
    await monitor.check();
    say(`verified ${Math.round((Date.now() - started) / 1_000)} s after the start`);
    for (const text of site.stations.flatMap(({ errors }) => errors))
      say(`  logged as an error: ${text.slice(0, 400)}`);
    ledger.close();
    load.close();
    const { findings } = ledger;
    return {
      findings,
      ...reportOf({ ledger, site, seed, mostSilenceMs, ms: Date.now() - begin, figures: load.figures() }),
    };
  } finally {
    ledger.close();
    await site.close();
    await mailServer?.stop();
  }
}
