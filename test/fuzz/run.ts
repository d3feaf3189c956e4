/** Sends requests of all kinds at once, and counts their results. */
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDice } from '../_util/dice.ts';
import { fields, makeGraphqlRequest } from './graphql.ts';
import { makeRestRequest, routes, type Sent } from './rest.ts';
import { prepare } from './right.ts';
import { type Fault, sendHttp, sendOverSocket, type Verdict } from './wire.ts';
import type { World } from './world.ts';

export type Finding = { place: string; caller: string; fault: Fault; request: string };

export type Outcome = {
  /** By route or field. */
  sent: Map<string, number>;
  byStatus: Map<string, number>;
  /** Routes and fields that have succeeded at least once. */
  succeeded: Set<string>;
  findings: Finding[];
  slowest: { place: string; ms: number }[];
};

/** Routes and fields that have never succeeded. */
export const unsuccessful = ({ sent, succeeded }: Outcome): string[] =>
  [...sent.keys()].filter((place) => !succeeded.has(place));

const placeOf = (next: (typeof everything)[number]) =>
  'field' in next ? `${next.operation} ${next.field.name}` : `${next.method} ${next.template}`;
/** What is asked in turn. */
const everything = [...routes, ...fields];

const lanes = 8;
/** After so many milliseconds the callers get their rights back. */
const turnMs = 250;
/** Of the requests for which something can be prepared; all until one has succeeded. */
const prepared = 0.3;
const mostSlow = 10;

/** Whose credential it was, its caller says. */
function shown({ method, path, headers, body }: Sent): string {
  const { Authorization: _, ...others } = headers;
  return JSON.stringify({ method, path, headers: others, body: body?.toString('latin1').slice(0, 4_000) });
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** @param isOver asked before each request, with how many were sent */
export async function fuzz(
  world: World,
  seed: number,
  isOver: (sent: number, outcome: Outcome) => boolean,
): Promise<Outcome> {
  const outcome: Outcome = {
    sent: new Map(everything.map((next) => [placeOf(next), 0])),
    byStatus: new Map(),
    succeeded: new Set(),
    findings: [],
    slowest: [],
  };
  const agent = new http.Agent({ keepAlive: true, maxSockets: lanes });
  let total = 0;

  function tell(place: string, caller: string, { status, isSuccess, fault, ms }: Verdict, request: () => string): void {
    count(outcome.sent, place);
    count(outcome.byStatus, status);
    if (isSuccess) outcome.succeeded.add(place);
    outcome.slowest = [...outcome.slowest, { place, ms }].sort((one, other) => other.ms - one.ms).slice(0, mostSlow);
    if (fault !== undefined) outcome.findings.push({ place, caller, fault, request: request() });
  }

  async function lane(number: number): Promise<void> {
    const dice = openDice(seed * 1_000 + number);
    while (!isOver(total, outcome)) {
      const lacking = everything.filter((one) => !outcome.succeeded.has(placeOf(one)));
      const turn = everything[total++ % everything.length] as (typeof everything)[number];
      const next = lacking.length > 0 && dice.roll() < 0.5 ? dice.oneOf(lacking) : turn;
      const place = placeOf(next);
      const known =
        dice.roll() < prepared || !outcome.succeeded.has(place) ? await prepare(place, world, dice) : undefined;
      if (!known && 'field' in next && dice.roll() < 0.1) {
        const told = await sendOverSocket(dice, world, next);
        tell(place, told.caller, told, () => told.message);
      } else {
        const sent =
          'field' in next ? makeGraphqlRequest(dice, world, next, known) : makeRestRequest(dice, world, next, known);
        tell(place, sent.caller, await sendHttp(sent, world, agent), () => shown(sent));
      }
    }
  }

  let isDone = false;
  async function watch(): Promise<void> {
    while (!isDone) {
      await sleep(turnMs);
      await world.restore();
    }
  }
  const watching = watch();
  await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)));
  isDone = true;
  await watching;
  agent.destroy();
  return outcome;
}
