/** The state of a room: examples, and many random plans compared with an oracle that goes minute by minute. */
import { describe, expect, test } from '@jest/globals';
import { type RoomStatus, type Schedule, stateAt, type TimedSlot } from '../../src/displays/state.ts';
import { openDice } from '../_util/dice.ts';

const minute = 60_000;
type DisplaySlot = TimedSlot & { name: string };

/** In minutes of the plan's day. */
function slot(from: number, to: number, more: Partial<DisplaySlot> & { waits?: [number, number] } = {}): DisplaySlot {
  const { waits, ...others } = more;
  return {
    name: `${from}-${to}`,
    occupies: true,
    isBlock: false,
    from: from * minute,
    to: to * minute,
    checkIn: waits ? { from: waits[0] * minute, until: waits[1] * minute, isDone: false } : null,
    ...others,
  };
}

const schedule = (slots: DisplaySlot[], more: Partial<Schedule<DisplaySlot>> = {}): Schedule<DisplaySlot> => ({
  isActive: true,
  slots,
  open: [{ start: 0, end: 4_320 * minute }],
  end: 4_320 * minute,
  ...more,
});
const hours = (...spans: [number, number][]) =>
  spans.map(([start, end]) => ({ start: start * minute, end: end * minute }));
const inMinutes = (instant: number | null) => instant && instant / minute;

describe('the state of a room', () => {
  const meeting = slot(600, 660);
  const checked = slot(600, 660, { waits: [590, 615] });
  const done = { ...checked, checkIn: { from: 590 * minute, until: 615 * minute, isDone: true } };
  const office = { open: hours([480, 1_080]) };
  test.each<[string, Schedule<DisplaySlot>, number, RoomStatus, number | null, number | null]>([
    ['is FREE as far as is known', schedule([]), 540, 'FREE', null, 4_320],
    ['is FREE until the next booking', schedule([meeting]), 540, 'FREE', 600, 585],
    ['is STARTING_SOON a quarter of an hour before', schedule([meeting]), 585, 'STARTING_SOON', 600, 600],
    ['heeds no gone lesson that would begin', schedule([slot(600, 660, { occupies: false })]), 590, 'FREE', null, 600],
    ['is FREE until it closes', schedule([], office), 540, 'FREE', 1_080, 1_080],
    ['is BUSY from the first minute', schedule([meeting]), 600, 'BUSY', 660, 650],
    ['is FREE from the last minute', schedule([meeting]), 660, 'FREE', null, 4_320],
    ['is ENDING_SOON ten minutes before', schedule([meeting]), 650, 'ENDING_SOON', 660, 660],
    ['is BUSY while another follows', schedule([meeting, slot(660, 720)]), 655, 'BUSY', 720, 660],
    ['waits for who has not come', schedule([checked]), 600, 'CHECK_IN_DUE', 615, 615],
    ['waits before the start', schedule([checked]), 592, 'CHECK_IN_DUE', 615, 600],
    ['waits no longer than that', schedule([checked]), 615, 'BUSY', 660, 650],
    ['does not wait for who has come', schedule([done]), 600, 'BUSY', 660, 615],
    ['is CLOSED until it opens', schedule([], office), 400, 'CLOSED', 480, 480],
    ['is CLOSED for good', schedule([], office), 1_080, 'CLOSED', null, null],
    ['is CLOSED until somebody is there', schedule([slot(420, 430)], office), 400, 'CLOSED', 420, 405],
    ['is BUSY though it is closed', schedule([slot(420, 470)], office), 430, 'BUSY', 470, 460],
    ['is OUT_OF_SERVICE while blocked', schedule([slot(600, 660, { isBlock: true })]), 655, 'OUT_OF_SERVICE', 660, 660],
    ['is OUT_OF_SERVICE once retired', schedule([meeting], { isActive: false }), 620, 'OUT_OF_SERVICE', null, 650],
    ['heeds no lesson that has gone', schedule([slot(600, 660, { occupies: false })]), 620, 'FREE', null, 650],
  ])('%s', (_rule, plan, at, status, until, nextChangeAt) => {
    const state = stateAt(plan, at * minute);
    expect([state.status, inMinutes(state.until), inMinutes(state.nextChangeAt)]).toEqual([
      ...[status, until, nextChangeAt],
    ]);
  });

  test('names what is now and what comes then', () => {
    const plan = schedule([meeting, slot(630, 640, { occupies: false }), slot(700, 720)]);
    const named = (at: number) => {
      const { current, next } = stateAt(plan, at * minute);
      return [current?.name, next?.name];
    };
    expect([named(590), named(620), named(680), named(720)]).toEqual([
      [undefined, '600-660'],
      ['600-660', '700-720'],
      [undefined, '700-720'],
      [undefined, undefined],
    ]);
    const { current, next } = stateAt(schedule([checked, slot(700, 720)]), 595 * minute);
    expect([current?.name, next?.name]).toEqual(['600-660', '700-720']);
  });
});

