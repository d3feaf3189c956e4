/**
 * What was done to the installation, what it was given to do, and what it did wrong. A harm belongs to the last fault
 * during which the work that it befell was under way.
 */
export const harms = ['lost', 'doubled', 'half-applied', 'stuck', 'otherwise wrong'] as const;
export type Harm = (typeof harms)[number];

/** One injection of a fault; times are milliseconds by the clock of this machine. */
export type Round = {
  fault: string;
  begin: number;
  /** When all was well again. */
  over: number;
  /** How often the fault struck. */
  times: number;
  /** The longest time for which a tenant whose batch was under way saw no progress of its batches. */
  silenceMs: number;
};

/** From when a client has wanted something until it was told of its end. */
export type Work = { kind: 'batch' | 'booking'; from: number; to: number };

export type Finding = { harm: Harm; fault: string; text: string };

export type Ledger = ReturnType<typeof openLedger>;

const meets = (round: Round, { from, to }: Pick<Work, 'from' | 'to'>) => from < round.over && to > round.begin;

export function openLedger(say: (line: string) => void) {
  const rounds: Round[] = [];
  const works: Work[] = [];
  const findings: Finding[] = [];
  const told = new Set<string>();
  let isClosed = false;

  return {
    rounds,
    findings,
    /** From now on, findings belong to the end of the run. */
    close() {
      isClosed = true;
    },
    begin(fault: string): Round {
      const round = {
        fault,
        begin: Date.now(),
        over: Number.POSITIVE_INFINITY,
        times: 0,
        silenceMs: 0,
      };
      rounds.push(round);
      return round;
    },
    open(kind: Work['kind']): Work {
      const work = { kind, from: Date.now(), to: Number.POSITIVE_INFINITY };
      works.push(work);
      return work;
    },
    /** Each text counts once. */
    blame(harm: Harm, text: string, at: Pick<Work, 'from' | 'to'> = { from: Date.now(), to: Date.now() }): void {
      if (isClosed || told.has(text)) return;
      told.add(text);
      const met = rounds.findLast((round) => meets(round, at)) ?? rounds.findLast(({ begin }) => begin < at.from);
      const fault = met?.fault ?? 'none';
      findings.push({ harm, fault, text });
      say(`  ${harm.toUpperCase()} (${fault}): ${text}`);
    },
    /** Work that was under way while a fault lasted, over all its rounds. */
    inFlight: (fault: string, kind: Work['kind']) =>
      rounds
        .filter((round) => round.fault === fault)
        .reduce((sum, round) => sum + works.filter((work) => work.kind === kind && meets(round, work)).length, 0),
    count: (kind: Work['kind']) => works.filter((work) => work.kind === kind).length,
  };
}
