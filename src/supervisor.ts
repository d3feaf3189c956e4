/**
 * The supervisor of several processes that share one port (setting `Processes`). It passes connections to them, and serves
 * nothing itself.
 */
import cluster, { type Worker } from 'node:cluster';
import { setMaxListeners } from 'node:events';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Config, ConfigError } from './config.ts';
import { keepDoing } from './flow/retry.ts';
import type { Log } from './log.ts';
import { answersWithinMs, type ProcessSays, placeVariable, type SupervisorSays } from './siblings.ts';

/**
 * How long after SIGTERM and `DrainSeconds` a process is killed. It ends by itself before that (host.ts), unless it is suspended.
 */
const stopTimeout = 9_800;
/** The exit code for unusable settings. */
const unusable = 78;

/** How many processes the settings ask for. */
const processesOf = ({ Processes }: Config): number => (Processes === 'auto' ? availableParallelism() : Processes);

/**
 * Closes a connection that was passed to a process which died before it accepted it: node:cluster would keep it open, and its
 * client would wait.
 */
function closeUntaken(child: Worker): void {
  type Handed = { act?: string; ack?: number; seq?: number };
  const handed = new Map<number, { close(): void }>();
  const { process } = child;
  const send = process.send.bind(process) as (message: Handed, handle?: { close(): void }) => boolean;
  process.send = ((message: Handed, handle?: { close(): void }) => {
    if (message.act === 'newconn' && message.seq !== undefined && handle) handed.set(message.seq, handle);
    return send(message, handle);
  }) as typeof process.send;
  process.on('internalMessage', ({ ack }: Handed) => ack !== undefined && handed.delete(ack));
  // Not at 'disconnect', which is not emitted while a connection is being passed.
  process.once('exit', () => {
    for (const handle of handed.values()) handle.close();
  });
}

/** Asks all processes on behalf of one. */
function openSwitchboard() {
  const open = new Map<number, { expects: Set<Worker>; answers: unknown[]; done: () => void }>();
  let asked = 0;
  const living = () => Object.values(cluster.workers ?? {}).filter((child) => child?.isConnected()) as Worker[];
  const send = (child: Worker, heard: SupervisorSays) => child.isConnected() && child.send(heard);

  async function ask(asker: Worker, askedAs: number, question: string): Promise<void> {
    const id = ++asked;
    const { promise, resolve: done } = Promise.withResolvers<void>();
    const round = { expects: new Set(living()), answers: [] as unknown[], done };
    open.set(id, round);
    for (const child of round.expects) send(child, { kind: 'asked', id, question });
    await Promise.race([promise, sleep(answersWithinMs, undefined, { ref: false })]);
    open.delete(id);
    send(asker, { kind: 'answered', id: askedAs, answers: round.answers });
  }
  /** The child has answered, or has ended. */
  function settle(child: Worker, id: number): void {
    const round = open.get(id);
    if (round?.expects.delete(child) && round.expects.size === 0) round.done();
  }
  return {
    ask,
    answer(child: Worker, id: number, answer: unknown) {
      open.get(id)?.answers.push(answer);
      settle(child, id);
    },
    leave(child: Worker) {
      for (const id of open.keys()) settle(child, id);
    },
  };
}

/**
 * Runs the processes until `stop`: first one alone until it is ready, so that only one migrates and a fault in the settings is
 * reported once; then the others. A process that ends is started again, after growing pauses, whatever its exit code: once one has
 * been ready, unusable settings do not end the others.
 * @param started gets the port, once
 * @throws ConfigError when none has been ready, because the settings cannot be used
 */
export async function supervise(
  config: Config,
  log: Log,
  stop: AbortSignal,
  started: (port: number) => void,
): Promise<void> {
  cluster.setupPrimary({ serialization: 'advanced' });
  const switchboard = openSwitchboard();
  const failing = new AbortController();
  const stopping = AbortSignal.any([stop, failing.signal]);
  setMaxListeners(0, stopping);
  const first = Promise.withResolvers<number>();
  let hasServed = false;
  stopping.addEventListener('abort', () => first.resolve(0));

  async function run(place: number): Promise<void> {
    if (place > 1) await first.promise;
    if (stopping.aborted) return;
    const child = cluster.fork({ [placeVariable]: String(place) });
    closeUntaken(child);
    const ended = Promise.withResolvers<string>();
    child.on('error', (error) => {
      // Either it could not be started, or it is about to end and a message could not be sent.
      if (child.process.pid === undefined) ended.resolve(error.message);
    });
    child.on('exit', (code, signal) => {
      if (code === unusable && !hasServed) failing.abort();
      switchboard.leave(child);
      ended.resolve(signal ?? `exit code ${code}`);
    });
    child.on('message', (told: ProcessSays) => {
      if (told.kind === 'ready' && place === 1) {
        hasServed = true;
        first.resolve(told.port);
      }
      if (told.kind === 'ask') void switchboard.ask(child, told.id, told.question);
      if (told.kind === 'answer') switchboard.answer(child, told.id, told.answer);
    });
    const end = () => {
      child.process.kill('SIGTERM');
      setTimeout(() => child.process.kill('SIGKILL'), config.DrainSeconds * 1_000 + stopTimeout).unref();
    };
    stopping.addEventListener('abort', end);
    const how = await ended.promise;
    stopping.removeEventListener('abort', end);
    if (!stopping.aborted) throw new Error(`process ${child.process.pid} has ended: ${how}`);
  }

  void first.promise.then((port) => stopping.aborted || started(port));
  const places = Array.from({ length: processesOf(config) }, (_, index) => index + 1);
  await Promise.all(
    places.map((place) =>
      keepDoing(stopping, () => run(place), {
        onError: (error) => log.warn({ place, err: error.message }, 'a process is restarted'),
        wellAfterMs: 60_000,
      }),
    ),
  );
  if (failing.signal.aborted)
    throw new ConfigError('Processes: none is running, because these settings cannot be used; the reason is above');
}
