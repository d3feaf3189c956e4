/** One process of the service: how it is started, whether it is up, and how it ends. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Exit, type Program, startProgram } from '../_util/process.ts';
import { openWire, type Wire } from '../_util/wire.ts';

type Options = {
  role: 'Web' | 'Worker';
  name: string;
  port: number;
  databaseUrl: string;
  settings: Record<string, string>;
  /** Called when the process ends unasked. */
  onCrash(text: string): void;
};

export type Station = Awaited<ReturnType<typeof openStation>>;

const supervisorPause = 1_000;

export async function openStation({ role, name, port, databaseUrl, settings, onCrash }: Options) {
  const wire: Wire = await openWire(databaseUrl);
  const url = `http://127.0.0.1:${port}`;
  let program: Program;
  /** One after another. */
  const programs: Program[] = [];
  /** The processes that are meant to end. */
  const ended = new WeakSet<Program>();

  /** Restarts a process that ends unasked, as a service manager does. */
  function start(further: Record<string, string> = {}): void {
    const begun = startProgram(wire.url, {
      ...settings,
      Role: role,
      Port: String(port),
      LogLevel: 'warn',
      ...further,
    });
    program = begun;
    programs.push(begun);
    void begun.exited.then(async ({ code, signal }) => {
      if (ended.has(begun)) return;
      const said = [...begun.lines.slice(-2).map(({ msg, err }) => `${msg} ${err ?? ''}`), ...begun.noise];
      onCrash(`${name} ended by itself (${signal ?? code}): ${said.slice(-3).join(' | ').slice(0, 600)}`);
      await sleep(supervisorPause);
      if (program === begun && !ended.has(begun)) start(further);
    });
  }

  async function end(signal: NodeJS.Signals): Promise<Exit> {
    ended.add(program);
    return await program.end(signal);
  }

  const errorsOf = ({ lines }: Program) =>
    lines.filter(({ level, queue }) => level === 'error' && !queue).map(({ msg, err }) => `${msg} ${err ?? ''}`);

  start();
  return {
    name,
    role,
    url,
    wire,
    /** What its connections are called in pg_stat_activity. */
    get session() {
      return program.name;
    },
    /** The errors in its log, except what the queue's library says of an outage. */
    get errors(): readonly string[] {
      return programs.flatMap(errorsOf);
    },
    start,
    end,
    signal: (signal: NodeJS.Signals) => program.signal(signal),
    async isReady(): Promise<boolean> {
      const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined);
      await answer?.body?.cancel();
      return answer?.status === 200;
    },
    async close(): Promise<void> {
      await end('SIGKILL');
      await wire.close();
    },
  };
}
