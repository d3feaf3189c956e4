/** Sends requests of all kinds at once, and counts what comes of them. */
import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { openDice } from '../_util/dice.ts';
import { fields, makeGraphqlRequest } from './graphql.ts';
import { makeRestRequest, routes, type Sent } from './rest.ts';
import { sendHttp, sendOverSocket, type Verdict } from './wire.ts';
import type { World } from './world.ts';

export type Finding = { place: string; caller: string; fault: string; request: string };

export type Outcome = {
  /** By route or field. */
  sent: Map<string, number>;
  byStatus: Map<string, number>;
  /** Routes and fields that have done at least once what they are for. */
  succeeded: Set<string>;
  findings: Finding[];
  slowest: { place: string; ms: number }[];
  /** The p99 of the event loop's delay in the server, one a window, in milliseconds. */
  delays: number[];
  /** The same of a thread beside it that has nothing to do. */
  idleDelays: number[];
};

const placeOf = (next: (typeof everything)[number]) =>
  'field' in next ? `${next.operation} ${next.field.name}` : `${next.method} ${next.template}`;
/** What is asked in turn. */
const everything = [...routes, ...fields];

const lanes = 8;
/** After so many milliseconds the callers get back what was taken from them; the loop's delay is that of more of them. */
const turnMs = 250;
const turnsPerWindow = 8;
const mostSlow = 10;

/** Whose credential it was, its caller says. */
function shown({ method, path, headers, body }: Sent): string {
  const { Authorization: _, ...others } = headers;
  return JSON.stringify({ method, path, headers: others, body: body?.toString('latin1').slice(0, 4_000) });
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** The event loop's p99 since it was last asked, as the server itself measures it. */
async function readDelay(url: string): Promise<number | undefined> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const [, seconds] = /^nodejs_eventloop_lag_p99_seconds (\S+)/m.exec(text) ?? [];
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}

/** @param isOver asked before each request, with how many were sent */
export async function fuzz(world: World, seed: number, isOver: (sent: number) => boolean): Promise<Outcome> {
  const outcome: Outcome = {
    ...{ sent: new Map(everything.map((next) => [placeOf(next), 0])), byStatus: new Map() },
    ...{ succeeded: new Set(), findings: [], slowest: [], delays: [], idleDelays: [] },
  };
  const agent = new http.Agent({ keepAlive: true, maxSockets: lanes });
  let total = 0;

  function tell(
    place: string,
    caller: string,
    { status, isSuccess, fault, ms }: Verdict,
    request: () => string,
  ): void {
    count(outcome.sent, place);
    count(outcome.byStatus, status);
    if (isSuccess) outcome.succeeded.add(place);
    outcome.slowest = [...outcome.slowest, { place, ms }]
      .sort((one, other) => other.ms - one.ms)
      .slice(0, mostSlow);
    if (fault !== undefined) outcome.findings.push({ place, caller, fault, request: request() });
  }

  async function lane(number: number): Promise<void> {
    const dice = openDice(seed * 1_000 + number);
    while (!isOver(total)) {
      const next = everything[total++ % everything.length] as (typeof everything)[number];
      if ('field' in next && dice.roll() < 0.1) {
        const told = await sendOverSocket(dice, world, next);
        tell(placeOf(next), told.caller, told, () => told.message);
      } else {
        const sent =
          'field' in next ? makeGraphqlRequest(dice, world, next) : makeRestRequest(dice, world, next);
        tell(placeOf(next), sent.caller, await sendHttp(sent, world, agent), () => shown(sent));
      }
    }
  }

  const idle = new Worker(new URL('./idle.ts', import.meta.url));
  let isDone = false;
  async function watch(): Promise<void> {
    await readDelay(world.url);
    for (let turn = 1; !isDone; turn++) {
      await sleep(turnMs);
      await world.restore();
      const delay =
        turn % turnsPerWindow === 0 ? await readDelay(world.url).catch(() => undefined) : undefined;
      if (delay === undefined) continue;
      idle.postMessage('tell');
      const [late] = await once(idle, 'message');
      outcome.delays.push(delay);
      outcome.idleDelays.push(late as number);
    }
  }
  const watching = watch();
  await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)));
  isDone = true;
  await watching;
  agent.destroy();
  await idle.terminate();
  return outcome;
}