const length = 300;

/** A plan of a few hours, in which much touches; what occupies the room does not overlap. */
function anyPlan(seed: number): Schedule<DisplaySlot> {
  const { below: upTo } = openDice(seed);
  const slots: DisplaySlot[] = [];
  for (let at = upTo(40) - 20; at < length; ) {
    const to = at + 1 + upTo(60);
    const waits: [number, number] = [at - upTo(15), at + 1 + upTo(Math.min(20, to - at))];
    slots.push(
      slot(at, to, {
        isBlock: upTo(8) === 0,
        ...(upTo(3) === 0 && { waits }),
      }),
    );
    if (upTo(4) === 0) slots.push(slot(at + upTo(20), to + upTo(20), { occupies: false }));
    at = to + (upTo(2) === 0 ? 0 : upTo(50));
  }
  for (const one of slots) if (one.checkIn && upTo(2) === 0) one.checkIn = { ...one.checkIn, isDone: true };
  const open: [number, number][] = [];
  for (let at = upTo(60); at < length; at += 1 + upTo(60)) {
    const end = Math.min(length, at + 1 + upTo(200));
    open.push([at, end]);
    at = end;
  }
  return {
    isActive: upTo(20) > 0,
    end: length * minute,
    open: hours(...open),
    slots: slots.sort((one, other) => one.from - other.from),
  };
}

/** What the sign says at a minute, and until when, by looking at one minute after the other. */
function oracle(plan: Schedule<DisplaySlot>, at: number): [RoomStatus, number | null] {
  const taking = (when: number) =>
    plan.slots.find(({ occupies, from, to }) => occupies && from <= when * minute && when * minute < to);
  const isOpen = (when: number) => plan.open.some(({ start, end }) => start <= when * minute && when * minute < end);
  const first = (holds: (when: number) => boolean): number | null => {
    for (let when = at + 1; when < length; when++) if (holds(when)) return when;
    return null;
  };
  const waitsUntil = (one: DisplaySlot | undefined): number | null => {
    const { checkIn } = one ?? {};
    if (!checkIn || checkIn.isDone) return null;
    return checkIn.from <= at * minute && at * minute < checkIn.until ? checkIn.until / minute : null;
  };
  const within = (when: number | null) => (when !== null && when < length ? when : null);
  if (!plan.isActive) return ['OUT_OF_SERVICE', null];
  const current = taking(at);
  if (current?.isBlock) return ['OUT_OF_SERVICE', within(current.to / minute)];
  const dueNow = waitsUntil(current);
  if (dueNow !== null) return ['CHECK_IN_DUE', within(dueNow)];
  if (current) {
    let end = at;
    while (taking(end)) end++;
    return [end - at <= 10 ? 'ENDING_SOON' : 'BUSY', within(end)];
  }
  const coming = plan.slots.find(({ occupies, from }) => occupies && from > at * minute);
  const dueSoon = waitsUntil(coming);
  if (dueSoon !== null) return ['CHECK_IN_DUE', within(dueSoon)];
  if (!isOpen(at)) return ['CLOSED', first((when) => isOpen(when) || taking(when) !== undefined)];
  const status = coming && coming.from - at * minute <= 15 * minute ? 'STARTING_SOON' : 'FREE';
  return [status, first((when) => !isOpen(when) || taking(when) !== undefined)];
}

test('is what an oracle says at each minute, and stays so until it says it changes', () => {
  for (let seed = 0; seed < 150; seed++) {
    const plan = anyPlan(seed);
    const said = Array.from({ length }, (_, at) => oracle(plan, at));
    for (let at = 0; at < length; at++) {
      const { status, until, nextChangeAt } = stateAt(plan, at * minute);
      const place = `plan ${seed} at ${at}`;
      const [wanted, end] = said[at]!;
      // Without `expect`, which would take as long as all the rest.
      if (status !== wanted || inMinutes(until) !== end)
        throw new Error(`${place}: ${status} until ${inMinutes(until)}, not ${wanted} until ${end}`);
      const steady = nextChangeAt === null ? length : Math.min(length, nextChangeAt / minute);
      const changed = said.slice(at, steady).findIndex(([other]) => other !== status);
      if (changed >= 0) throw new Error(`${place}: another state ${changed} minutes on, unannounced`);
    }
  }
});
