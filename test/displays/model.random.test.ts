/**
 * Signs and boards under random changes, outages and reconnects: soon after the last of these each shows the stored state, and
 * none ever shows again what it has shown to be over.
 */
import http from 'node:http';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import type { DisplayGrant } from '../../src/context.ts';
import type { Privacy } from '../../src/displays/display.ts';
import { keepLocalDays } from '../../src/displays/local-days.ts';
import { readPlans } from '../../src/displays/plan.ts';
import { toContent } from '../../src/displays/snapshot.ts';
import { type Dice, openDice } from '../_util/dice.ts';
import { type GraphqlService, startGraphql } from '../_util/graphql.ts';
import { seed, times } from '../_util/long.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { doSomething, makeWorld, type World } from './_util/acts.ts';

const runs = times(2, 300);
const actsOfRound = 60;
const readersOfRound = 12;

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let service: GraphqlService;
let writer: pg.Client;
beforeAll(async () => {
  database = await cloneDatabase();
  service = await startGraphql(database.url);
  writer = new pg.Client({ connectionString: database.url, application_name: 'writer' });
  await writer.connect();
});
const leaving: (() => void)[] = [];
afterEach(() => {
  for (const leave of leaving.splice(0)) leave();
});
afterAll(async () => {
  await writer.end();
  await service.stop();
  await database.drop();
});

const frame = `__typename
  ... on DisplaySnapshot { cursor asOf serverTime resource { restId name } schedule { bookingId version } }
  ... on DisplayHeartbeat { cursor asOf serverTime }
  ... on DisplayEnded { reason }`;
const documents = {
  display: `subscription ($id: ID!, $after: String) { frame: display(resourceId: $id, after: $after) { ${frame} } }`,
  board: `subscription ($id: ID!) { frame: board(locationId: $id) { ${frame} } }`,
};

type DisplayFrame = {
  __typename: 'DisplaySnapshot' | 'DisplayHeartbeat' | 'DisplayEnded';
  cursor: string;
  asOf: string;
  serverTime: string;
  resource: { restId: string; name: string };
  schedule: { bookingId: string; version: number }[];
};
type Connection = { pause(isPaused: boolean): void; leave(): void };
type Told = { frame(frame: DisplayFrame): void; fail(code: unknown): void; end(): void };
type Result = {
  data?: { frame: DisplayFrame } | null | undefined;
  errors?: readonly { extensions?: Record<string, unknown> }[] | undefined;
};

function take({ data, errors = [] }: Result, told: Told): void {
  if (data) told.frame(data.frame);
  for (const { extensions } of errors) told.fail(extensions?.['code']);
}

function overSse(token: string, query: string, variables: object, told: Told): Connection {
  let text = '';
  const request = http.request(service.url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'text/event-stream',
    },
  });
  let response: http.IncomingMessage | undefined;
  request.on('error', told.end).on('response', (answer) => {
    response = answer.setEncoding('utf8').on('close', told.end).on('error', told.end);
    answer.on('data', (chunk: string) => {
      const events = `${text}${chunk}`.split('\n\n');
      text = events.pop() as string;
      for (const event of events) {
        const data = /^event: next\ndata: (.*)$/s.exec(event)?.[1];
        if (data) take(JSON.parse(data), told);
      }
    });
  });
  request.end(JSON.stringify({ query, variables }));
  return {
    pause: (isPaused) => void (isPaused ? response?.pause() : response?.resume()),
    leave: () => void request.destroy(),
  };
}

function overWs(token: string, query: string, variables: object, told: Told): Connection {
  const client = service.ws(token);
  let isConnected = false;
  client.on('connected', () => {
    isConnected = true;
  });
  client.subscribe<{ frame: DisplayFrame }>(
    { query, variables: variables as Record<string, unknown> },
    {
      next: (result) => take(result, told),
      error(reason) {
        if (Array.isArray(reason)) take({ errors: reason }, told);
        told.end();
      },
      complete: told.end,
    },
  );
  // A socket that is not open yet would fail aloud.
  return { pause() {}, leave: () => void (isConnected ? client.terminate() : client.dispose()) };
}

type RoomReader = {
  token: string;
  privacy: Privacy;
  /** The index of a room, or of a location. */
  field: 'display' | 'board';
  place: number;
  connection: Connection | undefined;
  isOpen: boolean;
  /** Cursors by the ids of rooms. */
  shown: Map<number, string>;
  complaints: string[];
};

/** What of a room must never go back: the highest version of each booking, and the number in its name. */
function checkOrder(seen: Map<string, number>, shown: DisplayFrame): string[] {
  const { restId: id, name } = shown.resource;
  // A lesson that has moved is shown by two rooms, each of which is read for itself.
  const facts = shown.schedule.map(
    ({ bookingId, version }) => [`booking ${bookingId} of room ${id}`, version] as const,
  );
  return [...facts, [`name of room ${id}`, Number(name.split(' ')[1])] as const].flatMap(([what, now]) => {
    const before = seen.get(what) ?? 0;
    seen.set(what, Math.max(before, now));
    return now < before ? [`${what} was ${before} and is ${now}`] : [];
  });
}

function makeReader(world: World, dice: Dice, number: number): RoomReader {
  const field = dice.oneOf(['display', 'display', 'board'] as const);
  // A display has no board of a location that has no room.
  const privacy = field === 'board' ? 'Title' : dice.oneOf(['Title', 'Organizer', 'BusyOnly'] as const);
  const token = `reader ${world.mandatorId} ${number}`;
  const display: DisplayGrant = { displayId: number + 1, mayBook: false, privacy, resourceIds: world.rooms };
  service.admit(token, world.tenant, field === 'board' ? {} : { role: 'Display', display });
  const place = dice.oneOf(field === 'display' ? world.rooms : world.locations);
  return {
    token,
    privacy,
    field,
    place,
    connection: undefined,
    isOpen: false,
    shown: new Map(),
    complaints: [],
  };
}

