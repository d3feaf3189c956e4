/** Random events in the calendars of a mail server, and faults of it; the same seed gives the same ones. */
import type { Dice } from '../../_util/dice.ts';
import type { Truth } from '../simulator/ledger.ts';
import type { DayName } from '../simulator/series.ts';
import type { MailServer } from './mail-server.ts';

const day = 24 * 3_600_000;
const zones = ['Europe/Berlin', 'Europe/Berlin', 'Europe/London', 'America/New_York', 'UTC'];
const subjects = ['Lecture', 'Prüfung <1> & "2"', 'Sitzung 🙂', '', 'x'.repeat(255), "Canceled: isn't it"];
const people = [
  { name: 'Erika Mustermann', email: 'erika@contoso.test' },
  { name: 'User', email: 'user@exchange.example' },
  { name: 'O’Hara & Söhne', email: 'ohara@contoso.test' },
];
const dayNames: DayName[] = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday'];

export type Acts = { server: MailServer; rooms: readonly string[]; dice: Dice };

/** By the clock of a zone, from the day after tomorrow on: nothing begins while the test runs. */
function slotOf({ below }: Dice) {
  const start = Math.ceil(Date.now() / day) * day + (1 + below(40)) * day + (28 + below(48)) * 900_000;
  const end = start + (1 + below(12)) * 900_000;
  const local = (instant: number) => new Date(instant).toISOString().slice(0, 19);
  return { start: local(start), end: local(end) };
}

function daysOf(dice: Dice) {
  const start = slotOf(dice).start.slice(0, 10);
  const end = new Date(Date.parse(start) + (1 + dice.below(3)) * day).toISOString().slice(0, 10);
  return { start, end, isWholeDay: true };
}

function repeatOf({ below, oneOf, roll }: Dice) {
  const every = oneOf(['day', 'week', 'week', 'month'] as const);
  const until = new Date(Date.now() + (5 + below(60)) * day).toISOString().slice(0, 10);
  return {
    every,
    interval: 1 + below(3),
    ...(every === 'week' && roll() < 0.5 && { days: [oneOf(dayNames), oneOf(dayNames)] }),
    ...(roll() < 0.7 ? { count: 2 + below(8) } : roll() < 0.7 ? { until } : {}),
  };
}

function factsOf({ oneOf, roll }: Dice) {
  return {
    subject: oneOf(subjects),
    ...(roll() < 0.2 && { sensitivity: oneOf(['private', 'confidential', 'personal'] as const) }),
    ...(roll() < 0.3 && { shownAs: oneOf(['free', 'tentative', 'oof', 'elsewhere'] as const) }),
    ...(roll() < 0.2 && { answer: oneOf(['none', 'tentative', 'declined', 'accepted'] as const) }),
  };
}

async function invite({ server, rooms, dice }: Acts): Promise<void> {
  const when = dice.roll() < 0.15 ? daysOf(dice) : slotOf(dice);
  await server.appoint(dice.oneOf(rooms), {
    ...when,
    ...factsOf(dice),
    zone: dice.oneOf(zones),
    organizer: dice.roll() < 0.15 ? null : dice.oneOf(people),
    ...(dice.roll() < 0.3 && { repeat: repeatOf(dice) }),
  });
}

/** One that is there, and of a series whether it alone is meant. */
async function pick({ server, rooms, dice }: Acts) {
  const truth = (await server.truth(dice.oneOf(rooms))).filter(({ start }) => Date.parse(start) > Date.now());
  if (truth.length === 0) return undefined;
  const one: Truth = dice.oneOf(truth);
  const originalStart = one.originalStart !== null && dice.roll() < 0.7 ? one.originalStart : undefined;
  return { one, originalStart };
}

/** The same on another day or at another hour; a series keeps its day. */
function moved({ one, originalStart }: NonNullable<Awaited<ReturnType<typeof pick>>>, { below, roll }: Dice) {
  const isSeries = one.originalStart !== null && originalStart === undefined;
  const by = one.days ? (1 + below(3)) * day : roll() < 0.5 && !isSeries ? day : (below(9) - 4) * 1_800_000;
  const [start, end] = [Date.parse(one.start) + by, Date.parse(one.end) + by];
  return { start: new Date(start).toISOString(), end: new Date(end).toISOString() };
}

/** One edit of one calendar. */
export async function editSomething(acts: Acts): Promise<void> {
  const { server, rooms, dice } = acts;
  const chance = dice.roll();
  if (chance < 0.35) return await invite(acts);
  const picked = await pick(acts);
  if (!picked) return await invite(acts);
  const { one, originalStart } = picked;
  const of = { ...(originalStart !== undefined && { originalStart }) };
  if (chance < 0.5) {
    // Only what is one has its own time here: of a series that of an occurrence would be taken for the first.
    if (one.originalStart === null || originalStart !== undefined)
      await server.change(one.itemId, { ...moved(picked, dice), ...of });
    else await server.change(one.itemId, factsOf(dice));
  } else if (chance < 0.65) await server.change(one.itemId, { ...factsOf(dice), ...of });
  else if (chance < 0.75) await server.cancel(one.itemId, originalStart);
  else if (chance < 0.9) await server.remove(one.itemId, originalStart, dice.roll() < 0.5);
  else await server.move(one.itemId, dice.oneOf(rooms));
}

const noFaults = {
  busy: 0,
  unavailable: 0,
  reset: 0,
  drop: 0,
  duplicate: 0,
  delay: 0,
  reorder: 0,
  lostAnswer: 0,
};

/** Something that goes wrong on the mail server's side, or ends. */
export async function disturbServer({ server, dice }: Acts): Promise<void> {
  const { oneOf, roll, below } = dice;
  const acts: (() => Promise<unknown>)[] = [
    () => server.chances({ ...noFaults, seed: below(1_000_000), drop: roll() * 0.5, duplicate: roll() * 0.3 }),
    () => server.chances({ ...noFaults, reorder: 0.5, delay: 0.3, delayMs: 300, lostAnswer: roll() * 0.3 }),
    () => server.chances({ ...noFaults, busy: 0.3, unavailable: 0.2, reset: 0.2, retryAfterSeconds: 1 }),
    () => server.chances(noFaults),
    () => server.restart(),
    () => server.goDown(),
    () => server.comeBack(),
    () => server.loseState(),
    () => server.removeSubscription(),
    () => server.lifecycle(oneOf(['missed', 'reauthorizationRequired', 'subscriptionRemoved'] as const)),
    async () => {
      const [one] = (await server.subscriptions()).filter(({ face }) => face === 'Ews');
      if (one) await server.failSubscription(one.id);
    },
    () => server.advance({ minutes: 1 + below(15) }),
    () => server.options({ statusBeforeAnswer: roll() < 0.5, soapPrefix: oneOf(['s', 'soap', 'soap11']) }),
    () => server.options({ deltaMasters: roll() < 0.5, mixBatches: roll() < 0.5, echoes: 1 + below(3) }),
  ];
  await oneOf(acts)();
}