function connect(reader: RoomReader, dice: Dice, seen: Map<string, number>): void {
  const after = reader.field === 'display' && dice.roll() < 0.7 ? reader.shown.get(reader.place) : undefined;
  if (reader.field === 'board') reader.shown.clear();
  reader.isOpen = true;
  let [lastAsOf, isHere] = [0, true];
  const told: Told = {
    frame(frame) {
      if (!isHere || frame.__typename === 'DisplayEnded') return;
      const asOf = Date.parse(frame.asOf);
      // A frame that is shared may be a moment old.
      if (asOf < lastAsOf - 500) reader.complaints.push(`asOf went back by ${lastAsOf - asOf} ms`);
      if (reader.field === 'display') lastAsOf = asOf;
      if (asOf > Date.parse(frame.serverTime)) reader.complaints.push('asOf is after serverTime');
      if (frame.__typename === 'DisplaySnapshot') {
        reader.shown.set(Number(frame.resource.restId), frame.cursor);
        reader.complaints.push(...checkOrder(seen, frame));
      } else if (reader.field === 'display' && frame.cursor !== reader.shown.get(reader.place))
        reader.complaints.push('a heartbeat of what was never shown');
    },
    fail(code) {
      if (code !== 'UNAVAILABLE' && code !== 'INTERNAL_ERROR') reader.complaints.push(`refused: ${code}`);
    },
    end() {
      if (isHere) reader.isOpen = false;
    },
  };
  const open = dice.roll() < 0.7 ? overSse : overWs;
  const connection = open(reader.token, documents[reader.field], { id: reader.place, after }, told);
  reader.connection = {
    ...connection,
    leave() {
      isHere = false;
      reader.isOpen = false;
      connection.leave();
    },
  };
}

/** What each room is to show at a level, by nothing but the database; of a board those that are in use there. */
async function readTruth({ mandatorId, rooms }: World) {
  const { db } = service.context;
  const stored = await readPlans(db, mandatorId, rooms, new Date());
  const plans = await keepLocalDays(db).complete(mandatorId, stored);
  return ({ field, place, privacy }: RoomReader) =>
    plans
      .filter(({ stored: { resourceId, locationId, isActive } }) =>
        field === 'display' ? resourceId === place : isActive && locationId === place,
      )
      .map((plan) => [plan.stored.resourceId, toContent(plan, privacy, Date.now()).cursor] as const);
}

/** What is not shown as it is, ten seconds after all is quiet: who loses LISTEN again and again waits for it a while. */
async function findDifferences(world: World, readers: readonly RoomReader[]): Promise<string[]> {
  const end = performance.now() + 60_000;
  for (;;) {
    const truthOf = await readTruth(world).catch(() => undefined);
    const faults = readers.flatMap((reader, index) =>
      (truthOf?.(reader) ?? [[0, 'unread'] as const])
        .filter(([id, cursor]) => reader.shown.get(id) !== cursor)
        .map(([id]) => `reader ${index} (${reader.field}, open: ${reader.isOpen}) does not show room ${id} as it is`),
    );
    if (faults.length === 0 || performance.now() > end) return faults;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function playRound(round: number): Promise<string[]> {
  const dice = openDice(round);
  const world = await makeWorld(service.context.db, writer, round);
  const readers = Array.from({ length: readersOfRound }, (_, number) => makeReader(world, dice, number));
  const seen = new Map(readers.map((reader) => [reader, new Map<string, number>()]));
  const come = (reader: RoomReader) => connect(reader, dice, seen.get(reader) as Map<string, number>);
  const go = (reader: RoomReader) => reader.connection?.leave();
  leaving.push(() => readers.forEach(go));
  for (const reader of readers) if (dice.roll() < 0.7) come(reader);
  for (let done = 0; done < actsOfRound; done++) {
    const isSlow = dice.roll() < 0.2;
    await doSomething(writer, world, dice);
    const reader = dice.oneOf(readers);
    const chance = dice.roll();
    if (chance < 0.15) go(reader);
    else if (chance < 0.45 && !reader.isOpen) come(reader);
    else if (chance < 0.6) reader.connection?.pause(dice.roll() < 0.5);
    if (isSlow) await new Promise((resolve) => setTimeout(resolve, dice.below(30)));
  }
  for (const reader of readers) reader.connection?.pause(false);
  const waits = performance.now() + 5_000;
  // Who has lost the service comes back, as signs do.
  while (performance.now() < waits && readers.some(({ isOpen }) => !isOpen)) {
    for (const reader of readers) if (!reader.isOpen) come(reader);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const faults = [...(await findDifferences(world, readers)), ...readers.flatMap(({ complaints }) => complaints)];
  readers.forEach(go);
  // To the tests an error of a socket is none: Node made it outside of their world.
  const isUnexpected = (line: string) => line.includes('"msg":"unexpected') && !/ECONNRESET|EPIPE/.test(line);
  faults.push(...service.lines.splice(0).filter(isUnexpected));
  return faults.map((fault) => `TEST_SEED=${round}: ${fault}`);
}

test(
  `signs follow random changes (TEST_SEED=${seed})`,
  async () => {
    for (let round = seed; round < seed + runs; round++) expect(await playRound(round)).toEqual([]);
    const end = performance.now() + 60_000;
    while (service.graphql.streamCount() > 0 && performance.now() < end)
      await new Promise((resolve) => setTimeout(resolve, 10));
    expect(service.graphql.streamCount()).toBe(0);
  },
  60_000 + runs * 60_000,
);
